"""The bands of a cube: its rows cut by weight at the fractions that people sample by.

A sample that ends at a cut opens no file of rows above it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyqbeast.core import facts
from pyqbeast.core.tree import Doubles, Ints, SampledRows, Tree
from pyqbeast.core.weight import COMMON_FRACTIONS, weight_of

#: Which of the common fractions go first where not all have room: one before five, two, three and seven.
PRIORITY = (0, 2, 3, 1, 4)
#: Bands of at least this share of the cube size have files of their own.
LARGE = 1 / 2
#: No cut leaves less than this share of the cube size on either side. Above a tenth of the table, where most of its
#: files are and few samples end, it is a larger share, and as many rows as are worth opening a file for.
SMALLEST_BAND = 1 / 8
SMALLEST_BAND_ABOVE_A_TENTH = 0.3
SMALLEST_ROWS_ABOVE_A_TENTH = 100_000
#: In the root of several cubes it may be less up to a tenth: a cut of it makes but one file more in the whole table.
SMALLEST_BAND_OF_ROOT = 1 / 64
SMALLEST_ROWS_OF_ROOT = 8_000


@dataclass(frozen=True)
class Band:
    """The rows of a node of weights above `above` and up to `weight`, and how many they are expected to be."""

    above: int
    weight: int
    rows: float


def bands_of(tree: Tree, rows: SampledRows, cube_size: int) -> list[list[Band]]:
    """The bands of each node, lightest first. The last of a node goes up to 2^31 - 1 and takes what is left."""
    bands = [[Band(facts.WEIGHT_MIN, facts.WEIGHT_MAX, float(count))] for count in tree.expected]
    fractions = np.array(COMMON_FRACTIONS)
    cuts = weight_of(fractions)
    above = max(SMALLEST_BAND_ABOVE_A_TENTH * cube_size, SMALLEST_ROWS_ABOVE_A_TENTH)
    least = np.where(fractions <= 0.1, SMALLEST_BAND * cube_size, above)
    small = max(SMALLEST_BAND_OF_ROOT * cube_size, SMALLEST_ROWS_OF_ROOT)
    of_root = np.where(fractions <= 0.1, np.minimum(least, small), least)
    order = np.argsort(tree.row_node, kind="stable")
    begins = np.searchsorted(tree.row_node[order], np.arange(len(tree) + 1))
    for node in np.flatnonzero(tree.expected >= 2 * SMALLEST_BAND * cube_size).tolist():
        own = order[begins[node] : begins[node + 1]]
        is_large_root = node == 0 and len(tree) > 1 and tree.expected[0] >= LARGE * cube_size
        enough = of_root if is_large_root else least
        bands[node] = _cut(rows.weights[own], np.cumsum(rows.counts[own]), cuts, enough)
    return bands


def _cut(weights: Ints, filled: Doubles, cuts: Ints, least: Doubles) -> list[Band]:
    """Accepts the cuts that leave enough rows on both sides, the powers of ten first."""
    before = np.searchsorted(weights, cuts)  # a sample below the cut takes the rows lighter than it
    rows = np.where(before > 0, filled[before - 1], 0.0)
    borders = {-1: 0.0, len(cuts): float(filled[-1])}
    for i in sorted(range(len(cuts)), key=lambda number: PRIORITY[number % len(PRIORITY)]):
        below = max(rows_there for number, rows_there in borders.items() if number < i)
        above = min(rows_there for number, rows_there in borders.items() if number > i)
        if rows[i] - below >= least[i] and above - rows[i] >= least[i]:
            borders[i] = float(rows[i])
    inner = [int(cuts[i]) - 1 for i in sorted(borders) if 0 <= i < len(cuts)]
    ends = [facts.WEIGHT_MIN, *inner, facts.WEIGHT_MAX]
    counts = np.diff(sorted(borders.values())).tolist()
    return [Band(*band) for band in zip(ends[:-1], ends[1:], counts, strict=True)]
