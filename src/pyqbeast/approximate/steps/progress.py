"""The rows of a query that have been read so far, and what they tell of its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pyqbeast.approximate.estimate.budget import Step
from pyqbeast.approximate.estimate.combination import (
    Combination,
    Requested,
    axes_for,
    combined,
    has_zero_divisor,
    is_computed_for,
    on_the_way,
    parts_of,
)
from pyqbeast.approximate.estimate.estimates import Estimates, estimate
from pyqbeast.approximate.estimate.groups import Completeness, Unread, completeness, rows_at_most
from pyqbeast.approximate.estimate.interval import distinct_keys
from pyqbeast.approximate.estimate.outcome import Reading
from pyqbeast.approximate.estimate.rounding import (
    decimals_exact,
    has_lost_digits,
    is_rounded,
    left_to_query,
    values_outward,
    with_values,
)
from pyqbeast.approximate.estimate.state import (
    BUCKETS_OF_ALL,
    ROWS,
    FloatArray,
    Group,
    Mask,
    Moment,
    State,
    bucket_count,
    fold,
    merge,
    without,
)
from pyqbeast.approximate.selection import (
    Selection,
    Verdict,
    confidence_of_shown,
    nulls_of,
    verdict_of,
    with_wide_tails,
)
from pyqbeast.approximate.steps.exact_values import decimals_on_the_way, exact_values, quotient_of
from pyqbeast.approximate.steps.row_reader import RowReader
from pyqbeast.core.format.constants import WEIGHT_END, WEIGHT_MIN

#: So many keys that do not vary, or add up to zero, say that the others of their group hardly do otherwise.
ENOUGH_KEYS = 100


class Progress:
    """The sums of the rows read so far.

    Attributes:
        reader: reads them.
        readings: the steps so far.
        stop: the weight below which all rows have been read.
        fraction: the share of the keys that are lighter.
        overflows: whether a sum, as it was last estimated, is beyond its type: the query fails then, or Spark lets it
            wrap around.
        query_costs_too_much: whether the query cannot be run in full for what is left of a limit.
        exact_bytes: what the exact query reads.
    """

    def __init__(self, reader: RowReader, selection: Selection | None = None) -> None:
        """Reads by `reader`; of its groups the query keeps a selection, None for all."""
        self.reader, self._selection = reader, selection
        # Of numbers whose limit is 0 doubles hold none as Spark computes them.
        limits = reader.limits.exact_below
        self._needs_query = any(
            part.kind == "percentile" or limits.get(part) == 0
            for each in reader.requested
            for part in (each, *each.parts)
        )
        self._has_averages = any(each.kind == "avg" for each in reader.limits.decimal_places)
        self._inexact: Mask = np.zeros(0, dtype=bool)
        self.overflows = self.query_costs_too_much = False
        self.readings: list[Reading] = []
        self.exact_bytes = reader.files.total + reader.other_bytes
        self.stop = WEIGHT_MIN
        self.fraction = 0.0
        self._state: State | None = None
        self._sampled: frozenset[Group] | None = None

    @property
    def is_mergeable(self) -> bool:
        """Whether the sums of all steps together give the exact answer.

        Those of percentiles do not, nor do averages of decimals whose sum may be beyond its type, which is known before
        anything is read. Nor do doubles hold large whole numbers, and Spark has an answer of its own where something is
        divided by zero or beyond its type. `estimates` finds that out. Averages of decimals count as not told until
        then: their sums have so many digits that doubles often do not hold them.
        """
        if self._has_averages and not self.readings:
            return False
        return self.are_mergeable(np.ones_like(self._inexact))

    def are_mergeable(self, groups: Mask) -> bool:
        """The same of some groups [group]. What others add up to stays an estimate, whatever doubles hold of it."""
        return not (self._needs_query or self.overflows or (self._inexact & groups).any())

    @property
    def bytes_read(self) -> int:
        """Bytes of all steps."""
        return sum(reading.bytes for reading in self.readings)

    @property
    def state(self) -> State:
        """The sums so far; after the first step."""
        assert self._state is not None
        return self._state

    def groups_of(self, mask: NDArray[np.bool_]) -> list[Group]:
        """Some of the groups [group] read so far."""
        return [group for group, is_chosen in zip(self.state.groups, mask, strict=True) if is_chosen]

    def files_of_others(self, groups: Sequence[Group]) -> NDArray[np.bool_]:
        """The files [file] with rows not read that may be of none of these groups."""
        return self.reader.group_spans.others(groups) & self.reader.files.needed(self.stop, WEIGHT_END)

    def read(self, step: Step) -> None:
        """Reads a step and adds its rows. It must not be one with `restart`."""
        assert not step.restart
        if step.exact and self._state:
            self._state = fold(self._state, BUCKETS_OF_ALL)
        axes = self._state.axes if self._state else axes_for(self.reader.requested)
        self._add(self.reader.read(step, axes))
        cost = step.cost + self.reader.other_bytes
        self.readings.append(Reading(self.fraction, step.fraction, cost))
        self.stop, self.fraction = step.stop, step.fraction

    def read_groups(self, step: Step, done: NDArray[np.bool_]) -> None:
        """Reads the rest of all groups that are not done [group]; the list of groups is complete then.

        The step reads the files that can hold a group that is not done. All rows of such a group that were not read
        lie there, so its answer is exact. What they hold of groups that are done would bias those, and is left out.
        """
        self._sampled = frozenset(self.groups_of(done))
        if step.only:
            axes = self.state.axes
            self._add(without(self.reader.read(step, axes), self._sampled))
            cost = step.cost + self.reader.other_bytes
            self.readings.append(Reading(self.fraction, 1.0, cost, groups=True))

    def _add(self, new: State) -> None:
        # The first rows choose the centres, in whichever step they come.
        self._state = merge(self._state, new) if self._state and self._state.sums.any() else new
        self._state = fold(self.state, bucket_count(len(self.state.groups), self.state.axes.buckets))

    @property
    def _shares(self) -> float | FloatArray:
        """Which share of their rows was read, of all groups or of each [group]."""
        if self._sampled is None:
            return self.fraction
        return np.array([self.fraction if group in self._sampled else 1.0 for group in self.state.groups])

    @property
    def _has_all_rows(self) -> NDArray[np.bool_]:
        """The groups [group] of which all rows were read."""
        return np.broadcast_to(np.asarray(self._shares) >= 1, len(self.state.groups))

    def estimates(self, confidence: float) -> dict[Requested, Estimates]:
        """The estimate of every different aggregate in every group of `state`.

        Of a query that keeps some groups, the bounds of these hold on the average. It decides `overflows` and
        `is_mergeable` too.
        """
        found = self._estimates(confidence)
        kept = self.kept(confidence)
        if kept is None:
            return found
        selection, verdict = kept
        shown = selection.shown(self.state, found, verdict.having)
        of_shown = confidence_of_shown(shown, verdict.possible, found.values(), confidence)
        if of_shown == confidence:
            return found
        key_rows = self.reader.known.key_rows
        return {
            of: with_wide_tails(told, of_shown, key_rows) for of, told in self._estimates(of_shown).items()
        }

    def _estimates(self, confidence: float) -> dict[Requested, Estimates]:
        """The same with bounds of this confidence, whatever the query keeps."""
        requested = list(dict.fromkeys(self.reader.requested))
        limits = self.reader.limits
        parts = [part for each in requested for part in quotient_of(each, limits).parts]
        # An average of decimals in a formula has parts of its own.
        parts += [inner for part in parts for inner in quotient_of(part, limits).parts]
        found = {each: self._estimate(each, confidence) for each in dict.fromkeys([*requested, *parts])}
        for each, estimates in found.items():
            # What is computed of others is rounded once, at the end.
            if not isinstance(quotient_of(each, limits), Combination):
                found[each] = decimals_exact(estimates, self._shares, limits.decimal_places.get(each))
        values = {each: estimates.value for each, estimates in found.items()}
        for each in requested:
            found[each] = with_values(found[each], self._has_all_rows, self._computed(each, values))
            values[each] = found[each].value
        beyond = {
            each: _is_beyond(self._computed(each, values), limit)
            for each, limit in limits.overflows_at.items()
            if all(part in values for part in each.parts)
        }
        self.overflows = any(mask.any() for mask in beyond.values())
        undecided = self._undecided(found)
        inexact = {
            each: self._inexact_by_sums(each, found) | undecided.get(each, False) for each in requested
        }
        nowhere = np.zeros(len(self.state.groups), dtype=bool)
        self._inexact = np.logical_or.reduce([nowhere, *inexact.values()])
        if self._sampled is not None:
            self._inexact = self._inexact & self._has_all_rows
        told = {
            each: decimals_exact(
                values_outward(found[each], limits.exact_below.get(each, np.inf)),
                self._shares,
                limits.decimal_places.get(each),
                exact_values(each, values, limits),
            )
            for each in requested
        }
        if not self.query_costs_too_much:
            return told
        return {
            each: left_to_query(
                estimates,
                np.logical_or.reduce(
                    [nowhere, *(mask for inner, mask in beyond.items() if is_computed_for(inner, each))]
                ),
                self._has_all_rows & inexact[each],
            )
            for each, estimates in told.items()
        }

    def _estimate(self, requested: Requested, confidence: float) -> Estimates:
        told = {part: self.reader.grid(part, self.state.groups) for part in requested.parts}
        grids = {part: grid for part, grid in told.items() if grid is not None}
        known, limits = self.reader.known, self.reader.limits.exact_below
        return estimate(self.state, requested, self._shares, confidence, known, grids, limits)

    def _undecided(self, found: Mapping[Requested, Estimates]) -> dict[Requested, Mask]:
        """Where [group] rounding decides what a condition compares: spreads of all rows that are nearly equal."""
        undecided: dict[Requested, Mask] = {}
        for left, right in () if self._selection is None else self._selection.compared:
            noise = found[left].noise + found[right].noise
            with np.errstate(invalid="ignore"):
                is_near = np.abs(found[left].value - found[right].value) <= noise
            if left != right:
                for each in (left, right):
                    is_here = is_near & (noise > 0) & self._has_all_rows
                    undecided[each] = undecided.get(each, False) | is_here
        return undecided

    def _computed(self, requested: Requested, values: Mapping[Requested, FloatArray]) -> FloatArray:
        """The value [group] of an estimate, or of what is computed on the way to one, from those of its parts."""
        computed = quotient_of(requested, self.reader.limits)
        if not isinstance(computed, Combination):
            return values[computed]
        rounded = decimals_on_the_way(computed, self.reader.limits, self._has_all_rows)
        return combined(computed.term, [values[part] for part in computed.parts], rounded)

    def _inexact_by_sums(self, requested: Requested, found: Mapping[Requested, Estimates]) -> Mask:
        """Where [group] the exact answer does not follow from sums: doubles do not hold them, or zero divides."""
        inexact = self._is_rounded(found[requested]) | self._is_undefined(found[requested])
        computed = quotient_of(requested, self.reader.limits)
        if computed != requested:
            for part in computed.parts:
                inexact = inexact | self._is_rounded(found[part])
        if not isinstance(requested, Combination):
            return inexact
        limits = self.reader.limits.exact_below
        values: dict[Requested, FloatArray] = {part: found[part].value for part in requested.parts}
        # Spark computes whole numbers and decimals exactly, whatever it makes of them then.
        exact = [each for each in on_the_way(requested) if each in limits]
        for each in exact:
            inexact = inexact | _is_beyond(self._computed(each, values), limits[each])
        of_exact = {part for each in exact for part in parts_of(each)}
        for part in requested.parts:
            # A quotient of sums that were rounded is as good as the quotient of doubles that Spark computes.
            # What its type rounds, whatever it is, is rounded before anything is computed of it.
            matters = np.asarray(part in of_exact or limits.get(part) == 0)
            if part.kind == "sum":
                matters = matters | has_lost_digits(self.state, found[part], self._shares)
            inexact = inexact | (matters & self._is_rounded(found[part])) | self._is_undefined(found[part])
        rounded = decimals_on_the_way(requested, self.reader.limits, self._has_all_rows)
        is_zero = has_zero_divisor(requested.term, list(values.values()), rounded)
        return inexact | (is_zero & self._is_told(ROWS))

    def _is_rounded(self, found: Estimates) -> Mask:
        limit = self.reader.limits.exact_below.get(found.aggregate, np.inf)
        return is_rounded(self.state, found, self._shares, limit)

    def _is_undefined(self, found: Estimates) -> Mask:
        """Where [group] there is no correlation: what does not vary divides by zero."""
        if found.aggregate.kind != "corr":
            return np.zeros(len(self.state.groups), dtype=bool)
        return np.isnan(found.value) & self._is_told(found.aggregate.moments[0])

    def _is_told(self, rows: Moment) -> Mask:
        """Where [group] zero divides in all rows as it does in those read: these are all of them, or of many keys."""
        keys = distinct_keys(self.state.sums[..., self.state.index([rows])[0]])
        return np.asarray(self._has_all_rows | (keys >= ENOUGH_KEYS))

    def completeness(self, confidence: float) -> Completeness | None:
        """Which groups may be missing; None for a query without groups."""
        if not self.reader.group_names:
            return None
        if self._sampled is not None or self.fraction >= 1:
            return Completeness(complete=True)
        spans = self.reader.group_spans
        files = self.files_of_others(self.state.groups)
        between = dict(zip(self.reader.group_names, spans.between(files), strict=True))
        unread = Unread(
            spans.rows_of(files),
            self.reader.row_count,
            self.reader.known.key_rows,
            {name: ends for name, ends in between.items() if ends is not None},
        )
        return completeness(self.state, self.fraction, confidence, unread)

    def kept(self, confidence: float) -> tuple[Selection, Verdict] | None:
        """What the query keeps of its groups, and which these are; None if it keeps all of them."""
        verdict = self.verdict(confidence)
        return None if self._selection is None or verdict is None else (self._selection, verdict)

    def verdict(self, confidence: float) -> Verdict | None:
        """Which groups the query keeps, all said together with this confidence as far as the bounds of so many groups
        allow; None if it keeps all of them.
        """
        if self._selection is None:
            return None
        groups = len(self.state.groups)
        each = self._selection.confidence(groups, confidence)
        missing = self.completeness(each) or Completeness(complete=True)
        found = self._estimates(each)
        nulls = nulls_of(self.state, found)
        differences: dict[Requested, Estimates] = {
            apart: self._estimate(apart, each) for apart in self._selection.differences
        }
        key_rows = self.reader.known.key_rows
        decided_by = {of: with_wide_tails(told, each, key_rows) for of, told in (differences | found).items()}
        verdict = verdict_of(self._selection, decided_by, nulls, self.rows_at_most(each), missing)
        return verdict._replace(confidence=self._selection.confidence_together(groups, confidence))

    def rows_at_most(self, confidence: float) -> FloatArray:
        """An upper bound of the rows of each group [group]."""
        shares = np.broadcast_to(self._shares, len(self.state.groups))
        return rows_at_most(self.state, shares, confidence, self.reader.known.key_rows)


def _is_beyond(values: FloatArray, limit: float) -> NDArray[np.bool_]:
    """Which of the values [group] their type does not hold."""
    return np.asarray(np.isfinite(values) & (np.abs(values) >= limit))
