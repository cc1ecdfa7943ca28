"""Sums and ends of whole numbers and decimals to the last digit: doubles hold neither 2^53 + 1 nor 0.1."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pyqbeast.approximate.estimate.rounding import (
    EXTREMES,
    average_of_decimals,
    averages_as_doubles,
    exact_below,
    half_up,
    rounded_half_up,
)
from pyqbeast.approximate.estimate.state import FloatArray
from pyqbeast.scanning.arrays import mask_of, numbers_of, unscaled

_DIGIT = 2**32
#: Below these doubles hold whole numbers, and powers of 10.
_HELD, _HELD_UNITS = 2.0**53, 10**22
_LARGEST = np.iinfo(np.int64).max, np.iinfo(np.uint64).max
#: The digits of so many rows add up to less than 2^63, beside what was carried.
_ROWS_A_CARRY = 2**30


class ExactNumbers:
    """What is known of a column of whole numbers, moments or decimals, group by group.

    A number of up to 128 bits is the high half, with its sign, and the low one without.
    """

    def __init__(self, kind: pa.DataType, wanted: Collection[str]) -> None:
        """Of a column of this type, of which these are wanted: sum, avg, min or max."""
        self._places = getattr(kind, "scale", 0)
        self._units = 10**self._places
        self._is_of_doubles = pa.types.is_decimal(kind) and averages_as_doubles(kind.precision)
        self._is_summed = "sum" in wanted or "avg" in wanted
        self._is_wide, self._has_least, self._has_most = (
            pa.types.is_decimal(kind),
            "min" in wanted,
            "max" in wanted,
        )
        # The sums of the digits of 32 bits, from the last one. After a carry each is less than that, but for the first
        # digit of a number, which has its sign.
        self._digits = np.zeros((4 if self._is_wide else 2, 0), np.int64)
        self._uncarried = 0
        self._rows = np.zeros(0, np.int64)
        self._least, self._most = ((np.zeros(0, np.int64), np.zeros(0, np.uint64)) for _ in range(2))

    def add(self, group: NDArray[np.int64], groups: int, column: pa.Array) -> None:
        """Takes a part of the rows: the group of each by its number, of so many so far, and the column."""
        low, high = _halves(column)
        if column.null_count:
            valid = mask_of(column.is_valid())
            group, low, high = group[valid], low[valid], high[valid]
        self._make_room(groups)
        np.add.at(self._rows, group, 1)
        if self._is_summed:
            self._add_digits(group, low, high)
        if self._has_least:
            _take_least(self._least, group, high, low)
        if self._has_most:
            # What is largest is least where each bit is the other one.
            _take_least(self._most, group, ~high, ~low)

    def _add_digits(self, group: NDArray[np.int64], low: NDArray[np.uint64], high: NDArray[np.int64]) -> None:
        if self._uncarried + len(group) > _ROWS_A_CARRY:
            self._carry()
        self._uncarried += len(group)
        last, second = (low % _DIGIT).view(np.int64), (low // _DIGIT).view(np.int64)
        is_wide = self._is_wide
        digits = (last, second, high % _DIGIT, high // _DIGIT) if is_wide else (last, high * _DIGIT + second)
        for sums, digit in zip(self._digits, digits, strict=True):
            np.add.at(sums, group, digit)

    def _carry(self) -> None:
        self._uncarried = 0
        for at in range(len(self._digits) - 1):
            self._digits[at + 1] += self._digits[at] // _DIGIT
            self._digits[at] %= _DIGIT

    def _make_room(self, groups: int) -> None:
        """Twice as much as before, at least: then all parts of the rows together copy each group but twice."""
        held = len(self._rows)
        if groups <= held:
            return
        more = max(groups, 2 * held) - held
        self._digits = np.pad(self._digits, ((0, 0), (0, more)))
        self._rows = np.pad(self._rows, (0, more))
        self._least, self._most = (
            (
                np.pad(high, (0, more), constant_values=_LARGEST[0]),
                np.pad(low, (0, more), constant_values=_LARGEST[1]),
            )
            for high, low in (self._least, self._most)
        )

    def values(self, kind: str, places: int, groups: int) -> tuple[FloatArray, dict[int, Fraction]]:
        """The sums, averages, least or largest values [group] as doubles; NaN where no row has a value.

        Those that doubles do not tell from their neighbours are told to the last digit, by the numbers of their groups.

        Args:
            kind: of the aggregate.
            places: the decimal ones of its type, to which averages are rounded.
            groups: how many there are.
        """
        self._make_room(groups)
        self._carry()
        rows = self._rows[:groups]
        parts = [part[:groups] for part in self._parts(kind)]
        units = _doubles(parts, kind)

        def exactly(group: int) -> Fraction:
            number = Fraction(_whole([int(part[group]) for part in parts], kind), self._units)
            if kind != "avg":
                return number
            return average_of_decimals(number, int(rows[group]), self._places, of_doubles=self._is_of_doubles)

        with np.errstate(all="ignore"):
            values = np.where(rows > 0, units / float(self._units), np.nan)
            is_told = np.abs(units) < _HELD if self._units <= _HELD_UNITS else np.zeros(groups, dtype=bool)
            if kind == "avg":
                values = rounded_half_up(values / rows, places, exactly)
        beyond = {}
        limit = exact_below(places)
        for group in np.flatnonzero((rows > 0) & ~(is_told & (np.abs(values) < limit))).tolist():
            number = half_up(exactly(group), places) if kind == "avg" else exactly(group)
            values[group] = float(number)
            if abs(number) >= limit:
                beyond[group] = number
        return values, beyond

    def _parts(self, kind: str) -> Sequence[NDArray[Any]]:
        """The digits of sums [digit][group], or the low and the high halves of ends."""
        if kind not in EXTREMES:
            return list(self._digits)
        high, low = self._least if kind == "min" else (~half for half in self._most)
        return [low, high]


def _whole(parts: Sequence[int], kind: str) -> int:
    """A number from its parts, the last ones first."""
    bits = 64 if kind in EXTREMES else 32
    return sum(part << bits * at for at, part in enumerate(parts))


def _doubles(parts: Sequence[NDArray[Any]], kind: str) -> FloatArray:
    """The same [group] as doubles, which hold those of up to 53 bits."""
    base = 2.0**64 if kind in EXTREMES else 2.0**32
    is_negative = parts[-1] < 0
    found = np.zeros(len(is_negative))
    for part in reversed(parts):
        # A negative number is all ones in front, which doubles do not add up.
        turned = ~part if part is parts[-1] or kind in EXTREMES else _DIGIT - 1 - part
        found = found * base + np.where(is_negative, turned, part).astype(np.float64)
    return np.where(is_negative, -found - 1, found)


def _halves(column: pa.Array) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The low and the high 64 bits of numbers, in units of their last place."""
    if pa.types.is_decimal(column.type):
        low, high = unscaled(column)
    else:
        whole = column.view(pa.int64()) if pa.types.is_timestamp(column.type) else column.cast(pa.int64())
        low = numbers_of(whole, np.int64)
        high = low >> 63
    return low.view(np.uint64), high


def _take_least(
    held: tuple[NDArray[np.int64], NDArray[np.uint64]],
    group: NDArray[np.int64],
    high: NDArray[np.int64],
    low: NDArray[np.uint64],
) -> None:
    """Makes the halves of the least number of each group [group] those of some rows too."""
    least_high, least_low = held
    before = least_high[group]
    np.minimum.at(least_high, group, high)
    after = least_high[group]
    # A low half counts beside the least high one alone.
    least_low[group[after < before]] = _LARGEST[1]
    is_it = high == after
    np.minimum.at(least_low, group[is_it], low[is_it])
