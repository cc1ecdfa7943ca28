"""Exact values are told as Spark computes them, to the last digit."""

from __future__ import annotations

import math
import random
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import numpy as np
import pytest

from pyqbeast.approximate.estimate.estimates import Estimates
from pyqbeast.approximate.estimate.rounding import decimals_exact, exact_below

PLACE = Decimal("0.000001")


def told(value: float, share: float = 1.0, exactly=None) -> Decimal:
    (only,) = all_told([value], share, exactly)
    return only


def all_told(values: list[float], share: float = 1.0, exactly=None) -> list[Decimal]:
    """The same of many groups at once."""
    value, nothing = np.array(values), np.zeros(len(values))
    found = Estimates(None, value, value, value, nothing.astype(np.int8), nothing, nothing, nothing)
    return [
        Decimal(repr(each)) for each in np.asarray(decimals_exact(found, share, 6, exactly).value).tolist()
    ]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("parts", [32, 64, 3, 7])
def test_a_half_of_the_last_place_goes_away_from_zero(sign, parts):
    """A sum of cents that is divided: Spark rounds the decimal half up, and NumPy half to even."""
    found = all_told([sign * cents / 100 / parts for cents in range(1, 2_000)])
    for cents, each in enumerate(found, 1):
        exact = sign * Decimal(cents) / 100 / parts
        assert each.quantize(PLACE) == exact.quantize(PLACE, ROUND_HALF_UP), cents


@pytest.mark.parametrize("bits", [20, 34, 42])
def test_a_quotient_of_many_rows_is_no_half_where_it_lies_just_below_one(bits):
    """A double does not tell the two apart, so the quotient itself is asked for."""
    rng = random.Random(bits)
    exact, doubles = [], []
    for _ in range(1_000):
        rows, last = rng.randrange(600, 200_000), rng.getrandbits(bits) | 1 << bits - 1
        for above in (rows // 2 - 1, rows // 2, (rows + 1) // 2, rng.randrange(rows)):
            exact.append(Fraction(last * rows + above, rows))
            doubles.append((last * rows + above) / 10**6 / rows)
    found = all_told(doubles, exactly=lambda group: exact[group] / 10**6)
    for each, value in zip(found, exact, strict=True):
        rounded = Decimal((value + Fraction(1, 2)).__floor__()) * PLACE
        assert each == Decimal(repr(float(rounded))), value


@pytest.mark.parametrize("places", range(23))
def test_doubles_tell_decimals_apart_below_the_limit(places):
    """Each is found again in the double next to it."""
    most = math.floor(Fraction(exact_below(places)) * 10**places)
    for last in (most - 1, most // 2, most // 5):
        near = [Decimal(last - apart).scaleb(-places) for apart in range(4)]
        assert [Decimal(f"{float(each):.{places}f}") for each in near] == near


def test_quotients_of_few_large_decimals_are_rounded_as_they_are():
    """Some billions in units of a millionth: doubles lie about as far apart."""
    rng = random.Random(1)
    for _ in range(300):
        cents = rng.randrange(9 * 10**11, 24 * 10**11)
        exact = Fraction(cents, 300)
        rounded = Fraction(math.floor(exact * 10**6 + Fraction(1, 2)), 10**6)
        assert told(cents / 100 / 3, exactly=lambda _, value=exact: value) == Decimal(repr(float(rounded)))


def test_a_value_is_worked_out_once_for_itself_and_its_bounds():
    """That takes some microseconds for each group."""
    asked = []

    def exactly(group):
        asked.append(group)
        return Fraction(3, 2) / 10**6

    assert told(1.5 / 10**6, exactly=exactly) == 2 * PLACE
    assert asked == [0]


@pytest.mark.parametrize("digits", range(1, 16))
def test_numbers_of_the_places_stay_however_large(digits):
    numbers = [Decimal(f"{'9876543210987654'[:digits]}{last:03d}") * PLACE for last in range(1_000)]
    numbers = [each for each in numbers if each < exact_below(6)]
    found = all_told(list(map(float, numbers)))
    assert found == [Decimal(repr(float(each))) for each in numbers]


def test_other_values_stay():
    assert told(0.0) == 0
    assert str(told(-0.0)) == "-0.0"
    assert told(12.345678) == Decimal("12.345678")
    assert told(0.0003125, share=0.5) == Decimal("0.0003125")
