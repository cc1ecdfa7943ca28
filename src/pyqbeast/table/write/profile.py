"""The one pass over the indexed columns before a write: bounds, number of rows, and a sample of bounded size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from pyqbeast import bridge
from pyqbeast.core.otree.tree import SampledRows
from pyqbeast.core.revisions.revision import Revision
from pyqbeast.core.transform.base import ColumnStatistics, Transformation, Transformer
from pyqbeast.core.transform.column_spec import check_number_of_columns
from pyqbeast.table.coordinates import measured

#: The most rows of the sample, from all partitions together. It bounds the driver's memory, as
#: `python -m benchmarks.suite --only growth` shows.
SAMPLE_ROWS = 500_000


@dataclass(frozen=True)
class Profile:
    """What a pass over n rows found.

    Attributes:
        rows: n.
        statistics: bounds of the columns that need them, by column; without NaN and infinities.
        values: for each column the values of the sampled rows (double), as `measured` has them.
        nulls: for each column whether the value is null.
        weights: weights of the sampled rows (int32).
        counts: how many rows each sampled row stands for (double).
    """

    rows: int
    statistics: dict[str, ColumnStatistics]
    values: list[NDArray[np.float64]]
    nulls: list[NDArray[np.bool_]]
    weights: NDArray[np.int32]
    counts: NDArray[np.float64]

    def sampled_rows(self, revision: Revision) -> SampledRows:
        """The sampled rows as points of a revision's space; a row that lies outside is taken to lie at its edge."""
        points = [
            transformation.coordinates(values, nulls)
            for transformation, values, nulls in zip(
                revision.transformations, self.values, self.nulls, strict=True
            )
        ]
        inside = np.clip(np.nan_to_num(np.column_stack(points)), 0.0, 1.0)
        return SampledRows.of(inside, self.weights, self.counts)


def profile(
    data: DataFrame,
    transformers: Sequence[Transformer],
    known: Mapping[str, Transformation],
    types: Mapping[str, str],
    weight_columns: Sequence[str],
) -> Profile:
    """Looks at the indexed columns of all rows, and at their weight, once. One Spark job.

    Args:
        data: the rows.
        transformers: how each indexed column is going to be indexed.
        known: the transformations of columns that need no bounds, by column; missing where nobody stated enough.
        types: Spark type of each column, as simple text.
        weight_columns: columns that are hashed after the indexed ones.

    Raises:
        InvalidInputError: there are more columns than an index can be written by. All that is laid out is looked
            at here first, whoever has chosen its columns.
    """
    check_number_of_columns(len(transformers))
    spark = data.sparkSession
    columns = [measured(spark, each, known.get(each.column), types[each.column]) for each in transformers]
    indexed = [transformer.column for transformer in transformers]
    weight = bridge.row_weight(data, [*indexed, *weight_columns])
    with bridge.handed_over() as target:
        bridge.sample_to(data, [*columns, weight], SAMPLE_ROWS, target)
        blocks = _read_samples(target.read_bytes(), len(transformers))
    statistics = {}
    for i, transformer in enumerate(transformers):
        if transformer.needs_bounds:
            statistics[transformer.column] = _bounds([block.bounds[i] for block in blocks])
    return Profile(
        sum(block.seen for block in blocks),
        statistics,
        [np.concatenate([b.values[i] for b in blocks] or [_NONE]) for i in range(len(transformers))],
        [np.concatenate([b.nulls[i] for b in blocks] or [_NONE > 0]) for i in range(len(transformers))],
        np.concatenate([b.weights for b in blocks] or [_NONE.astype(np.int32)]),
        np.concatenate([np.full(len(b.weights), b.seen / max(1, len(b.weights))) for b in blocks] or [_NONE]),
    )


_NONE = np.empty(0)
_BOUNDS = np.dtype([("low", "<f8"), ("high", "<f8"), ("whole_low", "<i8"), ("whole_high", "<i8")])


@dataclass(frozen=True)
class _PartitionSample:
    """What one partition gave; see `Sampler.Partition.toBytes`."""

    seen: int
    bounds: list[tuple[float, float, int, int]]
    values: list[NDArray[np.float64]]
    nulls: list[NDArray[np.bool_]]
    weights: NDArray[np.int32]


def _read_samples(data: bytes, columns: int) -> list[_PartitionSample]:
    blocks = []
    at = 0
    while at < len(data):
        seen, sampled = np.frombuffer(data, "<i8", 2, at).tolist()
        at += 16
        bounds = np.frombuffer(data, _BOUNDS, columns, at).tolist()
        at += columns * _BOUNDS.itemsize
        values, nulls = [], []
        for _ in range(columns):
            values.append(np.frombuffer(data, "<f8", sampled, at))
            nulls.append(np.frombuffer(data, np.uint8, sampled, at + 8 * sampled).astype(bool))
            at += 9 * sampled
        weights = np.frombuffer(data, "<i4", sampled, at).astype(np.int32)
        at += 4 * sampled
        blocks.append(_PartitionSample(seen, bounds, values, nulls, weights))
    return blocks


def _bounds(of_blocks: Sequence[tuple[float, float, int, int]]) -> ColumnStatistics:
    """The bounds over all partitions.

    Each partition has bounds as doubles or as longs; the unused ones are inverted.
    """
    low, high, whole_low, whole_high = zip(*of_blocks, strict=True) if of_blocks else ([1.0], [0.0], [1], [0])
    if min(whole_low) <= max(whole_high):
        return ColumnStatistics(min(whole_low), max(whole_high))
    if min(low) <= max(high):
        return ColumnStatistics(min(low), max(high))
    return ColumnStatistics()
