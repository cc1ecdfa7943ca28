"""The types that Delta stores, and columns of values for each: plain ones, and those that break things.

A column of values is an SQL expression of `id`, so that rows are made by Spark, alike for both tables and again
whenever a step is run again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from pyspark.sql import types as T

#: An expression of one type, given what stands for `id` in it.
Values = Callable[[str], str]

LEAVES = (
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(5,2)", "decimal(18,6)",
    "decimal(38,10)", "string", "binary", "date", "timestamp", "timestamp_ntz",
)  # fmt: skip
#: What can be indexed; the others are payload, or weigh.
INDEXABLE = (
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "string", "varchar", "char",
    "date", "timestamp",
)  # fmt: skip
#: Types of texts with a length, which only SQL can give to a column.
SIZED_TEXTS = ("varchar(12)", "char(9)")
WIDER = {
    "tinyint": ("smallint", "int", "bigint", "double", "decimal(12,2)"),
    "smallint": ("int", "bigint", "double", "decimal(12,2)"),
    "int": ("bigint", "double", "decimal(12,2)"),
    "bigint": ("decimal(22,2)", "decimal(20,0)"),
    "float": ("double",),
    "decimal(5,2)": ("decimal(9,2)", "decimal(12,4)", "decimal(30,6)"),
    "decimal(18,6)": ("decimal(19,6)", "decimal(22,8)"),
    "date": ("timestamp_ntz",),
}
TEXTS = (
    "''", "' '", "'a'", "'A'", "'a  '", "'ab\\u0000c'", "'ü'", "'日本'", "'👍'", "'100%'", "'null'", "'__NULL__'",
    "'a\\'b'", "'x\\ny'", "'\\\\'",
)  # fmt: skip
_WORDS = "array('ash', 'beech', 'cedar', 'elm', 'fir', 'oak', 'pine', 'yew', 'Ulme', 'дуб')"


def random_type(rng: random.Random, depth: int = 0) -> str:
    """A type as DDL has it; one in six is nested."""
    if depth > 1 or rng.random() < 0.84:
        return rng.choice(LEAVES)
    kind = rng.choice(("array", "map", "struct", "struct", "variant"))
    if kind == "array":
        return f"array<{random_type(rng, depth + 1)}>"
    if kind == "map":
        return f"map<{rng.choice(('string', 'int'))},{random_type(rng, depth + 1)}>"
    if kind == "struct":
        fields = (f"{name}:{random_type(rng, depth + 1)}" for name in ("x", "y", "z")[: rng.randint(1, 3)])
        return f"struct<{','.join(fields)}>"
    return "variant" if depth == 0 else "string"


def is_indexable(data_type: T.DataType) -> bool:
    return data_type.simpleString().split("(")[0] in INDEXABLE


def type_text(data_type: T.DataType) -> str:
    """A type as SQL has it; Spark's own text leaves names of fields as they are."""
    if isinstance(data_type, T.StructType):
        return (
            f"struct<{', '.join(f'{quoted(each.name)}: {type_text(each.dataType)}' for each in data_type)}>"
        )
    if isinstance(data_type, T.ArrayType):
        return f"array<{type_text(data_type.elementType)}>"
    if isinstance(data_type, T.MapType):
        return f"map<{type_text(data_type.keyType)}, {type_text(data_type.valueType)}>"
    return data_type.simpleString()


def is_leaf(data_type: T.DataType) -> bool:
    return not isinstance(data_type, T.StructType | T.ArrayType | T.MapType | T.VariantType)


def random_values(data_type: T.DataType, rng: random.Random, *, nulls: bool = True) -> Values:
    """Values of a type: of a random spread, some of them null or at the end of what the type can hold."""
    salt = rng.randrange(1000)
    common, rare = _of_type(data_type, rng, salt)
    taken = rng.sample(rare, min(len(rare), rng.randint(0, 3))) if rare else []
    if nulls and rng.random() < 0.6:
        taken = [*taken, "null"]
    if nulls and rng.random() < 0.03:
        return lambda row: f"cast(null as {type_text(data_type)})"

    def values(row: str) -> str:
        if not taken:
            return f"cast({common(row)} as {type_text(data_type)})"
        cases = " ".join(f"when {i} then {value}" for i, value in enumerate(taken))
        drawn = f"pmod(xxhash64({row}, {salt + 1}L), {5 * len(taken) + 3})"
        return f"cast(case {drawn} {cases} else {common(row)} end as {type_text(data_type)})"

    return values


def _of_type(data_type: T.DataType, rng: random.Random, salt: int) -> tuple[Values, Sequence[str]]:
    """Common values, and rare ones."""
    if isinstance(data_type, T.ArrayType):
        item = random_values(data_type.elementType, rng)
        return (
            lambda row: f"slice(array({item(row)}, {item(row + ' + 1')}), 1, cast(pmod({row}, 3) as int))",
            (),
        )
    if isinstance(data_type, T.MapType):
        item = random_values(data_type.valueType, rng)
        key = "int" if isinstance(data_type.keyType, T.IntegerType) else "string"
        return (
            lambda row: (
                f"map(cast(pmod({row}, 5) as {key}), {item(row)}, cast(7 as {key}), {item(row + ' + 1')})"
            ),
            (),
        )
    if isinstance(data_type, T.StructType):
        parts = [(field.name, random_values(field.dataType, rng)) for field in data_type.fields]
        return (
            lambda row: (
                "named_struct(" + ", ".join(f"{text(name)}, {part(row)}" for name, part in parts) + ")"
            ),
            (),
        )
    if isinstance(data_type, T.VariantType):
        return lambda row: f"parse_json(concat('{{\"a\":', {row}, ',\"b\":[true,null]}}'))", (
            "parse_json('null')",
        )
    return _of_leaf(data_type, _numbers(rng, salt))


def _numbers(rng: random.Random, salt: int) -> Callable[[str, int], str]:
    """Whole numbers of a spread: all over a range, few of them, in the order of the rows, or always the same."""
    kind = rng.choice(("wide", "wide", "few", "serial", "crowded", "constant"))
    shift = rng.choice((0, 0, 0, 3, 40))

    def numbers(row: str, most: int) -> str:
        hashed = f"xxhash64({row}, {salt}L)"
        if kind == "few":
            return f"(pmod({hashed}, {min(most, 4)}) + {shift})"
        if kind == "serial":
            return f"(pmod({row}, {most}) + {shift})"
        if kind == "crowded":
            return f"cast(pow(pmod({hashed}, 1000) / 1000.0, 6) * {most} as bigint)"
        if kind == "constant":
            return f"(pmod({row}, 1) + {shift})"
        return f"pmod({hashed}, {most})"

    return numbers


def _of_leaf(data_type: T.DataType, numbers: Callable[[str, int], str]) -> tuple[Values, Sequence[str]]:
    name = data_type.simpleString().split("(")[0]
    if name == "boolean":
        return lambda row: f"{numbers(row, 7)} > 2", ()
    if name in ("tinyint", "smallint", "int", "bigint"):
        bits = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}[name]
        low, high, half = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, min(2 ** (bits - 2) - 44, 10**6)
        ends = (
            str(high),
            f"{-high} - 1" if bits < 64 else "cast('-9223372036854775808' as bigint)",
            "0",
            "-1",
        )
        assert low < 0
        return lambda row: f"{numbers(row, 2 * half)} - {half}", ends
    if name in ("float", "double"):
        odd = [
            f"{name}('{value}')"
            for value in ("NaN", "Infinity", "-Infinity", "-0.0", "0.0", "1e-40", "-3.4e38")
        ]
        return lambda row: f"{numbers(row, 100_000)} / 64.0D - 500", odd
    if isinstance(data_type, T.DecimalType):
        most = 10 ** min(data_type.precision - data_type.scale, 9) - 50
        nines = "9" * (data_type.precision - data_type.scale) + "." + "9" * data_type.scale
        ends = (
            f"cast('{nines}' as {data_type.simpleString()})",
            f"cast('-{nines}' as {data_type.simpleString()})",
            "0",
        )
        return lambda row: f"cast({numbers(row, most)} as decimal(20,0)) - {most // 2} - 0.25", ends
    if name in ("string", "varchar", "char"):
        return (
            lambda row: (
                f"concat(element_at({_WORDS}, cast(pmod({numbers(row, 10)}, 10) + 1 as int)), "
                f"pmod({numbers(row, 97)}, 97))"
            ),
            TEXTS,
        )
    if name == "binary":
        return lambda row: f"unhex(lpad(hex({numbers(row, 60_000)}), 6, '0'))", ("X''", "X'00FF80C3'")
    if name == "date":
        return lambda row: f"date_from_unix_date(cast({numbers(row, 20_000)} - 3000 as int))", (
            "date'0001-01-01'", "date'9999-12-31'", "date'1582-10-04'", "date'1500-02-28'",
        )  # fmt: skip
    instants = (
        "0001-01-01 00:00:00",
        "9999-12-31 23:59:59.999999",
        "1582-10-10 01:02:03.000004",
        "1969-12-31 23:59:59.999999",
    )
    if name == "timestamp":
        return lambda row: f"timestamp_micros({numbers(row, 4 * 10**9)} * 400001 - 10000000)", [
            f"timestamp'{each} UTC'" for each in instants
        ]
    if name == "timestamp_ntz":
        return (
            lambda row: f"timestamp_ntz'1990-01-01' + make_dt_interval(0, 0, 0, {numbers(row, 10**9)} / 64)",
            [f"timestamp_ntz'{each}'" for each in instants],
        )
    raise AssertionError(f"no values for {data_type}")


def text(value: str) -> str:
    """A text as SQL has it."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
