"""Queries whose rows are a sample of an indexed table, or come of one: what the statements of `statements` write."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import types as T

from tests.fuzz.conditions import random_condition
from tests.fuzz.shapes import KEY
from tests.fuzz.twin import Pair, Side
from tests.fuzz.values import is_indexable, quoted

#: Keys of the table itself are moved by a multiple of this, so that each stays the only one. What is generated of them
#: stays right.
_FAR = 10_000_000


@dataclass(frozen=True)
class Source:
    """An indexed table that is sampled.

    Attributes:
        side: where it lies.
        name: as SQL names it.
        schema: that of the table which is written to.
        is_target: whether it is that table.
    """

    side: Side
    name: str
    schema: T.StructType
    is_target: bool


def random_source(pair: Pair, rng: random.Random) -> Source:
    """The table itself, or another one of its columns under the same index or one of its own."""
    if rng.random() < 0.35:
        own = Side(pair.spark, "qbeast", pair.ours.path)
        pair.next_key += 1  # the next one moves its keys to another place
        return Source(own, _name(own, rng), pair.schema, is_target=True)
    schema = pair.schema
    side = Side(pair.spark, "qbeast", str(pair.folder / f"source{pair.next_key}"))
    latest = pair.table.latest_revision
    indexed, weighing = list(latest.columns), list(latest.weight_columns)
    if rng.random() < 0.5:
        free = [each.name for each in schema.fields if _may_be_indexed(each)]
        indexed, weighing = rng.sample(free, rng.randint(1, min(3, len(free)))), []
    options = {
        "columnsToIndex": ",".join(indexed),
        "weightColumns": ",".join(weighing),
        "cubeSize": str(rng.choice((10, 50, 5000))),
        "delta.columnMapping.mode": "name",
        "delta.enableDeletionVectors": rng.choice(("true", "false")),
    }
    rows = pair.new_rows(rng, rng.choice((1, 60, 150, 300)), schema)
    rows.write.format("qbeast").options(**{key: value for key, value in options.items() if value}).save(
        side.path
    )
    if rng.random() < 0.3:
        pair.spark.sql(f"DELETE FROM {side.sql_name} WHERE {KEY} % 7 = {rng.randrange(7)}")
    return Source(side, _name(side, rng), schema, is_target=False)


def _may_be_indexed(field: T.StructField) -> bool:
    name = field.name
    return is_indexable(field.dataType) and not {",", ":"} & {*name} and name.strip() == name


def _name(side: Side, rng: random.Random) -> str:
    kind = rng.choice(("qbeast", "delta", "view", "catalog"))
    if kind == "view":
        side.read().createOrReplaceTempView("fuzz_viewed")
        return "fuzz_viewed"
    return side.registered("fuzz_listed") if kind == "catalog" else f"{kind}.`{side.path}`"


def listed(names: Sequence[str]) -> str:
    """Names as a statement lists them."""
    return ", ".join(map(quoted, names))


def sample_text(rng: random.Random) -> str:
    """A sample as SQL has it. Where Spark draws it, it is the same each time."""
    how = rng.choice(
        ("10 PERCENT", "30 PERCENT", "50 PERCENT", "70 PERCENT", "100 PERCENT", "BUCKET 2 OUT OF 3")
    )
    return f"TABLESAMPLE ({how}) REPEATABLE ({rng.randrange(100)})"


def random_query(pair: Pair, source: Source, rng: random.Random, names: Sequence[str]) -> str:
    """A query of some of the table's columns. Each key is there once."""
    step = _FAR * (1 + pair.next_key % 1000) if source.is_target else 0

    def columns(moved_by: int, prefix: str = "") -> str:
        key = f"{prefix}{KEY}" + (f" + {moved_by}L AS {KEY}" if moved_by else "")
        return ", ".join(key if name == KEY else f"{prefix}{quoted(name)}" for name in names)

    all_columns, sample, other = columns(step), sample_text(rng), sample_text(rng)
    condition = random_condition(source.schema, rng, pair.next_key)
    n = source.name
    return rng.choice(
        (
            f"SELECT {all_columns} FROM {n} {sample}",
            f"SELECT {all_columns} FROM {n} {sample} WHERE {condition}",
            f"SELECT {all_columns} FROM (SELECT * FROM {n} WHERE {condition}) {sample}",
            f"SELECT {all_columns} FROM {n} {sample} "
            f"UNION ALL SELECT {columns(step + 500 * _FAR)} FROM {n} {other}",
            f"SELECT {all_columns} FROM {n} WHERE {KEY} IN (SELECT {KEY} FROM {n} {sample})",
            f"SELECT {all_columns} FROM {n} "
            f"WHERE {KEY} NOT IN (SELECT {KEY} FROM {n} {sample} WHERE {KEY} IS NOT NULL)",
            f"SELECT {columns(step, 'l.')} FROM (SELECT * FROM {n} {sample}) l "
            f"JOIN (SELECT {KEY} FROM {n} {other}) r ON l.{KEY} = r.{KEY}",
            f"SELECT {columns(step, 'l.')} FROM (SELECT * FROM {n} {sample}) l "
            f"LEFT ANTI JOIN (SELECT {KEY} FROM {n} {other}) r ON l.{KEY} = r.{KEY}",
            f"WITH x AS (SELECT * FROM {n} {sample}) SELECT {all_columns} FROM x",
            f"SELECT {all_columns} FROM (SELECT *, count(*) OVER (PARTITION BY {KEY}) AS n FROM {n}) {sample}",
            f"SELECT {all_columns} FROM {n} {sample} ORDER BY {KEY} LIMIT 17",
            f"SELECT {all_columns} FROM (SELECT * FROM {n} {sample}) {other}",
        )
    )
