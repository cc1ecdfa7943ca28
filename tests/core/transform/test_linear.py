"""Linear and Identity: published coordinates, JSON kinds, superseding and merging, and the hard edges."""

from __future__ import annotations

import math
import random
import sys
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.format.json_text import compact_json
from pyqbeast.core.transform.empty import Empty
from pyqbeast.core.transform.hashing import Hash
from pyqbeast.core.transform.linear import Identity, Linear, spanning
from pyqbeast.core.transform.registry import transformation_from_json

INT, LONG, DOUBLE, FLOAT = "IntegerDataType", "LongDataType", "DoubleDataType", "FloatDataType"
PACKAGE = "io.qbeast.core.transform."
RNG = random.Random(7)


def ints(low, high, null=None):
    return Linear(INT, low, high, low if null is None else null)


@pytest.mark.parametrize(
    ("value", "coordinate"),
    [(3, 0.30000000000000004), (7, 0.7000000000000001), (10, 1.0), (-5, -0.5), (20, 2.0), (None, 0.5)],
)
def test_published_coordinates(value, coordinate):
    assert ints(0, 10, 5).coordinate(value) == coordinate


def test_the_distance_is_multiplied_by_a_reciprocal_and_not_divided():
    assert ints(0, 49).coordinate(49) == 0.9999999999999999


def test_published_timestamp_coordinate():
    line = Linear("TimestampDataType", 1483272120000, 1483444920000, 1483300000000)
    assert line.coordinate(1483300000123) == 0.16134330439814815


def test_decimals_count_as_doubles():
    assert Linear("DecimalDataType", 0.0, 10.0, 0.0).coordinate(Decimal(3)) == 0.30000000000000004


def test_nan_and_infinities_have_coordinates_too():
    line = Linear(DOUBLE, 0.0, 10.0, 5.0)
    assert [line.coordinate(x) for x in (math.nan, math.inf, -math.inf)] == [1.0, 1.0, 0.0]


@given(st.lists(st.none() | st.floats()))
def test_arrays_give_what_single_values_give(values):
    line = Linear(DOUBLE, -3.5, 1e6, 12.25)
    nulls = np.array([value is None for value in values], bool)
    array = np.array([math.nan if value is None else value for value in values], float)
    assert line.coordinates(array, nulls).tolist() == [line.coordinate(value) for value in values]
    assert Identity(DOUBLE, 1.0).coordinates(array, nulls).tolist() == [0.0] * len(values)


def test_a_value_that_is_no_number_is_refused():
    with pytest.raises(InvalidInputError, match="number"):
        ints(0, 10).coordinate("3")


def test_a_missing_stand_in_for_null_is_always_the_same():
    fields = {
        "className": PACKAGE + "LinearTransformation",
        "minNumber": 0,
        "maxNumber": 10,
        "orderedDataType": INT,
    }
    assert transformation_from_json(fields) == ints(0, 10, 7)
    fields |= {"minNumber": 0.0, "maxNumber": 10.0, "orderedDataType": DOUBLE}
    assert transformation_from_json(fields) == Linear(DOUBLE, 0.0, 10.0, 9.528412969112951)


TEXTS = [
    (
        Linear(DOUBLE, 0.1, 1e10, 5e-7),
        '"minNumber":0.1,"maxNumber":1.0E10,"nullValue":5.0E-7,"orderedDataType":"DoubleDataType"',
    ),
    (
        Linear("TimestampDataType", 1483272120000, 1483444920000, 1483300000000),
        '"minNumber":1483272120000,"maxNumber":1483444920000,"nullValue":1483300000000,'
        '"orderedDataType":"TimestampDataType"',
    ),
    (
        Linear(FLOAT, 0.10000000149011612, 14285.4287109375, 1.0),
        '"minNumber":0.1,"maxNumber":14285.429,"nullValue":1.0,"orderedDataType":"FloatDataType"',
    ),
    (Linear("DecimalDataType", 5.0, 1e16, 6.0), '"minNumber":5.0,"maxNumber":1.0E16,"nullValue":6.0,'
     '"orderedDataType":"DecimalDataType"'),
]  # fmt: skip


@pytest.mark.parametrize(("line", "fields"), TEXTS)
def test_numbers_are_written_as_their_type_demands(line, fields):
    text = f'{{"className":"{PACKAGE}LinearTransformation",{fields}}}'
    assert compact_json(line.to_json()) == text
    assert transformation_from_json(line.to_json()) == line


def test_an_identity_without_a_value_says_so():
    text = (
        '{"className":"'
        + PACKAGE
        + 'IdentityTransformation","identityValue":null,"orderedDataType":"LongDataType"}'
    )
    assert compact_json(Identity(LONG, None).to_json()) == text


def test_any_kind_of_json_number_is_read():
    fields = {"className": PACKAGE + "LinearTransformation", "nullValue": 1.0}
    assert transformation_from_json(
        {**fields, "minNumber": 0, "maxNumber": 10, "orderedDataType": DOUBLE}
    ) == Linear(DOUBLE, 0.0, 10.0, 1.0)
    assert transformation_from_json(
        {**fields, "minNumber": 0.9, "maxNumber": 1e1, "orderedDataType": LONG}
    ) == Linear(LONG, 0, 10, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"minNumber": "0"},
        {"minNumber": True},
        {"minNumber": math.inf},
        {"minNumber": 10},
        {"maxNumber": None},
        {"orderedDataType": "StringDataType"},
        {"nullValue": [1]},
    ],
)
def test_broken_fields_are_refused(change):
    fields = {"minNumber": 0, "maxNumber": 10, "nullValue": 1, "orderedDataType": INT, **change}
    with pytest.raises(FormatError):
        transformation_from_json({"className": PACKAGE + "LinearTransformation", **fields})


LINE, ONE, NULL = ints(0, 10), Identity(INT, 5), Identity(INT, None)
SUPERSEDED = [
    (LINE, ints(0, 10), False),
    (LINE, ints(2, 8), False),
    (LINE, ints(-1, 5), True),
    (LINE, ints(5, 11), True),
    (LINE, Linear(LONG, 0, 10, 0), True),
    (LINE, ONE, False),
    (LINE, Identity(INT, 11), True),
    (LINE, NULL, False),
    (LINE, Identity(LONG, 5), True),
    (LINE, Empty(), False),
    (LINE, Hash(1), True),
    (ONE, ONE, False),
    (ONE, Identity(INT, 6), True),
    (ONE, NULL, False),
    (NULL, ONE, True),
    (NULL, NULL, False),
    (ONE, LINE, True),
    (ONE, Empty(), False),
    (ONE, Hash(1), True),
]


@pytest.mark.parametrize(("old", "new", "expected"), SUPERSEDED)
def test_superseding(old, new, expected):
    assert old.superseded_by(new) is expected


@pytest.mark.parametrize(
    ("old", "new", "low", "high"),
    [
        (LINE, ints(-5, 3), -5, 10),
        (LINE, ints(5, 30), 0, 30),
        (LINE, Identity(INT, 12), 0, 12),
        (LINE, Identity(INT, -2), -2, 10),
        (ONE, Identity(INT, 9), 5, 9),
        (Identity(INT, 9), ONE, 5, 9),
        (Identity(INT, 20), LINE, 0, 20),
    ],
)
def test_merging_covers_both(old, new, low, high):
    merged = old.merge(new, RNG)
    assert (merged.minimum, merged.maximum) == (low, high)
    assert low <= merged.null_value <= high


@pytest.mark.parametrize(
    ("old", "new", "merged"),
    [
        (LINE, NULL, LINE),
        (LINE, ONE, LINE),
        (LINE, Empty(), LINE),
        (LINE, Hash(1), Hash(1)),
        (ONE, LINE, LINE),
        (NULL, LINE, LINE),
        (ONE, NULL, ONE),
        (NULL, ONE, ONE),
        (ONE, ONE, ONE),
        (ONE, Empty(), ONE),
        (ONE, Hash(1), Hash(1)),
    ],
)
def test_merging_keeps_what_fits(old, new, merged):
    assert old.merge(new, RNG) == merged


LEAST, MOST = 5e-324, sys.float_info.max


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (-1.7e308, 1000.0),
        (-9.9e307, 5.0),
        (0.0, 1.7e308),
        (-5.0, 1.1e308),
        (-MOST, -1.1e308),
        (9e307, MOST),
        (0.0, LEAST),
        (-LEAST, 0.0),
        (1e-310, 2e-310),
        (-1e-310, 1e-310),
        (2e-308, math.nextafter(2e-308, 1.0)),
    ],
)
def test_each_value_between_the_bounds_lies_inside(low, high):
    """Also where one divided by their distance has fewer digits or is no double. The formula is that of all ranges."""
    line = spanning(DOUBLE, low, high, RNG)
    assert isinstance(line, Linear)
    assert (line.minimum <= low, line.maximum >= high, line.unit) == (True, True, 1.0)
    values = [line.minimum, low, low / 2 + high / 2, high, line.maximum, None]
    assert all(0.0 <= line.coordinate(value) <= 1.0 for value in values)
    assert line.coordinate(low) <= line.coordinate(high)
    assert not line.superseded_by(spanning(DOUBLE, low, high, RNG))
    assert not line.superseded_by(Identity(DOUBLE, low))
    assert line.merge(spanning(DOUBLE, low, high, RNG), random.Random(1)).maximum == line.maximum
    assert transformation_from_json(line.to_json()) == line


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_any_two_doubles_make_a_range_that_holds_them(one, other):
    low, high = sorted((one, other))
    line = spanning(DOUBLE, low, high, RNG)
    if low < high:
        assert isinstance(line, Linear)
        assert line.minimum <= low < high <= line.maximum
        assert 0.0 <= line.coordinate(low) <= line.coordinate(high) <= line.coordinate(line.maximum) <= 1.0


def test_a_range_is_that_of_the_data_where_one_can_divide_by_its_distance():
    for low, high in ((-1e308, 1000.0), (0.0, MOST), (0.0, 2e-308), (-MOST, MOST), (-3.5, 1e6)):
        line = spanning(DOUBLE, low, high, RNG)
        assert (line.minimum, line.maximum) == (low, high)


def test_a_stored_range_that_does_not_hold_its_largest_value_is_superseded():
    """By whatever comes, if only nulls. Rows of its largest values were kept without an index."""
    stored = Linear(DOUBLE, -1.7e308, 1000.0, 0.0)
    assert stored.coordinate(1000) == 1.0000000000000002
    for built in (Linear(DOUBLE, 1.0, 2.0, 1.0), Identity(DOUBLE, 5.0), Identity(DOUBLE, None)):
        assert stored.superseded_by(built)
        merged = stored.merge(built, RNG)
        assert 0.0 < merged.coordinate(1000.0) <= 1.0
        assert not merged.superseded_by(built)
    assert not stored.superseded_by(Empty())


@pytest.mark.parametrize(
    ("data_type", "low", "high", "null"),
    [
        (LONG, -9_220_000_000_000_000_000, 9_210_000_000_000_000_000, -9_223_000_000_000_000_000),
        (INT, -(2**31) + 9, 2**31 - 9, 2**31 - 1),
        (DOUBLE, 0.0, 9.0, -0.5),
    ],
)
def test_a_stored_range_whose_stand_in_for_null_lies_outside_is_superseded(data_type, low, high, null):
    """The Scala project draws such ones, as of hashes of 64 bits. Rows with nulls were kept without an index."""
    stored = Linear(data_type, low, high, null)
    for built in (
        Linear(data_type, low + 1, high, low + 1),
        Identity(data_type, high),
        Identity(data_type, None),
    ):
        assert stored.superseded_by(built)
        merged = stored.merge(built, RNG)
        assert (merged.minimum, merged.maximum) == (low, high)
        assert 0.0 <= merged.coordinate(None) <= 1.0
        assert not merged.superseded_by(built)
    assert not stored.superseded_by(Empty())


def test_an_identity_that_was_stored_for_a_small_range_gets_one():
    """Of releases that took no range where one divided by it is no double."""
    line = spanning(DOUBLE, 0.0, LEAST, RNG)
    assert Identity(DOUBLE, 0.0).superseded_by(line)
    assert Identity(DOUBLE, 0.0).merge(line, RNG) == line


@pytest.mark.parametrize("most", [1.7e308, sys.float_info.max])
def test_a_range_that_is_wider_than_all_doubles(most):
    """Such as that of a column where the largest numbers stand for missing ones."""
    line = spanning(DOUBLE, -most, most, RNG)
    assert isinstance(line, Linear)
    values = [-most, -most / 2, 0.0, most / 2, most, math.inf, -math.inf]
    assert [line.coordinate(value) for value in values] == [0.0, 0.25, 0.5, 0.75, 1.0, 1.0, 0.0]
    assert line.coordinates(np.array(values)).tolist() == [line.coordinate(value) for value in values]
    assert 0.0 <= line.coordinate(None) <= 1.0
    assert transformation_from_json(line.to_json()) == line


def test_equal_doubles_of_different_longs_need_no_new_revision():
    assert not Identity(LONG, 2**53).superseded_by(Identity(LONG, 2**53 + 1))


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1), st.integers())
def test_the_stand_in_for_null_lies_inside_the_widest_ranges(one, other, seed):
    low, high = sorted((one, other))
    built = spanning(LONG, low, high, random.Random(seed))
    if isinstance(built, Linear):
        assert low <= built.null_value <= high
        assert 0.0 <= built.coordinate(None) <= 1.0


@given(
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.floats(width=32, min_value=0, max_value=2**20),
)
def test_float_ranges_survive_their_text(low, distance):
    high = float(np.float32(low) + np.float32(distance))
    built = spanning(FLOAT, low, high, random.Random(1))
    assert transformation_from_json(built.to_json()) == built
