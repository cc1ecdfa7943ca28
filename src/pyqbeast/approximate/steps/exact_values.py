"""What is computed of whole numbers and decimals, all of whose rows are read, to the last digit.

Sums of doubles lie beside these, and tell them all the same: they have few places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from pyqbeast.approximate.estimate.aggregate import Aggregate
from pyqbeast.approximate.estimate.combination import (
    Combination,
    Operation,
    Part,
    Requested,
    Rounded,
    exactly,
)
from pyqbeast.approximate.estimate.formulas import COUNTS
from pyqbeast.approximate.estimate.rounding import (
    ROUNDED,
    NumberLimits,
    average_of_decimals,
    nearest_decimals,
)
from pyqbeast.approximate.estimate.state import FloatArray, Mask


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
    places = [limits.decimal_places.get(part, 0) for part in computed.parts]

    def exact_value(group: int) -> Fraction | None:
        doubles = (values[part][group] for part in computed.parts)
        parts = [
            Fraction(round(Fraction(double) * 10**digits), 10**digits)
            for double, digits in zip(doubles, places, strict=True)
        ]
        try:
            if computed == requested:
                return exactly(computed.term, parts)
            total, rows = parts
            is_of_doubles = requested in limits.of_doubles
            return average_of_decimals(total, int(rows), places[0], of_doubles=is_of_doubles)
        except ZeroDivisionError:
            return None

    return exact_value


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
