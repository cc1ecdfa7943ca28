"""How the doubles of an estimate become the numbers of an answer, and where doubles do not hold the exact one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from pyqbeast.approximate.estimate.combination import Requested
from pyqbeast.approximate.estimate.estimates import EXACT_TO, Estimates, Status, is_null
from pyqbeast.approximate.estimate.state import MOST_BUCKETS, FloatArray, Mask, State

#: Their bounds are values of the column, and have its type.
EXTREMES = ("min", "max")
#: Of whole numbers and decimals doubles may not hold the exact answer of these.
ROUNDED = ("sum", *EXTREMES)
#: Each of these is the number of a row, as a double and with bounds that are doubles.
OF_ONE_ROW = (*EXTREMES, "percentile")
#: How far a double may be beside a number that three operations lead to, as a share of it: a decimal is read, divided,
#: and counted in units of its last place. Each of them rounds by half of a double's last place at the most.
_BESIDE = 3 * 2.0**-53
#: How far beside it doubles may lie that were added up from a quarter of a million others, as a share of it. Where the
#: exact number can be worked out, it is, within this of a half: that takes some microseconds a group.
_UNSURE = 2.0**-44
#: How far below a half a number is none where only its double is known, however large it is: in units of the last
#: place. Division by 2 to 500 leaves more between a half and what comes before it.
_NO_HALF = 2.0**-10
#: Doubles hold 10 to so many, and no larger power of 10.
_HELD_PLACES = 22
#: A decimal of Spark's has so many digits at the most.
MOST_DIGITS = 38
#: An average of decimals has so many places more than these.
MORE_PLACES = 4
#: Decimals of so many digits at the most are averaged by Spark as doubles: it divides their sum in units of the last
#: place, and the quotient by as many of them as make 1 (the optimizer's rule `DecimalAggregates`).
_AVERAGED_AS_DOUBLES = 11
#: The first and the last moment that Python has, in microseconds since 1970, and how far a bound may be rounded there.
FIRST_MOMENT, LAST_MOMENT, PLACES_OF_MOMENTS = -62_135_596_800_000_000, 253_402_300_799_999_999, 64

#: What a query rounds a number to that it shows: decimal places, or a FLOAT; None for nothing.
Rounding: TypeAlias = int | Literal["float"] | None
#: Digits enough for any double with all of its places.
_ALL_DIGITS = Context(prec=400)


@dataclass(frozen=True)
class NumberLimits:
    """Up to where numbers hold the exact answers of a query's aggregates.

    Attributes:
        exact_below: for aggregates of whole numbers and decimals, and parts of others, the magnitude from which doubles
            do not hold exact answers.
        overflows_at: for the same, the magnitude that their type does not hold.
        decimal_places: for aggregates that are decimals the places of their type, to which an exact value is rounded.
        of_doubles: averages of decimals that Spark computes as doubles.
    """

    exact_below: dict[Requested, float] = field(default_factory=dict)
    overflows_at: dict[Requested, float] = field(default_factory=dict)
    decimal_places: dict[Requested, int] = field(default_factory=dict)
    of_doubles: set[Requested] = field(default_factory=set)


def exact_below(scale: int) -> float:
    """The magnitude up to which doubles tell all numbers of so many decimal places apart: whole numbers, or decimals.

    It is a power of two, from which on doubles lie twice as far apart.
    """
    return math.ldexp(0.5, math.frexp(2.0**53 / 10.0 ** max(scale, 0))[1])


def is_rounded(state: State, found: Estimates, share: float | FloatArray, limit: float = math.inf) -> Mask:
    """Where [group] sums do not give an exact value: it reaches the limit of `exact_below`, or its digits were lost.

    Args:
        state: what the estimate was made of.
        found: the estimate.
        share: of the rows, sampled; one number or one per group.
        limit: of `exact_below`; infinite for doubles.
    """
    if found.aggregate.kind == "sum" and math.isfinite(limit):
        # Whole numbers add up exactly below it. Of others each addition rounds by half of a double's last place.
        additions = 1.0 if limit >= exact_below(0) else 2 * (_rows(state, found) / share + MOST_BUCKETS)
        with np.errstate(over="ignore"):
            return largest_sum(state, found, share) * additions >= limit
    size = np.abs(found.value)
    # Next to the 1 that it may be, the digits of a correlation near 0 are as good as those of any other.
    scale = np.maximum(size, 1.0) if found.aggregate.kind == "corr" else size
    is_lost = (found.noise > EXACT_TO * scale) | np.isinf(found.noise)
    return np.asarray(np.isfinite(limit) & (size >= limit) | is_lost)


def largest_sum(state: State, found: Estimates, share: float | FloatArray) -> FloatArray:
    """The most [group] that a sum of some of the numbers can be, of which the estimate is the sum of all.

    It is that sum where they have one sign, and else what they would add up to if each were the largest.
    """
    rows = _rows(state, found) / share
    low, high = np.moveaxis(state.span(found.aggregate.extremes)[:, 0], -1, 0)
    # A sum that doubles do not hold is infinite, and so beyond each limit.
    with np.errstate(over="ignore", invalid="ignore"):
        mixed = rows * np.maximum(-low, high)
    return np.asarray(np.where(rows > 0, np.where((low < 0) & (high > 0), mixed, np.abs(found.value)), 0.0))


def has_lost_digits(state: State, found: Estimates, share: float | FloatArray) -> Mask:
    """Where [group] what rounding leaves of a sum of both signs may be more than doubles of the exact sum err."""
    # Each addition rounds, to either side.
    additions = _rows(state, found) / share + MOST_BUCKETS
    with np.errstate(over="ignore"):
        noise = 2.0**-52 * np.sqrt(additions) * largest_sum(state, found, share)
    return np.asarray(noise > EXACT_TO * np.abs(found.value))


def _rows(state: State, found: Estimates) -> FloatArray:
    """The rows [group] read that an estimate counts."""
    return np.asarray(state.sums[..., state.index(found.aggregate.moments)[0]].sum(axis=1))


def values_outward(found: Estimates, limit: float) -> Estimates:
    """Bounds of a row's value that are true of the numbers that doubles beyond a limit were rounded from."""
    if found.aggregate.kind not in OF_ONE_ROW or math.isinf(limit):
        return found
    low, high = (
        np.where(np.abs(bound) < limit, bound, np.nextafter(bound, end))
        for bound, end in ((found.low, -np.inf), (found.high, np.inf))
    )
    return replace(found, low=low, high=high)


def decimals_exact(
    found: Estimates,
    share: float | FloatArray,
    places: int | None,
    exactly: Callable[[int], Fraction | None] | None = None,
) -> Estimates:
    """Exact values of decimals as the doubles next to these: sums of doubles lie beside them, and compare otherwise.

    Args:
        found: the estimates.
        share: of the rows, sampled; one number or one per group.
        places: of the decimals; None for other numbers.
        exactly: the value of a group, by its number, before it is rounded to the places; None where there is none, or
            for groups of which it is not known. It is asked for where the double does not tell on which side of a half
            the value lies.
    """
    if places is None:
        return found

    is_decimal = (np.asarray(share) >= 1) & (np.abs(found.value) < exact_below(places))
    rounded = rounded_half_up(np.where(is_decimal, found.value, 0.0), places, exactly)
    return with_values(found, is_decimal, rounded)


def with_values(found: Estimates, is_exact: Mask, values: FloatArray) -> Estimates:
    """Estimates of which some, each [group], have an exact value: their bounds are the value."""
    value, low, high = (
        np.where(is_exact & (end == found.value), values, end) for end in (found.value, found.low, found.high)
    )
    return replace(found, value=value, low=low, high=high)


def nearest_decimals(values: FloatArray, places: int) -> FloatArray:
    """The numbers of so many decimal places that sums of them are, which doubles were rounded in adding up."""
    scale = 10.0**places
    of_last = np.rint(values * scale)
    is_held = np.abs(of_last) < 2.0**53
    return np.where(is_held, _of_places(np.where(is_held, of_last, 0.0), places), values)


def _of_places(last: FloatArray, places: int) -> FloatArray:
    """The doubles next to decimals, of which there are so many units of the last place."""
    if places <= _HELD_PLACES:
        return last / 10.0**places
    # A double of such a power of 10 is another number, and the quotient would lie beside.
    return np.array([int(each) / 10**places for each in last.tolist()])


def rounded_half_up(
    values: FloatArray, places: int, exactly: Callable[[int], Fraction | None] | None = None
) -> FloatArray:
    """Values of so many decimal places, of which halves of the last one become whole, away from 0, as Spark has it.

    The double next to a half may lie below it. What is less than a half by more than doubles err stays so, and a number
    of so many places stays what it is, however large.
    """
    scale = 10.0**places
    of_last = np.abs(values) * scale
    whole = np.floor(of_last)
    is_half = of_last - whole >= 0.5 - np.minimum(of_last * _BESIDE, _NO_HALF)
    # Beyond, doubles have no place behind the last one but a half, and the product may lie beside the number.
    has_places = of_last < 2.0**51
    last = np.where(has_places, whole + is_half, 0.0)
    rounded = np.where(has_places, np.copysign(_of_places(last, places), values), values)
    if exactly is not None:
        for group in np.flatnonzero(np.abs(of_last - whole - 0.5) <= of_last * _UNSURE).tolist():
            exact = exactly(group)
            if exact is not None:
                rounded[group] = float(half_up(exact, places))
    return rounded


def averages_as_doubles(digits: int) -> bool:
    """Whether Spark averages decimals of so many digits as doubles."""
    return digits <= _AVERAGED_AS_DOUBLES


def average_of_decimals(total: Fraction, rows: int, places: int, *, of_doubles: bool) -> Fraction:
    """The average of decimals of so many places before it is rounded, as Spark divides their sum.

    A half of the last place may come out below the half of doubles.
    """
    if not of_doubles:
        return total / rows
    units = 10**places
    return Fraction(repr(float(total * units) / rows / float(units)))


def half_up(exact: Fraction, places: int) -> Fraction:
    """A number rounded to decimal places as Spark rounds decimals: halves go away from 0."""
    last = math.floor(abs(exact) * 10**places + Fraction(1, 2))
    return Fraction(last if exact >= 0 else -last, 10**places)


def left_to_query(found: Estimates, beyond: Mask, inexact: Mask) -> Estimates:
    """Estimates of which the query, which tells them alone, cannot be run.

    Args:
        found: the estimates.
        beyond: [group], those whose type does not hold their value.
        inexact: [group], those whose value is rounded, though all rows are read.
    """
    unknown = beyond | inexact
    low, high = (np.where(unknown, np.nan, bound) for bound in (found.low, found.high))
    status = np.where(unknown, Status.LEFT_TO_QUERY, found.status).astype(np.int8)
    value = np.where(beyond, np.nan, found.value)
    return replace(found, value=value, low=low, high=high, status=status)


def in_calendar(micros: int) -> int:
    """A bound of times, in microseconds, that Python can read where the time that it stands for can be.

    Doubles are 32 microseconds apart at the year 10,000, so that the last moment before it becomes the first one in it.
    """
    for end, beyond in ((FIRST_MOMENT, FIRST_MOMENT - micros), (LAST_MOMENT, micros - LAST_MOMENT)):
        if 0 < beyond <= PLACES_OF_MOMENTS:
            return end
    return micros


def as_shown(numbers: FloatArray, rounding: Rounding) -> FloatArray:
    """Numbers [...] as Spark's `round` to so many places gives them, or a cast to FLOAT.

    Whatever lies between two numbers is shown between what these are shown as. Spark rounds the decimal that a double
    is written as, and a half away from 0.
    """
    if rounding is None:
        return numbers
    if rounding == "float":
        with np.errstate(over="ignore"):
            return np.asarray(numbers, dtype=np.float32).astype(np.float64)
    place = Decimal(1).scaleb(-rounding)

    def rounded(number: float) -> float:
        if not math.isfinite(number):
            return number
        # The 0 that is added takes the sign from a negative 0.
        return float(Decimal(repr(number)).quantize(place, ROUND_HALF_UP, _ALL_DIGITS)) + 0.0

    return np.array([rounded(each) for each in numbers.ravel().tolist()]).reshape(numbers.shape)


def shown_bounds(found: Estimates) -> tuple[FloatArray, FloatArray]:
    """The bounds [group] that an answer shows: NaN where rows not seen may exceed them.

    Such bounds only tell how much more to read.
    """
    is_exceeded = found.status == Status.HEAVY_TAIL
    return np.where(is_exceeded, np.nan, found.low), np.where(is_exceeded, np.nan, found.high)


def known_numbers(state: State, found: Estimates, values: FloatArray) -> list[float | None]:
    """Values or bounds [group] of estimates; None where there is no number, or a bound that is not known."""
    # An infinite bound of a finite value says nothing.
    gone = np.isinf(values) & (values != found.value) | (np.isnan(values) & ~np.isnan(found.value))
    gone |= is_null(state, found)
    return [None if missing else value for value, missing in zip(values.tolist(), gone.tolist(), strict=True)]
