"""The rows of a query on Spark, step by step, as an estimate needs them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from pyqbeast.approximate.estimate import (
    Aggregate,
    FileCosts,
    GroupSpans,
    KnownBounds,
    Requested,
    State,
    StateAxes,
    Step,
)
from pyqbeast.approximate.estimate.rounding import NumberLimits
from pyqbeast.approximate.estimate.state import FloatArray, Group
from pyqbeast.approximate.percentile_grid import PercentileGrid
from pyqbeast.approximate.queried_files import QueriedFiles
from pyqbeast.approximate.requested_aggregates import RequestedAggregates
from pyqbeast.approximate.row_sums import numbers_of, state_of
from pyqbeast.bridge.aggregate_query import AggregateQuery
from pyqbeast.core.format.constants import WEIGHT_MIN
from pyqbeast.core.once import once
from pyqbeast.core.sampling.weight_scale import WeightScale

#: Files of fewer bytes in all are read by one task. It is done before two tasks would have exchanged their
#: sums.
ONE_TASK_BYTES = 2**23


class QueryRows:
    """A `RowReader` of a query on Spark.

    Attributes:
        aggregates: those of the query.
    """

    def __init__(self, query: AggregateQuery) -> None:
        self._query = query
        self._files = QueriedFiles.of(query)
        self.aggregates = RequestedAggregates.of(query, query.rows([], WEIGHT_MIN, WEIGHT_MIN, 1).schema)
        self._grid: PercentileGrid | None = None

    @property
    def requested(self) -> Sequence[Requested]:
        """See `RowReader`."""
        return self.aggregates.requested

    @property
    def limits(self) -> NumberLimits:
        """See `RowReader`."""
        return self.aggregates.limits

    @property
    def files(self) -> FileCosts:
        """See `RowReader`."""
        return self._files.costs

    @property
    def row_count(self) -> int:
        """See `RowReader`."""
        return self._files.rows

    @property
    def other_bytes(self) -> int:
        """See `RowReader`."""
        return self._query.other_bytes

    @property
    @once
    def scale(self) -> WeightScale:
        """See `RowReader`."""
        # The keys of a join may be those of any of its tables. Nobody has chosen the rows of one that is joined, and so
        # its keys are spread over all weights.
        first, *others = self._query.tables
        return WeightScale() if others else WeightScale(*first.weights)

    @property
    @once
    def known(self) -> KnownBounds:
        """See `RowReader`."""
        bounds = {}
        for name, told in self.aggregates.statistics.items():
            known = (told, told) if isinstance(told, float) else told and self._files.bounds(told)
            if known is not None:
                bounds[name] = known
        # A join to a table that is not indexed can make any number of rows of one, and then the most rows of a key are
        # not known.
        return KnownBounds(None if self._query.fans_out else self._files.key_rows, bounds)

    @property
    @once
    def group_spans(self) -> GroupSpans:
        """See `RowReader`."""
        return self._files.group_spans(self._query.group_columns, list(self.aggregates.group_types.values()))

    @property
    def group_names(self) -> Sequence[str]:
        """See `RowReader`; of a group that the query does not show, its number."""
        shown = {self._query.outputs[each.output].group: each.name for each in self._query.result}
        return [shown.get(at, f"group {at + 1}") for at in range(len(self.aggregates.groups))]

    def read(self, step: Step, axes: StateAxes) -> State:
        """See `RowReader`. One Spark job; three for a first step with percentiles."""
        chosen = self._files.costs.of_step(step)
        files = [file for file, needed in zip(self._files.files, chosen, strict=True) if needed]
        rows = self._query.rows(files, step.start, step.stop, axes.buckets)
        is_small = step.cost + self.other_bytes <= ONE_TASK_BYTES
        numbers = numbers_of(rows.coalesce(1) if is_small else rows, self.aggregates)
        if self.aggregates.percentiles and self._grid is None:
            return self._with_new_grid(numbers, axes)
        return state_of(self._joined(numbers), self.aggregates, axes)

    def _with_new_grid(self, numbers: DataFrame, axes: StateAxes) -> State:
        """The thresholds come from the same rows that are then counted by them, so these rows are cached in between."""
        cached = numbers.persist()
        try:
            self._grid = PercentileGrid.of(self.aggregates, cached)
            return state_of(self._joined(cached), self.aggregates, axes)
        finally:
            cached.unpersist()

    def _joined(self, numbers: DataFrame) -> DataFrame:
        return self._grid.joined(numbers, self.aggregates.groups) if self._grid else numbers

    def grid(self, aggregate: Aggregate, groups: Sequence[Group]) -> FloatArray | None:
        """See `RowReader`."""
        if aggregate.kind != "percentile" or self._grid is None:
            return None
        return self._grid.of_groups(aggregate, tuple(groups))
