"""Which groups a query keeps by its estimates (`HAVING`, `ORDER BY … LIMIT`), and how sure that is.

An estimate is a value between two bounds. A group surely belongs if it does wherever between their bounds the estimates
of all groups lie; it may belong if it does somewhere. All bounds together hold with the confidence that is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyqbeast.approximate.estimate.aggregate import Aggregate
from pyqbeast.approximate.estimate.combination import Combination, Requested, difference
from pyqbeast.approximate.estimate.estimates import EXACT_TO, Estimates, Status, counts_keys, is_null
from pyqbeast.approximate.estimate.formulas import COUNTS, FORMULAS
from pyqbeast.approximate.estimate.groups import Completeness
from pyqbeast.approximate.estimate.interval import MOST_CONFIDENCE
from pyqbeast.approximate.estimate.rounding import Rounding, as_shown
from pyqbeast.approximate.estimate.state import FloatArray, Group, Mask, State

#: At this confidence bounds hold from the fewest keys on.
_OF_FEWEST_KEYS = 0.95


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


class SortedBy(NamedTuple):
    """What groups are sorted by.

    Attributes:
        by: an estimate, or the number of one of the columns that name a group.
        ascending, nulls_first: how.
        rounding: an estimate is rounded so, see `as_shown`.
    """

    by: Requested | int
    ascending: bool
    nulls_first: bool
    rounding: Rounding = None


@dataclass(frozen=True)
class Selection:
    """What a query keeps of its groups.

    Attributes:
        having: the condition; None for none.
        first: what they are sorted by in the first place, for a limit.
        ascending, nulls_first: how.
        limit: how many are kept; None for all.
        rounding: what they are sorted by is rounded so, see `as_shown`.
        then: what those are sorted by that are equal in that.
    """

    having: Condition | None = None
    first: Requested | None = None
    ascending: bool = True
    nulls_first: bool = True
    limit: int | None = None
    rounding: Rounding = None
    then: tuple[SortedBy, ...] = ()

    @property
    def requested(self) -> list[Requested]:
        """The estimates that decide."""
        of_condition = [] if self.having is None else list(_compared(self.having))
        return list(dict.fromkeys([*of_condition, *([] if self.first is None else [self.first])]))

    @property
    def compared(self) -> list[tuple[Requested, Requested]]:
        """The estimates that are compared with each other."""
        comparisons = () if self.having is None else _comparisons(self.having)
        return [
            (each.of, each.than) for each in comparisons if isinstance(each.than, Aggregate | Combination)
        ]

    @property
    def differences(self) -> list[Combination]:
        """Of estimates that are compared with each other those that may decide where these do not."""
        comparisons = () if self.having is None else _comparisons(self.having)
        return list(dict.fromkeys(each.apart for each in comparisons if each.apart is not None))

    def confidence(self, groups: int, confidence: float) -> float:
        """That of each bound, so that those of so many groups hold all together (Bonferroni), as far as one can say."""
        return max(confidence, min(1 - (1 - confidence) / self._bounds(groups), MOST_CONFIDENCE))

    def confidence_together(self, groups: int, confidence: float) -> float:
        """That with which all these bounds hold together: what is asked for, or what is left of it; 0 for nothing."""
        each = self.confidence(groups, confidence)
        return confidence if each < MOST_CONFIDENCE else max(0.0, 1 - self._bounds(groups) * (1 - each))

    def _bounds(self, groups: int) -> int:
        return groups * (len(self.requested) + len(self.differences)) + 1

    def shown(self, state: State, estimates: Mapping[Requested, Estimates], having: Mask) -> Mask:
        """Which of the groups [group] that meet the condition are in the answer; of equal ones at its end any."""
        if self.limit is None or self.first is None:
            return having
        order = (SortedBy(self.first, self.ascending, self.nulls_first, self.rounding), *self.then)
        keys = [_sort_key(each, state, estimates) for each in order]
        return np.isin(np.arange(len(having)), sorted_groups(keys, having)[: self.limit])


class Verdict(NamedTuple):
    """What is known of the groups, each [group].

    Attributes:
        having: which meet the condition by their estimates.
        sure: which surely belong to the answer.
        possible: which may belong to it.
        missing: whether a group that the sample missed may belong to it.
        confidence: with which all of this holds together.
    """

    having: Mask
    sure: Mask
    possible: Mask
    missing: bool
    confidence: float = 1.0


class Between(NamedTuple):
    """An estimate of each group and its bounds, each [group]; all of them NaN where it is surely null.

    They are ranks, as `_ranks` gives them.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray


class _Truth(NamedTuple):
    """Whether a condition is true, and whether it is false, each [by value / surely / possibly, group].

    Null is neither.
    """

    true: Mask
    false: Mask


def verdict_of(
    selection: Selection,
    estimates: Mapping[Requested, Estimates],
    nulls: Mapping[Requested, Mask],
    rows: FloatArray,
    missing: Completeness,
    exact: Mapping[Requested, Mapping[int, Fraction]] | None = None,
) -> Verdict:
    """Which groups a selection keeps.

    Args:
        selection: what is kept.
        estimates: of what it needs, its differences included, with bounds of the confidence that it asks for.
        nulls: [group] of each of them, as `nulls_of` gives them.
        rows: [group], an upper bound of the rows of each, for counts of few keys.
        missing: what is known of groups that are not listed. All of them are one more group here, with all values that
            they can have.
        exact: of estimates that are whole numbers or decimals, by the numbers of groups, values that no double tells.
    """
    most = np.inf if missing.most_rows is None else missing.most_rows
    groups = len(rows)
    between = {each: _between(estimates[each], nulls[each], rows, most) for each in selection.requested}
    comparisons = [] if selection.having is None else [*_comparisons(selection.having)]
    apart = {
        each: _apart(estimates[found], estimates[each.of], estimates[each.than])
        for each in comparisons
        if isinstance(each.than, Aggregate | Combination) and (found := each.apart) is not None
    }
    beside = {
        each: _beside(between[each.of], exact[each.of], each.than)
        for each in comparisons
        if isinstance(each.than, Fraction) and exact is not None and each.of in exact
    }
    truth = np.ones((3, groups + 1), dtype=bool)
    truth[:2, groups] = False
    if selection.having is not None:
        truth &= _truth(selection.having, between, beside, apart).true
    truth[2, groups] &= not missing.complete
    having, sure, possible = truth
    if selection.limit is not None and selection.first is not None:
        first = Between(*(as_shown(each, selection.rounding) for each in between[selection.first]))
        sure, possible = _of_the_first(selection, first, sure, possible)
    return Verdict(having[:-1], sure[:-1], possible[:-1], bool(possible[-1]))


def with_wide_tails(found: Estimates, confidence: float, key_rows: float | None) -> Estimates:
    """Estimates with bounds as wide as it takes where one of many groups is told by each, with a high confidence.

    What the corrections for skewness leave grows in the tails with the sixth power of the normal quantile, and falls
    with the keys. So bounds of few keys are wider by the sixth root of what they lack of these. Averages of lognormal
    values with the deviation 1.5 then miss about as often as is said, and without it up to ten times as often; those of
    tamer values less often. A count of keys is a Poisson variable, whose bounds hold at any confidence.

    Args:
        found: the estimates, with bounds of this confidence.
        confidence: of each bound.
        key_rows: of the most frequent key; None where it is not known.
    """
    if counts_keys(found.aggregate, key_rows):
        return found
    quantile, of_fewest = (NormalDist().inv_cdf((1 + each) / 2) for each in (confidence, _OF_FEWEST_KEYS))
    is_bounded = np.isin(found.status, (Status.BOUNDED, Status.SAMPLE_ONLY))
    with np.errstate(all="ignore"):
        wider = quantile / of_fewest * (found.aggregate.min_keys / found.keys) ** (1 / 6)
        wider = np.where(is_bounded, np.maximum(wider, 1.0), 1.0)
        low = np.where(wider > 1, found.value - (found.value - found.low) * wider, found.low)
        high = np.where(wider > 1, found.value + (found.high - found.value) * wider, found.high)
    formula = FORMULAS.get(found.aggregate.kind)
    if formula is not None:
        low, high = np.maximum(low, formula.lowest), np.minimum(high, formula.highest)
    return replace(found, low=low, high=high)


def nulls_of(state: State, estimates: Mapping[Requested, Estimates]) -> dict[Requested, Mask]:
    """Where [group] each of the estimates is NULL in SQL."""
    return {each: is_null(state, found) for each, found in estimates.items()}


def _between(estimates: Estimates, null: Mask, rows: FloatArray, most_missing: float) -> Between:
    """The bounds of each group, and of the missing ones after them."""
    exact = estimates.status == Status.EXACT
    value, low, high = (_ranks(each) for each in (estimates.value, estimates.low, estimates.high))
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


def _ranks(numbers: FloatArray) -> FloatArray:
    """Numbers that compare as Spark compares these: NaN is above infinity, which takes the largest number's place."""
    return np.where(
        np.isnan(numbers), np.inf, np.where(np.isposinf(numbers), np.finfo(np.float64).max, numbers)
    )


def _apart(found: Estimates, left: Estimates, right: Estimates) -> Between:
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


def _beside(between: Between, exact: Mapping[int, Fraction], number: Fraction) -> Between:
    """An estimate to be compared with a number: where both are one double, its values lie to their side of that."""
    value, double = between.value.copy(), float(number)
    told = Fraction(repr(double))
    for group in np.flatnonzero(value == double).tolist():
        known = exact.get(group, told)
        if known != number:
            value[group] = np.nextafter(double, np.inf if known > number else -np.inf)
    return between._replace(value=value)


#: A difference of which nothing is known.
_NOT_TOLD = Between(np.array(np.nan), np.array(-np.inf), np.array(np.inf))


def _comparisons(condition: Condition) -> Iterator[Comparison]:
    if isinstance(condition, Comparison):
        yield condition
    else:
        for part in (condition.of,) if isinstance(condition, Negation) else (condition.left, condition.right):
            yield from _comparisons(part)


def _compared(condition: Condition) -> Iterator[Requested]:
    for each in _comparisons(condition):
        yield each.of
        if isinstance(each.than, Aggregate | Combination):
            yield each.than


def _truth(
    condition: Condition,
    between: Mapping[Requested, Between],
    beside: Mapping[Comparison, Between],
    apart: Mapping[Comparison, Between],
) -> _Truth:
    if isinstance(condition, Negation):
        inner = _truth(condition.of, between, beside, apart)
        return _Truth(inner.false, inner.true)
    if isinstance(condition, Junction):
        left, right = (_truth(each, between, beside, apart) for each in (condition.left, condition.right))
        if condition.sign == "and":
            return _Truth(left.true & right.true, left.false | right.false)
        return _Truth(left.true | right.true, left.false & right.false)
    of, than = between[condition.of], condition.than
    if isinstance(than, Fraction):
        of = beside.get(condition, of)
    other = between[than] if isinstance(than, Aggregate | Combination) else _number(than)
    true = _compare(of, condition.sign, other, apart.get(condition, _NOT_TOLD))
    known, has_value = (
        ~np.isnan(a) & ~np.isnan(b) for a, b in ((of.low, other.low), (of.value, other.value))
    )
    by_value, surely, possibly = ~true
    return _Truth(true, np.stack([has_value & by_value, known & possibly, known & surely]))


def _number(number: float | Fraction) -> Between:
    return Between(*(_ranks(np.array(float(number))) for _ in range(3)))


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


def _of_the_first(selection: Selection, between: Between, sure: Mask, possible: Mask) -> tuple[Mask, Mask]:
    """Which groups are surely and possibly among the first, of those that meet the condition."""
    assert selection.limit is not None
    # A larger score comes first. A null has the largest of all, or the smallest.
    null = np.inf if selection.nulls_first else -np.inf
    ends = (-between.high, -between.low) if selection.ascending else (between.low, between.high)
    low, high = (np.where(np.isnan(end), null, end) for end in ends)
    # Any number of groups may be missing, and all of them may come before this one.
    displaced = possible[-1] & (high[-1] >= low)
    # Not counting the group itself, which may be before itself.
    may_precede = _count(high[possible], low, "left") - possible
    surely_precede = _count(low[sure], high, "right")
    return sure & (may_precede < selection.limit) & ~displaced, possible & (surely_precede < selection.limit)


def _count(values: FloatArray, than: FloatArray, side: Literal["left", "right"]) -> NDArray[np.intp]:
    """How many values are at least (left), or larger than (right), each number."""
    return np.asarray(len(values) - np.searchsorted(np.sort(values), than, side=side))


@dataclass(frozen=True)
class Choice:
    """How sure it is which groups belong to an answer that keeps some of them.

    Attributes:
        doubtful: groups of the answer that may not belong to it.
        left_out: groups that are not in the answer and may belong to it.
        missing: whether groups that the sample missed may belong to it.
        confidence: with which all of this holds together: that of the answer, or less where there are so many bounds
            that each of them would need more than 0.9999 for that (at 0.95 from some 500 groups on); 0 where nothing is
            left of it.
    """

    doubtful: tuple[Group, ...] = ()
    left_out: tuple[Group, ...] = ()
    missing: bool = False
    confidence: float = field(default=1.0, compare=False)


def choice(groups: Sequence[Group], shown: Mask, verdict: Verdict) -> Choice:
    """What is to be said of the groups [group] that an answer shows."""

    def named(mask: Mask) -> tuple[Group, ...]:
        return tuple(group for group, is_named in zip(groups, mask, strict=True) if is_named)

    return Choice(
        named(shown & ~verdict.sure),
        named(~shown & verdict.possible),
        verdict.missing,
        verdict.confidence,
    )


class SortKey(NamedTuple):
    """What groups are sorted by.

    Attributes:
        values: [group], None for null.
        ascending, nulls_first: how.
    """

    values: Sequence[Any]
    ascending: bool
    nulls_first: bool


def _sort_key(order: SortedBy, state: State, estimates: Mapping[Requested, Estimates]) -> SortKey:
    by, ascending, nulls_first, rounding = order
    if isinstance(by, int):
        return SortKey([group[by] for group in state.groups], ascending, nulls_first)
    return SortKey(estimated_values(state, estimates[by], rounding), ascending, nulls_first)


def estimated_values(state: State, estimates: Estimates, rounding: Rounding = None) -> list[float | None]:
    """The estimate of each group [group], rounded, as a value to sort by; None where it is null."""
    values, nulls = as_shown(estimates.value, rounding).tolist(), is_null(state, estimates).tolist()
    return [None if null else value for value, null in zip(values, nulls, strict=True)]


def confidence_of_shown(
    shown: Mask, possible: Mask, estimates: Iterable[Estimates], confidence: float
) -> float:
    """That of each bound of an answer that keeps some groups, so that this share of them holds on the average.

    A group is among the first because it is large, or because the sample makes it large. Of bounds that hold with c
    each, hardly any may hold for the groups shown. The false coverage rate (Benjamini and Yekutieli 2005) takes bounds
    of 1 - (1 - c) shown / candidates. Groups that surely do not belong to the answer had no chance, and are none.

    Args:
        shown: [group], those in the answer.
        possible: [group], those that may belong to it.
        estimates: of the answer; bounds that are not told, or are true always, do not count.
        confidence: the share.
    """
    share = 1.0
    for each in estimates:
        may_miss = np.isin(each.status, (Status.BOUNDED, Status.SAMPLE_ONLY))
        of_shown, candidates = (int((mask & may_miss).sum()) for mask in (shown, shown | possible))
        if of_shown:
            share = min(share, of_shown / candidates)
    return max(confidence, min(1 - (1 - confidence) * share, MOST_CONFIDENCE))


def sorted_groups(keys: Sequence[SortKey], kept: Mask) -> list[int]:
    """The numbers of the kept groups [group], sorted by the first key, then by the second, and so on."""
    groups: list[int] = np.flatnonzero(kept).tolist()
    # The sort is stable, so that the last key comes first.
    for values, ascending, nulls_first in reversed(keys):
        nulls = [group for group in groups if values[group] is None]
        others = [group for group in groups if values[group] is not None]
        others.sort(key=lambda group, of=values: _sortable(of[group]), reverse=not ascending)  # type: ignore[misc]
        groups = nulls + others if nulls_first else others + nulls
    return groups


def _sortable(value: Any) -> tuple[bool, Any]:  # noqa: ANN401 (a value of a row)
    is_nan = isinstance(value, float) and math.isnan(value)
    # NaN is the largest number, as in Spark.
    return is_nan, 0.0 if is_nan else value
