"""How many rows of a file have weights between fixed borders. By these counts a table shows which weights its
rows have.

A hash spreads the rows of a table evenly over all weights, unless somebody has chosen rows by weight. A sample
that is stored as a table of its own, for example, has no heavy rows. `WeightProfile.java` adds up the counts of
all files and finds the weight that stands for a fraction of the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.constants import TAG_WEIGHTS, WEIGHT_BORDERS
from pyqbeast.core.format.stored_text import whole_numbers
from pyqbeast.core.format.weight import weight_of

#: Weights, ascending. Interval i holds the weights from border i - 1 on and below border i.
BORDERS = weight_of(np.array([float(text) for text in WEIGHT_BORDERS.split()]))

#: What nearly all tags look like. Every number of 18 digits fits 64 bits.
_USUAL = re.compile(r"[0-9]{1,18}(?:,[0-9]{1,18})+", re.ASCII)


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
    try:
        first, *rows = whole_numbers(tags.get(TAG_WEIGHTS), TAG_WEIGHTS)
    except FormatError:
        return None
    if not rows or first < 0 or min(rows) < 0 or first + len(rows) > len(BORDERS) + 1:
        return None
    return (0,) * first + tuple(rows) + (0,) * (len(BORDERS) + 1 - first - len(rows))


class CountsOfFiles(NamedTuple):
    """The rows of many files by weight.

    Attributes:
        counted: which files have counts that can be used, n positions, ascending.
        file: for m counts the position of their file.
        interval: for the same counts their interval.
        rows: how many rows they are.
    """

    counted: NDArray[np.int64]
    file: NDArray[np.int64]
    interval: NDArray[np.int64]
    rows: NDArray[np.float64]


class _Numbers(NamedTuple):
    """The numbers of the tags of many files that may have counts, one tag after the other.

    Attributes:
        file: n positions of files, ascending.
        length: for the same files how many numbers they have.
        start: for the same files the position of the first, which is an interval. Counts follow it.
        fits: for the same files whether there are as many intervals as counts.
        numbers: of all of them.
    """

    file: NDArray[np.int64]
    length: NDArray[np.int64]
    start: NDArray[np.int64]
    fits: NDArray[np.bool_]
    numbers: NDArray[np.int64]


def counts_of_files(texts: Iterable[object]) -> CountsOfFiles:
    """What `parse_weights_tag` reads in the texts of the tags of many files, all at once.

    A table may have 100,000 files, each with dozens of numbers.
    """
    file, length, start, fits, numbers = _numbers_of(texts)
    within = np.arange(len(numbers)) - np.repeat(start, length)
    kept = (within > 0) & np.repeat(fits, length)
    return CountsOfFiles(
        file[fits],
        np.repeat(file, length)[kept],
        (np.repeat(numbers[start], length) + within - 1)[kept],
        numbers[kept].astype(np.float64),
    )


def rows_of_files(texts: Sequence[object]) -> list[int | None]:
    """How many rows each of these texts counts; None where it cannot be used."""
    file, _, start, fits, numbers = _numbers_of(texts)
    rows = numbers.astype(np.float64)
    rows[start] = 0
    sums = np.add.reduceat(rows, start) if len(start) else rows
    found: list[int | None] = [None] * len(texts)
    for at, counted in zip(file[fits].tolist(), sums[fits].tolist(), strict=True):
        found[at] = int(counted)
    return found


def _numbers_of(texts: Iterable[object]) -> _Numbers:
    usable = [(at, text) for at, text in enumerate(map(_plain, texts)) if text is not None]
    length = np.array([text.count(",") + 1 for _, text in usable], np.int64)
    joined = ",".join([text for _, text in usable])
    numbers = np.fromstring(joined, np.int64, sep=",") if joined else np.zeros(0, np.int64)
    start = np.cumsum(length) - length
    # Subtracted from what is small: the first number may be as large as 64 bits are.
    fits = numbers[start] <= len(BORDERS) + 2 - length
    return _Numbers(np.array([at for at, _ in usable], np.int64), length, start, fits, numbers)


def _plain(text: object) -> str | None:
    """The numbers of a tag as digits between commas; None where they are no counts."""
    if isinstance(text, str) and _USUAL.fullmatch(text):
        return text
    try:
        numbers = whole_numbers(text, TAG_WEIGHTS)
    except FormatError:
        return None
    return ",".join(map(str, numbers)) if len(numbers) > 1 and min(numbers) >= 0 else None
