"""Which file a row goes to, and where in it. Each band of weights is cut into cells of space, and a cell is a file.

The cells of a band are those of a k-d tree: a cell is halved across its widest side until its rows fill one file, and
inside a file again until they are a part of a page. A box query opens the files whose cells it meets and skips the
pages that it does not meet. Cells do not overlap, and follow the rows, however these are spread: cubes halve space,
so that rows which crowd together would share a few large cubes and many small ones.

A band may have parts, cut by weight like the bands. The files of a band hold the rows of its first part first, then
those of the next, so that a sample that ends where a part does reads no more than the beginning of each file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pyqbeast.core.otree.tree import Doubles, Ints, Longs, SampledRows
from pyqbeast.core.otree.weight_bands import bands_of, parts_of

# Both numbers are tuned. `python -m benchmarks.suite --only boxes` shows how many files and rows boxes open.
#: Rows of a file, as a share of the cube size. Opening a file costs as much as scanning half a million rows, and pages
#: are skipped one by one: with files of half the size boxes and samples take a third longer.
FILE_ROWS = 1.0
#: About the most rows of a stretch, which is an undivided part of a file. Two or three make a Parquet page.
STRETCH_ROWS = 3_500
#: The layout keeps about so many sampled rows for each file, to find where it ends. For each stretch it keeps the
#: second number, as long as all stretches together have no more than the third.
SAMPLE_OF_FILE = 200
SAMPLE_OF_STRETCH = 24
SAMPLE_OF_ALL_STRETCHES = 200_000


#: Cells may be smaller or larger by this share of the divided rows if an edge of a cube is near: every cube that a
#: cell cuts makes another block in the log. Without leeway, there are up to twice as many.
LEEWAY = 0.05


@dataclass(frozen=True)
class FileLayout:
    """The files of a write: for each of the p parts of its bands a tree. The m nodes of all trees stand in one row.

    Attributes:
        weight: for each band the largest weight in it, ascending; the last is 2^31 - 1.
        part_weight: the same for each part. Bands end where parts do.
        root: for each part the first node of its tree.
        dimension: for each node the coordinate that divides its rows; -1 for a leaf, which is a stretch of a file.
        border: for each node the smallest such coordinate on its upper side.
        target: for each node the number of its upper child, the lower one being the next node; for a leaf its file.
        stretch: for each leaf its place in the file, from 0 on.
        files: number of files.
    """

    weight: Ints
    part_weight: Ints
    root: Ints
    dimension: Ints
    border: Doubles
    target: Ints
    stretch: Ints
    files: int

    def leaf_of(self, points: Doubles, weights: Ints) -> Longs:
        """The leaf of each of n points (n × d) with their weights.

        Writes have `Tree.java`, which finds the same one row by row. Tests and benchmarks compare with this.
        """
        node = self.root[np.searchsorted(self.part_weight, weights)].astype(np.int64)
        inner = np.flatnonzero(self.dimension[node] >= 0)
        while len(inner):
            at = node[inner]
            is_upper = points[inner, self.dimension[at]] >= self.border[at]
            node[inner] = np.where(is_upper, self.target[at], at + 1)
            inner = inner[self.dimension[node[inner]] >= 0]
        return node


def lay_out(rows: SampledRows, cube_size: int, sample_fractions: Sequence[float]) -> FileLayout:
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
    part_weight = parts_of(rows, weight, file_rows) if sample_fractions else weight
    part = np.searchsorted(part_weight, rows.weights[chosen])
    nodes = _Nodes()
    root: list[int] = []
    files = 0
    first = 0
    for last in np.searchsorted(part_weight, weight).tolist():
        begin, end = np.searchsorted(part, (first, last + 1))
        band = _BandFiles(
            points[begin:end], counts[begin:end], part[begin:end] - first, last + 1 - first, file_rows
        )
        root += [nodes.join(tree, files) for tree in band.trees]
        files += band.files
        first = last + 1
    return FileLayout(
        weight,
        part_weight,
        np.array(root, np.int32),
        np.array(nodes.dimension, np.int32),
        np.array(nodes.border, np.float64),
        np.array(nodes.target, np.int32),
        np.array(nodes.stretch, np.int32),
        files,
    )


@dataclass
class _Nodes:
    """The nodes of one or more trees as growing lists, a node before those below it."""

    dimension: list[int] = field(default_factory=list)
    border: list[float] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    stretch: list[int] = field(default_factory=list)

    def add(self, dimension: int, border: float) -> int:
        """Adds a node that divides rows. Its upper child is not known yet."""
        self.dimension.append(dimension)
        self.border.append(border)
        self.target.append(0)
        self.stretch.append(0)
        return len(self.dimension) - 1

    def add_leaf(self, file: int, stretch: int) -> None:
        leaf = self.add(-1, 0.0)
        self.target[leaf], self.stretch[leaf] = file, stretch

    def join(self, tree: _Nodes, files: int) -> int:
        """Adds a tree whose files come after `files` others. Returns its root."""
        root = len(self.dimension)
        self.target += [
            target + (files if dimension < 0 else root)
            for dimension, target in zip(tree.dimension, tree.target, strict=True)
        ]
        self.dimension += tree.dimension
        self.border += tree.border
        self.stretch += tree.stretch
        return root


class _BandFiles:
    """The files of one band: a tree for each of its parts. The trees are alike down to the files.

    Args:
        points: sampled rows of the band.
        counts: for each row how many it stands for.
        part: for each row the number of its part.
        parts: how many there are.
        file_rows: rows of a file.
    """

    def __init__(self, points: Doubles, counts: Doubles, part: Longs, parts: int, file_rows: float) -> None:
        self.file_rows = file_rows
        self.files = 0
        self.trees = [_Nodes() for _ in range(parts)]
        self.columns = [np.sort(column) for column in points.T]  # coordinates of the band, ascending
        ranks = [np.searchsorted(self.columns[i], points[:, i]) for i in range(len(self.columns))]
        self._divide(np.array(ranks, np.int32), counts, part)

    def _divide(self, ranks: Ints, counts: Doubles, part: Longs) -> None:
        """Adds the nodes of some rows and of all below them.

        Args:
            ranks: for each dimension and row, how many rows of the band have a smaller coordinate.
            counts: for each row how many it stands for.
            part: for each row the number of its part.
        """
        files = max(1, round(float(counts.sum()) / self.file_rows))
        # Rows of one point are one file however many they are.
        division = None if files == 1 else self._division(ranks, counts, files)
        if division is None:
            self._add_file(ranks, counts, part)
            return
        dimension, border = division
        nodes = [tree.add(dimension, border) for tree in self.trees]
        is_upper = ranks[dimension] >= np.searchsorted(self.columns[dimension], border)
        self._divide(ranks[:, ~is_upper], counts[~is_upper], part[~is_upper])
        for tree, node in zip(self.trees, nodes, strict=True):
            tree.target[node] = len(tree.dimension)
        self._divide(ranks[:, is_upper], counts[is_upper], part[is_upper])

    def _add_file(self, ranks: Ints, counts: Doubles, part: Longs) -> None:
        stretches = 0
        for number, tree in enumerate(self.trees):
            of_part = part == number
            stretches = self._add_stretches(tree, ranks[:, of_part], counts[of_part], stretches)
        self.files += 1

    def _add_stretches(self, tree: _Nodes, ranks: Ints, counts: Doubles, stretches: int) -> int:
        """Divides rows of one part of the latest file, which has `stretches` so far. Returns how many it has then."""
        is_stretch = float(counts.sum()) <= STRETCH_ROWS or len(counts) < SAMPLE_OF_STRETCH
        division = None if is_stretch else self._division(ranks, counts, 1)
        if division is None:
            tree.add_leaf(self.files, stretches)
            return stretches + 1
        dimension, border = division
        node = tree.add(dimension, border)
        is_upper = ranks[dimension] >= np.searchsorted(self.columns[dimension], border)
        stretches = self._add_stretches(tree, ranks[:, ~is_upper], counts[~is_upper], stretches)
        tree.target[node] = len(tree.dimension)
        return self._add_stretches(tree, ranks[:, is_upper], counts[is_upper], stretches)

    def _division(self, ranks: Ints, counts: Doubles, files: int) -> tuple[int, float] | None:
        """The dimension in which some rows spread over the most ranks, and the border that halves their `files` files.

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
        best = int(np.abs(below - ((files // 2) / files or 0.5)).argmin())
        leeway = LEEWAY if files > 1 else 0.0
        first, last = np.searchsorted(below, (below[best] - leeway, below[best] + leeway))
        low, high = self.columns[dimension][column[[begins[first] - 1, begins[min(last, len(begins) - 1)]]]]
        return dimension, _roundest(float(low), float(high))


def _roundest(low: float, high: float) -> float:
    """The number above `low` and up to `high` with the fewest binary digits. The edges of large cubes have few."""
    step = 1.0
    while math.floor(high / step) * step <= low:
        step /= 2
    return math.floor(high / step) * step
