"""Sums and ends of whole numbers and decimals to the last digit: doubles hold neither 2^53 + 1 nor 0.1."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pyqbeast.approximate.estimate.rounding import EXTREMES, half_up
from pyqbeast.scanning.arrays import mask_of, numbers_of, unscaled

_DIGIT = 2**32
_LARGEST = np.iinfo(np.int64).max, np.iinfo(np.uint64).max


class ExactNumbers:
    """What is known of a column of whole numbers, moments or decimals, group by group.

    A number of up to 128 bits is the high half, with its sign, and the low one without.
    """

    def __init__(self, kind: pa.DataType, wanted: Collection[str]) -> None:
        """Of a column of this type, of which these are wanted: sum, avg, min or max."""
        self._units = 10 ** getattr(kind, "scale", 0)
        self._is_summed = "sum" in wanted or "avg" in wanted
        self._is_wide, self._has_least, self._has_most = (
            pa.types.is_decimal(kind),
            "min" in wanted,
            "max" in wanted,
        )
        # The sums of the digits of 32 bits, from the last one. Between two parts of the rows each but the first digit
        # of a number, which has its sign, is less than that.
        self._digits = np.zeros((4 if self._is_wide else 2, 0), np.int64)
        self._rows = np.zeros(0, np.int64)
        self._least, self._most = ((np.zeros(0, np.int64), np.zeros(0, np.uint64)) for _ in range(2))

    def add(self, group: NDArray[np.int64], groups: int, column: pa.Array) -> None:
        """Takes a part of the rows: the group of each by its number, of so many so far, and the column."""
        low, high = _halves(column)
        if column.null_count:
            valid = mask_of(column.is_valid())
            group, low, high = group[valid], low[valid], high[valid]
        self._grow(groups)
        self._rows += np.bincount(group, minlength=groups)
        if self._is_summed:
            self._add_digits(group, low, high)
        if self._has_least:
            self._least = _least(group, high, low, self._least)
        if self._has_most:
            # What is largest is least where each bit is the other one.
            self._most = _least(group, ~high, ~low, self._most)

    def _add_digits(self, group: NDArray[np.int64], low: NDArray[np.uint64], high: NDArray[np.int64]) -> None:
        last, second = (low % _DIGIT).view(np.int64), (low // _DIGIT).view(np.int64)
        is_wide = self._is_wide
        digits = (last, second, high % _DIGIT, high // _DIGIT) if is_wide else (last, high * _DIGIT + second)
        for sums, digit in zip(self._digits, digits, strict=True):
            np.add.at(sums, group, digit)
        for at in range(len(digits) - 1):
            self._digits[at + 1] += self._digits[at] // _DIGIT
            self._digits[at] %= _DIGIT

    def _grow(self, groups: int) -> None:
        more = groups - len(self._rows)
        self._digits = np.pad(self._digits, ((0, 0), (0, more)))
        self._rows = np.pad(self._rows, (0, more))
        self._least, self._most = (
            (
                np.pad(high, (0, more), constant_values=_LARGEST[0]),
                np.pad(low, (0, more), constant_values=_LARGEST[1]),
            )
            for high, low in (self._least, self._most)
        )

    def values(self, kind: str, places: int, groups: int) -> list[Fraction | None]:
        """The sums, averages, least or largest values of so many groups; None where no row has a value.

        Averages are rounded to decimal places.
        """
        self._grow(groups)
        if kind in EXTREMES:
            halves = self._least if kind == "min" else (~half for half in self._most)
            pairs = zip(*(half.tolist() for half in halves), strict=True)
            units = [(high << 64) + low for high, low in pairs]
        else:
            digits = self._digits.T.tolist()
            units = [sum(digit << 32 * at for at, digit in enumerate(each)) for each in digits]
        rows = self._rows.tolist()
        numbers = [
            Fraction(number, self._units) if count else None
            for number, count in zip(units, rows, strict=True)
        ]
        if kind != "avg":
            return numbers
        return [
            None if total is None else half_up(total / count, places)
            for total, count in zip(numbers, rows, strict=True)
        ]


def _halves(column: pa.Array) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The low and the high 64 bits of numbers, in units of their last place."""
    if pa.types.is_decimal(column.type):
        low, high = unscaled(column)
    else:
        whole = column.view(pa.int64()) if pa.types.is_timestamp(column.type) else column.cast(pa.int64())
        low = numbers_of(whole, np.int64)
        high = low >> 63
    return low.view(np.uint64), high


def _least(
    group: NDArray[np.int64],
    high: NDArray[np.int64],
    low: NDArray[np.uint64],
    held: tuple[NDArray[np.int64], NDArray[np.uint64]],
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """The halves of the least number of each group, of some rows and of what was held."""
    groups = np.arange(len(held[0]))
    group = np.concatenate([groups, group])
    high, low = np.concatenate([held[0], high]), np.concatenate([held[1], low])
    least = held[0].copy(), np.full_like(held[1], _LARGEST[1])
    np.minimum.at(least[0], group, high)
    is_it = high == least[0][group]
    np.minimum.at(least[1], group[is_it], low[is_it])
    return least
