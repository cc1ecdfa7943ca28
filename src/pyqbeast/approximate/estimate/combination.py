"""Arithmetic over aggregates, such as `sum(a) / sum(b)`, which is estimated as one number.

The bounds of the parts say little of their quotient, because both parts come from the same rows. So the whole
formula is left out bucket by bucket, as that of a single aggregate is. Smallest and largest values and percentiles
are no functions of sums. A formula with one of them lies between bounds that follow from those of its parts.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyqbeast.approximate.estimate.aggregate import Aggregate
from pyqbeast.approximate.estimate.formulas import FORMULAS
from pyqbeast.approximate.estimate.state import MOST_BUCKETS, ROWS, FloatArray, Moment, StateAxes

_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


@dataclass(frozen=True)
class Part:
    """An aggregate in a term, by its number among the parts."""

    number: int


@dataclass(frozen=True)
class Operation:
    """Two terms and the sign between them: + - * /.

    Attributes:
        sign: what is done.
        left, right: with what.
        type: the type of what comes of it, by Spark's name for it. What has another type is another number: Spark
            rounds a quotient of decimals to their places, and that of the same numbers as doubles not.
    """

    sign: str
    left: Term
    right: Term
    type: str = "double"


Term: TypeAlias = Part | float | Operation
Rounded: TypeAlias = Callable[[Operation, FloatArray], FloatArray]


@dataclass(frozen=True)
class Combination:
    """A number that is computed from several aggregates.

    Attributes:
        parts: the aggregates.
        term: how they are combined.
    """

    parts: tuple[Aggregate, ...]
    term: Term
    kind: str = "combination"

    @property
    def follows_from_sums(self) -> bool:
        """Whether it is a function of sums."""
        return all(part.kind in FORMULAS for part in self.parts)

    @property
    def moments(self) -> tuple[Moment, ...]:
        """The sums of all parts, in their order."""
        return tuple(moment for part in self.parts for moment in part.moments)

    @property
    def min_keys(self) -> float:
        """How many distinct keys its bounds need."""
        return max(part.min_keys for part in self.parts)

    @property
    def extremes(self) -> tuple[str, ...]:
        """The columns whose smallest and largest value it needs."""
        return tuple(dict.fromkeys(column for part in self.parts for column in part.extremes))


#: What can be asked for.
Requested: TypeAlias = Aggregate | Combination


def difference(left: Requested, right: Requested) -> Combination:
    """One number less another."""
    parts = tuple(dict.fromkeys([*left.parts, *right.parts]))
    return Combination(parts, Operation("-", _term_among(parts, left), _term_among(parts, right)))


def _term_among(parts: Sequence[Aggregate], requested: Requested) -> Term:
    """What is requested as a term of these parts."""

    def renumbered(term: Term) -> Term:
        if isinstance(term, Part):
            return Part(parts.index(requested.parts[term.number]))
        if isinstance(term, Operation):
            return replace(term, left=renumbered(term.left), right=renumbered(term.right))
        return term

    return renumbered(requested.term if isinstance(requested, Combination) else Part(0))


def combined(term: Term, values: Sequence[FloatArray], rounded: Rounded | None = None) -> FloatArray:
    """The term's value [...] from those of the parts, each [...]; NaN where it divides by zero.

    Args:
        term: how the parts are combined.
        values: of the parts.
        rounded: makes of what an operation gives what its type holds of it; None where all are doubles.
    """
    if isinstance(term, Part):
        return values[term.number]
    if not isinstance(term, Operation):
        return np.full_like(values[0], term)
    value = _applied(term.sign, combined(term.left, values, rounded), combined(term.right, values, rounded))
    return value if rounded is None else rounded(term, value)


def _applied(sign: str, left: FloatArray, right: FloatArray) -> FloatArray:
    with np.errstate(all="ignore"):
        return np.asarray(_SIGNS[sign](left, np.where(right == 0, np.nan, right) if sign == "/" else right))


def exactly(term: Term, values: Sequence[Fraction]) -> Fraction:
    """The term's value from those of the parts. Numbers in it are the decimals that they are written as."""
    if isinstance(term, Part):
        return values[term.number]
    if not isinstance(term, Operation):
        return Fraction(repr(term))
    found: Fraction = _SIGNS[term.sign](exactly(term.left, values), exactly(term.right, values))
    return found


def between(
    term: Term, lows: Sequence[FloatArray], highs: Sequence[FloatArray], *, held_below: float | None = None
) -> tuple[FloatArray, FloatArray]:
    """Between which values the term lies if each part lies between its own (interval arithmetic), all [...].

    A part that comes twice may take two values here, so the bounds are wide, but never too narrow.

    Args:
        term: how the parts are combined.
        lows: of the parts.
        highs: of the parts.
        held_below: the magnitude up to which doubles hold whole numbers as they are, where others are rounded; None
            where all numbers are doubles.
    """
    low, high = _ends(term, lows, highs, held_below)
    return low.value, high.value


class _End(NamedTuple):
    """One end of where a term lies [...], and where it is a whole number that was rounded nowhere on the way to it."""

    value: FloatArray
    is_held: NDArray[np.bool_]


_Ends: TypeAlias = tuple[_End, _End]


def _ends(
    term: Term, lows: Sequence[FloatArray], highs: Sequence[FloatArray], held_below: float | None
) -> _Ends:
    if isinstance(term, Operation):
        of_left = _ends(term.left, lows, highs, held_below)
        of_right = _ends(term.right, lows, highs, held_below)
        low, high = _between_two(term.sign, of_left, of_right)
    else:
        if isinstance(term, Part):
            values = lows[term.number], highs[term.number]
        else:
            values = (np.full_like(lows[0], term),) * 2
        low, high = (_End(value, np.ones(value.shape, dtype=bool)) for value in values)
    return _outward(low, -np.inf, held_below), _outward(high, np.inf, held_below)


def _outward(end: _End, to: float, held_below: float | None) -> _End:
    """An end beyond which nothing lies of what doubles were rounded from; see `between`."""
    if held_below is None:
        return end
    is_held = end.is_held & (np.abs(end.value) < held_below) & (np.rint(end.value) == end.value)
    value = np.where(is_held, end.value, np.nextafter(end.value, to))
    # An end that is none rounds nothing.
    return _End(value, is_held | np.isinf(value))


def _between_two(sign: str, left: _Ends, right: _Ends) -> _Ends:
    (low, high), (other_low, other_high) = left, right
    with np.errstate(all="ignore"):
        if sign in "+-":
            pairs = zip(left, right if sign == "+" else (other_high, other_low), strict=True)
            of_low, of_high = (_End(_SIGNS[sign](a.value, b.value), a.is_held & b.is_held) for a, b in pairs)
            return of_low, of_high
        # A product or a quotient is the least and the largest at ends of both.
        ends = np.stack([_SIGNS[sign](a.value, b.value) for a in left for b in right])
        # Zero times infinity says nothing, and neither does what divides by 0.
        unknown = np.isnan(ends).any(axis=0)
        if sign == "/":
            unknown |= (other_low.value <= 0) & (other_high.value >= 0)
        are_held = low.is_held & high.is_held & other_low.is_held & other_high.is_held
        return (
            _End(np.where(unknown, -np.inf, ends.min(axis=0)), are_held),
            _End(np.where(unknown, np.inf, ends.max(axis=0)), are_held),
        )


def terms_of(term: Term) -> Iterator[Term]:
    """The term and all terms within it."""
    yield term
    if isinstance(term, Operation):
        yield from terms_of(term.left)
        yield from terms_of(term.right)


def parts_of(requested: Combination) -> set[Aggregate]:
    """Those of its parts that its term names: what is computed on the way to another number has all parts of that."""
    return {requested.parts[each.number] for each in terms_of(requested.term) if isinstance(each, Part)}


def on_the_way(requested: Requested) -> list[Combination]:
    """What is computed on the way to a number, and that number itself where it is computed."""
    if not isinstance(requested, Combination):
        return []
    terms = (each for each in terms_of(requested.term) if isinstance(each, Operation))
    return [Combination(requested.parts, each) for each in terms]


def divisors(term: Term) -> Iterator[Term]:
    """The terms by which the term divides somewhere."""
    for each in terms_of(term):
        if isinstance(each, Operation) and each.sign == "/":
            yield each.right


def is_computed_for(inner: Requested, whole: Requested) -> bool:
    """Whether one is computed on the way to the other, or is the other itself."""
    if inner == whole or inner in whole.parts:
        return True
    return (
        isinstance(inner, Combination)
        and isinstance(whole, Combination)
        and inner.parts == whole.parts
        and inner.term in terms_of(whole.term)
    )


def has_zero_divisor(
    term: Term, values: Sequence[FloatArray], rounded: Rounded | None = None
) -> NDArray[np.bool_]:
    """Where [...] the term divides by zero; the arguments are those of `combined`."""
    is_zero = np.zeros(values[0].shape, dtype=bool)
    for divisor in divisors(term):
        is_zero = is_zero | (combined(divisor, values, rounded) == 0)
    return is_zero


def slopes(term: Term, values: Sequence[FloatArray]) -> list[FloatArray]:
    """For each part how fast the term changes with it [...]."""
    return _with_slopes(term, values)[1]


def moved(term: Term, values: Sequence[FloatArray], parts: Sequence[FloatArray]) -> FloatArray:
    """How far the term moves [...] at the most where each of its parts moves so far [...]."""
    each = zip(slopes(term, values), parts, strict=True)
    with np.errstate(all="ignore"):
        return np.asarray(np.sum([np.abs(slope) * part for slope, part in each], axis=0))


def curved(
    term: Term,
    values: Sequence[FloatArray],
    moves: Callable[[Term], FloatArray],
    bent: Sequence[FloatArray],
    *,
    is_whole: bool = True,
) -> FloatArray:
    """How far [...] products and quotients within the term move it beyond what their slopes tell.

    Where two factors move by u and v, their product moves by u v beyond that, which is all of it where both are near 0.
    Where a quotient moves by w, and its divisor by a share g, it moves by w g / (1 - g) beyond that: by w g here, as
    whoever calls this makes all bounds 1 / (1 - g) times as wide. That alone is enough for a quotient that is the whole
    term, but not where w cancels in it, as in a / b + b / a.

    Args:
        term: how the parts are combined.
        values: of the parts.
        moves: how far [...] a term within it moves by its slopes.
        bent: how far [...] each part moves beyond those of its own formula.
        is_whole: whether it is the whole term, but for constants.
    """
    if isinstance(term, Part):
        return bent[term.number]
    if not isinstance(term, Operation):
        return np.zeros_like(values[0])
    beside_constant = is_whole and (isinstance(term.left, float) or isinstance(term.right, float))
    of_left = curved(term.left, values, moves, bent, is_whole=beside_constant)
    of_right = curved(term.right, values, moves, bent, is_whole=beside_constant and term.sign != "/")
    if term.sign in "+-":
        return of_left + of_right
    left, right = (np.abs(combined(side, values)) for side in (term.left, term.right))
    if term.sign == "/":
        of_both = _applied("/", of_left + _applied("/", left, right) * of_right, right)
        if is_whole or isinstance(term.right, float):
            return of_both
        return of_both + moves(term) * _applied("/", moves(term.right) + of_right, right)
    if isinstance(term.left, float) or isinstance(term.right, float):
        return right * of_left + left * of_right
    both = (moves(term.left) + of_left) * (moves(term.right) + of_right)
    return np.asarray(right * of_left + left * of_right + both)


def _with_slopes(term: Term, values: Sequence[FloatArray]) -> tuple[FloatArray, list[FloatArray]]:
    """The value, and its derivative by each part (forward accumulation)."""
    zero = np.zeros_like(values[0])
    if isinstance(term, Part):
        return values[term.number], [zero + (number == term.number) for number in range(len(values))]
    if not isinstance(term, Operation):
        return zero + term, [zero] * len(values)
    left, of_left = _with_slopes(term.left, values)
    right, of_right = _with_slopes(term.right, values)
    pairs = list(zip(of_left, of_right, strict=True))
    value = _applied(term.sign, left, right)
    if term.sign in "+-":
        return value, [_applied(term.sign, a, b) for a, b in pairs]
    with np.errstate(all="ignore"):
        if term.sign == "*":
            return value, [a * right + left * b for a, b in pairs]
        return value, [_applied("/", a - value * b, right) for a, b in pairs]


def axes_for(aggregates: Iterable[Requested], buckets: int = MOST_BUCKETS) -> StateAxes:
    """The partial aggregates that a list of aggregates needs of every step."""
    moments, columns = {ROWS: None}, dict[str, None]()
    for aggregate in aggregates:
        moments.update(dict.fromkeys(aggregate.moments))
        columns.update(dict.fromkeys(aggregate.extremes))
    return StateAxes(tuple(moments), tuple(columns), buckets)
