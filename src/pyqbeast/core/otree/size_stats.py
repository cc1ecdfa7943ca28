"""How many rows, blocks or bytes some parts of an index have: the numbers that its figures are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class SizeStats:
    """How many, mean and sample standard deviation (cut to whole numbers), and the quartiles with both ends."""

    count: int
    avg: int
    stddev: int
    quartiles: tuple[int, ...]

    @classmethod
    def of(cls, values: Sequence[int] | NDArray[Any]) -> SizeStats:
        """Of whole numbers of any size; zeros where there are none."""
        n = len(values)
        if not n:
            return cls(0, 0, 0, (0,) * 5)
        ordered = np.sort(values)
        # In doubles, because a sum may exceed 64 bits.
        doubles = ordered.astype(np.float64)
        mean = float(doubles.sum()) / n
        deviation = math.sqrt(float(((doubles - mean) ** 2).sum()) / (n - 1)) if n > 1 else 0.0
        quartiles = tuple(int(ordered[max(math.ceil(n * i / 4) - 1, 0)]) for i in range(5))
        return cls(n, int(mean), int(deviation), quartiles)

    def __str__(self) -> str:
        quartiles = ",".join(str(q) for q in self.quartiles)
        return f"(count: {self.count}, avg: {self.avg}, stddev: {self.stddev}, quartiles: [{quartiles}])"


@dataclass(frozen=True)
class LevelStats:
    """The cubes of one depth: how many cubes and blocks, rows a cube, and the mean of their weights (0 to 1)."""

    depth: int
    cube_count: int
    block_count: int
    cube_element_count: SizeStats
    avg_weight: float
