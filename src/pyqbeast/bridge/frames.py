"""Frames made, named and handed out as Arrow tables in ways that Spark's own API does not have."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import pyarrow as pa
from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pyqbeast.arrow_schema import arrow_schema
from pyqbeast.bridge.jvm import active_session_stays, java
from pyqbeast.core.errors import InvalidInputError, UnsupportedError

#: What makes a path a pattern to Hadoop, unless a backslash stands before it.
_PATTERN = re.compile(r"[\[\]{}*?\\]")

#: The scheme of a path and the host behind it, whose colons Hadoop knows for what they are.
_STORE = re.compile(r"^[^/:]+:(//[^/]*)?(?=/)")

#: What Hadoop says of a colon in such a pattern, as it takes that for the end of a scheme.
_COLON = "Relative path in absolute URI"


def check_query(query: object, function: str) -> None:
    """Raises InvalidInputError where a function was given something else than a query."""
    if not isinstance(query, DataFrame):
        raise InvalidInputError(f"{function} takes a DataFrame, such as spark.read…, not {query!r}")


def is_case_sensitive(spark: SparkSession) -> bool:
    """Whether columns whose names differ in case only are different ones to the user of a session."""
    return str(spark.conf.get("spark.sql.caseSensitive", "false")).lower() == "true"


def local_frame(spark: SparkSession, schema: StructType, columns: Sequence[Sequence[object]]) -> DataFrame:
    """A frame of values on the driver.

    It is made from an Arrow table, because Spark reads such a frame without a job.
    """
    types = arrow_schema(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, types, strict=True)]
    return frame_of(spark, pa.Table.from_arrays(arrays, schema=types), schema)


def frame_of(spark: SparkSession, table: pa.Table, schema: StructType) -> DataFrame:
    """A frame of an Arrow table. The session that is active stays active."""
    with active_session_stays(spark):
        return spark.createDataFrame(table, schema)


def parquet_frame(spark: SparkSession, *paths: str, schema: StructType | None = None) -> DataFrame:
    """The rows of Parquet files or folders by their very names, which may hold what is a pattern elsewhere: `[a]`.

    Args:
        spark: reads them.
        paths: where they lie.
        schema: what to read; None for what the files say.

    Raises:
        UnsupportedError: a path holds a colon as well, which Hadoop takes for the end of a scheme in a pattern.
    """
    names = [_PATTERN.sub(r"\\\g<0>", path) for path in paths]
    try:
        return (spark.read.schema(schema) if schema else spark.read).parquet(*names)
    except IllegalArgumentException as error:
        odd = [path for path in paths if ":" in _STORE.sub("", path) and _PATTERN.search(path)]
        if not odd or _COLON not in str(error):
            raise
        raise UnsupportedError(
            f"Spark cannot read files at {odd[0]}: Hadoop takes no path that holds a colon and a sign of patterns, "
            "such as [, { or *; move them to another"
        ) from error


def grouped(frame: DataFrame, groups: Sequence[str], *aggregates: Column) -> DataFrame:
    """Aggregates of a frame by columns of it, behind these columns.

    Spark leaves the columns out in a session that says so by `spark.sql.retainGroupColumns`.
    """
    are_kept = str(frame.sparkSession.conf.get("spark.sql.retainGroupColumns", "true")).lower() == "true"
    return frame.groupBy(*groups).agg(*([] if are_kept else map(F.col, groups)), *aggregates)


def query_frame(spark: SparkSession, text: str) -> DataFrame:
    """The rows of a query given as SQL. A statement that would change something is an error of Spark's parser."""
    return DataFrame(java(spark).estimate.QueryText.frame(spark._jsparkSession, text), spark)


def arrow_table(frame: DataFrame) -> pa.Table:
    """The rows of a frame, which is planned in the thread that asks.

    Spark collects Arrow tables in a thread of its own. Planning there waits for the lock of the catalog, which Spark
    up to 4.1 keeps while it asks a table function for its plan.
    """
    frame._jdf.queryExecution().executedPlan()
    return frame.toArrow()


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
