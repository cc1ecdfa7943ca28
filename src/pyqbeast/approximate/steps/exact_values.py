"""What is computed of whole numbers and decimals, all of whose rows are read, to the last digit.

Sums of doubles lie beside these, and tell them all the same: they have few places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from pyqbeast.approximate.estimate.aggregate import Aggregate
from pyqbeast.approximate.estimate.combination import (
    Combination,
    Requested,
    Term,
    combined,
    divisors,
    exactly,
    moved,
)
from pyqbeast.approximate.estimate.estimates import EXACT_TO
from pyqbeast.approximate.estimate.formulas import COUNTS
from pyqbeast.approximate.estimate.rounding import ROUNDED, NumberLimits
from pyqbeast.approximate.estimate.selection import Mask
from pyqbeast.approximate.estimate.state import FloatArray


def exact_values(
    requested: Requested, values: Mapping[Requested, FloatArray], limits: NumberLimits
) -> Callable[[int], Fraction | None] | None:
    """What tells the value of a group, by its number: None for one that is divided by zero.

    It is None for what is no combination of whole numbers and decimals.

    Args:
        requested: what is computed.
        values: by aggregate, [group].
        limits: of the aggregates.
    """
    if not isinstance(requested, Combination) or not _is_of_decimals(requested, limits):
        return None
    term, parts = requested.term, requested.parts
    return lambda group: _exact_value(term, parts, values, limits, group)


def has_hidden_zero(
    requested: Combination, values: Mapping[Requested, FloatArray], limits: NumberLimits, is_whole: Mask
) -> bool:
    """Whether a group is divided by zero, where sums of doubles leave something of it.

    Args:
        requested: what is computed.
        values: by aggregate, [group].
        limits: of the aggregates.
        is_whole: whether all rows are read, of all groups or of each [group].
    """
    if not _is_of_decimals(requested, limits):
        return False
    parts = []
    for each in requested.parts:
        scale = 10.0 ** limits.decimal_places.get(each, 0)
        parts.append(np.rint(values[each] * scale) / scale)
    is_whole = np.isfinite(parts).all(axis=0) & is_whole
    for divisor in divisors(requested.term):
        size = moved(divisor, parts, [np.abs(part) for part in parts])
        is_near = np.abs(combined(divisor, parts)) <= EXACT_TO * size
        for group in np.flatnonzero(is_near & is_whole).tolist():
            # What divides by zero itself is None.
            if not _exact_value(divisor, requested.parts, values, limits, group):
                return True
    return False


def _is_of_decimals(requested: Combination, limits: NumberLimits) -> bool:
    """Whether all parts are whole numbers, or decimals of known places."""
    return all(
        each.kind in COUNTS or (each.kind in ROUNDED and each in limits.exact_below)
        for each in requested.parts
    )


def _exact_value(
    term: Term,
    parts: Sequence[Aggregate],
    values: Mapping[Requested, FloatArray],
    limits: NumberLimits,
    group: int,
) -> Fraction | None:
    numbers = []
    for each in parts:
        scale = 10 ** limits.decimal_places.get(each, 0)
        numbers.append(Fraction(round(Fraction(values[each][group]) * scale), scale))
    try:
        return exactly(term, numbers)
    except ZeroDivisionError:
        return None
