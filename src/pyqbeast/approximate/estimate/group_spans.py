"""Which groups each file of a query can hold, by its statistics.

The whole numbers and days between a file's smallest and largest can be counted: if as many groups of a list lie between
them, the file holds no other group. Of texts that works only where both are the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyqbeast.approximate.estimate.state import Group
from pyqbeast.approximate.estimate.value_spans import GroupKind, ValueSpan, code_of, value_of


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
                out.append((value_of(ends_of_all[0], kind), value_of(ends_of_all[1], kind)))
        return tuple(out)

    def rows_of(self, files: NDArray[np.bool_]) -> float:
        """The rows of some of the files; infinite where one does not tell."""
        rows_of_files = [rows for rows, is_chosen in zip(self.rows, files, strict=True) if is_chosen]
        return math.inf if None in rows_of_files else float(sum(rows or 0 for rows in rows_of_files))


class _Codes:
    """The values that groups have in one column, as numbers."""

    def __init__(self, groups: Sequence[Group], at: int, kind: GroupKind) -> None:
        values = [group[at] for group in groups]
        self._number_of: dict[str, int] = {}
        codes = [0 if value is None else self._numbered(code_of(value, kind)) for value in values]
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
