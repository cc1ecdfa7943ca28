"""Which share of a table's keys is lighter than a weight.

A hash spreads keys evenly over all weights. Where rows were chosen by weight, their keys are spread evenly between the
lightest and the heaviest one, or no sample of them is taken (`WeightProfile.problem`). The share of the rows that are
lighter tells nothing of that: it is large where a key of many rows happens to be light.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.format.constants import WEIGHT_END, WEIGHT_MIN


@dataclass(frozen=True)
class WeightScale:
    """The weights over which the keys of a table are spread.

    Attributes:
        start: the lightest one.
        end: the one behind the heaviest.
    """

    start: int = WEIGHT_MIN
    end: int = WEIGHT_END

    def share(self, stop: int) -> float:
        """The share of the keys lighter than a weight: the chance of each to be one of them."""
        return (min(max(stop, self.start), self.end) - self.start) / (self.end - self.start)

    def threshold(self, share: float) -> int:
        """The smallest stop below which the share of the keys lies; WEIGHT_END for all of them.

        It is rounded up, so that a step reads the share at least.
        """
        stop = self.start + math.ceil(min(max(share, 0.0), 1.0) * (self.end - self.start))
        return stop if stop < self.end else WEIGHT_END

    def stops(self, lows: NDArray[np.int64], least: int) -> NDArray[np.int64]:
        """The weights from `least` on where a step can stop; ascending, WEIGHT_END last.

        `lows` are the smallest weights of the files. A step that stops just at such a weight reads the most rows
        without opening that file.
        """
        return np.unique(np.append(lows[(lows >= least) & (lows < self.end)], WEIGHT_END))
