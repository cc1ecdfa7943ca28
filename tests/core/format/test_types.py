"""Data types: which of Spark's can be indexed, under which name, and dates and times as milliseconds."""

from __future__ import annotations

import datetime as dt

import pytest

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.types import (
    epoch_milliseconds,
    float32,
    format_type,
    type_when_indexed,
    unhashed_type,
)

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


def struct_of(*types):
    return {"type": "struct", "fields": [{"name": f"f{at}", "type": each} for at, each in enumerate(types)]}


def array_of(element):
    return {"type": "array", "elementType": element, "containsNull": True}


def test_types_that_make_no_weight_are_found_at_any_depth():
    """Also such as nobody has heard of, and names of fields are no types."""
    a_map = {"type": "map", "keyType": "string", "valueType": "integer", "valueContainsNull": True}
    own = {"type": "udt", "class": "a.Point", "sqlType": array_of("double")}
    for stored, unhashed in (
        ("decimal(10,2)", None),
        ("string collate UTF8_LCASE", None),
        ("timestamp_ntz", None),
        (struct_of(), None),
        (array_of(struct_of("void", own, "binary")), None),
        (a_map, "map"),
        ("variant", "variant"),
        ("geometry(4326)", "geometry"),
        ("geography(any, spherical)", "geography"),
        ("unheard", "unheard"),
        (array_of(struct_of("long", array_of(a_map), "variant")), "map"),
        ({**own, "sqlType": a_map}, "map"),
        (struct_of(*["long"] * 40, "variant"), "variant"),
    ):
        assert unhashed_type(stored) == unhashed, stored
    assert unhashed_type({"type": "struct", "fields": [{"name": "variant", "type": "long"}]}) is None


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
