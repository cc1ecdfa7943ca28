"""Which weight stands for a fraction of a table's rows.

A hash spreads rows evenly over all weights, and then a fraction of the rows is the same fraction of the weights.
This fails if somebody has chosen the rows by their weight: a sample that is stored as a table has light rows only.
`WeightProfile.java` explains how the counts in files' tags show it, and decides the same for Spark.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.format.constants import (
    CHOSEN_BY_WEIGHT,
    DELETED_BY_WEIGHT,
    TAG_KEY_ROWS,
    WEIGHT_MAX,
    WEIGHT_MIN,
)
from pyqbeast.core.format.weight import weight_of
from pyqbeast.core.format.weight_counts import BORDERS, recorded_counts
from pyqbeast.core.sampling.key_granularity import key_excess
from pyqbeast.core.sampling.logged_file import LoggedFile

#: How rarely an even spread is taken for an uneven one: with a chance of e to the power of minus this.
_EVIDENCE = 20
#: The share of the table that rows of one weight may be, if no writer recorded how many they are.
_UNRECORDED_KEY = 0.01
#: For each interval of counts the smallest weight above it.
_ENDS = np.append(BORDERS.astype(np.int64), WEIGHT_MAX + 1)


class _Spread(NamedTuple):
    """The rows of one file: those that are live, between which weights they lie, how many were stored, and how many
    of these in each interval, see `recorded_counts`; None where that was not counted.
    """

    live: float
    lowest: int
    highest: int
    stored: int
    counts: tuple[int, list[int]] | None

    @classmethod
    def of(cls, file: LoggedFile, prunable: Collection[int]) -> _Spread:
        counts = recorded_counts(file.tags) if file.revision_id in prunable else None
        stored = (file.rows or 0) if counts is None else sum(counts[1])
        return cls(max(0.0, float(stored - file.deleted)), *file.weights(prunable), stored, counts)


def _sums(spreads: Sequence[_Spread]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each interval the rows that are surely below its end, and those that are surely not."""
    held = _held(spreads)
    others = [spread for spread in spreads if spread.counts is None]
    live = np.array([spread.live for spread in others])
    first_above = np.searchsorted(_ENDS, [spread.highest for spread in others], side="right")
    first_within = np.searchsorted(_ENDS, [spread.lowest for spread in others], side="right")
    lighter = np.cumsum(held)
    below = lighter + np.cumsum(np.bincount(first_above, live, len(_ENDS)))
    heavier = np.cumsum(np.bincount(first_within, live, len(_ENDS) + 1)[::-1])[::-1]
    return below, held.sum() - lighter + heavier[1:]


def _held(spreads: Sequence[_Spread]) -> NDArray[np.float64]:
    """The live rows of each interval, of the files whose rows are counted."""
    counted = [(spread, spread.counts) for spread in spreads if spread.counts is not None]
    lengths = np.array([len(rows) for _, (_, rows) in counted], np.int64)
    rows = np.fromiter(chain.from_iterable(rows for _, (_, rows) in counted), np.float64, lengths.sum())
    # The interval of each number of rows: those of one file follow each other.
    skipped = np.array([first for _, (first, _) in counted], np.int64) - np.cumsum(lengths) + lengths
    intervals = np.arange(len(rows)) + np.repeat(skipped, lengths)
    # Deleted rows are taken to be spread over the weights of their file.
    kept = np.array([spread.live / max(spread.stored, 1) for spread, _ in counted], np.float64)
    return np.bincount(intervals, rows * np.repeat(kept, lengths), len(_ENDS)).astype(np.float64)


class WeightProfile:
    """How the rows of a table are spread over the weights, as far as the log tells.

    Attributes:
        is_uneven: whether evenly spread weights cannot have come out like this.
        problem: why it is not known which weight stands for a fraction; None if it is known.
    """

    def __init__(
        self, files: Sequence[LoggedFile], prunable: Collection[int], configuration: Mapping[str, str]
    ) -> None:
        """The profile of a table.

        Args:
            files: the files that hold each row once.
            prunable: the revisions whose weights are those that rows have today.
            configuration: the table's.
        """
        spreads = [_Spread.of(file, prunable) for file in files]
        self._rows = sum((spread.live for spread in spreads), 0.0)
        self._uncounted = sum((spread.live for spread in spreads if spread.counts is None), 0.0)
        self._lightest = min((spread.lowest for spread in spreads), default=WEIGHT_MAX)
        self._heaviest = max((spread.highest for spread in spreads), default=WEIGHT_MIN)
        self._below, self._above = _sums(spreads)
        key_rows = 1.0 + key_excess(files)
        if not all(TAG_KEY_ROWS in file.tags for file in files):
            key_rows = max(key_rows, _UNRECORDED_KEY * self._rows)
        self.is_uneven = not self._is_plausible(key_rows)
        self.problem = self._problem(configuration, has_deleted=any(file.deleted for file in files))

    @property
    def counted(self) -> list[tuple[int, float]]:
        """Weights, ascending, each with the number of rows that are lighter, where that number is known.

        Empty if rows are spread evenly, because then every weight tells the number.
        """
        if not self.is_uneven:
            return []
        return list(zip(_ENDS.tolist(), self._below.tolist(), strict=True))

    def weight_of(self, fraction: float) -> int:
        """The smallest weight above the lightest `fraction` of the rows, for a fraction below 1."""
        if not self.is_uneven:
            return weight_of(fraction)
        wanted, before, start = fraction * self._rows, 0.0, self._lightest
        for below, end_of_interval in zip(self._below.tolist(), _ENDS.tolist(), strict=True):
            end = min(end_of_interval, self._heaviest + 1)
            if below >= wanted and below > before:
                return start + int((end - start) * (wanted - before) / (below - before))
            before, start = below, max(self._lightest, end)
        return WEIGHT_MAX

    def _is_plausible(self, key_rows: float) -> bool:
        shares = (_ENDS[:-1] - float(WEIGHT_MIN)) / 2**32
        found = [(self._below[:-1], shares), (self._above[:-1], 1 - shares)]
        return all(
            self._evidence(rows, share, key_rows) <= _EVIDENCE
            for counts, of_weights in found
            for rows, share in zip(_floats(counts), _floats(of_weights), strict=True)
        )

    def _evidence(self, found: float, share: float, key_rows: float) -> float:
        """Chernoff's bound: minus the logarithm of the chance that so many rows fall into a share of the weights."""
        if not self._rows:
            return 0.0
        part = min(1.0, found / self._rows)
        if part <= share:
            return 0.0
        rest = 0.0 if part == 1 else (1 - part) * math.log((1 - part) / (1 - share))
        return (part * math.log(part / share) + rest) * self._rows / key_rows

    def _problem(self, configuration: Mapping[str, str], *, has_deleted: bool) -> str | None:
        is_counted = not self._uncounted and not has_deleted
        is_deleted = DELETED_BY_WEIGHT in configuration
        if is_counted or not (self.is_uneven or is_deleted or CHOSEN_BY_WEIGHT in configuration):
            return None
        cause = "rows were deleted" if is_deleted else "its rows were chosen"
        return (
            f"{cause} by the hash that samples are taken by, and files with deleted rows, without an index or of an "
            "older release do not tell how theirs are spread: run optimize on the table (with revision=0 for files "
            "without an index, with files=[…] for those of an older release), which counts them"
        )


def _floats(values: NDArray[np.float64]) -> list[float]:
    return [float(value) for value in values]
