"""Sums of decimals, added up in units of their last place: doubles hold whole numbers, and round 0.1."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pyqbeast.approximate.estimate.state import FloatArray
from pyqbeast.scanning.aggregates import Numbers

#: A number is found again in units up to a quarter of the whole numbers that doubles hold.
HEAD_ROOM = 4


class ExactSums:
    """The sums of a column of decimals. They are exact below `exact_below` of its places, divided by `HEAD_ROOM`."""

    def __init__(self, column: str, scale: int) -> None:
        self._column, self._units = column, 10.0**scale
        self._sums = np.zeros(0)

    def add(self, group: NDArray[np.int64], groups: int, rows: Mapping[str, Numbers]) -> None:
        """Takes a part of the rows: the group of each by its number, of so many so far, and columns by name."""
        values, valid = rows[self._column]
        units = np.rint(values * self._units)
        if valid is not None:
            units[~valid] = 0.0
        self._sums = self._of(groups) + np.bincount(group, units, groups)

    def _of(self, groups: int) -> FloatArray:
        return np.append(self._sums, np.zeros(groups - len(self._sums)))

    def values(self, groups: int) -> FloatArray:
        """The sum of each of the groups [group]."""
        return self._of(groups) / self._units
