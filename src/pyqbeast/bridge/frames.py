"""Frames that only the JVM can make or measure."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pyqbeast.bridge.jvm import java, java_column
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.transform.column_spec import MAX_COLUMNS

#: What makes a path a pattern to Hadoop, unless a backslash stands before it.
_PATTERN = re.compile(r"[\[\]{}*?\\]")
#: Up to Spark 4.1 times are in UTC without being asked for.
_IN_UTC: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_schema).parameters else {}
)


def check_query(query: object, function: str) -> None:
    """Raises InvalidInputError where a function was given something else than a query."""
    if not isinstance(query, DataFrame):
        raise InvalidInputError(f"{function} takes a DataFrame, such as spark.read…, not {query!r}")


def arrow_schema(schema: StructType) -> pa.Schema:
    """Arrow's types of Spark's columns; times are in UTC."""
    return to_arrow_schema(schema, **_IN_UTC)


def local_frame(spark: SparkSession, schema: StructType, columns: Sequence[Sequence[object]]) -> DataFrame:
    """A frame of values on the driver.

    It is made from an Arrow table, because Spark reads such a frame without a job.
    """
    types = arrow_schema(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, types, strict=True)]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema=types), schema)


def parquet_frame(spark: SparkSession, *paths: str, schema: StructType | None = None) -> DataFrame:
    """The rows of Parquet files or folders by their very names, which may hold what is a pattern elsewhere: `[a]`.

    Args:
        spark: reads them.
        paths: where they lie.
        schema: what to read; None for what the files say.
    """
    names = [_PATTERN.sub(r"\\\g<0>", path) for path in paths]
    return (spark.read.schema(schema) if schema else spark.read).parquet(*names)


def query_frame(spark: SparkSession, text: str) -> DataFrame:
    """The rows of a query given as SQL. A statement that would change something is an error of Spark's parser."""
    return DataFrame(java(spark).estimate.QueryText.frame(spark._jsparkSession, text), spark)


def arrow_table(frame: DataFrame) -> pa.Table:
    """The rows of a frame, which is planned in the thread that asks.

    Spark collects Arrow tables in a thread of its own. Planning there waits for the lock of the catalog, which Spark
    up to 4.1 keeps while it asks a function such as `qbeast_estimate` for its rows.
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


def arranged(data: DataFrame, point: Sequence[Column], weight: Column, tree: bytes) -> DataFrame:
    """The rows shuffled to the files of a tree, one partition a file. `Tree.java` describes the bytes of the tree."""
    package = java(data.sparkSession)
    columns = [java_column(column) for column in (*point, weight)]
    return DataFrame(
        package.layout.RowShuffle.of(data._jdf, columns, package.layout.Tree(tree)), data.sparkSession
    )


#: Bits of a cube's long that tell of a child which the tree does not have: its number plus one. See `Tree.java`.
_MISSING_CHILD_BITS = MAX_COLUMNS + 1

#: The cube of rows that lie outside the revision's space.
OUTSIDE = -1


def read_cube(cube: int) -> tuple[int, int | None]:
    """Splits the long that stands for a cube: its node, and the child's number if the cube is a missing child
    of that node.
    """
    child = cube & ((1 << _MISSING_CHILD_BITS) - 1)
    return cube >> _MISSING_CHILD_BITS, child - 1 if child else None


def sample_to(data: DataFrame, columns: Sequence[Column], rows: int, target: Path) -> None:
    """Samples doubles and longs of a frame's rows, with the weight last, into a file; see `Sampler.java`."""
    asked = [java_column(column) for column in columns]
    java(data.sparkSession).layout.Sampler.sample(data._jdf, asked, rows, str(target))


class ScanTotals(NamedTuple):
    """What the file scans of a query opened: files, their bytes, and the rows they handed on."""

    files: int
    bytes: int
    rows: int


def scan_totals(query: DataFrame) -> ScanTotals:
    """The totals of a query that has run, from Spark's own metrics of its file scans."""
    return ScanTotals(*java(query.sparkSession).explain.Scans.totals(query._jdf))
