"""What the statistics of files tell of the values of a column: its bounds in all of them, as numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from pyqbeast.core.format.file_tags import is_of_spark
from pyqbeast.core.format.iso_time import day_of, first_day_told_as, moment_of, told_inexactly
from pyqbeast.core.format.null_counts import null_count
from pyqbeast.core.format.statistics_keys import MAX_VALUES, MIN_VALUES, NULL_COUNT, NUM_RECORDS
from pyqbeast.core.format.stored_text import may_be_cut, stored_float
from pyqbeast.core.format.types import EPOCH, EPOCH_DAY

_WITHOUT_ZONE = "timestamp_ntz"
#: The types of columns of moments, by their names in Delta's schemas.
MOMENTS = ("timestamp", _WITHOUT_ZONE)
_FLOATS = ("float", "double")
_EPOCH_WITHOUT_ZONE = EPOCH.replace(tzinfo=None)
_SECONDS_OF_DAY = 86_400


def column_bounds(
    files: Iterable[tuple[Mapping[str, Any], Mapping[str, str]]],
    column: str,
    kind: str,
    *,
    has_floats: bool,
    holds_lists: bool,
) -> tuple[float, float] | None:
    """Smallest and largest value of a column, by its name in the statistics; None where a file does not tell.

    Days since 1970 for dates, microseconds for timestamps. Infinity stands for NaN too, which is larger. NaN stands for
    a largest value that a file does not tell, as one of floats may not (see `is_of_spark`).

    Args:
        files: the statistics and the tags of each. Statistics are as Delta has them; `minValues` and the like are
            objects where they are there.
        column: the name.
        kind: the column's type, by its name in Delta's schemas. Files may have another one, which was widened to it.
        has_floats: whether a file may hold the column as floats (32 bits).
        holds_lists: whether the table has a column of lists or maps; see `null_count`.
    """
    lows, highs = [], []
    is_told = True
    for of_file, tags in files:
        low = of_file.get(MIN_VALUES, {}).get(column)
        high = of_file.get(MAX_VALUES, {}).get(column)
        rows = of_file.get(NUM_RECORDS)
        told = of_file.get(NULL_COUNT, {}).get(column)
        has_bounds = low is not None or high is not None
        nulls = null_count(told, tags, rows=rows, has_bounds=has_bounds, holds_lists=holds_lists)
        if nulls is not None and nulls == rows:
            continue
        least, most = _span(low, kind), _span(high, kind)
        if least is None or most is None:
            return None
        lows.append(math.inf if math.isnan(least[0]) else least[0])
        highs.append(math.inf if math.isnan(most[1]) else most[1])
        is_told = is_told and (kind not in _FLOATS or is_of_spark(tags))
    if not lows:
        return None
    low, high = min(lows), max(highs)
    if has_floats:
        low, high = min(low, stored_float(low)), max(high, stored_float(high))
    return low, high if is_told else math.nan


def _span(stored: Any, kind: str) -> tuple[float, float] | None:  # noqa: ANN401 (any JSON value)
    """The ends of what a value in statistics of a column of a type may stand for; None for what is none."""
    try:
        if kind in MOMENTS:
            moment = moment_of(stored)
            if (moment.tzinfo is None) != (kind == _WITHOUT_ZONE):
                return None
            since = moment - (EPOCH if moment.tzinfo else _EPOCH_WITHOUT_ZONE)
            # To divide by a duration takes several times as long.
            told = float((since.days * _SECONDS_OF_DAY + since.seconds) * 1_000_000 + since.microseconds)
            too_late, too_early = told_inexactly(moment)
            return told - too_late, told + too_early
        if kind == "date":
            day = day_of(stored)
            return float((first_day_told_as(day) - EPOCH_DAY).days), float((day - EPOCH_DAY).days)
        if kind.startswith("decimal") and may_be_cut(stored):
            return None
        told = float(stored)
    except (ValueError, TypeError, OverflowError):
        return None
    return told, told
