"""Data types: which of Spark's can be indexed, under which name, and dates and times as milliseconds."""

from __future__ import annotations

import datetime as dt

import pytest

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.types import epoch_milliseconds, float32, format_type, type_when_indexed

NAMES = {
    "int": "IntegerDataType",
    "bigint": "LongDataType",
    "double": "DoubleDataType",
    "float": "FloatDataType",
    "decimal(10,2)": "DecimalDataType",
    "timestamp": "TimestampDataType",
    "date": "DateDataType",
    "string": "StringDataType",
    "tinyint": "IntegerDataType",
    "smallint": "IntegerDataType",
    "boolean": "IntegerDataType",
}


@pytest.mark.parametrize(("spark_type", "name"), NAMES.items())
def test_indexable_types(spark_type, name):
    assert format_type("c", spark_type) == name


@pytest.mark.parametrize("spark_type", ["binary", "timestamp_ntz", "array<int>", "struct<a:int>"])
def test_other_types_are_refused_with_column_and_type(spark_type):
    with pytest.raises(InvalidInputError, match="column 'payload'") as caught:
        format_type("payload", spark_type)
    assert spark_type in str(caught.value)


def test_dates_and_times_as_milliseconds():
    utc = dt.timezone.utc
    assert epoch_milliseconds(dt.date(1970, 1, 2)) == 86_400_000
    assert epoch_milliseconds(dt.datetime(1970, 1, 1, 0, 0, 1, 1999, utc)) == 1001
    # Before 1970 as well, what is less than a millisecond is dropped downward.
    assert epoch_milliseconds(dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, utc)) == -1


def test_a_datetime_without_a_zone_is_refused():
    with pytest.raises(InvalidInputError, match="time zone"):
        epoch_milliseconds(dt.datetime(2020, 1, 1))


def test_float32_rounds_and_refuses_what_does_not_fit():
    assert float32(0.1) == 0.10000000149011612
    with pytest.raises(OverflowError):
        float32(1e39)


@pytest.mark.parametrize(
    ("now", "indexed_as", "before"),
    [
        ("int", "IntegerDataType", "int"),
        ("smallint", "IntegerDataType", "smallint"),
        ("bigint", "IntegerDataType", "int"),
        ("double", "IntegerDataType", "int"),
        ("decimal(12,2)", "IntegerDataType", "int"),
        ("double", "FloatDataType", "float"),
        ("timestamp_ntz", "DateDataType", "date"),
        ("decimal(12,2)", "DecimalDataType", "decimal(12,2)"),
    ],
)
def test_the_type_that_a_widened_column_had(now, indexed_as, before):
    assert type_when_indexed(now, indexed_as) == before
