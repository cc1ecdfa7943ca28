"""The data files and deletion vectors behind one version of a table's log: what storage lists, and what is in them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.classic.column import Column as ClassicColumn

from pyqbeast.bridge.jvm import handed_over, java, java_column, session_of
from pyqbeast.bridge.table_log import TableLog
from pyqbeast.delta_log.log_entry import FileOnDisk


def files_on_disk(log: TableLog) -> tuple[list[FileOnDisk], list[tuple[str, int]]]:
    """The live files, and the locations and sizes of files in the table's folder that no version within its retention
    names.
    """
    with handed_over() as target:
        java(log.spark).verify.FilesOnDisk.listTo(log.in_java, str(target))
        with target.open(encoding="utf-8") as lines:
            *files, orphans = [json.loads(line) for line in lines]
    return [FileOnDisk(**file) for file in files], [(location, size) for location, size in orphans]


def rows_of_footers(log: TableLog, files: Sequence[str]) -> dict[str, int | str]:
    """The rows of each data file, of which these are the locations, or why it cannot be read. One Spark job."""
    with handed_over(json.dumps(files)) as request, handed_over() as target:
        java(log.spark).verify.Footers.rowsTo(log.in_java, str(request), str(target))
        footers = json.loads(target.read_text("utf-8"))
    return {location: rows if problem is None else problem for location, rows, problem in footers}


def lenient_session(spark: SparkSession) -> SparkSession:
    """A session in which a damaged file ends with its last row that can be read, and stops no query."""
    copy = java(spark).verify.FileContents.lenient(spark._jsparkSession)
    return session_of(spark.sparkContext, copy)


def live_rows(log: TableLog, spark: SparkSession, files: Mapping[str, tuple[int, int]]) -> DataFrame:
    """The rows of some live files that no deletion vector hides, for the session `spark` to read.

    `files` tells for each path in the log the bytes of the file and how many of its rows are hidden, whatever the log
    says.
    """
    with handed_over(json.dumps(files)) as request:
        return DataFrame(
            java(spark).verify.FileContents.rows(log.in_java, spark._jsparkSession, str(request)), spark
        )


def file_statistics(log: TableLog) -> Column:
    """What Delta stores of the rows of a file: a struct, as an aggregate over columns with their names in the files."""
    return ClassicColumn(java(log.spark).verify.FileContents.statistics(log.in_java))


def file_location(spark: SparkSession, name: Column) -> Column:
    """The whole location that `input_file_name()` stands for, spelled as that of `FileOnDisk`."""
    return ClassicColumn(java(spark).verify.FileContents.location(java_column(name)))


def vector_contents(log: TableLog, location: Column, offset: Column, size: Column) -> Column:
    """A struct of the deletion vector in a file: `rows`, `last` of them, or the `problem` of reading it.

    Null where the location is null. Offset and size are ints.
    """
    columns = map(java_column, (location, offset, size))
    return ClassicColumn(java(log.spark).verify.FileContents.vector(log.in_java, *columns))
