"""What the statistics of files tell of the values of a column: its bounds in all of them, and its span in each.

The ends of a span are codes of values: whole numbers, days since 1970 for dates, 0 and 1 for booleans, or texts.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping
from datetime import date, timedelta, timezone
from typing import Any, NamedTuple

from pyqbeast.core.format.constants import LONG_MAX, LONG_MIN
from pyqbeast.core.format.file_tags import tell_nan
from pyqbeast.core.format.iso_time import day_of, moment_of
from pyqbeast.core.format.statistics_keys import MAX_VALUES, MIN_VALUES, NULL_COUNT, NUM_RECORDS
from pyqbeast.core.format.stored_text import may_be_cut, stored_float
from pyqbeast.core.format.types import EPOCH, EPOCH_DAY

_FIRST_DAY = EPOCH_DAY.toordinal()
_WITHOUT_ZONE = "timestamp_ntz"
_MOMENTS = ("timestamp", _WITHOUT_ZONE)
_FLOATS = ("float", "double")


def column_bounds(
    files: Iterable[tuple[Mapping[str, Any], Mapping[str, str]]], column: str, kind: str, *, has_floats: bool
) -> tuple[float, float] | None:
    """Smallest and largest value of a column, by its name in the statistics; None where a file does not tell.

    Days since 1970 for dates, microseconds for timestamps. Infinity stands for NaN too, which is larger. NaN stands for
    a largest value that a file does not tell, as one of floats may not (see `tell_nan`).

    Args:
        files: the statistics and the tags of each. Statistics are as Delta has them; `minValues` and the like are
            objects where they are there.
        column: the name.
        kind: the column's type, by its name in Delta's schemas. Files may have another one, which was widened to it.
        has_floats: whether a file may hold the column as floats (32 bits).
    """
    lows, highs = [], []
    is_told = True
    for of_file, tags in files:
        low = of_file.get(MIN_VALUES, {}).get(column)
        high = of_file.get(MAX_VALUES, {}).get(column)
        rows = of_file.get(NUM_RECORDS)
        nulls = of_file.get(NULL_COUNT, {}).get(column)
        if low is None and high is None and rows is not None and nulls == rows:
            continue
        least, most = _number(low, kind), _number(high, kind)
        if least is None or most is None:
            return None
        lows.append(math.inf if math.isnan(least) else least)
        # Statistics of timestamps are cut to milliseconds.
        cut = 999 if kind in _MOMENTS else 0
        highs.append(math.inf if math.isnan(most) else most + cut)
        is_told = is_told and (kind not in _FLOATS or tell_nan(tags))
    if not lows:
        return None
    low, high = min(lows), max(highs)
    if has_floats:
        low, high = min(low, stored_float(low)), max(high, stored_float(high))
    return low, high if is_told else math.nan


def _number(stored: Any, kind: str) -> float | None:  # noqa: ANN401 (any JSON value)
    """A value in statistics of a column of a type; None for what is none."""
    try:
        if kind in _MOMENTS:
            moment = moment_of(stored)
            if (moment.tzinfo is None) != (kind == _WITHOUT_ZONE):
                return None
            since = moment.replace(tzinfo=moment.tzinfo or timezone.utc) - EPOCH
            return float(since // timedelta(microseconds=1))
        if kind == "date":
            return float(day_of(stored).toordinal() - _FIRST_DAY)
        if kind.startswith("decimal") and may_be_cut(stored):
            return None
        return float(stored)
    except (ValueError, TypeError, OverflowError):
        return None


class GroupKind(enum.Enum):
    """Types of columns whose values statistics can tell."""

    INTEGER = enum.auto()
    DATE = enum.auto()
    TEXT = enum.auto()
    BOOLEAN = enum.auto()


class ValueSpan(NamedTuple):
    """What one file holds in one column.

    Attributes:
        low, high: smallest and largest value: whole numbers, days since 1970, 0 and 1 for booleans, or texts. None if
            all are null.
        has_null: whether there may be nulls.
    """

    low: Any
    high: Any
    has_null: bool

    @property
    def values(self) -> float:
        """How many different values lie in it, null included."""
        if self.low is None:
            between = 0.0
        elif isinstance(self.low, str):
            between = 1.0 if self.low == self.high else math.inf
        else:
            between = max(self.high - self.low + 1, 0)
        return between + self.has_null

    def within(self, low: int, high: int) -> ValueSpan:
        """Those values that a condition leaves; it leaves no null."""
        if self.low is None or isinstance(self.low, str):
            return self._replace(has_null=False)
        return ValueSpan(max(self.low, low), min(self.high, high), has_null=False)


def value_span(statistics: Mapping[str, Any], column: str, kind: GroupKind | None) -> ValueSpan | None:
    """The values of a column in a file; None where its statistics do not tell.

    Args:
        statistics: as Delta has them; `minValues` and the like are objects where they are there.
        column: its name there.
        kind: of its values; None for any other type.
    """
    if kind is None:
        return None
    rows = statistics.get(NUM_RECORDS)
    nulls = statistics.get(NULL_COUNT, {}).get(column)
    has_null = nulls != 0
    if rows is not None and nulls == rows:
        return ValueSpan(None, None, has_null=True)
    if kind is GroupKind.BOOLEAN:
        return ValueSpan(0, 1, has_null)
    low, high = (code_of(statistics.get(part, {}).get(column), kind) for part in (MIN_VALUES, MAX_VALUES))
    return None if low is None or high is None else ValueSpan(low, high, has_null)


def code_of(stored: object, kind: GroupKind) -> int | str | None:
    """A value as spans have it, or as statistics do; None for one that is not of the kind."""
    if kind is GroupKind.DATE:
        try:
            day = day_of(stored) if isinstance(stored, str) else stored
        except ValueError:
            return None
        return day.toordinal() - _FIRST_DAY if isinstance(day, date) else None
    if kind is GroupKind.TEXT:
        return stored if isinstance(stored, str) else None
    if kind is GroupKind.BOOLEAN:
        return int(stored) if isinstance(stored, bool) else None
    whole = isinstance(stored, int) and not isinstance(stored, bool) and LONG_MIN <= stored <= LONG_MAX
    return stored if whole else None  # type: ignore[return-value]


def value_of(code: Any, kind: GroupKind | None) -> Any:  # noqa: ANN401 (a value of a row)
    """The value that a code stands for."""
    if kind is GroupKind.DATE:
        return date.fromordinal(code + _FIRST_DAY)
    return bool(code) if kind is GroupKind.BOOLEAN else code
