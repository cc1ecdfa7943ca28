"""Figures that tell how good an index is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.otree.metrics_page import metrics_html, metrics_page


@dataclass(frozen=True)
class SizeStats:
    """How many, mean and sample standard deviation (cut to whole numbers), and the quartiles with both ends."""

    count: int
    avg: int
    stddev: int
    quartiles: tuple[int, ...]

    @classmethod
    def of(cls, values: Sequence[int] | NDArray[Any]) -> SizeStats:
        """Of whole numbers of any size; zeros where there are none."""
        n = len(values)
        if not n:
            return cls(0, 0, 0, (0,) * 5)
        ordered = np.sort(values)
        # In doubles, because a sum may exceed 64 bits.
        doubles = ordered.astype(np.float64)
        mean = float(doubles.sum()) / n
        deviation = math.sqrt(float(((doubles - mean) ** 2).sum()) / (n - 1)) if n > 1 else 0.0
        quartiles = tuple(int(ordered[max(math.ceil(n * i / 4) - 1, 0)]) for i in range(5))
        return cls(n, int(mean), int(deviation), quartiles)

    def __str__(self) -> str:
        quartiles = ",".join(str(q) for q in self.quartiles)
        return f"(count: {self.count}, avg: {self.avg}, stddev: {self.stddev}, quartiles: [{quartiles}])"


@dataclass(frozen=True)
class LevelStats:
    """The cubes of one depth: how many cubes and blocks, rows a cube, and the mean of their weights (0 to 1)."""

    depth: int
    cube_count: int
    block_count: int
    cube_element_count: SizeStats
    avg_weight: float


@dataclass(frozen=True)
class IndexMetrics:
    """The index of one revision. Revision 0 stands for the files without an index; each counts as a root without rows.

    Attributes:
        element_count: rows in its blocks, deleted ones included.
        height: levels of the tree; min_height: the least that so many rows need.
        avg_fanout: children an inner cube, of theoretical_fanout 2^d.
        bytes: size of its files.
        inner_…, leaf_…: of the cubes with and without cubes below them; their levels by depth.
        read_shares: for the fractions of `measure.SAMPLED`, the share of the revision's bytes that a sample opens.
        read_amplification: for the same fractions, bytes opened by bytes that many rows take: 1 is ideal.
        deleted_rows: rows of its files that deletion vectors hide; live_rows: all others of element_count.
        files_with_vectors: how many of its files have a deletion vector.
        unindexed_files, unindexed_bytes, unindexed_rows: what the whole table holds outside of every index;
            every sample reads it. Rows are None where a file has no statistics.
        unindexed_share: unindexed bytes by all bytes of the table.
        key_granularity: share of the table's rows that one combination of hashed values may hold. Those rows are
            sampled together, so smaller samples are left to Spark.
    """

    revision_id: int
    element_count: int
    dimension_count: int
    desired_cube_size: int
    indexing_columns: str
    height: int
    min_height: int
    avg_fanout: float
    theoretical_fanout: float
    cube_count: int
    block_count: int
    file_count: int
    bytes: int
    cube_element_count_stats: SizeStats
    block_element_count_stats: SizeStats
    file_bytes_stats: SizeStats
    block_count_per_cube_stats: SizeStats
    block_count_per_file_stats: SizeStats
    file_count_per_cube_stats: SizeStats
    inner_cube_element_count_stats: SizeStats
    inner_block_element_count_stats: SizeStats
    inner_levels: tuple[LevelStats, ...]
    leaf_cube_element_count_stats: SizeStats
    leaf_block_element_count_stats: SizeStats
    leaf_levels: tuple[LevelStats, ...]
    read_shares: dict[float, float]
    read_amplification: dict[float, float]
    deleted_rows: int
    live_rows: int
    files_with_vectors: int
    unindexed_files: int
    unindexed_bytes: int
    unindexed_rows: int | None
    unindexed_share: float
    key_granularity: float

    def to_dict(self) -> dict[str, object]:
        """The figures as JSON has them."""
        figures = asdict(self)
        for name in ("read_shares", "read_amplification"):
            figures[name] = {f"{fraction:g}": figure for fraction, figure in getattr(self, name).items()}
        return figures

    def __str__(self) -> str:
        return metrics_page(self)

    def _repr_html_(self) -> str:
        return metrics_html(self)
