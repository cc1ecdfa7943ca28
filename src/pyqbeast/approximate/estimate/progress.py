"""Reading a query's rows in steps of ascending weight, and what is known of its answer after each of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pyqbeast.approximate.estimate.aggregates import Estimates, KnownBounds, estimate
from pyqbeast.approximate.estimate.budget import MOST_BYTES, Files, Step, largest_step, next_step
from pyqbeast.approximate.estimate.centre import pilot_centres, recentre
from pyqbeast.approximate.estimate.combination import Combination, Requested, axes_for
from pyqbeast.approximate.estimate.groups import Completeness, Unread, completeness, rows_at_most
from pyqbeast.approximate.estimate.known_facts import GroupSpans
from pyqbeast.approximate.estimate.limit import Limit
from pyqbeast.approximate.estimate.request import Aggregate
from pyqbeast.approximate.estimate.scale import END, START, WeightScale
from pyqbeast.approximate.estimate.selection import Selection, Verdict, verdict
from pyqbeast.approximate.estimate.state import (
    FloatArray,
    Group,
    State,
    StateAxes,
    bucket_count,
    fold,
    merge,
    without,
)
from pyqbeast.approximate.estimate.stopping import (
    LARGEST_SAMPLE,
    PREDICTED_STEPS,
    Goal,
    pilot_keys,
    wanted_fractions,
)
from pyqbeast.core.errors import InvalidInputError

#: The most groups that an estimate has. With more of them each group has too few rows for a sample to help.
MOST_GROUPS = 50_000
#: The first step reads so many times the keys that it needs, because the number of keys is an estimate, give or
#: take a tenth.
KEYS_HEAD_ROOM = 1.3
#: How many times the fraction of the last step the next step of a refinement reads up to. Four times the rows make
#: bounds half as wide. The smaller numbers are used if a larger one would end in the exact answer.
REFINEMENTS = (4.0, 2.0, 1.4)


class Reading(NamedTuple):
    """One step that was read.

    Attributes:
        start, stop: fractions of the table's rows, by ascending weight.
        bytes: of the files opened, those of joined tables included.
        groups: whether only the files were read that can hold rare groups, for which they end in the exact answer.
    """

    start: float
    stop: float
    bytes: int
    groups: bool = False


class RowReader(Protocol):
    """What reads the rows of a query, and knows what can be told of them without reading."""

    @property
    def requested(self) -> Sequence[Requested]:
        """What the query aggregates."""

    @property
    def files(self) -> Files:
        """The bytes and weights of the files that the query reads."""

    @property
    def row_count(self) -> int:
        """The rows of these files, deleted ones included, as far as the log tells."""

    @property
    def other_bytes(self) -> int:
        """Bytes that every step reads besides, of joined tables."""

    @property
    def scale(self) -> WeightScale:
        """Which weights the table's rows have."""

    @property
    def known(self) -> KnownBounds:
        """What the log tells of the rows."""

    @property
    def group_spans(self) -> GroupSpans:
        """Which groups each of the files can hold."""

    @property
    def group_names(self) -> Sequence[str]:
        """What the columns of the groups are called; none for a query without groups."""

    def read(self, step: Step, axes: StateAxes) -> State:
        """The sums of the rows of a step. The first step also fixes the thresholds of percentiles."""

    def grid(self, aggregate: Aggregate, groups: Sequence[Group]) -> FloatArray | None:
        """The thresholds [group, threshold] of a percentile; None for other aggregates."""


class Needs(NamedTuple):
    """What a sample lacks.

    Attributes:
        done: [group], those whose estimates need no more rows.
        fraction: the one to read up to next; 0 if the sample suffices for the groups that it has.
        groups: whether there are groups that are better read where they lie, or such may be missing.
    """

    done: NDArray[np.bool_]
    fraction: float
    groups: bool


class Progress:
    """The sums of the rows read so far.

    Attributes:
        readings: the steps so far.
        exact_bytes: what the exact query reads.
    """

    def __init__(self, reader: RowReader, selection: Selection | None = None) -> None:
        """Reads by `reader`; of its groups the query keeps a selection, None for all."""
        self._reader, self._selection = reader, selection
        self._is_mergeable = not any(
            part.kind == "percentile" for each in reader.requested for part in each.parts
        )
        self.readings: list[Reading] = []
        self.exact_bytes = reader.files.total + reader.other_bytes
        self._state: State | None = None
        self._stop = START
        self._fraction = 0.0
        self._sampled: frozenset[Group] | None = None

    @property
    def fraction(self) -> float:
        """The share of the rows sampled so far."""
        return self._fraction

    @property
    def bytes_read(self) -> int:
        """Bytes of all steps."""
        return sum(reading.bytes for reading in self.readings)

    @property
    def state(self) -> State:
        """The sums so far; after the first step."""
        assert self._state is not None
        return self._state

    @property
    def first_fraction(self) -> float:
        """The fraction that should hold the keys that all bounds need, if each row has its own."""
        return min(1.0, KEYS_HEAD_ROOM * pilot_keys(self._reader.requested) / max(1, self._reader.row_count))

    def plan(self, wanted: float) -> Step:
        """The next step, to the wanted fraction or to the exact answer."""
        if self._state is not None and len(self._state.groups) > MOST_GROUPS:
            wanted = 1.0
        return next_step(
            self._reader.files,
            wanted,
            start=self._stop,
            spent=self._spent_on_sample(),
            mergeable=self._is_mergeable,
            scale=self._reader.scale,
        )

    def plan_refinement(self) -> Step:
        """The next step of a reader who wants better bounds, whatever they are."""
        if not self.readings:
            return self.plan(self.first_fraction)
        steps = [self.plan(min(1.0, factor * self.fraction)) for factor in REFINEMENTS]
        return next((step for step in steps if not step.exact), steps[-1])

    def must_run_in_full(self, step: Step) -> bool:
        """Whether the query has to be run as it was asked in place of a step."""
        return step.restart or (step.exact and not self.readings)

    def _spent_on_sample(self) -> int:
        """Bytes read, and to be read of joined tables, less what the exact query reads of those.

        Joined tables are read in every step: in the next, and in the one after it to the exact answer.
        """
        joined = self._reader.other_bytes
        return int(self.bytes_read + 2 * joined - MOST_BYTES * joined)

    def read(self, step: Step) -> None:
        """Reads a step and adds its rows. It must not be one with `restart`."""
        assert not step.restart
        axes = self._state.axes if self._state else self._first_axes()
        self._add(self._reader.read(step, axes), axes)
        cost = step.cost + self._reader.other_bytes
        self.readings.append(Reading(self.fraction, step.fraction, cost))
        self._stop, self._fraction = step.stop, step.fraction

    def _with_whole_groups(
        self, step: Step, done: NDArray[np.bool_], confidence: float
    ) -> dict[Requested, Estimates]:
        """The estimates once the rest of all groups is read that are not done [group]; the list of groups is complete.

        The step reads the files that can hold a group that is not done. All rows of such a group that were not read
        lie there, so its answer is exact. What they hold of groups that are done would bias those, and is left out.
        """
        self._sampled = frozenset(self._chosen(done))
        if step.only:
            axes = self.state.axes
            self._add(without(self._reader.read(step, axes), self._sampled), axes)
            cost = step.cost + self._reader.other_bytes
            self.readings.append(Reading(self.fraction, 1.0, cost, groups=True))
        return dict(self.estimates(confidence))

    @property
    def _shares(self) -> float | FloatArray:
        """Which share of their rows was read, of all groups or of each [group]."""
        if self._sampled is None:
            return self.fraction
        return np.array([self.fraction if group in self._sampled else 1.0 for group in self.state.groups])

    def completeness(self, confidence: float) -> Completeness | None:
        """Which groups may be missing; None for a query without groups."""
        if not self._reader.group_names:
            return None
        if self._sampled is not None or self.fraction >= 1:
            return Completeness(complete=True)
        spans = self._reader.group_spans
        files = self._holding_others(self.state.groups)
        between = dict(zip(self._reader.group_names, spans.between(files), strict=True))
        unread = Unread(
            spans.rows_of(files),
            self._reader.row_count,
            self._reader.known.key_rows,
            {name: ends for name, ends in between.items() if ends is not None},
        )
        return completeness(self.state, self.fraction, confidence, unread)

    def _holding_others(self, groups: Sequence[Group]) -> NDArray[np.bool_]:
        """The files [file] with rows not read that may be of none of these groups."""
        return self._reader.group_spans.others(groups) & self._reader.files.needed(self._stop, END)

    def _plan_groups(self, done: NDArray[np.bool_], left: float) -> Step | None:
        """The step that reads the rest of the groups that are not done [group]; None where it costs too much."""
        if not self._reader.group_names or not self._is_mergeable:
            return None
        files = self._holding_others(self._chosen(done))
        cost = int(self._reader.files.size[files].sum())
        opened = cost + self._reader.other_bytes if cost else 0
        if opened > left or self.bytes_read + opened >= self.exact_bytes:
            return None
        return Step(self._stop, END, cost, self.fraction, only=tuple(np.flatnonzero(files).tolist()))

    def _chosen(self, mask: NDArray[np.bool_]) -> list[Group]:
        return [group for group, is_chosen in zip(self.state.groups, mask, strict=True) if is_chosen]

    def read_until(
        self,
        goal: Goal | None,
        limit: Limit,
        confidence: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> dict[Requested, Estimates] | None:
        """Reads until every bound meets the goal or the limit is spent; None where the query has to be run in full.

        Seconds are foretold from those of the steps before; the first step is read whatever it takes.

        Args:
            goal: None to read as much as the limit allows.
            limit: what may be read.
            confidence: of each bound.
            clock: tells seconds.

        Raises:
            InvalidInputError: the smallest sample opens more bytes than the limit.
        """
        began, left = clock(), limit.bytes
        in_steps = goal is not None or limit.seconds < math.inf
        nothing = np.zeros(0, dtype=bool)
        needs = Needs(nothing, self.first_fraction if in_steps else 1.0, groups=False)
        by_aggregate: dict[Requested, Estimates] = {}
        rest: Step | None = None
        while (step := self._within(left, needs.fraction)) is not None or rest is not None:
            if rest is not None and (step is None or step.exact or rest.cost <= step.cost):
                return self._with_whole_groups(rest, needs.done, confidence)
            assert step is not None
            if self.must_run_in_full(step):
                return None
            self.read(step)
            by_aggregate = dict(self.estimates(confidence))
            if step.exact:
                return by_aggregate
            left = limit.bytes - self.bytes_read
            if limit.seconds < math.inf:
                spent = max(clock() - began, 1e-9)
                left = min(left, (limit.seconds - spent) / spent * self.bytes_read)
            needs = Needs(nothing, 1.0, groups=False)
            if goal is not None:
                needs = self._needs(goal, list(by_aggregate.values()), confidence, left)
                rest = self._plan_groups(needs.done, left) if needs.fraction or needs.groups else None
                if not needs.fraction:
                    return self._with_whole_groups(rest, needs.done, confidence) if rest else by_aggregate
        if not self.readings:
            raise InvalidInputError(
                f"the smallest sample of this query opens more bytes than the budget; the exact query opens "
                f"{self.exact_bytes:,}"
            )
        return by_aggregate

    def _needs(self, goal: Goal, estimates: Sequence[Estimates], confidence: float, left: float) -> Needs:
        """What the sample read lacks."""
        small = np.zeros(len(self.state.groups), dtype=bool)
        if goal.smallest_group > 0:
            small |= self._rows_at_most(confidence) < goal.smallest_group
        kept = self.verdict(confidence)
        if kept is not None:
            small |= ~kept.possible
        wanted = wanted_fractions(estimates, goal, self.fraction, len(self.readings), small)
        done = wanted == 0
        fraction = float(wanted.max(initial=0.0 if len(wanted) else 1.0))
        # What no sample answers may be read where it lies. The sample then has to serve the other groups only.
        are_rare = fraction == 1 and self._plan_groups(wanted < 1, left) is not None
        if are_rare:
            fraction = float(wanted.max(initial=0.0, where=wanted < 1))
        if kept is None or kept.missing:
            are_missing, by_size = self._missing(goal, confidence)
            are_rare, fraction = are_rare or are_missing, max(fraction, by_size)
        return Needs(done, fraction, are_rare)

    def _missing(self, goal: Goal, confidence: float) -> tuple[bool, float]:
        """Whether groups may be missing that count, and the fraction whose sample would not miss them; 0 if unknown."""
        missing = self.completeness(confidence)
        if missing is None or missing.complete:
            return False, 0.0
        if goal.smallest_group == 0 or missing.most_rows is None:
            return True, 0.0
        # The size of the groups that a sample may have missed is proportional to 1 / f.
        by_size = self.fraction * missing.most_rows / goal.smallest_group
        if by_size <= self.fraction:
            return False, 0.0
        too_many = by_size > LARGEST_SAMPLE or len(self.readings) > PREDICTED_STEPS
        return True, 1.0 if too_many else by_size

    def verdict(self, confidence: float) -> Verdict | None:
        """Which groups the query keeps, all said together with this confidence; None if it keeps all of them."""
        if self._selection is None:
            return None
        each = self._selection.confidence(len(self.state.groups), confidence)
        missing = self.completeness(each) or Completeness(complete=True)
        return verdict(self._selection, dict(self.estimates(each)), self._rows_at_most(each), missing)

    def _rows_at_most(self, confidence: float) -> FloatArray:
        return rows_at_most(self.state, np.broadcast_to(self._shares, len(self.state.groups)), confidence)

    def _within(self, left: float, wanted: float) -> Step | None:
        """The next step for at most so many bytes: to the wanted fraction, or as far as they reach."""
        left -= self._reader.other_bytes
        step = self.plan(wanted)
        if step.cost <= left:
            return step
        reader = self._reader
        return largest_step(reader.files, left, self._stop, self._is_mergeable, reader.scale)

    def _add(self, new: State, axes: StateAxes) -> None:
        self._state = merge(self._state, new) if self._state else new
        if not self.readings:
            self._state = recentre(self.state, {**axes.centres, **pilot_centres(self.state)})
        fewer = bucket_count(len(self.state.groups))
        if fewer < self.state.axes.buckets:
            self._state = fold(self.state, fewer)

    def _first_axes(self) -> StateAxes:
        """Axes with moments about the middle of each column's bounds. They serve until the first rows tell the mean."""
        axes = axes_for(self._reader.requested)
        squared = {
            name
            for columns, powers, *_ in axes.moments
            for name, p in zip(columns, powers, strict=True)
            if p == 2
        }
        bounds = self._reader.known.bounds
        return replace(axes, centres={name: sum(bounds[name]) / 2 for name in squared if name in bounds})

    def estimates(self, confidence: float) -> Iterator[tuple[Requested, Estimates]]:
        """The estimate of every different aggregate in every group of `state`."""
        for each in dict.fromkeys(self._reader.requested):
            grids = {part: self._reader.grid(part, self.state.groups) for part in each.parts}
            known_grids = {part: grid for part, grid in grids.items() if grid is not None}
            grid = known_grids if isinstance(each, Combination) else grids[each]
            yield each, estimate(self.state, each, self._shares, confidence, self._reader.known, grid)
