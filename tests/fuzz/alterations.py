"""Operations that change the schema."""

from __future__ import annotations

import random

from pyspark.sql import types as T

from tests.fuzz.shapes import KEY, MAPPED_NAMES, NAMES
from tests.fuzz.twin import Operation, Pair, Side, sql
from tests.fuzz.values import WIDER, quoted, random_type


def add_column(pair: Pair, rng: random.Random) -> Operation:
    schema = pair.schema
    name = quoted(rng.choice((*NAMES, *MAPPED_NAMES)))
    structs = [field.name for field in schema.fields if isinstance(field.dataType, T.StructType)]
    if structs and rng.random() < 0.3:
        name = f"{quoted(rng.choice(structs))}.{name}"
        where = rng.choice(("", " FIRST"))
    else:
        where = rng.choice(("", "", " FIRST", f" AFTER {quoted(rng.choice(schema.names))}"))
    return sql(pair, f"ALTER TABLE {{t}} ADD COLUMNS ({name} {random_type(rng)}{where})")


def append_with_new_column(pair: Pair, rng: random.Random) -> Operation:
    """A column that comes with rows."""
    schema = pair.schema
    name = rng.choice(NAMES)
    parsed = T._parse_datatype_string(random_type(rng)) if name not in schema.names else T.IntegerType()
    wider = T.StructType([*schema.fields, *([] if name in schema.names else [T.StructField(name, parsed)])])
    rows = pair.new_rows(rng, rng.choice((1, 50)), wider)

    def write(side: Side) -> None:
        rows.write.format(side.format).mode("append").option("mergeSchema", "true").save(side.path)

    text = f"append with a new column {name} {parsed.simpleString()}"
    return Operation(text, lambda: write(pair.ours), lambda: write(pair.twin))


def drop_column(pair: Pair, rng: random.Random) -> Operation:
    return sql(pair, f"ALTER TABLE {{t}} DROP COLUMN {_column(pair, rng)}")


def rename_column(pair: Pair, rng: random.Random) -> Operation:
    column = _column(pair, rng)
    new = rng.choice((*NAMES, *MAPPED_NAMES))
    if rng.random() < 0.15 and column.swapcase() != column and "`.`" not in column:
        new = column[1:-1].replace("``", "`").swapcase()
    return sql(pair, f"ALTER TABLE {{t}} RENAME COLUMN {column} TO {quoted(new)}")


def _column(pair: Pair, rng: random.Random) -> str:
    """A column beside the key, or a part of one."""
    fields = [field for field in pair.schema.fields if field.name != KEY] or pair.schema.fields
    chosen = rng.choice(fields)
    if isinstance(chosen.dataType, T.StructType) and rng.random() < 0.5:
        return f"{quoted(chosen.name)}.{quoted(rng.choice(chosen.dataType.names))}"
    return quoted(chosen.name)


def widen(pair: Pair, rng: random.Random) -> Operation:
    fields = [field for field in pair.schema.fields if field.dataType.simpleString() in WIDER]
    chosen = rng.choice(fields or pair.schema.fields)
    wider = rng.choice(WIDER.get(chosen.dataType.simpleString(), ("string",)))
    operation = sql(pair, f"ALTER TABLE {{t}} ALTER COLUMN {quoted(chosen.name)} TYPE {wider}")
    if wider == "double":
        # The texts of floats in statistics are other doubles, as `verify` says.
        operation.after = lambda: pair.table.repair(dry_run=False)
    return operation


def move_column(pair: Pair, rng: random.Random) -> Operation:
    names = pair.schema.names
    where = rng.choice(("FIRST", f"AFTER {quoted(rng.choice(names))}"))
    return sql(pair, f"ALTER TABLE {{t}} ALTER COLUMN {quoted(rng.choice(names))} {where}")


def constrain(pair: Pair, rng: random.Random) -> Operation:
    kind = rng.choice(("check", "not null", "nullable", "default"))
    column = _column(pair, rng)
    if kind == "check":
        return sql(pair, f"ALTER TABLE {{t}} ADD CONSTRAINT c{rng.randrange(100)} CHECK ({KEY} >= 0)")
    if kind == "default":
        return sql(pair, f"ALTER TABLE {{t}} ALTER COLUMN {column} SET DEFAULT null")
    return sql(
        pair, f"ALTER TABLE {{t}} ALTER COLUMN {column} {'SET' if kind == 'not null' else 'DROP'} NOT NULL"
    )


OPERATIONS = {
    add_column: 4,
    append_with_new_column: 3,
    drop_column: 2,
    rename_column: 3,
    widen: 4,
    move_column: 2,
    constrain: 2,
}
