"""What the statistics of a file tell of the values of a column: its span, of whatever groups are made of.

The ends of a span are codes of values: whole numbers, days since 1970 for dates, 0 and 1 for booleans, or texts.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple

from pyqbeast.core.format.constants import LONG_MAX, LONG_MIN
from pyqbeast.core.format.iso_time import day_of, first_day_told_as
from pyqbeast.core.format.null_counts import null_count
from pyqbeast.core.format.statistics_keys import MAX_VALUES, MIN_VALUES, NULL_COUNT, NUM_RECORDS
from pyqbeast.core.format.stored_text import largest_text
from pyqbeast.core.format.types import EPOCH_DAY

_FIRST_DAY = EPOCH_DAY.toordinal()


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


def value_span(
    statistics: Mapping[str, Any],
    tags: Mapping[str, str],
    column: str,
    kind: GroupKind | None,
    *,
    holds_lists: bool,
) -> ValueSpan | None:
    """The values of a column in a file; None where its statistics do not tell.

    Args:
        statistics: as Delta has them; `minValues` and the like are objects where they are there.
        tags: of the file.
        column: its name in the statistics.
        kind: of its values; None for any other type.
        holds_lists: whether the table has a column of lists or maps; see `null_count`.
    """
    if kind is None:
        return None
    rows = statistics.get(NUM_RECORDS)
    least, most, told = (
        statistics.get(part, {}).get(column) for part in (MIN_VALUES, MAX_VALUES, NULL_COUNT)
    )
    has_bounds = least is not None or most is not None
    nulls = null_count(told, tags, rows=rows, has_bounds=has_bounds, holds_lists=holds_lists)
    has_null = nulls != 0
    if nulls is not None and nulls == rows:
        return ValueSpan(None, None, has_null=True)
    if kind is GroupKind.BOOLEAN:
        return ValueSpan(0, 1, has_null)
    low, high = code_of(least, kind), code_of(most, kind)
    if low is None or high is None:
        return None
    if kind is GroupKind.DATE:
        low = code_of(first_day_told_as(value_of(low, kind)), kind)
    if isinstance(high, str):
        high = largest_text(high)
    return ValueSpan(low, high, has_null)


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
