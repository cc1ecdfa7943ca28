"""Columns that only the JVM can compute."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyspark.sql import Column, SparkSession
from pyspark.sql.classic.column import Column as ClassicColumn

from pyqbeast.bridge.jvm import java, java_column
from pyqbeast.bridge.table_log import TableLog


def tag_revision(spark: SparkSession, tags: Column) -> Column:
    """The revision (bigint) that the tags of a file (map) tell; null for a file that has none."""
    return ClassicColumn(java(spark).commit.TagColumns.revision(java_column(tags)))


def tag_blocks(log: TableLog, tags: Column) -> Column:
    """The blocks that the tags of a file (map) of a table tell, of today and of before format 0.6.

    An array of structs with the names of `core.format.constants`; empty where the file is not indexed or its tags
    are damaged.
    Marks of replicated blocks that are not true are left out.
    """
    return ClassicColumn(java(log._spark).commit.TagColumns.blocks(java_column(tags), log._java))


def tags_are_legacy(spark: SparkSession, tags: Column) -> Column:
    """Whether the tags of a file (map) are those of before format 0.6 (boolean)."""
    return ClassicColumn(java(spark).commit.TagColumns.areLegacy(java_column(tags)))


def tags_are_replicated(log: TableLog, tags: Column) -> Column:
    """Whether the tags of a file (map) of a table say truly that other files hold its rows too (boolean)."""
    return ClassicColumn(java(log._spark).commit.TagColumns.areReplicated(java_column(tags), log._java))


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
