"""The Python side of the JVM bridge: one small typed function or class for each thing that only the JVM can do."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.types import StructType


def java(spark: SparkSession) -> Any:  # noqa: ANN401 (a py4j package)
    """The Java package of the bridge."""
    jvm = spark._jvm
    assert jvm is not None
    return jvm.io.pyqbeast


@contextlib.contextmanager
def handed_over() -> Iterator[Path]:
    """A file through which the JVM hands a large result to Python, deleted afterwards."""
    handle, name = tempfile.mkstemp(prefix="pyqbeast-")
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink()


def simple_types(frame: DataFrame) -> dict[str, str]:
    """Name of each column to its Spark type as simple text."""
    return {field.name: field.dataType.simpleString() for field in frame.schema.fields}


class WrittenFile(NamedTuple):
    """A data file that a transaction wrote: its path in the log, and its rows where statistics are collected."""

    path: str
    rows: int | None


class Transaction:
    """A Delta transaction on the newest version of the table at a path, which need not exist yet."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._java = java(spark).Transaction.begin(spark._jsparkSession, path)
        self.exists: bool = self._java.exists()
        self.configuration: dict[str, str] = json.loads(self._java.configuration()) if self.exists else {}
        self.is_partitioned: bool = self.exists and self._java.isPartitioned()

    @property
    def schema(self) -> dict[str, Any]:
        """The table's schema as Spark writes it in JSON; without fields for a new table."""
        return json.loads(self._java.schema() or '{"fields": []}')  # type: ignore[no-any-return]

    def store(self, entries: Mapping[str, str], *, fresh: bool) -> None:
        """Entries for the table's configuration; `fresh` drops the revisions that are there now."""
        self._java.store(json.dumps(dict(entries)), fresh)

    def is_done(self, data: DataFrame, mode: str, options: Mapping[str, str]) -> bool:
        """Whether a write of the same `txnAppId` has been committed with this `txnVersion` or a later one."""
        return bool(self._java.isDone(data._jdf, mode, dict(options)))

    def write(self, data: DataFrame, mode: str, options: Mapping[str, str], page_rows: int) -> None:
        """Writes the rows, one partition a file."""
        self._java.write(data._jdf, mode, dict(options), page_rows)

    def written(self) -> list[WrittenFile]:
        """The files of `write`."""
        return [WrittenFile(path, rows) for path, rows in json.loads(self._java.written())]

    def tag(self, tags: Mapping[str, Mapping[str, str]]) -> None:
        """Gives written files their tags, by path."""
        self._java.tag(json.dumps(tags))

    def adopt(self, other: Transaction) -> None:
        """Takes over what another transaction wrote and could not commit, and stores what `store` was given."""
        self._java.adopt(other._java)

    def commit(self, mode: str, tags: Mapping[str, str]) -> bool:
        """False where another writer's commit stands in the way; `conflict` tells which."""
        return bool(self._java.commit(mode, dict(tags)) != -1)

    @property
    def conflict(self) -> str:
        """Delta's words for what stood in the way of `commit`."""
        return str(self._java.conflict())

    def discard(self) -> None:
        """Deletes the written files."""
        self._java.discard()


class LoggedFile(NamedTuple):
    """A live file of a table as the log tells of it. `rows` is None where no statistics were collected."""

    path: str
    size: int
    modified: int
    rows: int | None
    deleted: int
    tags: dict[str, str]


class TableLog:
    """The newest version of the log of the table at a path."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._java = java(spark).TableLog.newest(spark._jsparkSession, path)

    @property
    def exists(self) -> bool:
        """Whether there is a Delta table."""
        return bool(self._java.exists())

    @property
    def version(self) -> int:
        """The version that this is."""
        return int(self._java.version())

    @property
    def configuration(self) -> dict[str, str]:
        """The table's configuration."""
        return json.loads(self._java.configuration())  # type: ignore[no-any-return]

    @property
    def schema(self) -> StructType:
        """The table's schema."""
        return StructType.fromJson(json.loads(self._java.schema()))

    @property
    def key_granularity(self) -> float:
        """The share of the rows that the most frequent key may hold, as far as it is recorded; 0 for distinct keys."""
        return float(self._java.keyGranularity())

    def files(self) -> list[LoggedFile]:
        """All live files, in no order. One Spark job."""
        with handed_over() as target:
            self._java.filesTo(str(target))
            with target.open(encoding="utf-8") as lines:
                return [LoggedFile(**json.loads(line)) for line in lines]

    def file_frame(self) -> DataFrame:
        """All live files as a DataFrame with the fields of Delta's `AddFile`."""
        return DataFrame(self._java.files(), self._spark)


def _java_column(column: Column) -> Any:  # noqa: ANN401 (a py4j object)
    return column._jc


def hash_coordinate(spark: SparkSession, value: Column, of_null: float) -> Column:
    """The coordinate of a value in a hashed dimension (double)."""
    return ClassicColumn(java(spark).Columns.hashCoordinate(_java_column(value), of_null))


def date_milliseconds(spark: SparkSession, date: Column) -> Column:
    """Milliseconds since 1970 of a date's midnight in the JVM's own time zone (long), as the format counts them."""
    return ClassicColumn(java(spark).Columns.dateMilliseconds(_java_column(date)))


class CubeColumns:
    """The columns that send a row to its cube and its file, for a tree in the layout that `Tree.of` reads."""

    def __init__(self, spark: SparkSession, tree: bytes, rows_per_file: int) -> None:
        self._package = java(spark)
        self._tree = self._package.Tree.of(tree)
        self._tally = self._package.Columns.tally(spark._jsparkSession, rows_per_file)

    def _on_point(self, function: object, coordinates: Sequence[Column], weight: Column) -> Column:
        columns = [_java_column(column) for column in coordinates]
        return ClassicColumn(self._package.Columns.onPoint(function, columns, _java_column(weight)))

    def cube(self, coordinates: Sequence[Column], weight: Column) -> Column:
        """The cube that a row belongs to, as a long that `read_cube` takes apart."""
        return self._on_point(self._tree, coordinates, weight)

    def z_order(self, coordinates: Sequence[Column], weight: Column) -> Column:
        """Where a row's point lies on the z-order curve (long)."""
        return self._on_point(self._package.ZOrder(len(coordinates)), coordinates, weight)

    def file(self, cube: Column, weight: Column) -> Column:
        """The number of the file that a row belongs to (int)."""
        return ClassicColumn(self._package.Columns.file(self._tree, _java_column(cube), _java_column(weight)))

    def counted(self, cube: Column, z_order: Column, weight: Column) -> Column:
        """A condition that is always true and counts the rows, sorted by z-order, that it lets through."""
        columns = (_java_column(column) for column in (cube, z_order, weight))
        return ClassicColumn(self._package.Columns.counted(self._tally, *columns))

    def tally(self) -> NDArray[np.int64]:
        """What was counted: k × 7, a block a row.

        Partition, file in it, cube, rows, smallest and largest weight, and the rows of the partition's most
        frequent key as far as it was written then.
        """
        return np.frombuffer(self._tally.toBytes(), "<i8").reshape(-1, 7)


#: Bits of a cube's long that name a child which the tree does not have.
_CHILD_BITS = 21
#: The cube of rows that lie outside the revision's space.
OUTSIDE = -1


def read_cube(cube: int) -> tuple[int, int | None]:
    """The node of a cube's long, and the number of the missing child below it that the cube is, if it is one."""
    child = cube & ((1 << _CHILD_BITS) - 1)
    return cube >> _CHILD_BITS, child - 1 if child else None


def sample_to(data: DataFrame, rows: int, target: Path) -> None:
    """Samples the rows of a frame of doubles and longs, with the weight last, into a file; see `Sampler.java`."""
    java(data.sparkSession).Sampler.sample(data._jdf, rows, str(target))


class ScanTotals(NamedTuple):
    """What the file scans of a query opened: files, their bytes, and the rows they handed on."""

    files: int
    bytes: int
    rows: int


def scan_totals(query: DataFrame) -> ScanTotals:
    """The totals of a query that has run, from Spark's own metrics of its file scans."""
    return ScanTotals(*java(query.sparkSession).Scans.totals(query._jdf))
