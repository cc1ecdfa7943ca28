"""The files that a query reads, and what is known of their rows without reading."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone

from pyqbeast.approximate.estimate import Files
from pyqbeast.bridge.aggregate_query import AggregateQuery, QueriedFile
from pyqbeast.core.errors import UnsupportedError
from pyqbeast.core.format.constants import WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.file_tags import max_row_weight, parse_tags
from pyqbeast.core.format.key_frequency import parse_key_frequency
from pyqbeast.core.revisions.revision import revisions_from_configuration


@dataclass(frozen=True)
class QueriedFiles:
    """The files of one query.

    Attributes:
        files: all of them.
        weights: their bytes and weights, in the same order. Two kinds of files may hold every weight, so that
        each step reads them: files without an index, and files of revisions whose weights no longer hold.
        rows: their rows, deleted ones included, as far as the log tells.
        key_rows: how many rows at the most have the same weight; None where it is not recorded.
    """

    files: list[QueriedFile]
    weights: Files
    rows: int
    key_rows: int | None

    @classmethod
    def of(cls, query: AggregateQuery) -> QueriedFiles:
        """Reads what the log tells of the query's files. One Spark job."""
        revisions = revisions_from_configuration(query.configuration).revisions
        prunable = {
            number: revision.dimensions
            for number, revision in revisions.items()
            if str(number) in query.prunable_revisions
        }
        files = query.files()
        lows, highs, rows = [], [], 0
        for file in files:
            blocks = parse_tags(file.tags, prunable.get).blocks
            if any(block.replicated for block in blocks):
                raise UnsupportedError(
                    "this query cannot be estimated: the table holds rows twice, as old versions of the format do; "
                    "call pyqbeast.upgrade on it, or pass exact=True"
                )
            lows.append(min((block.min_weight for block in blocks), default=WEIGHT_MIN))
            highs.append(max_row_weight(file.tags, blocks) if blocks else WEIGHT_MAX)
            rows += file.statistics.get("numRecords") or sum(block.element_count for block in blocks)
        return cls(files, Files([file.size for file in files], lows, highs), rows, _key_rows(files))

    def bounds(self, column: str) -> tuple[float, float] | None:
        """Smallest and largest value of a column, by its name in the statistics; None where a file does not tell.

        Days since 1970 for dates, microseconds for timestamps.
        """
        lows, highs = [], []
        for file in self.files:
            low = file.statistics.get("minValues", {}).get(column)
            high = file.statistics.get("maxValues", {}).get(column)
            rows = file.statistics.get("numRecords")
            if low is None and high is None and rows is not None and _nulls(file, column) == rows:
                continue
            if low is None or high is None:
                return None
            lows.append(_number(low))
            # Statistics of timestamps are cut to milliseconds.
            highs.append(_number(high) + (999 if isinstance(high, str) and "T" in high else 0))
        if not lows or not all(map(math.isfinite, (*lows, *highs))):
            return None
        return min(lows), max(highs)


def _key_rows(files: Sequence[QueriedFile]) -> int | None:
    """The most rows of a key.

    In one write a key lies in one cube, so the largest number of each write counts, and the writes add up.
    """
    largest: dict[str, int] = defaultdict(int)
    for file in files:
        recorded = parse_key_frequency(file.tags)
        if recorded is None:
            return None
        largest[recorded.write] = max(largest[recorded.write], recorded.rows)
    return sum(largest.values())


def _nulls(file: QueriedFile, column: str) -> int | None:
    nulls: int | None = file.statistics.get("nullCount", {}).get(column)
    return nulls


def _number(stored: object) -> float:
    if isinstance(stored, bool | int | float):
        return float(stored)
    text = str(stored)
    try:
        if "T" in text:
            moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
            return float(
                round((moment - datetime(1970, 1, 1, tzinfo=timezone.utc)).total_seconds() * 1_000_000)
            )
        if text.count("-") >= 2:
            return float((date.fromisoformat(text) - date(1970, 1, 1)).days)
        return float(text)
    except (ValueError, TypeError):
        return math.nan
