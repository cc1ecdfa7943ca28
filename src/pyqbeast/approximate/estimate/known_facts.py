"""What the log tells of the rows of files without reading them: their bounds, and how many share a key."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timezone
from typing import Any

from pyqbeast.core.format.key_frequency import parse_key_frequency


def most_rows_of_a_key(tags: Iterable[Mapping[str, str]]) -> int | None:
    """The most rows that have the same weight, by the tags of each file; None where it is not recorded.

    In one write a key lies in one cube, so the largest number of each write counts, and the writes add up.
    """
    largest: dict[str, int] = defaultdict(int)
    for of_file in tags:
        recorded = parse_key_frequency(of_file)
        if recorded is None:
            return None
        largest[recorded.write] = max(largest[recorded.write], recorded.rows)
    return sum(largest.values())


def column_bounds(statistics: Iterable[Mapping[str, Any]], column: str) -> tuple[float, float] | None:
    """Smallest and largest value of a column, by its name in the statistics; None where a file does not tell.

    Days since 1970 for dates, microseconds for timestamps.

    Args:
        statistics: those of each file, as Delta has them; `minValues` and the like are objects where they are there.
        column: the name.
    """
    lows, highs = [], []
    for of_file in statistics:
        low = of_file.get("minValues", {}).get(column)
        high = of_file.get("maxValues", {}).get(column)
        rows = of_file.get("numRecords")
        nulls = of_file.get("nullCount", {}).get(column)
        if low is None and high is None and rows is not None and nulls == rows:
            continue
        if low is None or high is None:
            return None
        lows.append(_number(low))
        # Statistics of timestamps are cut to milliseconds.
        highs.append(_number(high) + (999 if isinstance(high, str) and "T" in high else 0))
    if not lows or not all(map(math.isfinite, (*lows, *highs))):
        return None
    return min(lows), max(highs)


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
