"""Conditions on the estimates of groups (`HAVING`), and where between the bounds they hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from pyqbeast.approximate.estimate.aggregate import Aggregate
from pyqbeast.approximate.estimate.combination import Combination, Requested, difference
from pyqbeast.approximate.estimate.state import Mask
from pyqbeast.approximate.selection.between import NOT_TOLD, Between, ranks


class Comparison(NamedTuple):
    """An estimate beside a number or another estimate: `=`, `<`, `<=`, `>` or `>=`.

    A fraction is compared with the number that a double was rounded from, where that is known, and a float with the
    double.
    """

    of: Requested
    sign: str
    than: float | Fraction | Requested

    @property
    def apart(self) -> Combination | None:
        """The difference of two estimates, where sums of the rows that both come from bound it; None for none."""
        if not isinstance(self.than, Aggregate | Combination):
            return None
        found = difference(self.of, self.than)
        return found if found.follows_from_sums else None


class Junction(NamedTuple):
    """Two conditions, both or at least one of which has to hold."""

    sign: Literal["and", "or"]
    left: Condition
    right: Condition


class Negation(NamedTuple):
    """The opposite of a condition. Where that is null, this is null."""

    of: Condition


Condition: TypeAlias = Comparison | Junction | Negation


class Truth(NamedTuple):
    """Whether a condition is true, and whether it is false, each [by value / surely / possibly, group].

    Null is neither.
    """

    true: Mask
    false: Mask


def comparisons_in(condition: Condition) -> Iterator[Comparison]:
    """The comparisons that a condition is made of."""
    if isinstance(condition, Comparison):
        yield condition
    else:
        for part in (condition.of,) if isinstance(condition, Negation) else (condition.left, condition.right):
            yield from comparisons_in(part)


def estimates_in(condition: Condition) -> Iterator[Requested]:
    """The estimates that it compares."""
    for each in comparisons_in(condition):
        yield each.of
        if isinstance(each.than, Aggregate | Combination):
            yield each.than


def truth_of(
    condition: Condition,
    between: Mapping[Requested, Between],
    beside: Mapping[Comparison, Between],
    apart: Mapping[Comparison, Between],
) -> Truth:
    """Whether a condition holds, by the values of the groups and by their bounds.

    Args:
        condition: the condition.
        between: of each estimate that it compares, its values and bounds.
        beside: of comparisons with numbers that no double tells, the estimate as it lies beside the number.
        apart: of comparisons of two estimates their difference, where it is known.
    """
    if isinstance(condition, Negation):
        inner = truth_of(condition.of, between, beside, apart)
        return Truth(inner.false, inner.true)
    if isinstance(condition, Junction):
        left, right = (truth_of(each, between, beside, apart) for each in (condition.left, condition.right))
        if condition.sign == "and":
            return Truth(left.true & right.true, left.false | right.false)
        return Truth(left.true | right.true, left.false & right.false)
    of, than = between[condition.of], condition.than
    if isinstance(than, Fraction):
        of = beside.get(condition, of)
    other = between[than] if isinstance(than, Aggregate | Combination) else _number(than)
    true = _compare(of, condition.sign, other, apart.get(condition, NOT_TOLD))
    known, has_value = (
        ~np.isnan(a) & ~np.isnan(b) for a, b in ((of.low, other.low), (of.value, other.value))
    )
    by_value, surely, possibly = ~true
    return Truth(true, np.stack([has_value & by_value, known & possibly, known & surely]))


def _number(number: float | Fraction) -> Between:
    return Between(*(ranks(np.array(float(number))) for _ in range(3)))


def _compare(left: Between, sign: str, right: Between, apart: Between) -> Mask:
    """[by value / surely / possibly, group]. Null meets no comparison.

    Args:
        left: what is compared.
        sign: how.
        right: what with.
        apart: their difference.
    """
    if sign in (">", ">="):
        turned = Between(-apart.value, -apart.high, -apart.low)
        return _compare(right, sign.replace(">", "<"), left, turned)
    if sign == "=":
        is_it = (left.low == right.high) & (left.high == right.low)
        may_be = (left.low <= right.high) & (left.high >= right.low) & (apart.low <= 0) & (apart.high >= 0)
        return np.stack([left.value == right.value, is_it, may_be])
    less = np.less if sign == "<" else np.less_equal
    return np.stack(
        [
            less(left.value, right.value),
            less(left.high, right.low) | less(apart.high, 0),
            less(left.low, right.high) & less(apart.low, 0),
        ]
    )
