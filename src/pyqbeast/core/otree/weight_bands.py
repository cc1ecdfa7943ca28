"""The bands of a write: its rows cut by weight at fractions that people sample by.

A sample that ends at a cut opens no file of rows above it. A box query opens files of every band, so a band is made
only where it has many rows.
"""

from __future__ import annotations

import numpy as np

from pyqbeast.core.format import constants
from pyqbeast.core.format.weight import weight_of
from pyqbeast.core.otree.tree import ROOM, Ints, SampledRows

# The numbers below are tuned. `python -m benchmarks.suite --only samples boxes scan` shows what they cost and bring:
# the bytes that samples open, the rows and files of boxes, and how long a full scan takes.
#: Where rows may be cut, from above: 3 and 1 times each power of ten. A second cut above a tenth, at a half, makes
#: box queries open a quarter more bytes.
CUTS = tuple(float(f"{m}e-{k}") for k in range(1, 7) for m in (3, 1))
#: No band holds fewer rows than this share of the cube size.
SMALLEST_BAND = 1 / 4
#: The fewest rows of a band in a table of one cube.
SMALLEST_ROWS_OF_ONE_CUBE = 100_000


def bands_of(rows: SampledRows, cube_size: int) -> Ints:
    """The largest weight of each band, ascending. The last band goes up to 2^31 - 1."""
    filled = np.cumsum(rows.counts)
    total = float(filled[-1]) if len(filled) else 0.0
    least = SMALLEST_BAND * cube_size
    if total <= ROOM * cube_size:
        least = max(least, SMALLEST_ROWS_OF_ONE_CUBE)
    ends = [constants.WEIGHT_MAX]
    rows_below_end = total
    for fraction in CUTS:
        weight = weight_of(fraction)  # a sample of the fraction takes the rows that are lighter
        lighter = int(np.searchsorted(rows.weights, weight))
        below = float(filled[lighter - 1]) if lighter else 0.0
        if below >= least and rows_below_end - below >= least:
            ends.append(weight - 1)
            rows_below_end = below
    return np.array(ends[::-1], np.int32)
