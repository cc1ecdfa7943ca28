"""Exact values are told as Spark computes them, to the last digit."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest

from pyqbeast.approximate.estimate.estimates import Estimates
from pyqbeast.approximate.estimate.rounding import decimals_exact

PLACE = Decimal("0.000001")


def told(value: float, share: float = 1.0) -> Decimal:
    values, nothing = np.array([value]), np.zeros(1)
    found = Estimates(None, values, values, values, nothing.astype(np.int8), nothing, nothing, nothing)
    return Decimal(repr(float(decimals_exact(found, share, 6).value[0])))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("parts", [32, 64, 3, 7])
def test_a_half_of_the_last_place_goes_away_from_zero(sign, parts):
    """A sum of cents that is divided: Spark rounds the decimal half up, and NumPy half to even."""
    for cents in range(1, 2_000):
        exact = sign * Decimal(cents) / 100 / parts
        assert told(sign * cents / 100 / parts).quantize(PLACE) == exact.quantize(PLACE, ROUND_HALF_UP), cents


@pytest.mark.parametrize("digits", range(1, 16))
def test_numbers_of_the_places_stay_however_large(digits):
    for last in range(1_000):
        exact = Decimal(f"{'9876543210987654'[:digits]}{last:03d}") * PLACE
        if exact < 2**53 * PLACE:
            assert told(float(exact)) == Decimal(repr(float(exact))), exact


def test_other_values_stay():
    assert told(0.0) == 0
    assert str(told(-0.0)) == "-0.0"
    assert told(12.345678) == Decimal("12.345678")
    assert told(0.0003125, share=0.5) == Decimal("0.0003125")
