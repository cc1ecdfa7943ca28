"""Weights and fractions: the published values, truncation and saturation, and arrays as scalars."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.core.format.constants import WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.weight import fraction_of, weight_of

WEIGHTS = {
    0.0: -2147483648,
    1e-12: -2147483647,
    0.001: -2143188680,
    0.01: -2104533975,
    0.1: -1717986918,
    0.25: -1073741824,
    0.3: -858993459,
    0.5: 0,
    0.7: 858993458,
    0.75: 1073741823,
    0.9: 1717986917,
    0.99: 2104533974,
    0.999999: 2147479352,
    1.0: 2147483647,
}


@pytest.mark.parametrize(("fraction", "weight"), WEIGHTS.items())
def test_weight_of_a_fraction(fraction, weight):
    assert weight_of(fraction) == weight


def test_the_way_back_is_not_exact():
    assert fraction_of(weight_of(0.5)) == 0.5000000001164153
    assert fraction_of(weight_of(0.1)) == 0.10000000011641533


def test_the_ends_of_the_range():
    assert (fraction_of(WEIGHT_MIN), fraction_of(WEIGHT_MAX)) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("fraction", "weight"),
    [(1.5, WEIGHT_MAX), (math.inf, WEIGHT_MAX), (-0.5, WEIGHT_MIN), (-math.inf, WEIGHT_MIN), (math.nan, 0)],
)
def test_fractions_outside_the_range_saturate_and_nan_is_zero(fraction, weight):
    assert weight_of(fraction) == weight


def test_arrays_give_what_scalars_give():
    fractions = np.array([*WEIGHTS, 1.5, -1.0, math.nan, math.inf])
    weights = weight_of(fractions)
    assert weights.dtype == np.int32
    assert weights.tolist() == [weight_of(fraction) for fraction in fractions.tolist()]
    assert fraction_of(weights).tolist() == [fraction_of(weight) for weight in weights.tolist()]


@given(st.floats(0, 1), st.floats(0, 1))
def test_weights_rise_with_fractions(one, other):
    low, high = sorted((one, other))
    assert weight_of(low) <= weight_of(high)
