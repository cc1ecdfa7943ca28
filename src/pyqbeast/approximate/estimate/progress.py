"""Reading a query's rows in steps of ascending weight, and what is known of its answer after each of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from pyqbeast.approximate.estimate.aggregates import Estimates, KnownBounds, estimate
from pyqbeast.approximate.estimate.budget import MOST_BYTES, Files, Step, largest_step, next_step
from pyqbeast.approximate.estimate.centre import pilot_centres, recentre
from pyqbeast.approximate.estimate.combination import Requested, axes_for
from pyqbeast.approximate.estimate.limit import Limit
from pyqbeast.approximate.estimate.scale import START, WeightScale
from pyqbeast.approximate.estimate.state import (
    FloatArray,
    Group,
    State,
    StateAxes,
    bucket_count,
    fold,
    merge,
)
from pyqbeast.approximate.estimate.stopping import Goal, all_met, pilot_keys, wanted_fraction
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
    """

    start: float
    stop: float
    bytes: int


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

    def read(self, step: Step, axes: StateAxes) -> State:
        """The sums of the rows of a step. The first step also fixes the thresholds of percentiles."""

    def grid(self, aggregate: Requested, groups: Sequence[Group]) -> FloatArray | None:
        """The thresholds [group, threshold] of a percentile; None for other aggregates."""


class Progress:
    """The sums of the rows read so far.

    Attributes:
        readings: the steps so far.
        exact_bytes: what the exact query reads.
    """

    def __init__(self, reader: RowReader) -> None:
        self._reader = reader
        self._is_mergeable = not any(each.kind == "percentile" for each in reader.requested)
        self.readings: list[Reading] = []
        self.exact_bytes = reader.files.total + reader.other_bytes
        self._state: State | None = None
        self._stop = START

    @property
    def fraction(self) -> float:
        """The share of the rows sampled so far."""
        return self.readings[-1].stop if self.readings else 0.0

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
        self._stop = step.stop

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
        wanted = self.first_fraction if in_steps else 1.0
        by_aggregate: dict[Requested, Estimates] = {}
        while (step := self._within(left, wanted)) is not None:
            if self.must_run_in_full(step):
                return None
            self.read(step)
            by_aggregate = dict(self.estimates(confidence))
            estimates = list(by_aggregate.values())
            if step.exact or (goal is not None and all_met(estimates, goal)):
                return by_aggregate
            left = limit.bytes - self.bytes_read
            if limit.seconds < math.inf:
                spent = max(clock() - began, 1e-9)
                left = min(left, (limit.seconds - spent) / spent * self.bytes_read)
            wanted = 1.0
            if goal is not None:
                wanted = wanted_fraction(estimates, goal, self.fraction, len(self.readings))
        if not self.readings:
            raise InvalidInputError(
                f"the smallest sample of this query opens more bytes than the budget; the exact query opens "
                f"{self.exact_bytes:,}"
            )
        return by_aggregate

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
            for columns, powers, _ in axes.moments
            for name, p in zip(columns, powers, strict=True)
            if p == 2
        }
        bounds = self._reader.known.bounds
        return replace(axes, centres={name: sum(bounds[name]) / 2 for name in squared if name in bounds})

    def estimates(self, confidence: float) -> Iterator[tuple[Requested, Estimates]]:
        """The estimate of every different aggregate in every group of `state`."""
        for each in dict.fromkeys(self._reader.requested):
            grid = self._reader.grid(each, self.state.groups)
            yield each, estimate(self.state, each, self.fraction, confidence, self._reader.known, grid)
