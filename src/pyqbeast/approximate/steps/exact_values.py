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
    Operation,
    Part,
    Requested,
    Rounded,
    Term,
    exactly,
)
from pyqbeast.approximate.estimate.formulas import COUNTS
from pyqbeast.approximate.estimate.rounding import (
    ROUNDED,
    NumberLimits,
    average_of_decimals,
    nearest_decimals,
)
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
    computed = quotient_of(requested, limits)
    if not isinstance(computed, Combination) or not _is_of_decimals(computed, limits):
        return None
    term, parts = computed.term, computed.parts
    if computed != requested:
        return lambda group: _exact_average(
            parts, values, limits, group, of_doubles=requested in limits.of_doubles
        )
    return lambda group: _exact_value(term, parts, values, limits, group)


def quotient_of(requested: Requested, limits: NumberLimits) -> Requested:
    """What an average of decimals is computed of, which is rounded to its places then; all else is itself."""
    if requested.kind != "avg" or requested not in limits.decimal_places:
        return requested
    (average,) = requested.parts
    parts = Aggregate("sum", average.columns), Aggregate("count", average.columns)
    return Combination(parts, Operation("/", Part(0), Part(1)))


def decimals_on_the_way(requested: Requested, limits: NumberLimits, has_all_rows: Mask) -> Rounded:
    """What makes decimals of the doubles that are computed on the way to a number.

    Doubles that are added up leave something of a difference that is 0, and whatever divides by it or multiplies it
    makes more of that.

    Args:
        requested: the number. It is left as it is: rounded, it may be another decimal than the sums tell.
        limits: of what is computed.
        has_all_rows: the groups [group] of which all rows are read.
    """

    def rounded(operation: Operation, value: FloatArray) -> FloatArray:
        inner = Combination(requested.parts, operation)
        places = None if inner == requested else limits.decimal_places.get(inner)
        return value if places is None else np.where(has_all_rows, nearest_decimals(value, places), value)

    return rounded


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
    try:
        return exactly(term, _exact_parts(parts, values, limits, group))
    except ZeroDivisionError:
        return None


def _exact_average(
    parts: Sequence[Aggregate],
    values: Mapping[Requested, FloatArray],
    limits: NumberLimits,
    group: int,
    *,
    of_doubles: bool,
) -> Fraction | None:
    total, rows = _exact_parts(parts, values, limits, group)
    if not rows:
        return None
    places = limits.decimal_places.get(parts[0], 0)
    return average_of_decimals(total, int(rows), places, of_doubles=of_doubles)


def _exact_parts(
    parts: Sequence[Aggregate], values: Mapping[Requested, FloatArray], limits: NumberLimits, group: int
) -> list[Fraction]:
    numbers = []
    for each in parts:
        scale = 10 ** limits.decimal_places.get(each, 0)
        numbers.append(Fraction(round(Fraction(values[each][group]) * scale), scale))
    return numbers
