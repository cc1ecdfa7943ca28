"""The text of columnStats: values by type, time zones, and clear refusals."""

from __future__ import annotations

import pytest

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.types import epoch_milliseconds
from pyqbeast.core.transform.base import ColumnStatistics
from pyqbeast.core.transform.column_stats import parse_column_stats
from pyqbeast.core.transform.registry import transformer_for

HOUR = 3_600_000


def column(kind, data_type):
    return [transformer_for("c", kind, f"{data_type}DataType")]


def parsed(text, transformers, zone="UTC"):
    return parse_column_stats(
        text, transformers, zone=zone, midnight=epoch_milliseconds, case_sensitive=False
    )


def bounds(text, data_type, zone="UTC"):
    found = parsed(text, column("linear", data_type), zone).columns["c"]
    return found.minimum, found.maximum


@pytest.mark.parametrize(
    ("data_type", "text", "expected"),
    [
        ("Integer", '{"c_min": -5, "c_max": 7.0}', (-5, 7)),
        ("Long", '{"c_min": 0, "c_max": 9007199254740993}', (0, 2**53 + 1)),
        ("Double", '{"c_min": 0, "c_max": 1e3}', (0.0, 1000.0)),
        ("Float", '{"c_min": 0.1, "c_max": 1}', (0.10000000149011612, 1.0)),
        ("Decimal", '{"c_min": 1.5, "c_max": 2}', (1.5, 2.0)),
        ("Date", '{"c_min": "1970-01-01", "c_max": "1970-01-03"}', (0, 48 * HOUR)),
        ("Timestamp", '{"c_min": 1, "c_max": 2.5}', (1000, 2500)),
        (
            "Timestamp",
            '{"c_min": "0001-01-01", "c_max": 253402300799}',
            (-62_135_596_800_000, 253_402_300_799_000),
        ),
    ],
)
def test_bounds_by_type(data_type, text, expected):
    assert bounds(text, data_type) == expected


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("1970-01-01 00:00:00", -9),
        ("1970-01-01", -9),
        ("1970-01-01T00:00:00", -9),
        ("1970-01-01 00:00:00.000000Z", -9),  # a plain letter in the older format, in the session's zone
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.000+02:00", -2),
        ("1970-01-01 00:00:00-0130", 1.5),
    ],
)
def test_timestamps_without_an_offset_are_in_the_given_zone(text, hours):
    stated = f'{{"c_min": "{text}", "c_max": "2000-01-01"}}'
    assert bounds(stated, "Timestamp", "Asia/Tokyo")[0] == hours * HOUR
    assert bounds(stated, "Timestamp", "+09:00")[0] == hours * HOUR


def test_what_is_less_than_a_millisecond_is_dropped_downward():
    stated = '{"c_min": "1969-12-31 23:59:59.999999", "c_max": "1970-01-01 00:00:00.001999"}'
    assert bounds(stated, "Timestamp") == (-1, 1)


def test_quantiles_and_histograms():
    numbers = parsed('{"c_quantiles": [1, 2.5, 2.5]}', column("quantiles", "Integer"))
    assert numbers.columns == {"c": ColumnStatistics(quantiles=(1.0, 2.5, 2.5))}
    texts = parsed('{"c_quantiles": ["a", "😀", "～"]}', column("quantiles", "String"))
    assert texts.columns == {"c": ColumnStatistics(quantiles=("a", "😀", "～"))}
    histogram = parsed('{"c_histogram": ["a", "b"]}', column("histogram", "String"))
    assert histogram.columns == {"c": ColumnStatistics(histogram=("a", "b"))}


def test_single_quotes_are_accepted():
    text = """{"c_quantiles": ['a', 'b "x"', 'it\\'s', "o'k"]}"""
    found = parsed(text, column("quantiles", "String")).columns["c"]
    assert found.quantiles == ("a", 'b "x"', "it's", "o'k")


def test_keys_that_fit_no_indexed_column_are_named():
    found = parsed('{"c_min": 1, "c_max": 2, "d_min": 3}', column("hashing", "Integer"))
    assert (found.columns, found.unused) == ({}, ["c_min", "c_max", "d_min"])


@pytest.mark.parametrize("text", ["", "  ", "{}", '{"c_min": null, "c_max": null}'])
def test_nothing_said_is_nothing_known(text):
    assert parsed(text, column("linear", "Integer")).columns == {}


@pytest.mark.parametrize(
    ("kind", "data_type", "text", "message"),
    [
        ("linear", "Integer", "c_min=1", "JSON object such as"),
        ("linear", "Integer", "[1, 2]", "JSON object such as"),
        ("linear", "Integer", '{"c_min": 1}', "one bound of column 'c' only: add 'c_max'"),
        ("linear", "Integer", '{"c_min": 1, "c_max": 1}', "c_min below c_max, not 1 and 1"),
        ("linear", "Integer", '{"c_min": 1, "c_max": 3000000000}', "whole number of 32 bits"),
        ("linear", "Integer", '{"c_min": 1.5, "c_max": 3}', "whole number of 32 bits, not 1.5"),
        ("linear", "Integer", '{"c_min": true, "c_max": 3}', "finite number, not True"),
        ("linear", "Double", '{"c_min": NaN, "c_max": 3}', "finite number"),
        ("linear", "Double", '{"c_min": 0, "c_max": 1' + "0" * 400 + "}", "finite number"),
        ("linear", "Float", '{"c_min": 0, "c_max": 1e39}', "32-bit float"),
        ("linear", "Date", '{"c_min": "20240101", "c_max": "2024-01-02"}', "a date such as"),
        ("linear", "Date", '{"c_min": "2024-02-30", "c_max": "2024-03-02"}', "a date such as"),
        ("linear", "Timestamp", '{"c_min": "yesterday", "c_max": "2024-03-02"}', "a timestamp such as"),
        ("linear", "Timestamp", '{"c_min": "2024-01-01 00:00+99:00", "c_max": 9}', "a timestamp such as"),
        ("linear", "Timestamp", '{"c_min": "2024-13-01", "c_max": "2024-03-02"}', "a timestamp such as"),
        (
            "linear",
            "Timestamp",
            '{"c_min": 1700000000000, "c_max": 1800000000000}',
            "are seconds, and only their qu",
        ),
        (
            "linear",
            "Timestamp",
            '{"c_min": -1e11, "c_max": 0}',
            "c_min is no moment of the years 1 to 9999: -1",
        ),
        ("quantiles", "Integer", '{"c_quantiles": [1]}', "at least two numbers"),
        ("quantiles", "Integer", '{"c_quantiles": [1, "b"]}', "finite number, not 'b'"),
        ("quantiles", "String", '{"c_quantiles": ["a", 1]}', "hold texts, not 1"),
        ("quantiles", "Integer", '{"c_quantiles": [2, 1]}', "ascending, but 1.0 comes after 2.0"),
        ("quantiles", "String", '{"c_quantiles": ["～", "😀"]}', "ascending"),
    ],
)
def test_what_is_refused(kind, data_type, text, message):
    with pytest.raises(InvalidInputError, match=message):
        parsed(text, column(kind, data_type))


def test_an_unknown_zone_is_refused():
    stated = '{"c_min": "1970-01-01", "c_max": "2000-01-01"}'
    with pytest.raises(InvalidInputError, match="'Mars/Olympus' is not known"):
        bounds(stated, "Timestamp", "Mars/Olympus")


@pytest.mark.parametrize(
    "text", ['{"c_min": 1, "C_min": 0, "c_max": 3}', '{"C_MIN": 0, "c_max": 3, "c_min": 1}']
)
def test_two_keys_that_state_one_bound_differently_are_refused(text):
    """It was the last one that counted."""
    columns = column("linear", "Long")
    with pytest.raises(InvalidInputError, match="state c_min as"):
        parsed(text, columns)
    assert parsed(text.replace("0", "1"), columns).columns["c"] == ColumnStatistics(1, 3)
    found = parse_column_stats(text, columns, zone="UTC", midnight=epoch_milliseconds, case_sensitive=True)
    assert (found.columns["c"], len(found.unused)) == (ColumnStatistics(1, 3), 1)
