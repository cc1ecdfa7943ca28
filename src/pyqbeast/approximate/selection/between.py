"""An estimate of each group and its bounds, as numbers that compare as Spark compares these."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from pyqbeast.approximate.estimate.estimates import EXACT_TO, Estimates, Status
from pyqbeast.approximate.estimate.formulas import COUNTS, FORMULAS
from pyqbeast.approximate.estimate.state import FloatArray, Mask


class Between(NamedTuple):
    """An estimate of each group and its bounds, each [group]; all of them NaN where it is surely null.

    They are ranks, as `ranks` gives them.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray


#: A difference of which nothing is known.
NOT_TOLD = Between(np.array(np.nan), np.array(-np.inf), np.array(np.inf))


def between_of(estimates: Estimates, null: Mask, rows: FloatArray, most_missing: float) -> Between:
    """The bounds of each group, and of the missing ones after them."""
    exact = estimates.status == Status.EXACT
    value, low, high = (ranks(each) for each in (estimates.value, estimates.low, estimates.high))
    # Whatever rows come, what one NaN or infinity among them has made NaN stays so. Other bounds that are NaN are none,
    # and so are those that rows not seen may exceed.
    stays = np.isnan(estimates.value) & ~null & (estimates.aggregate.kind in (*FORMULAS, "max"))
    exceeded = (estimates.status == Status.HEAVY_TAIL) & ~stays
    low = np.where(np.isnan(estimates.low) & ~exact & ~stays | exceeded, -np.inf, low)
    high = np.where(exceeded, np.inf, high)
    value = np.where(null, np.nan, value)
    low, high = (np.where(null & exact, np.nan, bound) for bound in (low, high))
    outer = -np.inf, np.inf
    if estimates.aggregate.kind in COUNTS:
        low, high = np.maximum(low, 0), np.where(np.isposinf(high), rows, high)
        outer = 0.0, most_missing
    return Between(np.append(value, np.nan), np.append(low, outer[0]), np.append(high, outer[1]))


def ranks(numbers: FloatArray) -> FloatArray:
    """Numbers that compare as Spark compares these: NaN is above infinity, which takes the largest number's place."""
    return np.where(
        np.isnan(numbers), np.inf, np.where(np.isposinf(numbers), np.finfo(np.float64).max, numbers)
    )


def apart_of(found: Estimates, left: Estimates, right: Estimates) -> Between:
    """The difference of two estimates; between infinities where it says nothing that they do not say.

    All rows give both exactly, and digits of them may be lost in their difference.
    """
    size = np.abs(left.value) + np.abs(right.value)
    is_told = np.isin(found.status, (Status.BOUNDED, Status.SAMPLE_ONLY))
    is_told &= np.isfinite(found.low) & np.isfinite(found.high) & np.isfinite(size)
    room = EXACT_TO * np.where(is_told, size, 0.0)
    low = np.where(is_told, found.low - room, -np.inf)
    high = np.where(is_told, found.high + room, np.inf)
    return Between(np.append(found.value, np.nan), np.append(low, -np.inf), np.append(high, np.inf))


def beside_number(between: Between, exact: Mapping[int, Fraction], number: Fraction) -> Between:
    """An estimate to be compared with a number: where both are one double, its values lie to their side of that."""
    value, double = between.value.copy(), float(number)
    told = Fraction(repr(double))
    for group in np.flatnonzero(value == double).tolist():
        known = exact.get(group, told)
        if known != number:
            value[group] = np.nextafter(double, np.inf if known > number else -np.inf)
    return between._replace(value=value)
