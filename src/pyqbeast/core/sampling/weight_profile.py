"""Which weight stands for a fraction of a table's rows.

A hash spreads rows evenly over all weights, and then a fraction of the rows is the same fraction of the weights.
This fails if somebody has chosen the rows by their weight: a sample that is stored as a table has light rows only.
`WeightProfile.java` explains how the counts in files' tags show it, and decides the same for Spark.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.format.constants import (
    CHOSEN_BY_WEIGHT,
    DELETED_BY_WEIGHT,
    MIXED_BY_WEIGHT,
    TAG_KEY_ROWS,
    TAG_WEIGHTS,
    UNEVEN_EVIDENCE,
    UNRECORDED_KEY_SHARE,
    WEIGHT_END,
    WEIGHT_MAX,
    WEIGHT_MIN,
)
from pyqbeast.core.format.key_frequency import parse_key_frequency, rows_of_largest_keys
from pyqbeast.core.format.logged_file import LoggedFile
from pyqbeast.core.format.weight import weight_of
from pyqbeast.core.format.weight_counts import BORDERS, counts_of_files
from pyqbeast.core.sampling.weight_scale import WeightScale

#: For each interval of counts the smallest weight above it.
_ENDS = np.append(BORDERS.astype(np.int64), WEIGHT_END)


class _Spread:
    """How the rows of a table's files are spread.

    Attributes:
        stored: for each file its rows, deleted ones too, by its counts, or else by its statistics or its blocks.
        live: those of them that are not deleted.
        lowest, highest: between which weights they lie.
        is_counted: whether the file tells how many of its rows lie in which interval.
        held: the live rows of each interval, of the files that tell.
    """

    def __init__(self, files: Sequence[LoggedFile], prunable: Collection[int]) -> None:
        counts = counts_of_files(
            file.tags.get(TAG_WEIGHTS) if file.revision_id in prunable else None for file in files
        )
        self.is_counted = np.zeros(len(files), np.bool_)
        self.is_counted[counts.counted] = True
        weights = [file.weights(prunable) for file in files]
        self.lowest = np.array([low for low, _ in weights], np.int64)
        self.highest = np.array([high for _, high in weights], np.int64)
        in_log = np.array([file.counted_rows or 0 for file in files], np.float64)
        in_counts = np.bincount(counts.file, counts.rows, len(files))
        self.stored = np.where(self.is_counted, in_counts, in_log)
        self.live = np.maximum(self.stored - np.array([file.deleted for file in files], np.float64), 0.0)
        # Deleted rows are taken to be spread over the weights of their file.
        kept = self.live / np.maximum(self.stored, 1)
        self.held = np.bincount(counts.interval, counts.rows * kept[counts.file], len(_ENDS)).astype(
            np.float64
        )

    def sums(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """For each interval the rows that are surely below its end, and those that are surely not."""
        others = ~self.is_counted
        live = self.live[others]
        first_above = np.searchsorted(_ENDS, self.highest[others], side="right")
        first_within = np.searchsorted(_ENDS, self.lowest[others], side="right")
        lighter = np.cumsum(self.held)
        below = lighter + np.cumsum(np.bincount(first_above, live, len(_ENDS)))
        heavier = np.cumsum(np.bincount(first_within, live, len(_ENDS) + 1)[::-1])[::-1]
        return below, self.held.sum() - lighter + heavier[1:]


class WeightProfile:
    """How the rows of a table are spread over the weights, as far as the log tells.

    Attributes:
        is_uneven: whether evenly spread weights cannot have come out like this, if each key is of one write.
        is_chosen: whether neither can those of keys that came again in each write: rows were chosen by their weight.
        problem: why it is not known which weight stands for a fraction; None if it is known.
        key_granularity: the share of the rows that one key may hold, as far as it repeats within writes; between
            writes it is seen only where the rows are uneven and nobody chose them. Rows of one key have one weight and
            are sampled together, so no sample is finer.
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
        spread = _Spread(files, prunable)
        self._rows = float(spread.live.sum())
        self._uncounted = float(spread.live[~spread.is_counted].sum())
        self._lightest = int(spread.lowest.min(initial=WEIGHT_MAX))
        self._heaviest = int(spread.highest.max(initial=WEIGHT_MIN))
        self._below, self._above = spread.sums()
        largest = rows_of_largest_keys(parse_key_frequency(file.tags) for file in files).values()
        # The rows that repeat a key within one write. A key that comes once in each of many writes is not seen, so that
        # a table of distinct keys has granularity 0 after any number of writes: `most_rows_of_a_key` bounds every key.
        repeated_rows = sum(largest) - len(largest)
        key_rows = 1.0 + repeated_rows
        unrecorded = UNRECORDED_KEY_SHARE * self._rows
        # Other hashes may make one key of several.
        if not all(TAG_KEY_ROWS in file.tags and file.revision_id in prunable for file in files):
            key_rows = max(key_rows, unrecorded)
        self.is_uneven = not self._are_spread_over(WEIGHT_MIN, WEIGHT_END, key_rows)
        # A key may come in each write. Taking keys for larger than unrecorded ones would leave little to tell a
        # choice by.
        self._repeated_key_rows = max(key_rows, min(sum(largest), unrecorded))
        self.is_chosen = self.is_uneven and (
            self._uncounted > 0 or not self._are_spread_over(WEIGHT_MIN, WEIGHT_END, self._repeated_key_rows)
        )
        is_repeated = self.is_uneven and not self.is_chosen
        of_a_key = self._repeated_key_rows if is_repeated else repeated_rows
        self.key_granularity = min(1.0, of_a_key / self._rows) if self._rows else 0.0
        self.problem = self._problem(configuration, has_deleted=any(file.deleted for file in files))

    @property
    def scale(self) -> WeightScale:
        """The weights over which keys are spread evenly, where there is no problem.

        Those of keys that come again in each write are nearly all.
        """
        return WeightScale(self._lightest, self._heaviest + 1) if self.is_uneven else WeightScale()

    def weight_of(self, fraction: float) -> int:
        """The smallest weight above the lightest `fraction` of the rows, for a fraction below 1.

        Where rows are uneven, those of one interval of counts are taken to be spread evenly over it. The result is
        that of `WeightProfile.java`, so that samples with and without Spark have the same rows.
        """
        if not self.is_uneven:
            return weight_of(fraction)
        wanted, before, start = fraction * self._rows, 0.0, self._lightest
        for below, end_of_interval in zip(self._below.tolist(), _ENDS.tolist(), strict=True):
            end = min(end_of_interval, self._heaviest + 1)
            if below >= wanted and below > before:
                return start + int((end - start) * (wanted - before) / (below - before))
            before, start = below, max(self._lightest, end)
        return WEIGHT_MAX

    def _are_spread_over(self, start: int, end: int, key_rows: float) -> bool:
        """Whether keys of so many rows that are spread evenly over a range can have come out like this."""
        shares = np.clip((_ENDS[:-1] - float(start)) / (end - start), 0.0, 1.0)
        found = [(self._below[:-1], shares), (self._above[:-1], 1 - shares)]
        return all(
            self._evidence(rows, share, key_rows) <= UNEVEN_EVIDENCE
            for counts, of_weights in found
            for rows, share in zip(counts.tolist(), of_weights.tolist(), strict=True)
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
        is_stepped = (
            is_counted
            and self.is_chosen
            and not self._are_spread_over(self._lightest, self._heaviest + 1, self._repeated_key_rows)
        )
        if is_stepped or MIXED_BY_WEIGHT in configuration:
            return (
                "some of its rows were chosen by the hash that samples are taken by and others were not, or few keys "
                "come again in each write, so that the lightest rows do not stand for all: write them into a table "
                "with other columnsToIndex or weightColumns, whose hash has chosen none of them"
            )
        if is_counted or not (self.is_chosen or is_deleted or CHOSEN_BY_WEIGHT in configuration):
            return None
        cause = "rows were deleted" if is_deleted else "its rows were chosen"
        return (
            f"{cause} by the hash that samples are taken by, and files with deleted rows, without an index or of an "
            "older release do not tell how theirs are spread: run optimize on the table (with revision=0 for files "
            "without an index, with files=[…] for those of an older release), which counts them"
        )
