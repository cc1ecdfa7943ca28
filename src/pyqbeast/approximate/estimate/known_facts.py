"""What the log tells of the rows of files without reading them.

Their bounds, how many share a key, and which groups a file can hold. The whole numbers and days between a file's
smallest and largest can be counted: if as many groups of a list lie between them, the file holds no other group. Of
texts that works only where both are the same.
"""

from __future__ import annotations

import enum
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyqbeast.approximate.estimate.state import Group
from pyqbeast.core.format.key_frequency import parse_key_frequency

_EPOCH = date(1970, 1, 1).toordinal()
_LEAST, _MOST = -(2**63), 2**63 - 1


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
    rows = statistics.get("numRecords")
    nulls = statistics.get("nullCount", {}).get(column)
    has_null = nulls != 0
    if rows is not None and nulls == rows:
        return ValueSpan(None, None, has_null=True)
    if kind is GroupKind.BOOLEAN:
        return ValueSpan(0, 1, has_null)
    low, high = (_code(statistics.get(part, {}).get(column), kind) for part in ("minValues", "maxValues"))
    return None if low is None or high is None else ValueSpan(low, high, has_null)


def _code(stored: object, kind: GroupKind) -> int | str | None:
    """A value as spans have it, or as statistics do; None for one that is not of the kind."""
    if kind is GroupKind.DATE:
        try:
            day = date.fromisoformat(stored) if isinstance(stored, str) else stored
        except ValueError:
            return None
        return day.toordinal() - _EPOCH if isinstance(day, date) else None
    if kind is GroupKind.TEXT:
        return stored if isinstance(stored, str) else None
    if kind is GroupKind.BOOLEAN:
        return int(stored) if isinstance(stored, bool) else None
    whole = isinstance(stored, int) and not isinstance(stored, bool) and _LEAST <= stored <= _MOST
    return stored if whole else None  # type: ignore[return-value]


@dataclass(frozen=True)
class GroupSpans:
    """The groups that each file of a query can hold.

    Attributes:
        kinds: of the columns that the query groups by; None for an expression, or a type that statistics do not tell.
        spans: [file][column]; None where a file does not tell.
        rows: [file], deleted ones included; None where a file does not tell.
    """

    kinds: Sequence[GroupKind | None]
    spans: Sequence[tuple[ValueSpan | None, ...]]
    rows: Sequence[int | None]

    def others(self, groups: Sequence[Group]) -> NDArray[np.bool_]:
        """Which files [file] may hold a row of a group that is not among these, which are all different."""
        columns = [_Codes(groups, at, kind) for at, kind in enumerate(self.kinds) if kind is not None]
        known: dict[tuple[ValueSpan | None, ...], bool] = {}
        for box in self.spans:
            if box not in known:
                known[box] = self._holds_others(box, columns, len(groups))
        return np.array([known[box] for box in self.spans], dtype=bool)

    def _holds_others(
        self, box: tuple[ValueSpan | None, ...], columns: Sequence[_Codes], groups: int
    ) -> bool:
        possible = 1.0
        for span in box:
            possible *= math.inf if span is None else span.values
        if not 0 < possible <= groups:
            return possible > 0
        listed = np.ones(groups, dtype=bool)
        for span, column in zip(box, columns, strict=True):
            assert span is not None
            listed &= column.inside(span)
        return bool(np.count_nonzero(listed) < possible)

    def between(self, files: NDArray[np.bool_]) -> tuple[tuple[Any, Any] | None, ...]:
        """For each column the smallest and the largest value in some of the files; None where one does not tell."""
        chosen = [box for box, is_chosen in zip(self.spans, files, strict=True) if is_chosen]
        out: list[tuple[Any, Any] | None] = []
        for at, kind in enumerate(self.kinds):
            spans = [box[at] for box in chosen]
            ends = [span for span in spans if span is not None and span.low is not None]
            if not ends or None in spans:
                out.append(None)
            else:
                ends_of_all = min(span.low for span in ends), max(span.high for span in ends)
                out.append((_value(ends_of_all[0], kind), _value(ends_of_all[1], kind)))
        return tuple(out)

    def rows_of(self, files: NDArray[np.bool_]) -> float:
        """The rows of some of the files; infinite where one does not tell."""
        told = [rows for rows, is_chosen in zip(self.rows, files, strict=True) if is_chosen]
        return math.inf if None in told else float(sum(rows or 0 for rows in told))


class _Codes:
    """The values that groups have in one column, as numbers."""

    def __init__(self, groups: Sequence[Group], at: int, kind: GroupKind) -> None:
        values = [group[at] for group in groups]
        self._number_of: dict[str, int] = {}
        codes = [0 if value is None else self._numbered(_code(value, kind)) for value in values]
        self._codes = np.array(codes, dtype=np.int64)
        self._is_null = np.array([value is None for value in values], dtype=bool)

    def _numbered(self, code: int | str | None) -> int:
        assert code is not None
        return self._number_of.setdefault(code, len(self._number_of)) if isinstance(code, str) else code

    def inside(self, span: ValueSpan) -> NDArray[np.bool_]:
        """Which groups [group] have a value of the span."""
        low, high = span.low, span.high
        if isinstance(low, str):
            low = high = self._number_of.get(low, -1)
        nulls = self._is_null & span.has_null
        return (
            nulls if low is None else nulls | (~self._is_null & (self._codes >= low) & (self._codes <= high))
        )


def _value(code: Any, kind: GroupKind | None) -> Any:  # noqa: ANN401 (a value of a row)
    if kind is GroupKind.DATE:
        return date.fromordinal(code + _EPOCH)
    return bool(code) if kind is GroupKind.BOOLEAN else code
