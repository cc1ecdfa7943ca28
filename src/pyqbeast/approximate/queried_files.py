"""The files that a query reads: which of them can be sampled, and what is known of their rows without reading."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone

from pyqbeast.core.block import Block, heaviest, parse_tags
from pyqbeast.core.errors import UnsupportedError
from pyqbeast.core.key_rows import parse_key_rows
from pyqbeast.core.revision import revisions_from_configuration
from pyqbeast.delta.aggregate_query import AggregateQuery, QueriedFile
from pyqbeast.estimate import Files


@dataclass(frozen=True)
class QueriedFiles:
    """The files of one query.

    Attributes:
        sampled: files whose rows lie in order of the weight.
        whole: files that have no index, or one of other columns: they are always read in whole.
        weights: bytes and weights of the sampled ones, in the same order.
        columns: whose hash is the weight.
        rows: rows of the sampled files, deleted ones included.
        key_rows: how many rows at the most have the same values in those columns; None where it is not recorded.
    """

    sampled: list[QueriedFile]
    whole: list[QueriedFile]
    weights: Files
    columns: list[str]
    rows: int
    key_rows: int | None

    @classmethod
    def of(cls, query: AggregateQuery) -> QueriedFiles:
        """Reads what the log tells of the query's files. One Spark job."""
        revisions = revisions_from_configuration(query.configuration)
        latest = revisions.latest
        assert latest is not None
        of_latest = [r for r in revisions.revisions.values() if r.hashed_columns == latest.hashed_columns]
        same_weight = {revision.id: revision.dimensions for revision in of_latest}
        sampled: list[tuple[QueriedFile, list[Block]]] = []
        whole = []
        for file in query.files():
            blocks = parse_tags(file.tags, same_weight.get).blocks
            if any(block.replicated for block in blocks):
                raise UnsupportedError(
                    "this query cannot be estimated: the table holds rows twice, as old versions of the format do; "
                    "call pyqbeast.upgrade on it, or pass exact=True"
                )
            if blocks:
                sampled.append((file, blocks))
            else:
                whole.append(file)
        weights = Files(
            [file.size for file, _ in sampled],
            [min(block.min_weight for block in blocks) for _, blocks in sampled],
            [heaviest(file.tags, blocks) for file, blocks in sampled],
        )
        rows = sum(block.element_count for _, blocks in sampled for block in blocks)
        files = [file for file, _ in sampled]
        return cls(files, whole, weights, latest.hashed_columns, rows, _key_rows(files))

    def bounds(self, column: str) -> tuple[float, float] | None:
        """Smallest and largest value of a column, by its name in the statistics; None where a file does not tell.

        Days since 1970 for dates, microseconds for timestamps.
        """
        lows, highs = [], []
        for file in (*self.sampled, *self.whole):
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
    """A key lies in one cube in each write, so of each write its largest counts."""
    largest: dict[str, int] = defaultdict(int)
    for file in files:
        recorded = parse_key_rows(file.tags)
        if recorded is None:
            return None
        largest[recorded.write] = max(largest[recorded.write], recorded.rows)
    return sum(largest.values())


def total_bytes(files: Iterable[QueriedFile]) -> int:
    """The bytes of some files."""
    return sum(file.size for file in files)


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
