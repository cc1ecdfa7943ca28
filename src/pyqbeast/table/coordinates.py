"""From the columns of a table to the numbers that the index works with, as Spark column expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from pyqbeast import bridge
from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.constants import HASH_SEED
from pyqbeast.core.format.types import STRING
from pyqbeast.core.revisions.revision import Revision
from pyqbeast.core.transform.registry import (
    Hash,
    Identity,
    IdentityToZero,
    Linear,
    NullToZero,
    NumericQuantiles,
    TextPlaces,
    Transformation,
)
from pyqbeast.core.transform.transformer import HASHING, Transformer

assert HASH_SEED == 42  # Spark's `hash` takes no seed

#: What stands for a row outside the space of a revision; no coordinate is negative.
_OUTSIDE = -1.0


def quoted(column: str) -> Column:
    """A top-level column by its exact name, dots and spaces included."""
    return F.col("`" + column.replace("`", "``") + "`")


def weight(columns: Sequence[str]) -> Column:
    """The weight of a row (int): Spark's hash of the indexed columns, in the order of the index."""
    return F.hash(*(quoted(column) for column in columns))


def measured(
    spark: SparkSession, transformer: Transformer, text_places: Transformation | None, spark_type: str
) -> Column:
    """What a pass over the data looks at; null for null.

    For a column of numbers the value: longs for whole numbers, milliseconds for dates and timestamps, else
    doubles. For a hashed column and for texts in order the coordinate (double), which needs no data to be known;
    `text_places` is the transformation of the latter, None where nobody gave its quantiles.
    """
    value = quoted(transformer.column)
    if transformer.kind == HASHING:
        return F.when(
            value.isNotNull(), bridge.hash_coordinate(spark, number_of(spark, value, spark_type), 0.0)
        )
    if isinstance(text_places, TextPlaces):
        return bridge.place_of_text(spark, value, text_places.texts)
    if transformer.data_type == STRING:
        return F.lit(None).cast("double")
    return number_of(spark, value, spark_type)


def number_of(spark: SparkSession, value: Column, spark_type: str) -> Column:
    """A value without the types that neither Java's numbers nor its texts stand for."""
    if spark_type in ("tinyint", "smallint", "int", "boolean"):
        return value.cast("int").cast("bigint")
    if spark_type == "timestamp":
        return F.unix_millis(value)
    if spark_type == "date":
        return bridge.date_milliseconds(spark, value)
    return value


def coordinate(
    spark: SparkSession, transformer: Transformer, transformation: Transformation, spark_type: str
) -> Column:
    """The coordinate of a row in one dimension (double, never null); negative outside the revision's space."""
    value = number_of(spark, quoted(transformer.column), spark_type)
    if isinstance(transformation, Hash):
        return bridge.hash_coordinate(spark, value, transformation.coordinate(None))
    if isinstance(transformation, TextPlaces):
        place = bridge.place_of_text(spark, value, transformation.texts)
        return F.coalesce(place, F.lit(transformation.coordinate(None)))
    if isinstance(transformation, IdentityToZero | NullToZero):
        transformation = transformation.as_identity(str(transformer.data_type))
    number = value.cast("double")
    if isinstance(transformation, NumericQuantiles):
        place = bridge.place_of_number(spark, number, transformation.quantiles)
        return F.coalesce(place, F.lit(transformation.coordinate(None)))
    if isinstance(transformation, Linear):
        point = (number - F.lit(float(transformation.minimum))) * F.lit(transformation.scale)
        low, high = transformation.coordinate(float("-inf")), transformation.coordinate(float("inf"))
        inside = _unless_infinite(point, number, spark_type, low, high)
        return F.coalesce(inside, F.lit(transformation.coordinate(None)))
    if isinstance(transformation, Identity):
        known = F.lit(None) if transformation.value is None else F.lit(float(transformation.value))
        inside = F.when(number == known, 0.0).otherwise(_OUTSIDE)
        return F.when(value.isNull(), 0.0).otherwise(_unless_infinite(inside, number, spark_type, 0.0, 0.0))
    raise FormatError(
        f"column {transformer.column!r}: rows cannot be indexed by {type(transformation).__name__}; overwrite the "
        "table to index it anew"
    )


def coordinates(spark: SparkSession, revision: Revision, types: Mapping[str, str]) -> list[Column]:
    """The coordinates of a row in all dimensions of a revision; `types` has the Spark type of each column."""
    return [
        coordinate(spark, transformer, transformation, types[transformer.column])
        for transformer, transformation in zip(revision.transformers, revision.transformations, strict=True)
    ]


def _unless_infinite(point: Column, number: Column, spark_type: str, low: float, high: float) -> Column:
    """NaN counts as the largest number, as it does everywhere in Spark."""
    if spark_type not in ("float", "double"):
        return point
    infinite = F.lit(float("inf"))
    return (
        F.when(F.isnan(number) | (number == infinite), high).when(number == -infinite, low).otherwise(point)
    )
