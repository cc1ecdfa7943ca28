"""The rows of a scan, step by step, as an estimate needs them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from pyqbeast.approximate.estimate import (
    Aggregate,
    FileCosts,
    GroupKind,
    GroupSpans,
    KnownBounds,
    Requested,
    State,
    StateAxes,
    Step,
    axes_for,
    grid_from,
    grid_of_groups,
    grid_probabilities,
    value_span,
)
from pyqbeast.approximate.estimate.formulas import SPREADS
from pyqbeast.approximate.estimate.outcome import NoSampleError
from pyqbeast.approximate.estimate.percentile import fewest_keys
from pyqbeast.approximate.estimate.rounding import NumberLimits, exact_below
from pyqbeast.approximate.estimate.state import BUCKETS_OF_ALL, FloatArray, Group
from pyqbeast.core.format.column_bounds import column_bounds
from pyqbeast.core.format.statistics_keys import NUM_RECORDS
from pyqbeast.core.once import once
from pyqbeast.core.sampling.rows_of_a_key import KeyedFile, most_rows_of_a_key
from pyqbeast.core.sampling.weight_scale import WeightScale
from pyqbeast.delta_log.file_checks import usable_statistics
from pyqbeast.delta_log.live_file import LiveFile
from pyqbeast.scanning.aggregates import Request
from pyqbeast.scanning.conditions.column_types import may_hold_floats
from pyqbeast.scanning.exact_numbers import ExactNumbers
from pyqbeast.scanning.row_sums import Rows, Thresholds, exact_quantiles, quantiles, sums_of
from pyqbeast.scanning.scanned_rows import ScannedRows
from pyqbeast.scanning.spreads import Spreads
from pyqbeast.scanning.weighed_rows import rows_that_meet, weighed_rows


class AllRows(NamedTuple):
    """What all rows tell, each [group].

    Attributes:
        state: their sums, in doubles.
        doubles: what sums of doubles do not tell exactly: percentiles, variances, correlations, and what whole numbers
            and decimals come to.
        exact: of the latter those that no double tells, by the numbers of their groups.
    """

    state: State
    doubles: dict[Aggregate, FloatArray]
    exact: dict[Requested, dict[int, Fraction]]


class ScanRows:
    """A `RowReader` of a scan."""

    def __init__(self, scanned: ScannedRows, request: Request, *, by_weight: bool) -> None:
        """Of a scan that is no sample.

        Args:
            scanned: the rows.
            request: what is asked of them.
            by_weight: whether they have weights; without them only `read_all` may be called.

        Raises:
            UnsupportedError: the request tells texts apart that are compared by a collation, or, by weight, names a
                column that stores the weight.
        """
        told_apart = {*request.groups, *request.distinct.values()}
        scanned.refuse_collations(told_apart, "pyqbeast.tolerance groups and counts them on Spark")
        self._index, self._predicate, self._request = scanned.index, scanned.predicate, request
        self._hashed = scanned.weighed_names if by_weight else []
        of_predicate = sorted(self._predicate.columns) if self._predicate else []
        if by_weight and (copies := self._index.copies_of_weight({*request.columns, *of_predicate})):
            raise NoSampleError(
                f"the rows cannot be estimated: column {copies[0]!r} stores the hash by which rows are sampled; "
                "pass exact=True"
            )
        self._data = scanned.data_with([*request.columns, *of_predicate, *self._hashed])
        opened = scanned.opened()
        self._chosen = [file for file in self._index.files if file.path in opened]
        self._live = {file.path: file for file in self._index.snapshot.files}
        self._thresholds: Thresholds | None = None

    @property
    def requested(self) -> Sequence[Aggregate]:
        """See `RowReader`."""
        return list(self._request.aggregates.values())

    @property
    def limits(self) -> NumberLimits:
        """See `RowReader`."""
        return self._request.limits

    @property
    @once
    def files(self) -> FileCosts:
        """See `RowReader`."""
        weights = [file.weights(self._index.prunable_revisions) for file in self._chosen]
        return FileCosts(
            [f.size for f in self._chosen], [low for low, _ in weights], [high for _, high in weights]
        )

    @property
    def row_count(self) -> int:
        """See `RowReader`."""
        return sum(file.counted_rows or 0 for file in self._chosen)

    @property
    @once
    def count_in_log(self) -> int | None:
        """The number of rows, where nothing else is asked for and the log tells it."""
        only_rows = all(each.kind == "count" and not each.columns for each in self.requested)
        if not only_rows or self._request.groups or self._predicate is not None:
            return None
        live = [self._live[file.path] for file in self._chosen]
        stored = [(file.surely_stored, file.deleted) for file in live]
        # A log that deletes more rows than there are is damaged, which reading the file tells of.
        known = [rows - deleted for rows, deleted in stored if rows is not None and rows >= deleted]
        return sum(known) if len(known) == len(stored) else None

    @property
    def other_bytes(self) -> int:
        """0: a scan joins nothing."""
        return 0

    @property
    @once
    def scale(self) -> WeightScale:
        """See `RowReader`."""
        return self._index.weight_profile.scale

    @property
    @once
    def known(self) -> KnownBounds:
        """See `RowReader`."""
        files = [(_statistics(self._live[file.path]), file.tags) for file in self._chosen]
        names = self._index.names_in_statistics
        kinds = {field["name"]: str(field["type"]) for field in self._index.snapshot.metadata.fields}
        holds_lists = self._index.holds_lists
        bounds = {
            name: column_bounds(
                files,
                in_statistics,
                kinds[source.column],
                has_floats=may_hold_floats(self._request.schema.field(source.column)),
                holds_lists=holds_lists,
            )
            for name, source in self._request.sources.items()
            if not source.is_count and (in_statistics := names[source.column]) is not None
        }
        revisions = self._index.revisions.revisions
        key_rows = most_rows_of_a_key(
            (
                KeyedFile(file.revision_id, tags, statistics)
                for file, (statistics, tags) in zip(self._chosen, files, strict=True)
            ),
            {number: revisions[number] for number in self._index.prunable_revisions},
        )
        return KnownBounds(key_rows, {name: both for name, both in bounds.items() if both is not None})

    @property
    @once
    def group_spans(self) -> GroupSpans:
        """See `RowReader`."""
        columns = self.group_names
        kinds = [_group_kind(self._request.schema.field(name).type) for name in columns]
        in_statistics = self._index.names_in_statistics
        names = [in_statistics[name] for name in columns]
        statistics = [_statistics(self._live[file.path]) for file in self._chosen]
        holds_lists = self._index.holds_lists
        spans = [
            tuple(
                None if name is None else value_span(each, file.tags, name, kind, holds_lists=holds_lists)
                for name, kind in zip(names, kinds, strict=True)
            )
            for file, each in zip(self._chosen, statistics, strict=True)
        ]
        return GroupSpans(kinds, spans, [each[NUM_RECORDS] for each in statistics])

    @property
    def group_names(self) -> Sequence[str]:
        """See `RowReader`."""
        return self._request.groups

    def read(self, step: Step, axes: StateAxes) -> State:
        """See `RowReader`. The rows of a first step with percentiles are in memory at once."""
        parts: Iterable[Rows] = self._rows(step)
        if self._percentiles and self._thresholds is None:
            parts = pilot = list(parts)
            self._thresholds = {each: self._grid_of_pilot(pilot, each) for each in self._percentiles}
        return self._sums(parts, axes)

    @property
    def _percentiles(self) -> list[Aggregate]:
        return [each for each in dict.fromkeys(self.requested) if each.kind == "percentile"]

    def grid(self, aggregate: Aggregate, groups: Sequence[Group]) -> FloatArray | None:
        """See `RowReader`."""
        if self._thresholds is None or aggregate not in self._thresholds:
            return None
        return grid_of_groups(self._thresholds[aggregate], groups)

    def read_all(self) -> AllRows:
        """The exact values of all rows. The values of percentiles are in memory at once."""
        percentiles = self._percentiles
        others = [each for each in dict.fromkeys(self.requested) if each not in percentiles]
        counts = [Aggregate("count", each.columns) for each in percentiles]
        axes = axes_for([*others, *counts], BUCKETS_OF_ALL)
        varying = [each for each in others if each.kind in SPREADS]
        spreads = {columns: Spreads(columns) for columns in dict.fromkeys(each.columns for each in varying)}
        column_of = {each: self._request.exact_column(each) for each in others}
        ordered = {each: self._request.exact_column(each) for each in percentiles}
        exact = {
            name: ExactNumbers(
                self._request.schema.field(name).type,
                {each.kind for each, column in column_of.items() if column == name},
            )
            for name in column_of.values()
            if name is not None
        }
        rows = self._all_rows({*exact, *(name for name in ordered.values() if name is not None)})
        held = list(rows) if percentiles else []
        parts, is_grouped = held if percentiles else rows, bool(self._request.groups)
        state = sums_of(parts, axes, {}, is_grouped=is_grouped, spreads=spreads.values(), exact=exact)
        count = len(state.groups)
        doubles = {each: spreads[each.columns].values(each, count) for each in varying}
        found: dict[Requested, dict[int, Fraction]] = {}
        for each, name in column_of.items():
            if name is not None:
                doubles[each], found[each] = exact[name].values(each.kind, self._request.places(each), count)
        for each, name in ordered.items():
            share = each.p or 0.0
            if name is None:
                values = quantiles(held, each, [share])
                doubles[each] = np.array([values.get(group, [np.nan])[0] for group in state.groups])
                continue
            told = exact_quantiles(held, name, share)
            doubles[each] = np.array([float(told.get(group, np.nan)) for group in state.groups])
            beyond = np.abs(doubles[each]) >= exact_below(self._request.places(each))
            found[each] = {at: told[state.groups[at]] for at in np.flatnonzero(beyond).tolist()}
        return AllRows(state, doubles, found)

    def _grid_of_pilot(self, pilot: list[Rows], percentile: Aggregate) -> dict[Group, FloatArray]:
        count = Aggregate("count", percentile.columns)
        state = self._sums(pilot, axes_for([count]))
        keys = fewest_keys(state.sums[..., state.index(count.moments)[0]], percentile.min_keys)
        probabilities = grid_probabilities(percentile.p or 0.0, keys)
        found = quantiles(pilot, percentile, probabilities)
        return {group: grid_from(values) for group, values in found.items()}

    def _sums(self, parts: Iterable[Rows], axes: StateAxes) -> State:
        return sums_of(parts, axes, self._thresholds or {}, is_grouped=bool(self._request.groups))

    def _rows(self, step: Step) -> Iterator[Rows]:
        def rows_of(batch: pa.RecordBatch) -> Rows:
            chosen, weights = weighed_rows(batch, self._hashed, step.start, step.stop, self._predicate)
            return Rows.of(chosen, weights, self._request)

        needed = zip(self._chosen, self.files.of_step(step), strict=True)
        files = [self._live[file.path] for file, is_needed in needed if is_needed]
        return self._data.parts(files, self._predicate, rows_of)

    def _all_rows(self, exact: Collection[str]) -> Iterator[Rows]:
        """The rows of all files, with some columns for exact numbers.

        What depends on no weight is asked of them, so none is computed.

        All have the same one, and so one bucket, in which each of the distinct values of a group counts once.
        """

        def rows_of(batch: pa.RecordBatch) -> Rows:
            chosen = rows_that_meet(batch, self._predicate)
            return Rows.of(chosen, np.zeros(len(chosen), np.int32), self._request, exact)

        return self._data.parts([self._live[file.path] for file in self._chosen], self._predicate, rows_of)


def _group_kind(of: pa.DataType) -> GroupKind | None:
    if pa.types.is_integer(of):
        return GroupKind.INTEGER
    if pa.types.is_date(of):
        return GroupKind.DATE
    if pa.types.is_string(of) or pa.types.is_large_string(of):
        return GroupKind.TEXT
    return GroupKind.BOOLEAN if pa.types.is_boolean(of) else None


def _statistics(file: LiveFile) -> dict[str, Any]:
    return {**usable_statistics(file.statistics), NUM_RECORDS: file.physical_rows}
