"""Estimates of aggregates, with bounds and what the bounds are worth."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from pyqbeast.approximate.estimate.aggregate import Aggregate
from pyqbeast.approximate.estimate.combination import (
    Combination,
    Requested,
    Term,
    between,
    combined,
    divisors,
    moved,
)
from pyqbeast.approximate.estimate.formulas import COUNTS, FORMULAS
from pyqbeast.approximate.estimate.groups import missed_keys
from pyqbeast.approximate.estimate.interval import (
    MOST_CONFIDENCE,
    Statistic,
    bounds,
    bounds_of_few,
    distinct_keys,
    leave_out,
)
from pyqbeast.approximate.estimate.part_sums import PartSums, has_rows, holds_nonfinite
from pyqbeast.approximate.estimate.percentile import percentile_bounds
from pyqbeast.approximate.estimate.state import FloatArray, State

#: How far an exact value may be off, as a share of it, or of 1 where it is a correlation. Sums of doubles are not so
#: far off, in whatever order Spark adds them up.
EXACT_TO = 1e-9


@dataclass(frozen=True)
class KnownBounds:
    """What is known about the rows from outside the sample. Without it nobody can tell what the sample may have missed.

    Attributes:
        key_rows: rows of the most frequent key (combination of hashed values), as the writer recorded it.
        bounds: of columns, smallest and largest value in the files (their statistics), as `column_bounds` gives them.
    """

    key_rows: float | None = None
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def span(self, column: str) -> tuple[float, float] | None:
        """Between which two values those of a column lie; None where that is not told of both."""
        low, high = self.bounds.get(column, (-np.inf, np.nan))
        return None if np.isnan(high) else (low, high)

    def is_constant(self, column: str) -> bool:
        """Whether all rows have one value of a column."""
        low, high = self.span(column) or (-np.inf, np.inf)
        return low == high


class Status(enum.IntEnum):
    """What an estimate's bounds are worth."""

    EXACT = 0
    """All is read: low = value = high."""
    BOUNDED = 1
    """The bounds hold with the stated confidence, and the rows not seen are too small to upset that."""
    SAMPLE_ONLY = 2
    """The bounds hold if the sample saw all kinds of rows; nothing from outside says that it did."""
    CERTAIN = 3
    """Bounds of min or max, or a NaN that no more rows change: always true, with no confidence to state."""
    FEW_KEYS = 4
    """The group was seen, through too few keys for a bound."""
    HEAVY_TAIL = 5
    """A few keys not seen could move the value by more than the bounds say."""
    LEFT_TO_QUERY = 6
    """Only the query run in full tells it, and may not be run: no bounds, and no value that its type does not hold."""


@dataclass(frozen=True)
class Estimates:
    """One aggregate in every group; all arrays are [group].

    Attributes:
        aggregate: what is estimated.
        value: the estimate; NaN where no rows take part.
        low: lower bound, NaN where there is none.
        high: upper bound, NaN where there is none.
        status: `Status` codes.
        keys: about how many distinct keys the estimate rests on.
        unseen: how far keys that the sample may have missed can move the value, in half widths of the bounds; NaN
            where nothing tells.
        noise: how far the rounding of sums may have moved the value, beyond its own last digits.
    """

    aggregate: Requested
    value: FloatArray
    low: FloatArray
    high: FloatArray
    status: NDArray[np.int8]
    keys: FloatArray
    unseen: FloatArray
    noise: FloatArray

    @property
    def margin(self) -> FloatArray:
        """The distance from the value to the farther bound: within it the truth lies. NaN without bounds."""
        # If both are infinite, the difference is NaN, which meets no goal.
        with np.errstate(invalid="ignore"):
            return np.maximum(self.high - self.value, self.value - self.low)


def counts_keys(requested: Requested, key_rows: float | None) -> bool:
    """Whether an estimate is a number of keys: a count where no key has more than one row, or one distinct value."""
    if requested.kind not in COUNTS:
        return False
    return key_rows == 1 or all(part.one_per_key for part in requested.parts)


def is_null(state: State, found: Estimates) -> NDArray[np.bool_]:
    """Whether the value of each group [group] is NULL in SQL: no rows take part, or too few, or it divides by 0.

    What NaN or infinite rows make of it is a value.
    """
    if found.aggregate.kind in COUNTS:
        return np.zeros(len(state.groups), dtype=bool)
    is_undefined = np.isnan(found.value) & ~holds_nonfinite(state, found.aggregate)
    if found.aggregate.kind == "percentile":
        is_undefined &= found.status != Status.EXACT
    is_undefined |= np.isnan(found.value) & (found.status == Status.LEFT_TO_QUERY)
    return np.asarray(~has_rows(state, found.aggregate) | is_undefined)


def estimate(
    state: State,
    aggregate: Requested,
    fraction: float | FloatArray,
    confidence: float = 0.95,
    known: KnownBounds | None = None,
    grids: Mapping[Aggregate, FloatArray] = MappingProxyType({}),
    exact_below: Mapping[Requested, float] = MappingProxyType({}),
) -> Estimates:
    """The aggregate in every group of the state.

    Args:
        state: with axes that have the aggregate's moments and extremes.
        aggregate: what to estimate.
        fraction: the chance of each key to be in the sample; one number, or one per group.
        confidence: of each bound by itself; for m bounds at once ask for 1 - (1 - confidence) / m. Those of skewed
            values through few keys miss more often then, unless `with_wide_tails` makes them wider.
        known: what is known from outside the sample.
        grids: of percentiles, each [group, threshold]; NaN rows for groups without a grid.
        exact_below: of `NumberLimits`; numbers of aggregates that are not in it are doubles.
    """
    known = known or KnownBounds()
    share = np.broadcast_to(np.asarray(fraction, dtype=np.float64), len(state.groups))
    if isinstance(aggregate, Combination):
        if aggregate.follows_from_sums:
            return _from_sums(state, aggregate, share, confidence, known)
        return _from_bounds(state, aggregate, share, confidence, known, grids, exact_below)
    if aggregate.kind in ("min", "max"):
        return _extreme(state, aggregate, share, known)
    if aggregate.kind != "percentile":
        return _from_sums(state, aggregate, share, confidence, known)
    return _percentile(state, aggregate, share, confidence, known, grids[aggregate])


def _from_sums(
    state: State, requested: Requested, share: FloatArray, confidence: float, known: KnownBounds
) -> Estimates:
    sums = PartSums(state, requested)
    value, influence = leave_out(sums.value, sums.sampled, share)
    low, high = bounds(value, influence, share, confidence)
    curved = _off_by_products(sums, sums.term, share, confidence)
    widened = _widened_by_divisors(sums, share, confidence)
    with np.errstate(all="ignore"):
        low, high = value - (value - low + curved) * widened, value + (high - value + curved) * widened
        population = sums.sampled.sum(axis=1) / share[:, None]
        value = np.where(share >= 1, sums.exact_value(population), value)
        # Without a number there is nothing to round.
        noise = np.where(holds_nonfinite(state, requested), 0.0, sums.noise(population))
        low, high = low - noise, high + noise
        if isinstance(requested, Aggregate):
            formula = FORMULAS[requested.kind]
            low, high = np.maximum(low, formula.lowest), np.minimum(high, formula.highest)
            value = np.clip(value, formula.lowest, formula.highest)
        missed, by_products = np.full(len(share), np.nan), np.zeros(len(share))
        key_rows = 1.0 if all(part.one_per_key for part in requested.parts) else known.key_rows
        spans = {column: state.span([column])[:, 0] for column in requested.extremes}
        if key_rows is not None:
            # Values that were seen are possible, whatever else is.
            seen = sums.reach(sums.term, population, lambda column: spans[column])
            if isinstance(requested, Combination) or requested.kind == "corr":
                # No row need have had the largest value of each column. What one has done shows in its bucket.
                seen = np.minimum(seen, share * np.abs(influence).max(axis=1))
            bounded = {column: np.array([span]) for column in spans if (span := known.span(column))}
            possible = spans | bounded
            missed = key_rows * sums.reach(sums.term, population, possible.__getitem__) - seen
            several = missed_keys(share, confidence) * key_rows
            by_products = sums.curved(
                sums.term,
                population,
                lambda term: several * sums.reach(term, population, possible.__getitem__),
            )
        # If no rows can have been missed, they move nothing, even bounds of width 0. They move the value to one side,
        # where it has half of the width: of samples without any of the rare keys that matter all have narrow bounds.
        off = np.where(missed <= 0, 0.0, missed_keys(share, confidence) * missed) + by_products
        unseen = np.where(off <= 0, 0.0, 2 * off / (high - low))
    # Without the bounds of a column, the largest key can be found too large, but not small enough.
    if any(known.span(column) is None for column in requested.extremes):
        unseen = np.where(unseen > 1, unseen, np.nan)
    is_known = {
        column: (span[:, 0] == span[:, 1]) & ~np.isnan(unseen) | known.is_constant(column)
        for column, span in spans.items()
    }
    with np.errstate(all="ignore"):
        keys = sums.keys(spans, is_known)
        if key_rows is None and any(part.kind == "corr" for part in requested.parts):
            # What rows not seen can move was not asked above. Of flags that exclude each other none has both, and those
            # that might hardly move it.
            reach = sums.reach(sums.term, population, spans.__getitem__)
            is_moved = missed_keys(share, confidence) * reach > (high - low) / 2
            keys = np.where(is_moved, np.minimum(keys, sums.keys_off_both(spans)), keys)
    # The sample says nothing of a quotient whose divisor may be 0.
    keys = np.where(np.isinf(widened), 0.0, keys)
    few = keys < requested.min_keys
    if counts_keys(requested, known.key_rows):
        # If bounds began at so many keys, they would be those of the groups that the sample has made large.
        seen = sums.sampled[few].sum(axis=(1, 2))
        is_listed = state.groups != ((),)
        low[few], high[few] = bounds_of_few(seen, share[few], confidence, is_listed=is_listed)
        few = np.zeros_like(few)
    found = _judged(requested, value, low, high, share, keys, few, unseen, noise)
    if isinstance(requested, Combination):
        return found
    # Whatever rows come, what a NaN or infinities of both signs among them have made NaN stays so.
    stays = np.isnan(value) & holds_nonfinite(state, requested) & has_rows(state, requested)
    status = np.where(stays & (share < 1), Status.CERTAIN, found.status).astype(np.int8)
    return replace(found, status=status)


def _off_by_products(sums: PartSums, term: Term, share: FloatArray, confidence: float) -> FloatArray:
    """How far [group] a term may be off beyond bounds that take the other factor of each factor for exact.

    They are of no width where both factors are near 0, as that of (avg(x) - 5) * (avg(x) - 5) is, and where the squares
    of all rows are alike, as those of flags that half of them have are: a variance holds the square of an average.
    """

    def half_width(statistic: Statistic) -> FloatArray:
        value, influence = leave_out(statistic, sums.sampled, share)
        low, high = bounds(value, influence, share, confidence)
        return np.maximum(value - low, high - value)

    with np.errstate(all="ignore"):
        population = sums.sampled.sum(axis=1) / share[:, None]
        return sums.curved(term, population, lambda factor: half_width(sums.of(factor)), half_width)


def _widened_by_divisors(sums: PartSums, share: FloatArray, confidence: float) -> FloatArray:
    """How many times [group] wider the bounds of a quotient are than those that take its divisor for exact.

    The bounds are linear in the divisor, and a quotient is not: where the divisor is smaller by a share g, whatever is
    off counts 1 / (1 - g) times. That holds Fieller's interval. It is infinite where the divisor's bounds hold 0.
    """
    widened = np.ones(len(share))
    for divisor in divisors(sums.term):
        if isinstance(divisor, float):
            continue
        value, influence = leave_out(sums.of(divisor), sums.sampled, share)
        low, high = bounds(value, influence, share, confidence)
        curved = _off_by_products(sums, divisor, share, confidence)
        with np.errstate(all="ignore"):
            smaller = (np.where(value > 0, value - low, high - value) + curved) / np.abs(value)
            widened = widened * np.where(smaller < 1, 1 / (1 - smaller), np.inf)
    return widened


def _from_bounds(
    state: State,
    combination: Combination,
    share: FloatArray,
    confidence: float,
    known: KnownBounds,
    grids: Mapping[Aggregate, FloatArray],
    exact_below: Mapping[Requested, float],
) -> Estimates:
    """A formula of parts whose bounds hold all together (Bonferroni)."""
    each = min(1 - (1 - confidence) / len(combination.parts), MOST_CONFIDENCE)
    parts = [estimate(state, part, share, each, known, grids) for part in combination.parts]
    value = combined(combination.term, [part.value for part in parts])
    ends = [part.low for part in parts], [part.high for part in parts]
    held_below = min((exact_below[part] for part in combination.parts if part in exact_below), default=None)
    low, high = between(combination.term, *ends, held_below=held_below)
    codes = np.stack([part.status for part in parts])
    # Certain bounds of one part do not make the others narrow.
    status = np.where(codes == Status.CERTAIN, Status.EXACT, codes).max(axis=0)
    status = np.where(
        (status == Status.EXACT) & (codes == Status.CERTAIN).any(axis=0), Status.CERTAIN, status
    )
    low, high = (np.where(status == Status.EXACT, value, end) for end in (low, high))
    keys, unseen = (
        np.min([part.keys for part in parts], axis=0),
        np.max([part.unseen for part in parts], axis=0),
    )
    noise = moved(combination.term, [part.value for part in parts], [part.noise for part in parts])
    return Estimates(combination, value, low, high, status.astype(np.int8), keys, unseen, noise)


def _percentile(
    state: State,
    aggregate: Aggregate,
    share: FloatArray,
    confidence: float,
    known: KnownBounds,
    grid: FloatArray,
) -> Estimates:
    p = aggregate.p or 0.0
    sampled = state.sums[..., state.index(aggregate.moments)]
    percentile = percentile_bounds(p, sampled, share, confidence, grid)
    with np.errstate(all="ignore"):
        rows = sampled[..., 0].sum(axis=1) / share
        missed = ((known.key_rows or np.nan) - 1) * max(p, 1 - p) / rows
        unseen = missed_keys(share, confidence) * missed / percentile.half_share
    # Counts below thresholds never give the exact percentile, so the share stays below 1 even if all rows were
    # read.
    below_all = np.minimum(share, np.nextafter(1, 0))
    # What lies beyond the thresholds is told by no key.
    keys = np.where(np.isnan(percentile.value), 0.0, distinct_keys(sampled[..., 0]))
    few, none = keys < aggregate.min_keys, np.zeros(len(share))
    return _judged(
        aggregate, percentile.value, percentile.low, percentile.high, below_all, keys, few, unseen, none
    )


def _extreme(state: State, aggregate: Aggregate, share: FloatArray, known: KnownBounds) -> Estimates:
    """The minimum or maximum.

    The sample's own extreme bounds it on one side, and the files' statistics on the other.
    """
    largest = aggregate.kind == "max"
    ends = state.span(aggregate.columns)[:, 0]
    value = np.where(has_rows(state, aggregate), ends[:, int(largest)], np.nan)
    outer = np.full(len(share), known.bounds.get(aggregate.columns[0], (-np.inf, np.nan))[int(largest)])
    if largest:
        # Infinity stands for NaN too, which lies above it.
        outer = np.where(np.isnan(value) | np.isposinf(outer), np.nan, outer)
    other = np.where(share >= 1, value, outer)
    low, high = (value, other) if largest else (other, value)
    keys = distinct_keys(state.sums[..., state.index(aggregate.moments)[0]])
    # Rows that were not read may have values where those that were have none.
    seen = np.where(has_rows(state, aggregate), Status.CERTAIN, Status.FEW_KEYS)
    status = np.where(share >= 1, Status.EXACT, seen).astype(np.int8)
    none = np.zeros(len(share))
    return Estimates(aggregate, value, low, high, status, keys, none, none)


def _judged(
    aggregate: Requested,
    value: FloatArray,
    low: FloatArray,
    high: FloatArray,
    share: FloatArray,
    keys: FloatArray,
    few: NDArray[np.bool_],
    unseen: FloatArray,
    noise: FloatArray,
) -> Estimates:
    """The estimates with their status. Bounds of those that rest on too few keys [group] are dropped."""
    status = np.where(np.isnan(unseen), Status.SAMPLE_ONLY, Status.BOUNDED)
    status = np.where(unseen > 1, Status.HEAVY_TAIL, status)
    exact = share >= 1
    status = np.where(exact, Status.EXACT, np.where(few, Status.FEW_KEYS, status))
    low, high = (np.where(exact, value, np.where(few, np.nan, bound)) for bound in (low, high))
    return Estimates(aggregate, value, low, high, status.astype(np.int8), keys, unseen, noise)
