"""One version of a table's log, read through the JVM."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from py4j.java_gateway import JavaObject
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.types import StructField, StructType

from pyqbeast.bridge.frames import parquet_frame
from pyqbeast.bridge.jvm import handed_over, java, java_column
from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.hashed_layout import mapping_mode, name_in_files, spark_schema, type_changes
from pyqbeast.core.format.stored_text import shown
from pyqbeast.delta_log import locations
from pyqbeast.delta_log.log_entry import LogEntry


def field_in_statistics(field: StructField) -> StructField:
    """A column as Delta's statistics name it, with the fields of structs in it.

    They go by a name that a mapping has given it also where the table does not map names any more.
    """
    kind = field.dataType
    inner = StructType([field_in_statistics(each) for each in kind]) if isinstance(kind, StructType) else kind
    return StructField(name_in_files(field.name, field.metadata, "name"), inner, field.nullable)


def _recorded(layout: str) -> StructType:
    try:
        return StructType.fromJson(spark_schema(layout))
    except (PySparkException, KeyError, ValueError) as error:
        raise FormatError(f"Spark cannot read the types in {shown(layout)}: {error}") from None


class AddedFiles(NamedTuple):
    """Files that came to a table after a version, to which nothing else happened since.

    Attributes:
        table: what Delta calls the table.
        committed: when the commit of its version was written: another one of the same number has another time.
        files: how many live files it has.
        added: how many of them came.
        cubes: what their blocks of one revision add up to: for each cube its id, the smallest of its blocks' smallest
            and the smallest of their largest weights, and its rows. No block is marked as replicated.
    """

    table: str
    committed: int
    files: int
    added: int
    cubes: list[tuple[str, int, int, int]]


#: The version before the first.
NO_VERSION = -1


class TableLog:
    """One version of a table's log: the newest version, or the one that a transaction began on."""

    def __init__(self, spark: SparkSession, path: str, in_java: JavaObject | None = None) -> None:
        """The newest version, or the one that an object of the JVM stands for."""
        self._spark = spark
        newest = java(spark).commit.TableLog.newest
        self._java = newest(spark._jsparkSession, path) if in_java is None else in_java

    @property
    def spark(self) -> SparkSession:
        """The session that reads it."""
        return self._spark

    @property
    def in_java(self) -> JavaObject:
        """The object of the JVM that stands for it."""
        return self._java

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
    def is_partitioned(self) -> bool:
        """Whether the table has partitions, which no indexed one has."""
        return bool(self._java.isPartitioned())

    @property
    def is_clustered(self) -> bool:
        """Whether Delta clusters the table by some columns."""
        return bool(self._java.isClustered())

    @property
    def has_legacy_files(self) -> bool:
        """Whether files of the table were written before format 0.6. One Spark job."""
        return bool(self._java.hasLegacyFiles())

    @property
    def schema(self) -> StructType:
        """The table's schema."""
        return StructType.fromJson(json.loads(self._java.schema()))

    @property
    def prunable_revisions(self) -> set[int]:
        """The revisions whose blocks tell the weights that rows have today, because no hashed column has
        changed since.
        """
        return {int(number) for number in json.loads(self._java.prunableRevisions())}

    @property
    def highest_revision(self) -> int:
        """The largest number of a revision in the tags of files, whether the table has that revision or not."""
        return int(self._java.highestRevision())

    @property
    def key_granularity(self) -> float:
        """The share of the rows that one key may hold, as far as it repeats within writes; 0 for distinct keys."""
        return float(self._java.keyGranularity())

    def weight_of(self, fraction: float) -> int:
        """The weight below which a sample of a fraction lies."""
        return int(self._java.weightOf(float(fraction)))

    def files(self, *, with_statistics: bool = False) -> list[LogEntry]:
        """All live files, in no order.

        One Spark job. It is spared where this process knows an earlier version, and no statistics are asked for.

        Args:
            with_statistics: each entry also has the text of its statistics and its deletion vector, which take most
                memory, and all is read anew from the log.
        """
        with handed_over() as target:
            self._java.filesTo(str(target), with_statistics)
            with target.open(encoding="utf-8") as lines:
                return [LogEntry(**json.loads(line)) for line in lines]

    @property
    def table_id(self) -> str:
        """What Delta calls the table. Another table at the same place has another id."""
        return str(self._java.tableId())

    def added_since(self, version: int, committed: int, revision: int) -> AddedFiles | None:
        """The files that came after a version; all files, after `NO_VERSION`, for which a Spark job may run.

        None where other changes came too, where the version is of a commit that was written at another time, where a
        block is marked, or where it takes a job to know what came.
        """
        with handed_over() as target:
            self._java.addedTo(str(target), version, committed, revision)
            added = json.loads(target.read_bytes())
        return None if added is None else AddedFiles(**added)

    def stored_rows(
        self, spark: SparkSession, files: Sequence[str], columns: Sequence[str], layout: str | None
    ) -> DataFrame:
        """Columns of data files (paths as in the log) as they are stored: rows that deletion vectors hide too.

        Args:
            spark: the session that reads them.
            files: the files.
            columns: names that the columns get.
            layout: how the files hold the columns, as a revision records it; None stands for the table's layout
                of today.

        Raises:
            FormatError: the record names a type that Spark does not have.
        """
        stored = _recorded(layout) if layout else self._stored_today(columns)
        # Paths may be absolute, as the files of a shallow clone lie in another table.
        paths = [locations.file_location(self.path, file) for file in files]
        return parquet_frame(spark, *paths, schema=stored).toDF(*columns)

    @property
    def names_in_files(self) -> dict[str, str]:
        """The table's columns, and what the files written today call them."""
        mapping = mapping_mode(self.configuration)
        return {field.name: name_in_files(field.name, field.metadata, mapping) for field in self.schema}

    def has_widened(self, column: str) -> bool:
        """Whether a column of the table once had a narrower type."""
        return bool(type_changes(self.schema[column].metadata))

    def _stored_today(self, columns: Sequence[str]) -> StructType:
        names, schema = self.names_in_files, self.schema
        return StructType([StructField(names[column], schema[column].dataType) for column in columns])

    def file_frame(self) -> DataFrame:
        """All live files as a DataFrame with the fields of Delta's `AddFile`."""
        return DataFrame(self._java.files(), self._spark)

    def tag_revision(self, tags: Column) -> Column:
        """The revision (bigint) in the tags of a file (map); null for a file without one."""
        return ClassicColumn(self._tag_columns.revision(java_column(tags)))

    def tag_blocks(self, tags: Column) -> Column:
        """The blocks in the tags of a file (map), written today or before format 0.6.

        An array of structs with the names of `core.format.constants`; empty where the file is not indexed or its
        tags are damaged. Marks of replicated blocks that are not true are left out.
        """
        return ClassicColumn(self._tag_columns.blocks(java_column(tags), self._java))

    def tags_are_legacy(self, tags: Column) -> Column:
        """Whether the tags of a file (map) are those of before format 0.6 (boolean)."""
        return ClassicColumn(self._tag_columns.areLegacy(java_column(tags)))

    def tags_are_replicated(self, tags: Column) -> Column:
        """Whether the tags of a file (map) say truly that other files hold all of its rows too (boolean)."""
        return ClassicColumn(self._tag_columns.areReplicated(java_column(tags), self._java))

    def tags_hold_copies(self, tags: Column) -> Column:
        """Whether the tags of a file (map) say truly that other files hold some of its rows too (boolean)."""
        return ClassicColumn(self._tag_columns.holdCopies(java_column(tags), self._java))

    def clean(self, hours: int | None, *, dry_run: bool) -> list[str]:
        """Deletes what stayed behind when writes failed; see `Leftovers.java`. Several Spark jobs.

        Args:
            hours: how old a file has to be; None for the table's own setting.
            dry_run: only list the files.
        """
        clean = java(self._spark).verify.Leftovers.clean
        return json.loads(clean(self._java, -1 if hours is None else hours, dry_run))  # type: ignore[no-any-return]

    @property
    def _tag_columns(self) -> Any:  # noqa: ANN401 (a py4j object)
        return java(self._spark).commit.TagColumns

    def rewrite_entries(
        self,
        operation: str,
        changed: DataFrame,
        dropped: DataFrame,
        settings: Mapping[str, str | None],
        metrics: Mapping[str, str],
    ) -> int | None:
        """One commit on top of this version; see `EntryRewrite.java`. None where another writer came first.

        Args:
            operation: what the table's history calls it.
            changed: files as the log is to tell of them, as `file_frame` has them.
            dropped: files to take out of the table, the same.
            settings: entries of the table's configuration to change; None takes a key out.
            metrics: figures for the table's history.
        """
        commit = java(self._spark).commit.EntryRewrite.commit
        version = commit(self._java, operation, changed._jdf, dropped._jdf, dict(settings), dict(metrics))
        return None if version < 0 else int(version)


def name_parts(spark: SparkSession, name: str) -> list[str]:
    """The catalog, the database and the table that a name in SQL tells, or the last of them.

    Raises:
        ParseException: a text that is no name.
    """
    parts = spark._jsparkSession.sessionState().sqlParser().parseMultipartIdentifier(name)
    return [str(parts.apply(at)) for at in range(parts.size())]


def change_table(spark: SparkSession, path: str, statement: str) -> None:
    """Runs an SQL statement that changes the table at a path by one commit, and gives back no rows."""
    java(spark).commands.WatchedCommand.sql(spark._jsparkSession, path, statement)
