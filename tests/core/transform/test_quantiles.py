"""Quantiles and histograms: places in a list, equal items included, and how they follow one another."""

from __future__ import annotations

import math
import random
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.format.json_text import compact_json
from pyqbeast.core.transform.empty import Empty
from pyqbeast.core.transform.hashing import Hash
from pyqbeast.core.transform.quantiles import NumericQuantiles
from pyqbeast.core.transform.registry import transformation_from_json
from pyqbeast.core.transform.text_quantiles import DEFAULT_HISTOGRAM, StringHistogram, StringQuantiles

DOUBLE = "DoubleDataType"
PACKAGE = "io.qbeast.core.transform."
REPEATED = NumericQuantiles((1.0,) * 6 + (100.0,) * 3, DOUBLE)
RNG = random.Random(0)

ascending = st.lists(st.floats(-100, 100), min_size=2, max_size=12).map(sorted).map(tuple)


@pytest.mark.parametrize(
    ("value", "coordinate"),
    [
        (0, 0.0),
        (1, 0.5),
        (2, 0.6262626262626263),
        (99, 0.7487373737373737),
        (100, 0.75),
        (101, 1.0),
        (None, 0.0),
    ],
)
def test_published_places_among_repeated_quantiles(value, coordinate):
    assert REPEATED.coordinate(value) == coordinate


def test_decimals_nan_and_infinities_have_places():
    assert REPEATED.coordinate(Decimal(2)) == REPEATED.coordinate(2.0)
    assert [REPEATED.coordinate(x) for x in (math.nan, math.inf, -math.inf)] == [1.0, 1.0, 0.0]


def test_places_that_were_measured_are_coordinates():
    """A pass over the rows has found them; only nulls are left to place."""
    places, nulls = np.array([0.25, 0.0, 1.0]), np.array([False, True, False])
    assert REPEATED.coordinates(places).tolist() == [0.25, 0.0, 1.0]
    assert StringHistogram(("a", "null")).coordinates(places, nulls).tolist() == [0.25, 1.0, 1.0]


@given(ascending, st.floats(-120, 120), st.floats(-120, 120))
def test_places_keep_the_order_of_values(quantiles, one, other):
    places = NumericQuantiles(quantiles, DOUBLE)
    low, high = (places.coordinate(value) for value in sorted((one, other)))
    assert 0.0 <= low <= high <= 1.0


def test_texts_have_steps_and_no_lines_between():
    places = StringQuantiles(("b", "d", "f"))
    found = [places.coordinate(text) for text in ("a", "b", "c", "d", "e", "f", "g", None)]
    assert found == [0.0, 0.0, 0.0, 0.5, 0.5, 1.0, 1.0, 0.0]


def test_texts_are_ordered_by_utf16_units():
    # U+1F600 is larger than U+FF5E, but its first UTF-16 unit is smaller.
    places = StringQuantiles(("a", "😀", "～"))
    assert [places.coordinate(text) for text in ("😀", "～")] == [0.5, 1.0]


def test_a_histogram_looks_null_up_as_a_text():
    places = StringHistogram(("a", "null", "z"))
    assert places.coordinate(None) == places.coordinate("null") == 0.5


def test_a_text_place_of_a_number_is_refused():
    with pytest.raises(InvalidInputError, match="text"):
        StringQuantiles(("a", "b")).coordinate(3)


@pytest.mark.parametrize(
    ("places", "text"),
    [
        (
            NumericQuantiles((0.1, 1.0, 1e7, 1e21), "LongDataType"),
            'CDFNumericQuantilesTransformation","quantiles":[0.1,1.0,1.0E7,1.0E21],"dataType":"LongDataType"}',
        ),
        (StringQuantiles(("a", 'é"q')), 'CDFStringQuantilesTransformation","quantiles":["a","é\\"q"]}'),
        (StringHistogram(("a", "b")), 'StringHistogramTransformation","histogram":["a","b"]}'),
    ],
)
def test_json(places, text):
    assert compact_json(places.to_json()) == f'{{"className":"{PACKAGE}{text}'
    assert transformation_from_json(places.to_json()) == places


@pytest.mark.parametrize(
    "fields",
    [
        {"className": "CDFNumericQuantilesTransformation", "quantiles": [1.0], "dataType": DOUBLE},
        {"className": "CDFNumericQuantilesTransformation", "quantiles": ["a", "b"], "dataType": DOUBLE},
        {"className": "CDFNumericQuantilesTransformation", "quantiles": None, "dataType": DOUBLE},
        {"className": "CDFStringQuantilesTransformation", "quantiles": ["a", 1]},
        {"className": "StringHistogramTransformation", "histogram": ["a"]},
    ],
)
def test_lists_that_are_too_short_or_of_other_things_are_refused(fields):
    with pytest.raises(FormatError):
        transformation_from_json({**fields, "className": PACKAGE + fields["className"]})


NUMBERS, OTHERS = NumericQuantiles((1.0, 2.0), DOUBLE), NumericQuantiles((1.0, 3.0), DOUBLE)
TEXTS, MORE = StringQuantiles(("a", "b")), StringQuantiles(("a", "c"))
DEFAULT, GIVEN, GIVEN_2 = (StringHistogram(texts) for texts in (DEFAULT_HISTOGRAM, ("a", "b"), ("a", "c")))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (NUMBERS, NUMBERS, False),
        (NUMBERS, OTHERS, True),
        (NUMBERS, TEXTS, True),
        (NUMBERS, Empty(), False),
        (NUMBERS, Hash(1), True),
        (TEXTS, TEXTS, False),
        (TEXTS, MORE, True),
        (TEXTS, GIVEN, True),
        (TEXTS, Empty(), False),
        (DEFAULT, GIVEN, True),
        (GIVEN, DEFAULT, False),
        (DEFAULT, DEFAULT, False),
        (GIVEN, GIVEN_2, True),
        (GIVEN, Empty(), False),
        (GIVEN, TEXTS, True),
    ],
)
def test_superseding_and_merging(old, new, expected):
    assert old.superseded_by(new) is expected
    assert old.merge(new, RNG) == (new if expected else old)
