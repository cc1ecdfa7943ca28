"""Columns that only the JVM can compute."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyspark.sql import Column, SparkSession
from pyspark.sql.classic.column import Column as ClassicColumn

from pyqbeast.bridge.jvm import java, java_column


def hash_coordinate(spark: SparkSession, value: Column, of_null: float) -> Column:
    """The coordinate of a value in a hashed dimension (double)."""
    return ClassicColumn(java(spark).expressions.Columns.hashCoordinate(java_column(value), of_null))


def place_of_number(spark: SparkSession, number: Column, quantiles: Sequence[float]) -> Column:
    """The place (double) of a number, a double column, among ascending quantiles; null for null."""
    return ClassicColumn(
        java(spark).expressions.Columns.placeOfNumber(java_column(number), json.dumps(list(quantiles)))
    )


def place_of_text(spark: SparkSession, text: Column, quantiles: Sequence[str]) -> Column:
    """The place (double) of a text among ascending quantiles; null for null."""
    return ClassicColumn(
        java(spark).expressions.Columns.placeOfText(java_column(text), json.dumps(list(quantiles)))
    )


def date_milliseconds(spark: SparkSession, date: Column) -> Column:
    """Milliseconds since 1970 of a date's midnight in the JVM's own time zone (long), as the format counts them."""
    return ClassicColumn(java(spark).expressions.Columns.dateMilliseconds(java_column(date)))
