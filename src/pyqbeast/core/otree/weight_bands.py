"""The bands of a cube: its rows cut by weight at the fractions that people sample by.

A sample that ends at a cut opens no file of rows above it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyqbeast.core.format import constants
from pyqbeast.core.format.weight import COMMON_FRACTIONS, COMMON_WEIGHTS
from pyqbeast.core.otree.tree import Doubles, Ints, SampledRows, Tree

#: The position of a tenth among the common fractions. Most samples end below a tenth, and most rows lie above
#: it.
A_TENTH = COMMON_FRACTIONS.index(0.1)
#: Which fractions are cut first if there is no room for all: 1 before 5, 2, 3 and 7 times a power of ten. Above
#: a tenth the lowest comes first.
PRIORITY = (0, 2, 3, 1, 4)
ORDER = sorted(
    range(len(COMMON_FRACTIONS)),
    key=lambda i: (i > A_TENTH, i if i > A_TENTH else PRIORITY[i % len(PRIORITY)]),
)
# The numbers below are tuned. `python -m benchmarks.suite --only samples boxes scan` shows what they cost and bring:
# the bytes that samples open, the rows that boxes scan, how many files there are, and how long a full scan takes.
#: Bands of at least this share of the cube size have files of their own.
LARGE = 0.85
#: Smaller ones share a file up to this share.
MOST_SHARED = 1.6
#: No cut leaves less than this share of the cube size on either side.
SMALLEST_BAND = 1 / 8
#: The same for bands of the root below a tenth, in a tree of several cubes. They may be smaller because a cut
#: of the root makes only one more file in the whole table.
SMALLEST_BAND_OF_ROOT = 1 / 64
#: The same for bands above a tenth. They may be smaller because bands of many leaves share a file.
SMALLEST_BAND_ABOVE_A_TENTH = 1 / 20
#: No band of these two kinds holds fewer rows than this.
SMALLEST_ROWS = 8_000
#: The same for bands above a tenth in a table of one cube, where each of them makes a file of its own.
SMALLEST_ROWS_OF_ONE_CUBE = 100_000
#: Cuts of one cube above a tenth. With each cut the rows of a file lie further apart, so that a box query finds
#: fewer of its rows on a page and opens more files. Box queries took a third longer with one cut than with
#: none, and twice as long with two.
CUTS_ABOVE_A_TENTH = 1


@dataclass(frozen=True)
class Band:
    """The rows of a node with weights above `above` and up to `weight`. `rows` is their expected number."""

    above: int
    weight: int
    rows: float


def bands_of(tree: Tree, rows: SampledRows, cube_size: int) -> list[list[Band]]:
    """The bands of each node, lightest first. The last band of a node goes up to 2^31 - 1."""
    bands = [[Band(constants.WEIGHT_MIN, constants.WEIGHT_MAX, float(count))] for count in tree.expected]
    least, of_root = _smallest(len(tree) == 1, cube_size)
    order = np.argsort(tree.row_node, kind="stable")
    begins = np.searchsorted(tree.row_node[order], np.arange(len(tree) + 1))
    for node in np.flatnonzero(tree.expected >= 2 * SMALLEST_BAND * cube_size).tolist():
        own = order[begins[node] : begins[node + 1]]
        is_large_root = node == 0 and len(tree) > 1 and tree.expected[0] >= LARGE * cube_size
        enough = of_root if is_large_root else least
        bands[node] = _cut(rows.weights[own], np.cumsum(rows.counts[own]), enough)
    return bands


def _smallest(is_one_cube: bool, cube_size: int) -> tuple[Doubles, Doubles]:
    """For each common fraction the fewest rows on either side of a cut there: in any cube, and in a large root."""
    up_to_a_tenth = np.arange(len(COMMON_FRACTIONS)) <= A_TENTH
    below = SMALLEST_BAND * cube_size
    of_root = min(below, max(SMALLEST_BAND_OF_ROOT * cube_size, SMALLEST_ROWS))
    above = max(SMALLEST_BAND_ABOVE_A_TENTH * cube_size, SMALLEST_ROWS)
    if is_one_cube:
        above = max(below, SMALLEST_ROWS_OF_ONE_CUBE)
    return np.where(up_to_a_tenth, below, above), np.where(up_to_a_tenth, of_root, above)


def _cut(weights: Ints, filled: Doubles, least: Doubles) -> list[Band]:
    """Accepts the cuts that leave enough rows on both sides, in `ORDER`."""
    before = np.searchsorted(weights, COMMON_WEIGHTS)  # a sample below the cut takes the rows lighter than it
    rows = np.where(before > 0, filled[before - 1], 0.0)
    borders = {-1: 0.0, len(COMMON_WEIGHTS): float(filled[-1])}
    for i in ORDER:
        if sum(A_TENTH < cut < len(COMMON_WEIGHTS) for cut in borders) == CUTS_ABOVE_A_TENTH:
            break
        below = max(rows_there for number, rows_there in borders.items() if number < i)
        above = min(rows_there for number, rows_there in borders.items() if number > i)
        if rows[i] - below >= least[i] and above - rows[i] >= least[i]:
            borders[i] = float(rows[i])
    inner = [int(COMMON_WEIGHTS[i]) - 1 for i in sorted(borders) if 0 <= i < len(COMMON_WEIGHTS)]
    ends = [constants.WEIGHT_MIN, *inner, constants.WEIGHT_MAX]
    counts = np.diff(sorted(borders.values())).tolist()
    return [Band(*band) for band in zip(ends[:-1], ends[1:], counts, strict=True)]
