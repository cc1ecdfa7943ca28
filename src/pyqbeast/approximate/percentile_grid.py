"""The thresholds of percentiles: quantiles of the first rows read, fixed for all rows after them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pyqbeast import bridge
from pyqbeast.approximate.estimate import Aggregate, axes_for, grid_from, grid_of_groups, grid_probabilities
from pyqbeast.approximate.estimate.percentile import fewest_keys
from pyqbeast.approximate.estimate.state import FloatArray, Group
from pyqbeast.approximate.requested_aggregates import RequestedAggregates
from pyqbeast.approximate.row_sums import group_keys, state_of

#: The accuracy of `percentile_approx`. Its error in the rank, 1 / accuracy, is smaller than the distances in
#: the grid.
_ACCURACY = 100_000


@dataclass(frozen=True)
class PercentileGrid:
    """The thresholds of each percentile in each group.

    Attributes:
        frame: group columns g0…, and an array column t<k> for the k-th percentile.
        thresholds: [threshold] by percentile and group.
    """

    frame: DataFrame
    thresholds: Mapping[Aggregate, Mapping[Group, FloatArray]]

    @classmethod
    def of(cls, aggregates: RequestedAggregates, numbers: DataFrame) -> PercentileGrid:
        """From the first rows read, which are read twice: cache them. Two Spark jobs."""
        counts = [Aggregate("count", each.columns) for each in aggregates.percentiles]
        state = state_of(numbers, aggregates, axes_for(counts))
        quantiles = []
        for k, (each, count) in enumerate(zip(aggregates.percentiles, counts, strict=True)):
            least_keys = fewest_keys(state.sums[..., state.index(count.moments)[0]], each.min_keys)
            probabilities = grid_probabilities(each.p or 0.0, least_keys)
            quantiles.append(
                F.percentile_approx(
                    each.columns[0], F.array(*map(F.lit, probabilities)), F.lit(_ACCURACY)
                ).alias(f"t{k}")
            )
        by_group = bridge.grouped(numbers, aggregates.groups, *quantiles)
        quantile_rows = bridge.arrow_table(by_group)
        keys = group_keys(quantile_rows, aggregates.groups)
        thresholds: dict[Aggregate, dict[Group, FloatArray]] = {}
        for k, each in enumerate(aggregates.percentiles):
            name = f"t{k}"
            grids = {
                key: grid_from(values)
                for key, values in zip(keys, quantile_rows.column(name).to_pylist(), strict=True)
                if values is not None
            }
            column = pa.array([grids.get(key) for key in keys], pa.list_(pa.float64()))
            quantile_rows = quantile_rows.set_column(quantile_rows.column_names.index(name), name, column)
            thresholds[each] = grids
        # Without a schema Spark takes times without a zone for times of the session's zone, which may not have them.
        return cls(bridge.frame_of(numbers.sparkSession, quantile_rows, by_group.schema), thresholds)

    def joined(self, numbers: DataFrame, groups: list[str]) -> DataFrame:
        """The rows with the thresholds of their group; null for groups that have none."""
        if not groups:
            return numbers.crossJoin(F.broadcast(self.frame))
        grid = self.frame.withColumnsRenamed({name: f"of_{name}" for name in groups})
        same = [F.col(name).eqNullSafe(F.col(f"of_{name}")) for name in groups]
        return numbers.join(F.broadcast(grid), same, "left").drop(*(f"of_{name}" for name in groups))

    def of_groups(self, aggregate: Aggregate, groups: tuple[Group, ...]) -> FloatArray:
        """The thresholds [group, threshold]; NaN where a group has none."""
        return grid_of_groups(self.thresholds[aggregate], groups)
