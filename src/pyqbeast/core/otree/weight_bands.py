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
#: queries open more files. With cuts at 0.03 and 0.003, or at 0.5, the slowest tenth of box queries takes a seventh
#: longer. Parts serve samples of a half at less cost. Without the cut at 0.3 box queries are a seventh faster, and a
#: sample of a third reads the whole table.
DEFAULT_FRACTIONS = (*(float(f"1e-{k}") for k in range(6, 0, -1)), 0.3)
#: In a write of several cubes a band has at least so many rows, or this share of the cube size: the smaller of the two
#: counts. The lightest band then has at most ten times as many. Were it the share alone, a sample of 0.1 % of 40
#: million rows in cubes of a million would read ten times as many rows and take 1.6 times as long. With both, boxes
#: open one more file and take 3 % more time.
FEWEST_ROWS_OF_BAND = 30_000
LEAST_SHARE_OF_CUBE = 0.15
#: Where the files of a band are parted. A sample of a half then takes a third of the time for one column, and half of
#: it for all. Boxes scan 7 to 20 % more rows, and take up to a tenth longer where they open many files. With parts at
#: 0.05 and 0.2 too, samples of these fractions take half the time, but boxes scan up to 45 % more rows, and a full scan
#: takes 5 % longer.
PART_FRACTIONS = (0.5,)
#: A part of a file has at least this share of its rows, and so many: the larger of the two counts. Each part is a row
#: group of Parquet's, and takes a millisecond to open.
LEAST_SHARE_OF_FILE = 0.1
FEWEST_ROWS_OF_PART = 20_000
#: In a write of one cube a band has at least so many rows, or `LEAST_SHARE_OF_CUBE` of the cube size: the larger of
#: the two counts, because many small appends would leave many small files.
FEWEST_ROWS_OF_ONE_CUBE = 100_000


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
    least = LEAST_SHARE_OF_CUBE * cube_size
    is_one_cube = total <= ROOM * cube_size
    least = max(least, FEWEST_ROWS_OF_ONE_CUBE) if is_one_cube else min(least, FEWEST_ROWS_OF_BAND)
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


def parts_of(rows: SampledRows, bands: Ints, file_rows: float) -> Ints:
    """The largest weight of each part of the bands, ascending: those of the bands, and some between them.

    Args:
        rows: the sample of a write.
        bands: the largest weight of each band.
        file_rows: rows of a file.
    """
    filled = np.concatenate([[0.0], np.cumsum(rows.counts)])
    below = filled[
        np.searchsorted(rows.weights, bands, side="right")
    ].tolist()  # rows up to the end of each band
    ends = bands.tolist()
    for fraction in PART_FRACTIONS:
        weight = weight_of(fraction)
        band = int(np.searchsorted(bands, weight))
        first, last = below[band - 1] if band else 0.0, below[band]
        at = float(filled[np.searchsorted(rows.weights, weight)])
        in_file = min(1.0, file_rows / (last - first)) if last > first else 0.0
        least = max(LEAST_SHARE_OF_FILE * (last - first) * in_file, FEWEST_ROWS_OF_PART)
        if weight - 1 not in ends and min(at - first, last - at) * in_file >= least:
            ends.append(weight - 1)
    return np.array(sorted(ends), np.int32)
