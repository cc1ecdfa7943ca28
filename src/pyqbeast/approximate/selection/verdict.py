"""Which groups surely belong to an answer, and which may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyqbeast.approximate.estimate.aggregate import Aggregate
from pyqbeast.approximate.estimate.choice import Choice
from pyqbeast.approximate.estimate.combination import Combination, Requested
from pyqbeast.approximate.estimate.estimates import Estimates, is_null
from pyqbeast.approximate.estimate.groups import Completeness
from pyqbeast.approximate.estimate.rounding import as_shown
from pyqbeast.approximate.estimate.state import FloatArray, Group, Mask, State
from pyqbeast.approximate.selection.between import Between, apart_of, beside_number, between_of
from pyqbeast.approximate.selection.conditions import comparisons_in, truth_of
from pyqbeast.approximate.selection.order import SortedBy
from pyqbeast.approximate.selection.selection import Selection


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
    between = {each: between_of(estimates[each], nulls[each], rows, most) for each in selection.requested}
    comparisons = [] if selection.having is None else [*comparisons_in(selection.having)]
    apart = {
        each: apart_of(estimates[found], estimates[each.of], estimates[each.than])
        for each in comparisons
        if isinstance(each.than, Aggregate | Combination) and (found := each.apart) is not None
    }
    beside = {
        each: beside_number(between[each.of], exact[each.of], each.than)
        for each in comparisons
        if isinstance(each.than, Fraction) and exact is not None and each.of in exact
    }
    truth = np.ones((3, groups + 1), dtype=bool)
    truth[:2, groups] = False
    if selection.having is not None:
        truth &= truth_of(selection.having, between, beside, apart).true
    truth[2, groups] &= not missing.complete
    having, sure, possible = truth
    if selection.limit is not None and selection.cut_by is not None:
        decisive = between[selection.cut_by]
        sure, possible = _of_the_first(selection.limit, selection.order[0], decisive, sure, possible)
    return Verdict(having[:-1], sure[:-1], possible[:-1], bool(possible[-1]))


def nulls_of(state: State, estimates: Mapping[Requested, Estimates]) -> dict[Requested, Mask]:
    """Where [group] each of the estimates is NULL in SQL."""
    return {each: is_null(state, found) for each, found in estimates.items()}


def _of_the_first(
    limit: int, order: SortedBy, between: Between, sure: Mask, possible: Mask
) -> tuple[Mask, Mask]:
    """Which groups are surely and possibly among the first, of those that meet the condition."""
    between = Between(*(as_shown(each, order.rounding) for each in between))
    # A larger score comes first. A null has the largest of all, or the smallest.
    null = np.inf if order.nulls_first else -np.inf
    ends = (-between.high, -between.low) if order.ascending else (between.low, between.high)
    low, high = (np.where(np.isnan(end), null, end) for end in ends)
    # Any number of groups may be missing, and all of them may come before this one.
    displaced = possible[-1] & (high[-1] >= low)
    # Not counting the group itself, which may be before itself.
    may_precede = _count(high[possible], low, "left") - possible
    surely_precede = _count(low[sure], high, "right")
    return sure & (may_precede < limit) & ~displaced, possible & (surely_precede < limit)


def _count(values: FloatArray, than: FloatArray, side: Literal["left", "right"]) -> NDArray[np.intp]:
    """How many values are at least (left), or larger than (right), each number."""
    return np.asarray(len(values) - np.searchsorted(np.sort(values), than, side=side))


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
