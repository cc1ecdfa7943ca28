"""Variances and correlations of all rows, group by group, each about its own mean.

The sums of an estimate are about one number for all groups, which loses digits where a group varies far less than the
groups differ. Here parts of the rows are merged by their means (Chan, Golub, LeVeque 1983).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pyqbeast.approximate.estimate import Aggregate
from pyqbeast.approximate.estimate.formulas import FORMULAS
from pyqbeast.approximate.estimate.state import FloatArray
from pyqbeast.scanning.aggregates import Numbers


class Spreads:
    """The rows, means and products about the means of some columns, of rows that have a value in each of them."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = tuple(columns)
        wide = len(self._columns)
        self._rows = np.zeros(0)
        # Values are told by their distance to the first of their group, so that equal ones have no spread at all.
        self._first, self._mean = np.zeros((0, wide)), np.zeros((0, wide))
        self._inner = np.zeros((0, wide, wide))

    def add(self, group: NDArray[np.int64], groups: int, rows: Mapping[str, Numbers]) -> None:
        """Takes a part of the rows: the group of each by its number, of so many so far, and columns by name."""
        self._grow(groups)
        columns = [rows[name] for name in self._columns]
        is_set = np.ones(len(group), dtype=bool)
        for _, valid in columns:
            is_set &= True if valid is None else valid
        kept = np.flatnonzero(is_set)
        if len(kept):
            values = np.stack([values[kept] for values, _ in columns], axis=1)
            with np.errstate(invalid="ignore", over="ignore"):
                self._add(group[kept], values)

    def _add(self, group: NDArray[np.int64], values: FloatArray) -> None:
        """Rows [row] of groups by their number, with values [row, column]."""
        groups, first, row = np.unique(group, return_index=True, return_inverse=True)
        is_new = self._rows[groups] == 0
        self._first[groups[is_new]] = values[first[is_new]]
        apart = values - self._first[group]
        count = np.bincount(row).astype(np.float64)
        mean = _sums(row, apart) / count[:, None]
        off = apart - mean[row]
        products = off[:, :, None] * off[:, None, :]
        inner = _sums(row, products.reshape(len(row), -1)).reshape(len(groups), *products.shape[1:])
        total = self._rows[groups] + count
        moved = mean - self._mean[groups]
        weight = self._rows[groups] * count / total
        self._inner[groups] += inner + weight[:, None, None] * moved[:, :, None] * moved[:, None, :]
        self._mean[groups] += moved * (count / total)[:, None]
        self._rows[groups] = total

    def _grow(self, groups: int) -> None:
        """Makes room for so many groups."""
        more = groups - len(self._rows)
        if more > 0:
            more = max(more, len(self._rows))
            self._rows, self._first, self._mean, self._inner = (
                np.concatenate([held, np.zeros((more, *held.shape[1:]))])
                for held in (self._rows, self._first, self._mean, self._inner)
            )

    def values(self, aggregate: Aggregate, groups: int) -> FloatArray:
        """A variance, a deviation or a correlation of these columns [group]; NaN where too few rows take part."""
        self._grow(groups)
        # About the mean, the sums of the values themselves are 0.
        by_powers = [
            self._rows if not any(powers) else self._sum(powers) for powers in FORMULAS[aggregate.kind].powers
        ]
        with np.errstate(all="ignore"):
            found = FORMULAS[aggregate.kind].value(np.stack(by_powers, axis=-1), np.zeros(len(self._columns)))
        return found[:groups]

    def _sum(self, powers: Sequence[int]) -> FloatArray:
        factors = [column for column, power in enumerate(powers) for _ in range(power)]
        return np.zeros(len(self._rows)) if len(factors) < 2 else self._inner[:, factors[0], factors[1]]


def _sums(slot: NDArray[np.intp], values: FloatArray) -> FloatArray:
    """The sums [slot, column] of values [row, column]."""
    return np.stack([np.bincount(slot, column) for column in values.T], axis=1)
