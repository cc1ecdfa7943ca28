"""Conditions on the rows of a table: on one column of whatever type, or on two."""

from __future__ import annotations

import random

from pyspark.sql import types as T

from tests.fuzz.values import is_leaf, quoted, random_values


def random_condition(schema: T.StructType, rng: random.Random, most_key: int) -> str:
    """A condition as SQL has it, deterministic, and allowed under ANSI."""
    first = _of_column(schema, rng, most_key)
    kind = rng.random()
    if kind < 0.15:
        return f"({first}) AND ({_of_column(schema, rng, most_key)})"
    if kind < 0.25:
        return f"({first}) OR ({_of_column(schema, rng, most_key)})"
    return f"NOT ({first})" if kind < 0.32 else first


def _of_column(schema: T.StructType, rng: random.Random, most_key: int) -> str:
    column = rng.choice(schema.fields)
    return condition_on(quoted(column.name), column.dataType, rng, most_key)


def condition_on(name: str, data_type: T.DataType, rng: random.Random, most_key: int) -> str:
    if rng.random() < 0.1:
        return f"{name} IS {rng.choice(('NULL', 'NOT NULL'))}"
    if isinstance(data_type, T.StructType):
        part = rng.choice(data_type.fields)
        return condition_on(f"{name}.{quoted(part.name)}", part.dataType, rng, most_key)
    if isinstance(data_type, T.ArrayType | T.MapType):
        return f"size({name}) > {rng.randint(0, 1)}"
    if isinstance(data_type, T.VariantType):
        return f"variant_get({name}, '$.a', 'string') < '{rng.randrange(9)}'"
    values = random_values(data_type, rng)

    def literal() -> str:
        return values(f"{rng.randrange(most_key + 1)}L")

    assert is_leaf(data_type)
    if isinstance(data_type, T.LongType) and rng.random() < 0.4:
        return f"{name} {rng.choice(('<', '>=', '='))} {rng.randrange(most_key + 1)}"
    kind = rng.random()
    if kind < 0.1:
        return f"{name} BETWEEN {literal()} AND {literal()}"
    if kind < 0.25:
        return f"{name} IN ({', '.join(literal() for _ in range(rng.randint(1, 3)))})"
    if kind < 0.3 and isinstance(data_type, T.StringType):
        return f"{name} LIKE '{rng.choice(('a', 'e', 'El', '', '日'))}%'"
    return f"{name} {rng.choice(('<', '<=', '>', '>=', '=', '=', '<=>', '!='))} {literal()}"
