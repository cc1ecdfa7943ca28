"""The Python side of the JVM bridge: one small typed function or class for each thing that only the JVM can do."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from pyqbeast.core.errors import FormatError, SessionError
from pyqbeast.core.hashed_layout import spark_schema
from pyqbeast.core.stored_text import shown
from pyqbeast.delta import dv_paths


def java(spark: SparkSession) -> Any:  # noqa: ANN401 (a py4j package)
    """The Java package of the bridge.

    Raises:
        SessionError: the session is that of a Spark Connect client.
    """
    if not hasattr(spark, "_jvm"):
        raise SessionError(
            "this is a client of Spark Connect, and this call needs the session of the driver. Clients read and "
            "sample with any server, write where Python started it, and ask in SQL: qbeast_metrics('t'), "
            "qbeast_blocks('t'), CALL spark_catalog.system.qbeast_optimize('t')"
        )
    jvm = spark._jvm
    assert jvm is not None
    return jvm.io.pyqbeast


def local_frame(spark: SparkSession, schema: StructType, columns: Sequence[Sequence[object]]) -> DataFrame:
    """A frame of values that are here already. Of an Arrow table Spark makes a relation that takes no job to read."""
    types = to_arrow_schema(schema, timezone="UTC")
    arrays = [pa.array(values, field.type) for values, field in zip(columns, types, strict=True)]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema=types), schema)


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


def named_as(frame: DataFrame, names: Collection[str]) -> DataFrame:
    """The frame with its columns named as in `names`, where they differ in case only: to Delta both are one column."""
    known = {name.lower(): name for name in names}
    changed = {
        column: known[column.lower()]
        for column in frame.columns
        if column.lower() in known and known[column.lower()] not in frame.columns
    }
    return frame.withColumnsRenamed(changed) if changed else frame


class WrittenBlock(NamedTuple):
    """A block of a written file. `cube` is what `read_cube` reads, or `OUTSIDE`."""

    cube: int
    rows: int
    min_weight: int
    max_weight: int


@dataclass(frozen=True)
class WrittenFile:
    """A data file that a transaction wrote, as its writer saw it.

    Attributes:
        path: in the log.
        size: bytes.
        rows: how many it holds; None where Delta sorted the rows into change data and others.
        key_rows: rows of the most frequent key of the task that wrote the file: all rows of a key go to one.
        blocks: its blocks; None where the rows did not come from `arranged`, or not in its order.
        weights: the rows of each interval of `core.weight_counts`, where there are blocks.
        strays: rows whose weight, by what is in the file, is not the one that they were laid out by.
    """

    path: str
    size: int
    rows: int | None = None
    key_rows: int = 0
    blocks: list[WrittenBlock] | None = None
    weights: tuple[int, ...] = ()
    strays: int = 0

    @property
    def heaviest(self) -> int:
        """The largest weight in a file that has blocks."""
        return max(block.max_weight for block in self.blocks or ())

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> WrittenFile:
        """One entry of what the bridge tells."""
        blocks, weights = told.pop("blocks", None), told.pop("weights", None) or ()
        blocks = None if blocks is None else [WrittenBlock(*block) for block in blocks]
        return cls(**told, blocks=blocks, weights=tuple(weights))


class Transaction:
    """A Delta transaction on the newest version of the table at a path, which need not exist yet."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._java = java(spark).Transaction.begin(spark._jsparkSession, path)
        self.path: str = self._java.path()
        self.exists: bool = self._java.exists()
        self.configuration: dict[str, str] = json.loads(self._java.configuration()) if self.exists else {}
        self.is_partitioned: bool = self.exists and self._java.isPartitioned()

    @property
    def is_clustered(self) -> bool:
        """Whether Delta clusters the table by some columns."""
        return bool(self.exists and self._java.isClustered())

    @property
    def has_legacy_files(self) -> bool:
        """Whether files of the table were written before format 0.6. One Spark job."""
        return bool(self._java.hasLegacyFiles())

    @property
    def schema(self) -> dict[str, Any]:
        """The table's schema as Spark writes it in JSON; without fields for a new table."""
        return json.loads(self._java.schema() or '{"fields": []}')  # type: ignore[no-any-return]

    def log(self) -> TableLog:
        """The log of the version that this began on."""
        return TableLog(self._spark, self.path, self)

    @property
    def columns(self) -> list[str]:
        """The names of the table's columns; none for a new table."""
        return [field["name"] for field in self.schema["fields"]]

    def store(self, entries: Mapping[str, str], *, fresh: bool) -> None:
        """Entries for the table's configuration; `fresh` drops the revisions that are there now."""
        self._java.store(json.dumps(dict(entries)), fresh)

    def is_done(self, data: DataFrame, mode: str, options: Mapping[str, str]) -> bool:
        """Whether a write of the same `txnAppId` has been committed with this `txnVersion` or a later one."""
        return bool(self._java.isDone(data._jdf, mode, dict(options)))

    def as_stored(self, data: DataFrame, mode: str, options: Mapping[str, str]) -> tuple[DataFrame, set[int]]:
        """The rows as the table will hold them, and the revisions whose blocks tell the weights that rows have then."""
        rows = DataFrame(self._java.asStored(data._jdf, mode, dict(options)), self._spark)
        return rows, {int(number) for number in json.loads(self._java.weighedRevisions())}

    def write(self, data: DataFrame, mode: str, options: Mapping[str, str], page_rows: int) -> None:
        """Writes the rows of `as_stored`, laid out, one partition a file."""
        self._java.write(data._jdf, mode, dict(options), page_rows)

    def rows_of(self, paths: Sequence[str]) -> DataFrame:
        """The rows of some of the table's files, without those that deletion vectors hide."""
        return DataFrame(self._java.rowsOf(list(paths)), self._spark)

    def rewrite(
        self, data: DataFrame | None, paths: Sequence[str], options: Mapping[str, str], page_rows: int
    ) -> None:
        """Replaces files by others with the same rows, one partition of `data` a file; None where none are left."""
        self._java.rewrite(data._jdf if data else None, list(paths), dict(options), page_rows)

    def written(self) -> list[WrittenFile]:
        """The files of `write` or `rewrite`."""
        return [WrittenFile.from_json(file) for file in json.loads(self._java.written())]

    def tag(self, tags: Mapping[str, Mapping[str, str]]) -> None:
        """Gives written files their tags, by path."""
        self._java.tag(json.dumps(tags))

    def adopt(self, other: Transaction) -> None:
        """Takes over what another transaction wrote and could not commit, and stores what `store` was given."""
        self._java.adopt(other._java)

    def commit(self, mode: str, tags: Mapping[str, str]) -> bool:
        """False where another writer's commit stands in the way; `conflict` tells which."""
        return bool(self._java.commit(mode, dict(tags)) != -1)

    def commit_rewrite(self, tags: Mapping[str, str]) -> bool:
        """Commits a `rewrite`, as `commit` does."""
        return bool(self._java.commitRewrite(dict(tags)) != -1)

    def actions(self) -> list[dict[str, Any]]:
        """What is about to be committed: Delta's actions, each an object with its kind as the only key."""
        return [json.loads(line) for line in self._java.pending()]

    @property
    def conflict(self) -> str:
        """Delta's words for what stood in the way of `commit`."""
        return str(self._java.conflict())

    def discard(self) -> None:
        """Deletes the written files, unless a commit of them may have landed."""
        self._java.discard()


#: In the metadata of a column: its name in the data files, where the table maps names.
_PHYSICAL_NAME = "delta.columnMapping.physicalName"
#: The same: the types that it had.
_TYPE_CHANGES = "delta.typeChanges"


def _name_in_files(column: StructField) -> str:
    return str((column.metadata or {}).get(_PHYSICAL_NAME, column.name))


def _recorded(layout: str) -> StructType:
    try:
        return StructType.fromJson(spark_schema(layout))
    except (PySparkException, KeyError, ValueError) as error:
        raise FormatError(f"Spark cannot read the types in {shown(layout)}: {error}") from None


class LoggedFile(NamedTuple):
    """A live file of a table as the log tells of it.

    Attributes:
        path: as the log has it.
        size: in bytes.
        modified: when, in milliseconds since 1970.
        rows: deleted ones too; None where no statistics were collected.
        deleted: how many of them a deletion vector hides.
        tags: without marks of replicated blocks that are not true.
        falsely_replicated: whether there were such marks.
    """

    path: str
    size: int
    modified: int
    rows: int | None
    deleted: int
    tags: dict[str, str]
    falsely_replicated: bool


class TableLog:
    """One version of the log of a table: the newest of the table at a path, or that which a transaction began on."""

    def __init__(self, spark: SparkSession, path: str, begun: Transaction | None = None) -> None:
        self._spark = spark
        newest = java(spark).TableLog.newest
        self._java = begun._java.tableLog() if begun else newest(spark._jsparkSession, path)

    @property
    def exists(self) -> bool:
        """Whether there is a Delta table."""
        return bool(self._java.exists())

    @property
    def path(self) -> str:
        """Where the table lies, in full."""
        return str(self._java.path())

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
    def weighed_revisions(self) -> set[int]:
        """The revisions whose blocks tell the weights that rows have today: no indexed column hashes otherwise."""
        return {int(number) for number in json.loads(self._java.weighedRevisions())}

    @property
    def key_granularity(self) -> float:
        """The share of the rows that the most frequent key may hold, as far as it is recorded; 0 for distinct keys."""
        return float(self._java.keyGranularity())

    def weight_of(self, fraction: float) -> int:
        """The weight below which a sample of a fraction lies."""
        return int(self._java.weightOf(float(fraction)))

    def files(self) -> list[LoggedFile]:
        """All live files, in no order. One Spark job."""
        with handed_over() as target:
            self._java.filesTo(str(target))
            with target.open(encoding="utf-8") as lines:
                return [LoggedFile(**json.loads(line)) for line in lines]

    def stored_rows(self, files: Sequence[str], columns: Sequence[str], layout: str | None) -> DataFrame:
        """Columns of data files (paths as in the log) as they are stored: rows that deletion vectors hide too.

        Args:
            files: the files.
            columns: names that the columns get.
            layout: how the files hold them, as a revision records it; None: as the table would today.

        Raises:
            FormatError: the record names a type that Spark does not have.
        """
        stored = _recorded(layout) if layout else self._stored_today(columns)
        # The files of a shallow clone lie in other tables.
        paths = [
            file if dv_paths.is_absolute(file) else dv_paths.child(self.path, file)
            for file in map(dv_paths.url_decode, files)
        ]
        return self._spark.read.schema(stored).parquet(*paths).toDF(*columns)

    def names_in_files(self, columns: Sequence[str]) -> list[str | None]:
        """What the files written today call some columns; None for one that the table does not have."""
        fields = {field.name: field for field in self.schema}
        return [_name_in_files(fields[column]) if column in fields else None for column in columns]

    def has_widened(self, column: str) -> bool:
        """Whether a column of the table once had a narrower type."""
        return _TYPE_CHANGES in (self.schema[column].metadata or {})

    def _stored_today(self, columns: Sequence[str]) -> StructType:
        fields = [self.schema[column] for column in columns]
        return StructType([StructField(_name_in_files(field), field.dataType) for field in fields])

    def file_frame(self) -> DataFrame:
        """All live files as a DataFrame with the fields of Delta's `AddFile`."""
        return DataFrame(self._java.files(), self._spark)

    def retag(
        self,
        operation: str,
        changed: DataFrame,
        dropped: DataFrame,
        settings: Sequence[str],
        metrics: Mapping[str, str],
    ) -> int | None:
        """One commit on top of this version; see `Retagging.java`. None where another writer came first.

        Args:
            operation: what the table's history calls it.
            changed: files with their new tags, as `file_frame` has them.
            dropped: files to take out of the table, the same.
            settings: keys to take out of the table's configuration.
            metrics: figures for the table's history.
        """
        commit = java(self._spark).Retagging.commit
        version = commit(self._java, operation, changed._jdf, dropped._jdf, list(settings), dict(metrics))
        return None if version < 0 else int(version)


def change_table(spark: SparkSession, path: str, statement: str) -> None:
    """Runs an SQL statement that changes the table at a path by one commit, and gives back no rows."""
    java(spark).WatchedCommand.sql(spark._jsparkSession, path, statement)


def _java_column(column: Column) -> Any:  # noqa: ANN401 (a py4j object)
    return column._jc


def tag_revision(spark: SparkSession, tags: Column) -> Column:
    """The revision (bigint) that the tags of a file (map) tell; null for a file that has none."""
    return ClassicColumn(java(spark).TagColumns.revision(_java_column(tags)))


def tag_blocks(log: TableLog, tags: Column) -> Column:
    """The blocks that the tags of a file (map) of a table tell, of today and of before format 0.6.

    An array of structs with the names of `core.facts`; empty where the file is not indexed or its tags are damaged.
    Marks of replicated blocks that are not true are left out.
    """
    return ClassicColumn(java(log._spark).TagColumns.blocks(_java_column(tags), log._java))


def tags_are_legacy(spark: SparkSession, tags: Column) -> Column:
    """Whether the tags of a file (map) are those of before format 0.6 (boolean)."""
    return ClassicColumn(java(spark).TagColumns.areLegacy(_java_column(tags)))


def tags_are_replicated(log: TableLog, tags: Column) -> Column:
    """Whether the tags of a file (map) of a table say truly that other files hold its rows too (boolean)."""
    return ClassicColumn(java(log._spark).TagColumns.areReplicated(_java_column(tags), log._java))


def hash_coordinate(spark: SparkSession, value: Column, of_null: float) -> Column:
    """The coordinate of a value in a hashed dimension (double)."""
    return ClassicColumn(java(spark).Columns.hashCoordinate(_java_column(value), of_null))


def place_of_number(spark: SparkSession, number: Column, quantiles: Sequence[float]) -> Column:
    """The place (double) of a number, a double column, among ascending quantiles; null for null."""
    return ClassicColumn(java(spark).Columns.placeOfNumber(_java_column(number), json.dumps(list(quantiles))))


def place_of_text(spark: SparkSession, text: Column, quantiles: Sequence[str]) -> Column:
    """The place (double) of a text among ascending quantiles; null for null."""
    return ClassicColumn(java(spark).Columns.placeOfText(_java_column(text), json.dumps(list(quantiles))))


def date_milliseconds(spark: SparkSession, date: Column) -> Column:
    """Milliseconds since 1970 of a date's midnight in the JVM's own time zone (long), as the format counts them."""
    return ClassicColumn(java(spark).Columns.dateMilliseconds(_java_column(date)))


def arranged(data: DataFrame, point: Sequence[Column], weight: Column, tree: bytes) -> DataFrame:
    """The rows on their way to the files of a tree, one partition a file; `Tree.java` tells the layout of the tree."""
    package = java(data.sparkSession)
    columns = [_java_column(column) for column in (*point, weight)]
    return DataFrame(package.Arrangement.of(data._jdf, columns, package.Tree(tree)), data.sparkSession)


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
