"""Reading a query's rows in steps of ascending weight, and what is known of its answer after each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from pyspark.sql import DataFrame

from pyqbeast.approximate.estimate import (
    Aggregate,
    Estimates,
    KnownBounds,
    State,
    StateAxes,
    Step,
    WeightScale,
    axes_for,
    bucket_count,
    estimate,
    fold,
    merge,
    next_step,
    pilot_centres,
    pilot_keys,
    recentre,
)
from pyqbeast.approximate.estimate.budget import MOST_BYTES
from pyqbeast.approximate.estimate.scale import START
from pyqbeast.approximate.partial_aggregates import PartialAggregates
from pyqbeast.approximate.percentile_grid import PercentileGrid
from pyqbeast.approximate.queried_files import QueriedFiles
from pyqbeast.bridge.aggregate_query import AggregateQuery

#: The most groups that an estimate has. With more of them each group has too few rows for a sample to help.
MOST_GROUPS = 50_000
#: Files of fewer bytes in all are read by one task. It is done before two tasks would have exchanged their
#: sums.
ONE_TASK_BYTES = 2**23
#: The first step reads so many times the keys that it needs, because the number of keys is an estimate, give or
#: take a tenth.
KEYS_HEAD_ROOM = 1.3


class Reading(NamedTuple):
    """One step that was read.

    Attributes:
        start, stop: fractions of the table's rows, by ascending weight.
        bytes: of the files opened, those of joined tables included.
    """

    start: float
    stop: float
    bytes: int


class Progress:
    """The sums of the rows read so far.

    Attributes:
        files: what the query reads.
        partial: its aggregates.
        readings: the steps so far.
        exact_bytes: what the exact query reads.
    """

    def __init__(self, query: AggregateQuery) -> None:
        self._query = query
        self.files = QueriedFiles.of(query)
        self._scale = WeightScale(query.counted_weights)
        self.partial = PartialAggregates.of(query, query.rows([], START, START, 1).schema)
        self.readings: list[Reading] = []
        self.exact_bytes = self.files.weights.total + query.other_bytes
        self._state: State | None = None
        self._stop = START
        self._grid: PercentileGrid | None = None
        self._facts = self._known_facts()

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
        return min(1.0, KEYS_HEAD_ROOM * pilot_keys(self.partial.requested) / max(1, self.files.rows))

    def plan(self, wanted: float) -> Step:
        """The next step, to the wanted fraction or to the exact answer."""
        if self._state is not None and len(self._state.groups) > MOST_GROUPS:
            wanted = 1.0
        return next_step(
            self.files.weights,
            wanted,
            start=self._stop,
            spent=self._spent_on_sample(),
            mergeable=not self.partial.percentiles,
            scale=self._scale,
        )

    def _spent_on_sample(self) -> int:
        """Bytes read, and to be read of joined tables, less what the exact query reads of those.

        Joined tables are read in every step: in the next, and in the one after it to the exact answer.
        """
        joined = self._query.other_bytes
        return int(self.bytes_read + 2 * joined - MOST_BYTES * joined)

    def read(self, step: Step) -> None:
        """Reads a step and adds its rows. It must not be one with `restart`."""
        assert not step.restart
        chosen = self.files.weights.needed(step.start, step.stop)
        files = [file for file, needed in zip(self.files.files, chosen, strict=True) if needed]
        axes = self._state.axes if self._state else self._first_axes()
        cost = step.cost + self._query.other_bytes
        rows = self._query.rows(files, step.start, step.stop, axes.buckets)
        numbers = self.partial.numbers(rows.coalesce(1) if cost <= ONE_TASK_BYTES else rows)
        if self.partial.percentiles and self._grid is None:
            self._read_with_grid(numbers, axes)
        else:
            self._add(self._with_grid(numbers), axes)
        self.readings.append(Reading(self.fraction, step.fraction, cost))
        self._stop = step.stop

    def _read_with_grid(self, numbers: DataFrame, axes: StateAxes) -> None:
        """The thresholds come from the same rows that are then counted by them, so these rows are cached in between."""
        cached = numbers.persist()
        try:
            self._grid = PercentileGrid.of(self.partial, cached)
            self._add(self._with_grid(cached), axes)
        finally:
            cached.unpersist()

    def _with_grid(self, numbers: DataFrame) -> DataFrame:
        return self._grid.joined(numbers, self.partial.groups) if self._grid else numbers

    def _add(self, numbers: DataFrame, axes: StateAxes) -> None:
        new = self.partial.state(numbers, axes)
        self._state = merge(self._state, new) if self._state else new
        if not self.readings:
            self._state = recentre(self.state, {**axes.centres, **pilot_centres(self.state)})
        fewer = bucket_count(len(self.state.groups))
        if fewer < self.state.axes.buckets:
            self._state = fold(self.state, fewer)

    def _first_axes(self) -> StateAxes:
        """Axes with moments about the middle of each column's bounds. They serve until the first rows tell the mean."""
        axes = axes_for(self.partial.requested)
        squared = {
            name
            for columns, powers, _ in axes.moments
            for name, p in zip(columns, powers, strict=True)
            if p == 2
        }
        middles = {name: sum(self._facts.bounds[name]) / 2 for name in squared if name in self._facts.bounds}
        return replace(axes, centres=middles)

    def estimates(self, confidence: float) -> Iterator[tuple[Aggregate, Estimates]]:
        """The estimate of every different aggregate in every group of `state`."""
        for each in dict.fromkeys(self.partial.requested):
            grid = (
                self._grid.of_groups(each, self.state.groups)
                if each.kind == "percentile" and self._grid
                else None
            )
            yield each, estimate(self.state, each, self.fraction, confidence, self._facts, grid)

    def _known_facts(self) -> KnownBounds:
        bounds = {}
        for name, column in self.partial.statistics.items():
            known = None if column is None else self.files.bounds(column)
            if known is not None:
                bounds[name] = known
        # A join can make any number of rows of one, and then the most rows of a key are not known.
        return KnownBounds(None if self._query.fans_out else self.files.key_rows, bounds)
