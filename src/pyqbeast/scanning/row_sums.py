"""Sums of rows by group and bucket, from Arrow batches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pyqbeast.approximate.estimate import Aggregate, Moment, State, StateAxes, centre_near, squared_columns
from pyqbeast.approximate.estimate.percentile import THRESHOLDS
from pyqbeast.approximate.estimate.state import FloatArray, Group, bucket_count, fold, group_key, group_values
from pyqbeast.core.format.constants import BUCKET_SEED
from pyqbeast.core.sampling.murmur3 import hash_ints
from pyqbeast.scanning.aggregates import Numbers, Request
from pyqbeast.scanning.arrays import index_array
from pyqbeast.scanning.distinct_values import DistinctValues, in_one_form, numbered
from pyqbeast.scanning.exact_numbers import ExactNumbers
from pyqbeast.scanning.spreads import Spreads

#: The thresholds of percentiles: [threshold] by percentile and group.
Thresholds = Mapping[Aggregate, Mapping[Group, FloatArray]]


class Rows(NamedTuple):
    """Some rows, reduced to what sums are made of.

    Attributes:
        groups: the different groups.
        group: for each row the number of its group.
        weights: of the rows.
        numbers: by the names that aggregates use.
        values: by the names that counts of distinct values use.
        exact: columns that are added up to the last digit, by their names.
    """

    groups: list[Group]
    group: NDArray[np.int64]
    weights: NDArray[np.int32]
    numbers: Mapping[str, Numbers]
    values: Mapping[str, pa.Array]
    exact: Mapping[str, pa.Array]

    @classmethod
    def of(
        cls,
        batch: pa.RecordBatch,
        weights: NDArray[np.int32],
        request: Request,
        exact: Collection[str] = (),
    ) -> Rows:
        """Rows of a batch, with some of its columns for exact numbers."""
        groups, group = _groups(batch, request.groups)
        numbers = {name: source.of(batch) for name, source in request.sources.items()}
        values = {name: batch.column(column) for name, column in request.distinct.items()}
        held = {column: batch.column(column) for column in exact}
        return cls([group_key(each) for each in groups], group, weights, numbers, values, held)


def sums_of(
    parts: Iterable[Rows],
    axes: StateAxes,
    thresholds: Thresholds,
    *,
    is_grouped: bool,
    spreads: Collection[Spreads] = (),
    exact: Mapping[str, ExactNumbers] = MappingProxyType({}),
) -> State:
    """The state of rows that come part by part; no more than one part is in memory, and distinct values to count.

    Many groups are put into fewer buckets than the axes say, as `bucket_count` tells. A column that is squared and has
    no centre gets that of the first part that has values of it, unless `spreads` tell what it is needed for.

    Args:
        parts: the rows.
        axes: the sums.
        thresholds: of percentiles.
        is_grouped: whether there are groups, and none without rows.
        spreads: take the rows as they go by; their groups are numbered as in the state.
        exact: take columns of them, by their names.
    """
    number_of: dict[Group, int] = {} if is_grouped else {(): 0}
    state = State.empty(axes, list(number_of))
    distinct = {at: DistinctValues(each.columns) for at, each in enumerate(axes.moments) if each.distinct}
    for rows in parts:
        if not len(rows.group):
            continue
        # Sums about the centre of all rows lose what is small beside it.
        axes = axes if spreads else _with_centres(axes, rows)
        numbers = np.array([number_of.setdefault(each, len(number_of)) for each in rows.groups], np.int64)
        state = fold(state, bucket_count(len(number_of), axes.buckets))
        if len(number_of) > len(state.sums):
            state = _with_room(state, len(number_of))
        seeds = np.full(len(rows.weights), BUCKET_SEED, np.uint32)
        bucket = (hash_ints(rows.weights, seeds) & np.uint32(axes.buckets - 1)).astype(np.int64)
        number = numbers[rows.group]
        for of_moment in distinct.values():
            of_moment.add(number * axes.buckets + bucket, rows.values)
        for each in spreads:
            each.add(number, len(number_of), rows.numbers)
        for column, of_column in exact.items():
            of_column.add(number, len(number_of), rows.exact[column])
        _add(state, rows, axes, thresholds, number, bucket)
    for at, of_moment in distinct.items():
        places, values = of_moment.counts()
        group, bucket = np.divmod(places, axes.buckets)
        np.add.at(state.sums[..., at], (group, bucket & (state.axes.buckets - 1)), values)
    count = len(number_of)
    if state.sums.any():
        axes = replace(axes, centres={name: axes.centres.get(name, 0.0) for name in squared_columns(axes)})
    axes = replace(axes, buckets=state.axes.buckets)
    return State(axes, tuple(number_of), state.sums[:count], state.spans[:count])


def _add(
    state: State,
    rows: Rows,
    axes: StateAxes,
    thresholds: Thresholds,
    number: NDArray[np.int64],
    bucket: NDArray[np.int64],
) -> None:
    """Adds rows to the sums and spans of a state in place.

    Args:
        state: it may have fewer buckets than the axes.
        rows: those of one part.
        axes: the sums, with centres.
        thresholds: of percentiles.
        number: for each row that of its group in the state.
        bucket: for each row that of the axes.
    """
    buckets = state.axes.buckets
    slots, slot = np.unique(number * buckets + (bucket & (buckets - 1)), return_inverse=True)
    group, of_slot = np.divmod(slots, buckets)
    # Infinities of both signs add up to NaN, and the squares of very large numbers are infinite.
    with np.errstate(invalid="ignore", over="ignore"):
        state.sums[group, of_slot] += _sums(rows, axes, thresholds, slot, len(slots))
    lows, highs = _extremes(rows, axes, slot, len(slots))
    spans = state.spans[group, of_slot]
    state.spans[group, of_slot] = np.stack(
        [np.fmin(spans[..., 0], lows), np.maximum(spans[..., 1], highs)], axis=-1
    )


def _with_centres(axes: StateAxes, rows: Rows) -> StateAxes:
    """The axes with centres near some rows' means of columns that have none yet.

    Until there are values of a column its sums are 0, whatever its centre is.
    """
    found: dict[str, float] = {}
    for column in squared_columns(axes):
        if column not in axes.centres:
            values, valid = rows.numbers[column]
            kept = values[np.isfinite(values) if valid is None else np.isfinite(values) & valid]
            if kept.size:
                # The squares of very large numbers are infinite, and sums of them may be infinities of both signs.
                with np.errstate(invalid="ignore", over="ignore"):
                    found[column] = centre_near(float(kept.mean()), float(kept.var()))
    return replace(axes, centres={**axes.centres, **found}) if found else axes


def _with_room(state: State, groups: int) -> State:
    """The same sums with room for at least so many groups; what they are called does not matter yet."""
    larger = State.empty(state.axes, [()] * max(groups, 2 * len(state.sums)))
    larger.sums[: len(state.sums)] = state.sums
    larger.spans[: len(state.sums)] = state.spans
    return larger


def _sums(
    rows: Rows, axes: StateAxes, thresholds: Thresholds, slot: NDArray[np.intp], slots: int
) -> FloatArray:
    """[slot, moment]."""
    below: dict[Aggregate, FloatArray] = {}
    found = np.empty((slots, len(axes.moments)))
    for at, moment in enumerate(axes.moments):
        if moment.at_most is not None:
            percentile = Aggregate("percentile", moment.columns, moment.at_most[0])
            if percentile not in below:
                below[percentile] = _counts_below(rows, percentile, thresholds[percentile], slot, slots)
            found[:, at] = below[percentile][:, moment.at_most[1]]
        elif moment.distinct:
            found[:, at] = 0.0  # counted once all parts have come
        else:
            found[:, at] = np.bincount(slot, _terms(rows, moment, axes), slots)
    return found


def _terms(rows: Rows, moment: Moment, axes: StateAxes) -> FloatArray | None:
    """What each row adds to a sum; None where that is 1."""
    terms: FloatArray | None = None
    are_set: NDArray[np.bool_] | None = None
    for column, power in zip(moment.columns, moment.powers, strict=True):
        values, valid = rows.numbers[column]
        if power:
            factor = (values - axes.centres.get(column, 0.0)) ** power
            terms = factor if terms is None else terms * factor
        if valid is not None:
            are_set = valid if are_set is None else are_set & valid
    if are_set is None:
        return terms
    # A NaN in a row that takes no part is NaN in a product with 0.
    return are_set.astype(np.float64) if terms is None else np.where(are_set, terms, 0.0)


def _counts_below(
    rows: Rows,
    percentile: Aggregate,
    thresholds: Mapping[Group, FloatArray],
    slot: NDArray[np.intp],
    slots: int,
) -> FloatArray:
    """[slot, threshold]: the rows whose value is at most each threshold of their group."""
    values, valid = rows.numbers[percentile.columns[0]]
    entry = np.full(len(values), THRESHOLDS)
    for number, members in _members(rows):
        grid = thresholds.get(rows.groups[number])
        if grid is not None:
            entry[members] = np.searchsorted(grid, values[members], side="left")
    if valid is not None:
        entry[~valid] = THRESHOLDS
    counts = np.bincount(slot * (THRESHOLDS + 1) + entry, minlength=slots * (THRESHOLDS + 1))
    return np.asarray(counts.reshape(slots, THRESHOLDS + 1)[:, :THRESHOLDS].cumsum(axis=1), np.float64)


def _extremes(
    rows: Rows, axes: StateAxes, slot: NDArray[np.intp], slots: int
) -> tuple[FloatArray, FloatArray]:
    """[slot, column]: the smallest and the largest values; NaN is the largest, as in Spark."""
    lows, highs = np.full((slots, len(axes.columns)), np.nan), np.full((slots, len(axes.columns)), -np.inf)
    for at, column in enumerate(axes.columns):
        values, valid = rows.numbers[column]
        kept, where = (values, slot) if valid is None else (values[valid], slot[valid])
        # NumPy warns of NaN here.
        with np.errstate(invalid="ignore"):
            np.fmin.at(lows[:, at], where, kept)
            np.maximum.at(highs[:, at], where, kept)
    return lows, highs


def quantiles(
    parts: Sequence[Rows], percentile: Aggregate, probabilities: Sequence[float]
) -> dict[Group, FloatArray]:
    """The values at some shares of the rows of each group: the first at which the share is reached."""
    held: dict[Group, list[FloatArray]] = {}
    for rows in parts:
        values, valid = rows.numbers[percentile.columns[0]]
        for number, members in _members(rows):
            kept = values[members] if valid is None else values[members][valid[members]]
            held.setdefault(rows.groups[number], []).append(kept)
    found = {}
    for group, parts_of_group in held.items():
        ordered = np.sort(np.concatenate(parts_of_group))
        if len(ordered):
            found[group] = ordered[_ranks(probabilities, len(ordered))]
    return found


def exact_quantiles(parts: Sequence[Rows], column: str, probability: float) -> dict[Group, Fraction]:
    """The value of a column of whole numbers or decimals at a share of the rows of each group, to the last digit."""
    held: dict[Group, list[pa.Array]] = {}
    for rows in parts:
        for number, members in _members(rows):
            of_part = rows.exact[column]
            kept = of_part if isinstance(members, slice) else of_part.take(index_array(members))
            held.setdefault(rows.groups[number], []).append(kept.drop_null())
    found = {}
    for group, parts_of_group in held.items():
        values = pa.concat_arrays(parts_of_group)
        if len(values):
            at = int(_ranks([probability], len(values))[0])
            found[group] = Fraction(values[pc.partition_nth_indices(values, pivot=at)[at].as_py()].as_py())
    return found


def _ranks(probabilities: Sequence[float], count: int) -> NDArray[np.int64]:
    """The places of the values, of so many in ascending order, at which some shares of them are reached."""
    ranks = np.ceil(np.asarray(probabilities) * count).astype(np.int64) - 1
    return np.asarray(np.clip(ranks, 0, count - 1))


def _members(rows: Rows) -> Iterable[tuple[int, NDArray[np.intp] | slice]]:
    """The rows of each group."""
    if len(rows.groups) <= 1:
        return [(number, slice(None)) for number in range(len(rows.groups))]
    order = np.argsort(rows.group, kind="stable")
    ends = np.cumsum(np.bincount(rows.group, minlength=len(rows.groups)))[:-1]
    return enumerate(np.split(order, ends))


def _groups(batch: pa.RecordBatch, columns: Sequence[str]) -> tuple[list[Group], NDArray[np.int64]]:
    """The different groups of rows, and for each row the number of its group."""
    if not columns:
        return [()], np.zeros(batch.num_rows, np.int64)
    parts = [in_one_form(batch.column(column)) for column in columns]
    first, group = numbered(parts, np.zeros(batch.num_rows, np.int64))
    each = zip(parts, columns, strict=True)
    instead = "leave such rows out by `where`, or ask pyqbeast.tolerance on Spark with exact=True"
    keys = (group_values(part.take(index_array(first)), repr(name), instead) for part, name in each)
    return list(zip(*keys, strict=True)), group
