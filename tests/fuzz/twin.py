"""An indexed table and its twin, a plain Delta table that is treated alike; and what came of doing so."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from pyqbeast import QbeastTable
from pyqbeast.bridge import TableLog
from tests.fuzz.shapes import GENERATED, GENERATED_FROM, KEY, Shape
from tests.fuzz.values import quoted, random_values


class FoundError(Exception):
    """A finding of the fuzzer. Its first line says of what kind: a shrunk case has to fail alike."""


@dataclass
class Side:
    """One of the two tables, under the paths and names that it has by now."""

    spark: SparkSession
    format: str
    path: str

    @property
    def sql_name(self) -> str:
        return f"{self.format}.`{self.path}`"

    def registered(self, name: str | None = None) -> str:
        """A name for the table in the catalog; its own one where none is given."""
        name = name or f"fuzz_{self.format}"
        self.spark.sql(f"DROP TABLE IF EXISTS {name}")
        self.spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{self.path}'")
        return name

    def read(self, **options: object) -> DataFrame:
        return self.spark.read.format(self.format).options(**options).load(self.path)

    @property
    def version(self) -> int:
        """The newest version of the table, -1 where there is none."""
        names = (file.name for file in Path(self.path, "_delta_log").glob("*.json"))
        return max((int(name.split(".")[0]) for name in names if re.match(r"\d{20}\.", name)), default=-1)


@dataclass
class Pair:
    """The two tables, and the settings of the session for the step that runs."""

    spark: SparkSession
    folder: Path
    shape: Shape
    most_rows: int | None = None
    next_key: int = 0
    moves: int = 0
    #: How many samples were cut by weight, and how many not; and what else was compared how often.
    samples: Counter[str] = field(default_factory=Counter)
    #: Whether Delta may have left cubes without a parent.
    may_have_gaps: bool = False
    #: Versions of the indexed table and of the twin that held the same rows, by the step after which they did.
    history: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ours = Side(self.spark, "qbeast", str(self.folder / "ours0"))
        self.twin = Side(self.spark, "delta", str(self.folder / "twin0"))

    @property
    def schema(self) -> T.StructType:
        return self.twin.read().schema

    @property
    def table(self) -> QbeastTable:
        return QbeastTable.for_path(self.spark, self.ours.path)

    @property
    def properties(self) -> dict[str, str]:
        """Properties that the twin has by now."""
        return TableLog(self.spark, self.twin.path).configuration

    @property
    def hashed(self) -> list[str]:
        """The columns that make a row's weight."""
        latest = self.table.latest_revision
        return [*latest.columns, *latest.weight_columns]

    def places(self) -> tuple[Side, Side]:
        """Two new paths, for tables that are made of these."""
        self.moves += 1
        return (
            Side(self.spark, "qbeast", str(self.folder / f"ours{self.moves}")),
            Side(self.spark, "delta", str(self.folder / f"twin{self.moves}")),
        )

    def move(self, sides: tuple[Side, Side], *, indexed_anew: bool) -> None:
        """Goes on with other tables, whose index may be that of these."""
        self.ours, self.twin = sides
        self.history = []
        self.may_have_gaps &= not indexed_anew

    def new_rows(
        self, rng: random.Random, rows: int, schema: T.StructType | None = None, first: int | None = None
    ) -> DataFrame:
        """Rows of the table's columns with keys of their own (or from `first` on), in one to three partitions."""
        schema = schema or self.schema
        rows = rows if self.most_rows is None else min(rows, self.most_rows)
        if first is None:
            first = self.next_key
            self.next_key += rows
        columns = []
        for column in schema.fields:
            if column.name == KEY:
                made = "id"
            elif column.name == GENERATED:
                made = GENERATED_FROM.replace(KEY, "id")
            else:
                made = random_values(column.dataType, rng, nulls=column.nullable)("id")
            columns.append(f"{made} as {quoted(column.name)}")
        return self.spark.range(first, first + rows, 1, rng.randint(1, 3)).selectExpr(*columns)


def plan_of(frame: DataFrame) -> str:
    """What Spark has made of a query before it looks for ways to run it."""
    return str(frame._jdf.queryExecution().optimizedPlan().toString())


@dataclass
class Operation:
    """Something to do to both tables, each in its own way. `text` tells a person what."""

    text: str
    ours: Callable[[], object]
    twin: Callable[[], object]
    #: Run when both have succeeded.
    after: Callable[[], None] = lambda: None
    #: Whether Delta may leave cubes without a parent by it (True), or none has lost its parent afterwards (False).
    leaves_gaps: bool | None = None
    #: Whether the rows are stored by ours, and not by Delta.
    ours_writes: bool = False
    #: Whether the pair goes on with other tables.
    moves: bool = False


def sql(pair: Pair, statement: str, *, leaves_gaps: bool | None = None, named: bool = False) -> Operation:
    """A statement for both tables; {t} stands for the table: its path, or a name in the catalog where `named`."""

    def run(side: Side) -> Callable[[], object]:
        return lambda: pair.spark.sql(
            statement.replace("{t}", side.registered() if named else side.sql_name)
        ).collect()

    return Operation(
        statement + (" (by name)" if named else ""), run(pair.ours), run(pair.twin), leaves_gaps=leaves_gaps
    )
