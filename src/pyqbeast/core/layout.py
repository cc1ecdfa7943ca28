"""Which file a cube's rows go to: a large cube gets files of its own, small ones share one with their neighbours.

The rows of a large cube are cut further by weight, at the fractions that people sample by, so that a sample of
one percent opens files of one percent. Inside a file the rows follow the z-order curve, so that a box query skips
most of its pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pyqbeast.core import facts
from pyqbeast.core.tree import Doubles, Ints, Longs, SampledRows, Tree
from pyqbeast.core.weight import weight_of
from pyqbeast.core.z_order import z_order

#: Fractions at which the rows of a cube may be cut: 1, 2, 3, 5 and 7 times each power of ten.
CUTS = tuple(m * 10.0**-k for k in range(6, 0, -1) for m in (1, 2, 3, 5, 7))
#: Which of them go first where not all have room: one before five, two, three and seven.
PRIORITY = (0, 2, 3, 1, 4)
#: No cut leaves less than this share of the cube size on either side. Above a tenth of the table, where most of its
#: files are and few samples end, it is a larger share, and as many rows as are worth opening a file for.
SMALLEST_BAND = 1 / 8
SMALLEST_BAND_ABOVE_A_TENTH = 1 / 3
SMALLEST_ROWS_ABOVE_A_TENTH = 100_000
#: Rows between two cuts of the z-order curve in a file: a few stretches make a Parquet page.
STRETCH_ROWS = 2_000
#: Sampled rows that the cuts are chosen by.
SAMPLE_FOR_STRETCHES = 200_000
#: Cubes of at least this share of the cube size have files of their own.
LARGE = 1 / 2


@dataclass(frozen=True)
class Layout:
    """Files of a tree's nodes. The bands of node i are those from `start[i]` to `start[i + 1] - 1`.

    Attributes:
        start: m + 1 numbers of bands.
        weight: for each band the largest weight in it.
        file: for each band its file, from 0 to `files - 1`.
        files: number of files.
        cut_start: files + 1 numbers: the cuts of file i are those from `cut_start[i]` to `cut_start[i + 1] - 1`.
        cut: codes of the z-order curve, ascending in a file. Its rows are stored stretch by stretch between them.
    """

    start: Ints
    weight: Ints
    file: Ints
    files: int
    cut_start: Ints
    cut: Longs


def lay_out(tree: Tree, rows: SampledRows, cube_size: int) -> Layout:
    """Files for all nodes of a tree, for a write of which `rows` is the sample."""
    bands = _bands(tree, rows, cube_size)
    files = _Packer(tree, bands, cube_size).pack()
    start = np.cumsum([0, *(len(cuts) for cuts in bands)]).astype(np.int32)
    weight = np.array([weight for cuts in bands for weight in cuts], np.int32)
    file = np.array([number for of_node in files for number in of_node], np.int32)
    count = 1 + int(file.max())
    return Layout(start, weight, file, count, *_stretches(tree, rows, start, weight, file, count))


def _stretches(
    tree: Tree, rows: SampledRows, start: Ints, weight: Ints, file: Ints, files: int
) -> tuple[Ints, Longs]:
    """Cuts each file's part of the z-order curve so that about `STRETCH_ROWS` rows lie between two cuts."""
    chosen = slice(None, None, max(1, len(rows.weights) // SAMPLE_FOR_STRETCHES))
    node_of_band = np.repeat(np.arange(len(tree)), np.diff(start))
    band = np.searchsorted(
        _node_and_weight(node_of_band, weight), _node_and_weight(tree.row_node[chosen], rows.weights[chosen])
    )
    codes = z_order(rows.points[chosen])
    order = np.lexsort((codes, file[band]))
    at, codes = file[band][order], codes[order]
    counts = rows.counts[chosen][order] * chosen.step
    before = np.cumsum(counts) - counts
    number = ((before - before[np.searchsorted(at, at)]) // STRETCH_ROWS).astype(np.int64)
    begins = np.flatnonzero((np.diff(number) != 0) & (np.diff(at) == 0) & (np.diff(codes) != 0)) + 1
    return np.searchsorted(at[begins], np.arange(files + 1)).astype(np.int32), codes[begins]


def _node_and_weight(node: Longs, weight: Ints) -> Longs:
    """One number that orders by node and then by weight."""
    return (node.astype(np.int64) << 32) + (weight.astype(np.int64) - facts.WEIGHT_MIN)


def _bands(tree: Tree, rows: SampledRows, cube_size: int) -> list[list[int]]:
    """For each node the largest weights of its bands; the last is 2^31 - 1 and takes what is left."""
    bands = [[facts.WEIGHT_MAX] for _ in range(len(tree))]
    cuts = weight_of(np.array(CUTS))
    above = max(SMALLEST_BAND_ABOVE_A_TENTH * cube_size, SMALLEST_ROWS_ABOVE_A_TENTH)
    least = np.where(np.array(CUTS) <= 0.1, SMALLEST_BAND * cube_size, above)
    order = np.argsort(tree.row_node, kind="stable")
    begins = np.searchsorted(tree.row_node[order], np.arange(len(tree) + 1))
    for node in np.flatnonzero(tree.expected >= 2 * SMALLEST_BAND * cube_size).tolist():
        own = order[begins[node] : begins[node + 1]]
        bands[node] = _cut(rows.weights[own], np.cumsum(rows.counts[own]), cuts, least)
    return bands


def _cut(weights: Ints, filled: Doubles, cuts: Ints, least: Doubles) -> list[int]:
    """Accepts the cuts that leave enough rows on both sides, the powers of ten first."""
    before = np.searchsorted(weights, cuts)  # a sample below the cut takes the rows lighter than it
    rows = np.where(before > 0, filled[before - 1], 0.0)
    borders = {-1: 0.0, len(cuts): float(filled[-1])}
    for i in sorted(range(len(cuts)), key=lambda number: PRIORITY[number % len(PRIORITY)]):
        below = max(rows_there for number, rows_there in borders.items() if number < i)
        above = min(rows_there for number, rows_there in borders.items() if number > i)
        if rows[i] - below >= least[i] and above - rows[i] >= least[i]:
            borders[i] = float(rows[i])
    return [*(int(cuts[i]) - 1 for i in sorted(borders) if 0 <= i < len(cuts)), facts.WEIGHT_MAX]


@dataclass
class _Piece:
    """Nodes that share a file, and the rows expected in it."""

    rows: float
    nodes: list[int]


class _Packer:
    """Gives out file numbers from the deepest nodes up; what is too small for a file goes up to the parent.

    Pieces below `LARGE` join until the next would exceed the cube size, in z-order, so that a shared file stays
    compact; no file is planned larger than the largest of the cube size and one node.
    """

    def __init__(self, tree: Tree, bands: list[list[int]], cube_size: int) -> None:
        self.tree = tree
        self.bands = bands
        self.cube_size = cube_size
        self.files: list[list[int]] = [[] for _ in bands]
        self.given = 0

    def pack(self) -> list[list[int]]:
        pending: dict[int, list[_Piece]] = {}
        for node in range(len(self.tree) - 1, -1, -1):
            pieces = pending.pop(node, [])
            rows = float(self.tree.expected[node])
            if rows >= LARGE * self.cube_size or len(self.bands[node]) > 1:
                self.files[node] = [self._next() for _ in self.bands[node]]
            else:
                pieces.append(_Piece(rows, [node]))
            left = self._join(reversed(pieces))
            if left and (node == 0 or left.rows >= LARGE * self.cube_size):
                self._close(left)
            elif left:
                pending.setdefault(int(self.tree.parent[node]), []).append(left)
        return self.files

    def _join(self, pieces: Iterable[_Piece]) -> _Piece | None:
        """Closes full pieces and returns the last one, which is not full."""
        current: _Piece | None = None
        for piece in pieces:
            if current is None:
                current = piece
            elif current.rows + piece.rows > self.cube_size:
                self._close(current)
                current = piece
            else:
                current = _Piece(current.rows + piece.rows, current.nodes + piece.nodes)
        return current

    def _close(self, piece: _Piece) -> None:
        number = self._next()
        for node in piece.nodes:
            self.files[node] = [number]

    def _next(self) -> int:
        self.given += 1
        return self.given - 1
