"""From the columns of a table to the numbers that the index works with, as Spark column expressions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from pyqbeast import bridge
from pyqbeast.core.format.names import quoted_name
from pyqbeast.core.revisions.revision import Revision
from pyqbeast.core.transform.base import Transformation, Transformer
from pyqbeast.core.transform.expressions import OUTSIDE

_FRACTIONAL = ("float", "double", "decimal")

#: Columns made before. Making one takes dozens of calls to the JVM, and each write to a table asks for the same ones.
#: Their keys have transformations as texts: Python takes `Hash(0)` and `Hash(0.0)` for equal, which are other texts for
#: a null.
_MADE: WeakKeyDictionary[SparkContext, dict[Hashable, Column]] = WeakKeyDictionary()
_MOST_MADE = 200


def _made_once(spark: SparkSession, key: Hashable, make: Callable[[], Column]) -> Column:
    made = _MADE.setdefault(spark.sparkContext, {})
    column = made.get(key)
    if column is None:
        if len(made) >= _MOST_MADE:
            made.clear()
        column = made[key] = make()
    return column


def quoted(column: str) -> Column:
    """A top-level column by its exact name, dots and spaces included."""
    return F.col(quoted_name(column))


def number_of(spark: SparkSession, value: Column, spark_type: str) -> Column:
    """A value in a type that the JVM side takes: dates and timestamps become milliseconds, integers and
    booleans longs.
    """
    if spark_type in ("tinyint", "smallint", "int", "boolean"):
        return value.cast("int").cast("bigint")
    if spark_type == "timestamp":
        return F.unix_millis(value)
    if spark_type == "date":
        return bridge.date_milliseconds(spark, value)
    return value


@dataclass(frozen=True)
class _SparkColumn:
    """An `IndexedColumn` of rows in Spark."""

    spark: SparkSession
    name: str
    data_type: str
    spark_type: str

    @property
    def value(self) -> Column:
        return number_of(self.spark, quoted(self.name), self.spark_type)

    @property
    def number(self) -> Column:
        return self.value.cast("double")

    def literal(self, number: float) -> Column:
        return F.lit(number)

    def where_equal(self, number: float) -> Column:
        return F.when(self.number == F.lit(number), 0.0).otherwise(OUTSIDE)

    def unless_infinite(self, expression: Column, high: float) -> Column:
        """NaN counts as the largest number, as it does everywhere in Spark."""
        if self.spark_type not in ("float", "double"):
            return expression
        number, infinite = self.number, F.lit(float("inf"))
        is_high, is_low = F.isnan(number) | (number == infinite), number == -infinite
        return F.when(is_high, high).when(is_low, 0.0).otherwise(expression)

    def jvm(self, function: str, value: Column, argument: Any = None) -> Column:  # noqa: ANN401
        return bridge.coordinate_of(self.spark, function, value, argument)

    def coordinate_column(self, transformation: Transformation) -> Column:
        """The coordinate of a row; null for null."""
        return F.when(quoted(self.name).isNotNull(), transformation.coordinate_column(self))


def _column(spark: SparkSession, transformer: Transformer, spark_type: str) -> _SparkColumn:
    return _SparkColumn(spark, transformer.column, str(transformer.data_type), spark_type)


def measured(
    spark: SparkSession, transformer: Transformer, known: Transformation | None, spark_type: str
) -> Column:
    """What the pass over the data measures of a column (long or double); null for null.

    It measures the value of a column that needs bounds. Of other columns it measures the coordinate, by the
    transformation `known`, which is None if nobody stated what the kind needs.
    """

    def make() -> Column:
        of = _column(spark, transformer, spark_type)
        if transformer.needs_bounds:
            return of.number if spark_type.startswith(_FRACTIONAL) else of.value.cast("bigint")
        return F.lit(None).cast("double") if known is None else of.coordinate_column(known)

    return _made_once(spark, ("measured", transformer, repr(known), spark_type), make)


def coordinate(
    spark: SparkSession, transformer: Transformer, transformation: Transformation, spark_type: str
) -> Column:
    """The coordinate of a row in one dimension (double, never null); negative outside the revision's space."""

    def make() -> Column:
        known = _column(spark, transformer, spark_type).coordinate_column(transformation)
        return F.coalesce(known, F.lit(transformation.coordinate(None)))

    return _made_once(spark, (transformer, repr(transformation), spark_type), make)


def coordinates(spark: SparkSession, revision: Revision, types: Mapping[str, str]) -> list[Column]:
    """The coordinates of a row in all dimensions of a revision; `types` has the Spark type of each column."""
    return [
        coordinate(spark, transformer, transformation, types[transformer.column])
        for transformer, transformation in zip(revision.transformers, revision.transformations, strict=True)
    ]
