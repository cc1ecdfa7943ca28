"""The bands of a write: its rows cut by weight at fractions that people sample by.

A sample that ends at a cut opens no file of rows above it. A box query opens files of every band, so a band is made
only where it has many rows, and users who sample little name fewer fractions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format import constants
from pyqbeast.core.format.weight import weight_of
from pyqbeast.core.otree.tree import ROOM, Ints, SampledRows

# The numbers below are tuned. `python -m benchmarks.suite --only samples boxes scan` shows what they cost and bring:
# the bytes that samples open, the rows and files of boxes, and how long a full scan takes.
#: Where rows may be cut unless users say otherwise: at the powers of ten, and at 0.3. Each further cut makes box
#: queries open more files. Cuts at 0.03 and 0.003 too make the slowest tenth of them a seventh slower, a cut at 0.5 as
#: well; without the one at 0.3 they are faster by a seventh, and samples of a third read the whole table.
SAMPLE_FRACTIONS = (*(float(f"1e-{k}") for k in range(6, 0, -1)), 0.3)
#: So many rows are a band of their own, and so is this share of the cube size where that is less. The lightest band
#: then has at most ten times as many. Without the first number a sample of 0.1 % of 40 million rows in cubes of a
#: million reads ten times as many rows and takes 1.6 times as long. With it boxes open one more file and take 3 % more
#: time.
SMALLEST_ROWS = 30_000
SMALLEST_BAND = 0.15
#: The fewest rows of a band in a write of one cube, which has no band smaller than that share of the cube size either:
#: many appends would leave many small files.
SMALLEST_ROWS_OF_ONE_CUBE = 100_000


def fractions_of(text: str, where: str) -> tuple[float, ...]:
    """The fractions, ascending, that users want to sample by: numbers with commas between them, or none at all.

    Raises:
        InvalidInputError: one of them is no number between 0 and 1; `where` says who stated it.
    """
    try:
        fractions = sorted({float(each) for each in text.split(",")} if text.strip() else ())
    except ValueError:
        fractions = [0.0]
    if not all(0 < fraction < 1 for fraction in fractions):
        raise InvalidInputError(
            f"{where} has to be fractions between 0 and 1 with commas between them, such as 0.01,0.1, not {text!r}"
        )
    return tuple(fractions)


def bands_of(rows: SampledRows, cube_size: int, fractions: Sequence[float]) -> Ints:
    """The largest weight of each band, ascending. The last band goes up to 2^31 - 1.

    Args:
        rows: the sample of a write.
        cube_size: rows a cube.
        fractions: where the rows may be cut, ascending.
    """
    filled = np.cumsum(rows.counts)
    total = float(filled[-1]) if len(filled) else 0.0
    least = SMALLEST_BAND * cube_size
    is_one_cube = total <= ROOM * cube_size
    least = max(least, SMALLEST_ROWS_OF_ONE_CUBE) if is_one_cube else min(least, SMALLEST_ROWS)
    ends = [constants.WEIGHT_MAX]
    rows_below_end = total
    for fraction in reversed(fractions):
        weight = weight_of(fraction)  # a sample of the fraction takes the rows that are lighter
        lighter = int(np.searchsorted(rows.weights, weight))
        below = float(filled[lighter - 1]) if lighter else 0.0
        if below >= least and rows_below_end - below >= least:
            ends.append(weight - 1)
            rows_below_end = below
    return np.array(ends[::-1], np.int32)
