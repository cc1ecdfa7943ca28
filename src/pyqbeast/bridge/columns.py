"""Columns that only the JVM can compute, and the numbers of dates in them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.classic.column import Column as ClassicColumn

from pyqbeast.bridge.jvm import java, java_column
from pyqbeast.core.format.types import EPOCH_DAY


def coordinate_of(
    spark: SparkSession,
    function: str,
    value: Column,
    argument: Any = None,  # noqa: ANN401 (whatever JSON holds)
) -> Column:
    """The coordinate (double) of a value by a `CoordinateFunction`, named by its class; null for null.

    The function is made of `argument` as JSON, or of nothing.
    """
    text = None if argument is None else json.dumps(argument)
    return ClassicColumn(java(spark).expressions.Columns.coordinate(function, java_column(value), text))


def row_weight(frame: DataFrame, columns: Sequence[str]) -> Column:
    """The weight of a frame's rows (int): the hash of the indexed columns, in order, and then of the weight columns."""
    weight = java(frame.sparkSession).format.HashedColumns.weight(frame._jdf, list(columns))
    return ClassicColumn(weight)


def date_milliseconds(spark: SparkSession, date: Column) -> Column:
    """Milliseconds since 1970 of a date's midnight (long), in the time zone of the JVM that computes it."""
    return ClassicColumn(java(spark).expressions.Columns.dateMilliseconds(java_column(date)))


def midnight_of(spark: SparkSession, day: dt.date) -> int:
    """The same of one day, by the driver's JVM."""
    return int(java(spark).expressions.Midnights.of((day - EPOCH_DAY).days))


def is_midnight(spark: SparkSession, milliseconds: float) -> bool:
    """Whether a day begins so many milliseconds after 1970 did."""
    whole = int(milliseconds)
    return whole == milliseconds and bool(java(spark).expressions.Midnights.isOne(whole))
