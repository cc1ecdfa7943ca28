"""Hashes and number texts agree with what Scala and Java writers put into tables."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.core.format.jvm_text import (
    first_java_random_double,
    hash_coordinate,
    java_decimal_text,
    java_double_text,
    java_float_text,
    string_hash,
)

COORDINATES = {
    b"": 0.2647087761502288,
    b"a": 0.9137243399926109,
    b"abc": 0.18973754867433457,
    b"abcd": 0.44099800914572457,
    b"student-1": 0.7783273257214237,
    b"qbeast": 0.8343347775909746,
    "é".encode(): 0.4520197438318374,
    "日本".encode(): 0.1796514546403901,
    b"1": 0.24913018394686756,
    b"-5": 0.13275816670281726,
    b"1.0": 0.8899610465811384,
    b"1.5E10": 0.7871333676330435,
    b"0.1": 0.7544163631994354,
    b"1.50": 0.003677099013550719,
    b"1E+3": 0.25617887929835303,
    bytes([1, 2, 3, 4, 5]): 0.8683058823776925,
    b"-1628776639": 0.7649340288550286,
}


@pytest.mark.parametrize(("data", "coordinate"), COORDINATES.items())
def test_published_hash_coordinates(data, coordinate):
    assert hash_coordinate(data) == coordinate


def test_published_string_hash():
    text = '{"minNumber":0,"maxNumber":10,"orderedDataType":"IntegerDataType"}'
    assert string_hash(text) == -398672889


def test_string_hash_counts_utf16_units_and_mixes_an_odd_last_one():
    assert len({string_hash(text) for text in ("", "a", "aa", "aaa", "😀", "😀a")}) == 6


def test_java_random_starts_with_known_doubles():
    # Published in many places: the first doubles of java.util.Random for seeds 0 and 42.
    assert first_java_random_double(0) == 0.730967787376657
    assert first_java_random_double(42) == 0.7275636800328681


DOUBLES = {
    0.0: "0.0",
    1.0: "1.0",
    100.0: "100.0",
    0.001: "0.001",
    0.00099: "9.9E-4",
    9999999.0: "9999999.0",
    1e7: "1.0E7",
    12345678.925: "1.2345678925E7",
    1e16: "1.0E16",
    -1.5e10: "-1.5E10",
    5e-7: "5.0E-7",
    1e21: "1.0E21",
    1.7976931348623157e308: "1.7976931348623157E308",
    5e-324: "4.9E-324",
    0.1 + 0.2: "0.30000000000000004",
    float("inf"): "Infinity",
    float("-inf"): "-Infinity",
}


@pytest.mark.parametrize(("value", "text"), DOUBLES.items())
def test_doubles_print_as_in_java(value, text):
    assert java_double_text(value) == text


def test_negative_zero_and_nan_print_as_in_java():
    assert java_double_text(-0.0) == "-0.0"
    assert java_double_text(float("nan")) == java_float_text(np.float32("nan")) == "NaN"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (1e10, "1.0E10"),
        (3.4028235e38, "3.4028235E38"),
        (1e-45, "1.4E-45"),
        (14285.429, "14285.429"),
    ],
)
def test_floats_print_as_in_java(value, text):
    assert java_float_text(np.float32(value)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [("1.50", "1.50"), ("1E+3", "1E+3"), ("0.0000001", "1E-7"), ("0.000001", "0.000001"), ("-0.00", "0.00")],
)
def test_decimals_print_as_in_java(value, text):
    assert java_decimal_text(Decimal(value)) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_printed_double_reads_back_and_is_marked_as_a_double(value):
    text = java_double_text(value)
    assert float(text) == value
    assert "." in text
    assert ("E" in text) == (value != 0 and not 1e-3 <= abs(value) < 1e7)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_printed_float_reads_back(value):
    assert np.float32(java_float_text(np.float32(value))) == np.float32(value)
