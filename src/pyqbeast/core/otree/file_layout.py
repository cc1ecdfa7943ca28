"""Which file a row goes to, and where in it. Each band of weights is cut into cells of space, and a cell is a file.

The cells of a band are those of a k-d tree: a cell is halved across its widest side until its rows fill one file, and
inside a file again until they are a part of a page. A box query opens the files whose cells it meets and skips the
pages that it does not meet. Cells do not overlap, and follow the rows, however these are spread: cubes halve space,
so that rows which crowd together would share a few large cubes and many small ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pyqbeast.core.otree.tree import Doubles, Ints, Longs, SampledRows
from pyqbeast.core.otree.weight_bands import SAMPLE_FRACTIONS, bands_of

# Both numbers are tuned. `python -m benchmarks.suite --only boxes` shows how many files and rows boxes open.
#: Rows of a file, as a share of the cube size. Opening a file costs as much as scanning half a million rows, and pages
#: are skipped one by one: with files of half the size boxes and samples take a third longer.
FILE_ROWS = 1.0
#: About the most rows of a stretch, which is an undivided part of a file. Two or three make a Parquet page.
STRETCH_ROWS = 3_500
#: How many of the sampled rows tell where a file or a stretch ends, as far as there are so many, and of all stretches.
SAMPLE_OF_FILE = 200
SAMPLE_OF_STRETCH = 24
SAMPLE_OF_ALL_STRETCHES = 200_000


#: Cells may be smaller or larger by this share of the divided rows if an edge of a cube is near: every cube that a
#: cell cuts makes another block in the log. Without leeway, there are up to twice as many.
LEEWAY = 0.05


@dataclass(frozen=True)
class FileLayout:
    """The files of a write: for each of the b bands a tree, whose m nodes in all stand one after the other.

    Attributes:
        weight: for each band the largest weight in it, ascending; the last is 2^31 - 1.
        root: for each band the first node of its tree.
        dimension: for each node the coordinate that divides its rows; -1 for a leaf, which is a stretch of a file.
        border: for each node the smallest such coordinate on its upper side.
        target: for each node the number of its upper child, the lower one being the next node; for a leaf its file.
        stretch: for each leaf its place in the file, from 0 on.
        files: number of files.
    """

    weight: Ints
    root: Ints
    dimension: Ints
    border: Doubles
    target: Ints
    stretch: Ints
    files: int

    def leaf_of(self, points: Doubles, weights: Ints) -> Longs:
        """The leaf of each of n points (n × d) with their weights. `Tree.java` finds the same one row by row."""
        node = self.root[np.searchsorted(self.weight, weights)].astype(np.int64)
        inner = np.flatnonzero(self.dimension[node] >= 0)
        while len(inner):
            at = node[inner]
            is_upper = points[inner, self.dimension[at]] >= self.border[at]
            node[inner] = np.where(is_upper, self.target[at], at + 1)
            inner = inner[self.dimension[node[inner]] >= 0]
        return node


def lay_out(
    rows: SampledRows, cube_size: int, sample_fractions: Sequence[float] = SAMPLE_FRACTIONS
) -> FileLayout:
    """Lays out a write.

    Args:
        rows: its sample.
        cube_size: rows a cube.
        sample_fractions: ascending; a sample of one of them opens no file of heavier rows, if it has rows enough.
    """
    weight = bands_of(rows, cube_size, sample_fractions)
    file_rows = FILE_ROWS * cube_size
    total = float(rows.counts.sum())
    for_stretches = min(total * SAMPLE_OF_STRETCH / STRETCH_ROWS, SAMPLE_OF_ALL_STRETCHES)
    step = max(1, int(len(rows.weights) / max(total * SAMPLE_OF_FILE / file_rows, for_stretches)))
    chosen = slice(None, None, step)
    points, counts = rows.points[chosen], rows.counts[chosen] * step
    ends = np.searchsorted(rows.weights[chosen], weight, side="right")
    cells = _Cells(file_rows)
    root = [
        cells.of_band(points[begin:end], counts[begin:end])
        for begin, end in zip([0, *ends[:-1]], ends, strict=True)
    ]
    return FileLayout(
        weight,
        np.array(root, np.int32),
        np.array(cells.dimension, np.int32),
        np.array(cells.border, np.float64),
        np.array(cells.target, np.int32),
        np.array(cells.stretch, np.int32),
        cells.files,
    )


@dataclass
class _Cells:
    """The nodes of all trees as growing lists, a node before those below it."""

    file_rows: float
    files: int = 0
    stretches: int = 0  # of the latest file
    columns: list[Doubles] = field(default_factory=list)  # coordinates of the band, ascending
    dimension: list[int] = field(default_factory=list)
    border: list[float] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    stretch: list[int] = field(default_factory=list)

    def of_band(self, points: Doubles, counts: Doubles) -> int:
        """Divides the rows of a band. Returns the root of its tree."""
        self.columns = [np.sort(column) for column in points.T]
        ranks = [np.searchsorted(self.columns[i], points[:, i]) for i in range(len(self.columns))]
        root = len(self.dimension)
        self._divide(np.array(ranks, np.int32), counts, None)
        return root

    def _divide(self, ranks: Ints, counts: Doubles, file: int | None) -> None:
        """Adds the node of some rows and all below it.

        Args:
            ranks: for each dimension and row, how many rows of the band have a smaller coordinate.
            counts: for each row how many it stands for.
            file: whose part the rows are; None above the files.
        """
        rows = float(counts.sum())
        parts = max(1, round(rows / self.file_rows)) if file is None else 1
        if parts == 1 and file is None:
            file = self._next_file()
        is_stretch = parts == 1 and (rows <= STRETCH_ROWS or len(counts) < SAMPLE_OF_STRETCH)
        division = None if is_stretch else self._division(ranks, counts, parts)
        node = self._add()
        if division is None:
            self._close(node, file)
            return
        dimension, border = division
        self.dimension[node], self.border[node] = dimension, border
        is_upper = ranks[dimension] >= np.searchsorted(self.columns[dimension], border)
        for side in (~is_upper, is_upper):
            self.target[node] = len(self.dimension)
            self._divide(ranks[:, side], counts[side], file)

    def _add(self) -> int:
        self.dimension.append(-1)
        self.border.append(0.0)
        self.target.append(0)
        self.stretch.append(0)
        return len(self.dimension) - 1

    def _next_file(self) -> int:
        self.files += 1
        self.stretches = 0
        return self.files - 1

    def _close(self, leaf: int, file: int | None) -> None:
        """Makes a leaf the next stretch of its file; of a new one where rows of one point fill more than a file."""
        self.target[leaf] = self._next_file() if file is None else file
        self.stretch[leaf] = self.stretches
        self.stretches += 1

    def _division(self, ranks: Ints, counts: Doubles, parts: int) -> tuple[int, float] | None:
        """The dimension in which some rows spread over the most ranks, and the border that halves their `parts` files.

        By ranks, no unit or scale of a column counts more than another. None for rows of one point.
        """
        if not len(counts):
            return None
        extent = ranks.max(axis=1) - ranks.min(axis=1)
        dimension = int(extent.argmax())
        if extent[dimension] == 0:
            return None
        order = ranks[dimension].argsort()
        column = ranks[dimension][order]
        begins = np.flatnonzero(np.diff(column)) + 1  # the first row of each rank but the smallest
        below = np.cumsum(counts[order])[begins - 1] / counts.sum()
        best = int(np.abs(below - ((parts // 2) / parts or 0.5)).argmin())
        leeway = LEEWAY if parts > 1 else 0.0
        first, last = np.searchsorted(below, (below[best] - leeway, below[best] + leeway))
        low, high = self.columns[dimension][column[[begins[first] - 1, begins[min(last, len(begins) - 1)]]]]
        return dimension, _roundest(float(low), float(high))


def _roundest(low: float, high: float) -> float:
    """The number above `low` and up to `high` with the fewest binary digits. The edges of large cubes have few."""
    step = 1.0
    while math.floor(high / step) * step <= low:
        step /= 2
    return math.floor(high / step) * step
