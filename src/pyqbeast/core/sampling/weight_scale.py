"""Which share of a table's rows is lighter than a weight.

A hash spreads rows evenly over all weights. Where rows were chosen by weight, the share is known at those weights below
which the rows of all files have been counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.format.constants import WEIGHT_END, WEIGHT_MIN


@dataclass(frozen=True)
class WeightScale:
    """The shares of a table's rows by weight.

    Attributes:
        counted: weights, ascending, and the number of rows lighter than each; the last is that of all rows. Empty where
            rows are spread evenly, as they are by default.
    """

    counted: Sequence[tuple[int, float]] = ()

    def share(self, stop: int) -> float:
        """The share of the rows lighter than a weight, which has to be one of `stops`."""
        if not self.counted:
            return (stop - WEIGHT_MIN) / (WEIGHT_END - WEIGHT_MIN)
        return 1.0 if stop == WEIGHT_END else dict(self.counted)[stop] / self.counted[-1][1]

    def threshold(self, share: float) -> int:
        """The smallest stop below which the share of the rows lies.

        It is rounded up, so that a step reads the share at least. Where rows were counted it is one of the counted
        weights, because the share is known below these only. `WeightProfile.weight_of` answers for samples instead: it
        guesses between two counted weights, just as the bridge does.
        """
        if not self.counted:
            return WEIGHT_MIN + math.ceil(min(max(share, 0.0), 1.0) * (WEIGHT_END - WEIGHT_MIN))
        wanted = share * self.counted[-1][1]
        return next((weight for weight, rows in self.counted if rows >= wanted and rows > 0), WEIGHT_END)

    def stops(self, lows: NDArray[np.int64], least: int) -> NDArray[np.int64]:
        """The weights from `least` on where a step can stop; ascending, WEIGHT_END last.

        `lows` are the smallest weights of the files. If rows are spread evenly, a step that stops just at such
        a weight reads the most rows without opening that file.
        """
        weights = np.array([weight for weight, _ in self.counted], dtype=np.int64) if self.counted else lows
        return np.unique(np.append(weights[(weights >= least) & (weights < WEIGHT_END)], WEIGHT_END))
