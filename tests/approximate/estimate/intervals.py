"""Intervals of many samples at once: how many are to hold the truth, and how many a naive variance would have."""

from __future__ import annotations

import numpy as np

from pyqbeast.approximate.estimate.interval import bounds, leave_out
from pyqbeast.approximate.estimate.part_sums import PartSums
from tests.approximate.estimate.populations import AGGREGATES, COUNT, SUM, as_state

#: Of so many intervals of 95 % at least and at most so many hold the truth; `test_coverage` says why.
REPETITIONS, LEAST, MOST = 2_000, 1_844, 1_955
#: What `naive` takes the moments of.
NAIVE = (AGGREGATES["sd"],)
LN_SECOND = as_state(np.zeros((1, 129, 1))).index(AGGREGATES["sd"].moments)


def holds(sums, aggregate, fraction, truth):
    parts = PartSums(as_state(sums), aggregate)
    value, influence = leave_out(parts.value, parts.sampled, fraction)
    low, high = bounds(value, influence, fraction, 0.95)
    return (low <= truth) & (truth <= high)


def naive(sums, aggregate, fraction):
    """Value and standard error as if rows were drawn one by one."""
    rows, first, second = np.moveaxis(as_state(sums).sums.sum(axis=1)[:, LN_SECOND], -1, 0)
    if aggregate is COUNT:
        return rows / fraction, np.sqrt((1 - fraction) * rows) / fraction
    if aggregate is SUM:
        return first / fraction, np.sqrt((1 - fraction) * second) / fraction
    return first / rows, np.sqrt((1 - fraction) * (second / rows - (first / rows) ** 2) / rows)
