"""The fractions that a picture's slider has, and from which of them on a file or a cube is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.errors import UnsupportedError
from pyqbeast.core.format.constants import WEIGHT_END
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot

#: From a hundred-thousandth to the whole.
FRACTIONS = (
    *(float(f"{m}e-{k}") for k in range(5, 0, -1) for m in (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)),
    1.0,
)
#: The fraction that a picture begins with.
FIRST_SHOWN = 0.01


@dataclass(frozen=True)
class Fractions:
    """The fractions of `FRACTIONS` in one table.

    Attributes:
        bounds: for each the weight below which its rows lie, ascending; no weight is as large as the last.
        problems: for each why Spark draws such a sample row by row, from all files; empty where it does not.
    """

    bounds: NDArray[np.int64]
    problems: tuple[str, ...]

    @classmethod
    def of(cls, index: IndexedSnapshot) -> Fractions:
        """Of a version of a table. Raises UnsupportedError where nobody can tell which files hold each row once."""
        bounds, problems = [], []
        for fraction in FRACTIONS:
            bound, problem = _bound(index, fraction)
            bounds.append(bound)
            problems.append(problem)
        # A fraction without a weight takes that of the next one, which keeps the bounds in order.
        for step in reversed(range(len(bounds) - 1)):
            bounds[step] = min(bounds[step], bounds[step + 1])
        return cls(np.array(bounds, np.int64), tuple(problems))

    def first_read(self, lowest: Iterable[int]) -> NDArray[np.uint8]:
        """The first fraction, by its position, that reads rows of these smallest weights."""
        return np.searchsorted(self.bounds, np.array([*lowest], np.int64), side="right").astype(np.uint8)


def _bound(index: IndexedSnapshot, fraction: float) -> tuple[int, str]:
    try:
        bound = index.bound_of(fraction)
    except UnsupportedError as error:
        return WEIGHT_END, str(error)
    return (WEIGHT_END if bound is None else bound), ""
