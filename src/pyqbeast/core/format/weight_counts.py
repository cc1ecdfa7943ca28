"""How many rows of a file have weights between fixed borders. By these counts a table shows which weights its
rows have.

A hash spreads the rows of a table evenly over all weights, unless somebody has chosen rows by weight. A sample
that is stored as a table of its own, for example, has no heavy rows. `WeightProfile.java` adds up the counts of
all files and finds the weight that stands for a fraction of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.constants import TAG_WEIGHTS, WEIGHT_BORDERS
from pyqbeast.core.format.stored_text import whole_numbers
from pyqbeast.core.format.weight import weight_of

#: Weights, ascending. Interval i holds the weights from border i - 1 on and below border i.
BORDERS = weight_of(np.array([float(text) for text in WEIGHT_BORDERS.split()]))


def count_weights(weights: NDArray[np.int32]) -> tuple[int, ...]:
    """The rows of each interval, from the weights of all rows."""
    intervals = np.searchsorted(BORDERS, weights, side="right")
    return tuple(np.bincount(intervals, minlength=len(BORDERS) + 1).tolist())


def weights_tag(rows: Sequence[int]) -> str:
    """The text of a file's tag: the number of the first interval with rows, then the rows of each interval up
    to the last one with rows.
    """
    held = [interval for interval, count in enumerate(rows) if count]
    return ",".join(map(str, [held[0], *rows[held[0] : held[-1] + 1]]))


def parse_weights_tag(tags: Mapping[str, str]) -> tuple[int, ...] | None:
    """The rows of each interval by the tags of a file; None if they have no counts that can be used."""
    counts = recorded_counts(tags)
    if counts is None:
        return None
    first, rows = counts
    return (0,) * first + tuple(rows) + (0,) * (len(BORDERS) + 1 - first - len(rows))


def recorded_counts(tags: Mapping[str, str]) -> tuple[int, list[int]] | None:
    """The same without zeros around them: the number of the first interval, and the rows of the intervals from it on.

    Files of a large table hold rows of few intervals, and there may be 100,000 of them.
    """
    try:
        first, *rows = whole_numbers(tags.get(TAG_WEIGHTS), TAG_WEIGHTS)
    except FormatError:
        return None
    if not rows or first < 0 or min(rows) < 0 or first + len(rows) > len(BORDERS) + 1:
        return None
    return first, rows
