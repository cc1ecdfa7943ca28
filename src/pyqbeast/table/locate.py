"""Finds an indexed table by its path or by its name in the catalog."""

from __future__ import annotations

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

from pyqbeast import bridge
from pyqbeast.core.errors import NotIndexedError, TableNotFoundError
from pyqbeast.core.format.names import quoted_name
from pyqbeast.core.location import Location, location_text
from pyqbeast.core.revisions.revision import RevisionSet, revisions_of_indexed

#: Spark's catalog has databases and none inside them, and a name of another catalog that is not there looks like one.
_TOO_MANY_PARTS = "REQUIRES_SINGLE_PART_NAMESPACE"


def existing(log: bridge.TableLog, path: str) -> bridge.TableLog:
    """The log of the table at a path.

    Raises:
        TableNotFoundError: there is no table, or none any more.
    """
    if not log.exists:
        raise TableNotFoundError(
            f"there is no Delta table at {path}; Parquet files there become an indexed one by "
            f"pyqbeast.convert(spark, {f'parquet.{quoted_name(path)}'!r}, columns_to_index=[…])"
        )
    return log


def indexed_revisions(log: bridge.TableLog, path: str) -> RevisionSet:
    """The revisions of a version of the table at a path. They may be damaged.

    Raises:
        TableNotFoundError: there is no table.
        NotIndexedError: there is one, and it is not indexed.
    """
    existing(log, path)
    revisions = revisions_of_indexed(path, log.configuration, is_partitioned=log.is_partitioned)
    return revisions.named_as(log.schema.names)


def path_of_name(spark: SparkSession, name: str) -> str:
    """Where the table of a name (`db.table`) in the session's catalog lies.

    Raises:
        TableNotFoundError: there is no table.
        NotIndexedError: there is one, and it is no Delta table.
    """
    if not is_name(spark, name):
        raise TableNotFoundError(f"there is no table {name!r} in the catalog; for a path call for_path")
    location = delta_location(spark, name)
    if location is None:
        raise NotIndexedError(f"{name!r} is not a Delta table, and so not an indexed one")
    return location


def delta_location(spark: SparkSession, name: str) -> str | None:
    """Where the Delta table of a name in the session's catalog lies; None where another kind of table has the name.

    Raises:
        NotIndexedError: it is the name of a view.
    """
    # Delta takes words such as `history` for no name without backticks.
    quoted = ".".join(map(quoted_name, bridge.name_parts(spark, name)))
    try:
        detail = spark.sql(f"DESCRIBE DETAIL {quoted}").select("location", "format").first()
    except AnalysisException as error:
        if not (error.getCondition() or "").startswith("EXPECT_TABLE_NOT_VIEW"):
            raise
        raise NotIndexedError(f"{name!r} is a view and no table: name the table that it reads") from None
    return str(detail["location"]) if detail is not None and detail["format"] == "delta" else None


def find_path(spark: SparkSession, path_or_name: Location) -> str:
    """The path of an indexed table, given its name in the catalog or its path. A name comes first.

    Raises:
        InvalidInputError: it is no text and no path.
        TableNotFoundError: there is neither.
        NotIndexedError: there is one, and it is not indexed.
    """
    text = location_text(path_or_name)
    has_name = is_name(spark, text)
    path = path_of_name(spark, text) if has_name else text
    try:
        indexed_revisions(bridge.TableLog(spark, path), path)
    except TableNotFoundError:
        if has_name:
            raise
        raise TableNotFoundError(
            f"{text!r} is neither a table of the catalog nor the path of a Delta table"
        ) from None
    return path


def is_name(spark: SparkSession, text: str) -> bool:
    """Whether a text is the name of a table in the catalog. A path cannot be read as a name."""
    try:
        return spark.catalog.tableExists(text)
    except ParseException:
        return False
    except AnalysisException as error:
        if error.getCondition() != _TOO_MANY_PARTS:
            raise
        return False
