"""Columns that read the tags of a table's files, one file a row, without a Python object for each."""

from __future__ import annotations

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from pyqbeast.core import facts
from pyqbeast.delta import bridge

_BLOCK_TYPE = ArrayType(
    StructType(
        [
            StructField(facts.BLOCK_CUBE_ID, StringType()),
            StructField(facts.BLOCK_CUBE, StringType()),
            StructField(facts.BLOCK_MIN_WEIGHT, IntegerType()),
            StructField(facts.BLOCK_MAX_WEIGHT, IntegerType()),
            StructField(facts.BLOCK_ELEMENT_COUNT, LongType()),
            StructField(facts.BLOCK_REPLICATED, BooleanType()),
        ]
    )
)


def legacy_block(spark: SparkSession, tags: Column) -> Column:
    """The text of the `blocks` tag that says what the tags of before format 0.6 say; null where they are damaged."""
    low = tags[facts.LEGACY_TAG_MIN_WEIGHT].try_cast("int")
    high = tags[facts.LEGACY_TAG_MAX_WEIGHT].try_cast("int")
    rows = tags[facts.LEGACY_TAG_ELEMENT_COUNT].try_cast("bigint")
    block = F.struct(
        tags[facts.LEGACY_TAG_CUBE].alias(facts.BLOCK_CUBE_ID),
        low.alias(facts.BLOCK_MIN_WEIGHT),
        high.alias(facts.BLOCK_MAX_WEIGHT),
        rows.alias(facts.BLOCK_ELEMENT_COUNT),
        bridge.tags_are_replicated(spark, tags).alias(facts.BLOCK_REPLICATED),
    )
    usable = low.isNotNull() & high.isNotNull() & rows.isNotNull()
    return F.when(usable, F.to_json(F.array(block)))


def blocks(spark: SparkSession, tags: Column) -> Column:
    """The blocks of a file as an array of structs, whichever way its tags tell them."""
    legacy = F.when(bridge.tags_are_legacy(spark, tags), legacy_block(spark, tags))
    return F.from_json(F.coalesce(tags[facts.TAG_BLOCKS], legacy), _BLOCK_TYPE)
