"""Which file a cube's rows go to. Each large band of a cube gets a file of its own, and small bands share files.

Inside a file the rows follow the z-order curve, so that a box query skips most of its pages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pyqbeast.core.format import constants
from pyqbeast.core.otree.tree import Ints, Longs, SampledRows, Tree
from pyqbeast.core.otree.weight_bands import LARGE, MOST_SHARED, Band, bands_of
from pyqbeast.core.otree.z_order import z_order

#: Rows between two cuts of the z-order curve in a file. A few such stretches make a Parquet page.
#: `python -m benchmarks.suite --only boxes` shows how many rows boxes scan.
STRETCH_ROWS = 2_000
#: About how many of the sampled rows the cuts are computed from.
SAMPLE_FOR_STRETCHES = 200_000


@dataclass(frozen=True)
class FileLayout:
    """Files of a tree's nodes. The bands of node i are those from `start[i]` to `start[i + 1] - 1`.

    Attributes:
        start: m + 1 numbers of bands, for m nodes.
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


def lay_out(tree: Tree, rows: SampledRows, cube_size: int) -> FileLayout:
    """Gives a file to each band of each node, for a write of which `rows` is the sample."""
    bands = bands_of(tree, rows, cube_size)
    files = _FilePlanner(tree, bands, cube_size).pack()
    start = np.cumsum([0, *(len(of_node) for of_node in bands)]).astype(np.int32)
    weight = np.array([band.weight for of_node in bands for band in of_node], np.int32)
    file = np.array([number for of_node in files for number in of_node], np.int32)
    count = 1 + int(file.max())
    return FileLayout(start, weight, file, count, *_stretches(tree, rows, start, weight, file, count))


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
    return (node.astype(np.int64) << 32) + (weight.astype(np.int64) - constants.WEIGHT_MIN)


@dataclass
class _Piece:
    """Bands that share a file, each as its node and its number in the node, and how many rows they are expected
    to have.
    """

    rows: float
    bands: list[tuple[int, int]]


_Pieces = defaultdict[tuple[int, int], list[_Piece]]


class _FilePlanner:
    """Gives a file number to each band, from the deepest nodes up.

    A band of fewer rows than `LARGE` shares a file with other bands of the same weights. They join in z-order,
    so that the file covers a compact region, until the next band would exceed `MOST_SHARED`. Bands that do not
    fill a file wait for those of the parent's other children.
    """

    def __init__(self, tree: Tree, bands: list[list[Band]], cube_size: int) -> None:
        self.tree = tree
        self.bands = bands
        self.cube_size = cube_size
        self.files = [[0] * len(of_node) for of_node in bands]
        self.closed = 0

    def pack(self) -> list[list[int]]:
        pending: dict[int, _Pieces] = {}
        for node in range(len(self.tree) - 1, -1, -1):
            pieces = pending.pop(node, _Pieces(list))
            for number, band in enumerate(self.bands[node]):
                piece = _Piece(band.rows, [(node, number)])
                if band.rows >= LARGE * self.cube_size:
                    self._close(piece)
                else:
                    pieces[band.above, band.weight].append(piece)
            for weights, alike in pieces.items():
                unfilled = self._join(reversed(alike))
                if unfilled.rows >= LARGE * self.cube_size or node == 0:
                    self._close(unfilled)
                else:
                    pending.setdefault(int(self.tree.parent[node]), _Pieces(list))[weights].append(unfilled)
        return self.files

    def _join(self, pieces: Iterable[_Piece]) -> _Piece:
        """Joins pieces into files. Returns the last piece, which does not fill a file yet."""
        current = _Piece(0.0, [])
        for piece in pieces:
            if current.bands and current.rows + piece.rows > MOST_SHARED * self.cube_size:
                self._close(current)
                current = piece
            else:
                current = _Piece(current.rows + piece.rows, current.bands + piece.bands)
        return current

    def _close(self, piece: _Piece) -> None:
        for node, number in piece.bands:
            self.files[node][number] = self.closed
        self.closed += 1
