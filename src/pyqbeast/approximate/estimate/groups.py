"""Which result groups a sample may have missed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pyqbeast.approximate.estimate.interval import distinct_keys
from pyqbeast.approximate.estimate.state import FloatArray, State


@dataclass(frozen=True)
class Completeness:
    """What may be missing from a list of groups.

    Attributes:
        complete: every group is in the list; only where all was read.
        missed_keys: a group of this many distinct keys, or more, is in the list with 99 %.
        missed_rows: about how many rows such a group has.
        unseen_share: about this share of all rows is in groups that are not in the list (Good-Turing: the
            share of the rows read whose group was seen through a single key).
    """

    complete: bool
    missed_keys: float
    missed_rows: float
    unseen_share: float


def missed_keys(fraction: float | FloatArray, probability: float) -> FloatArray:
    """The number of keys of which a sample of the fraction misses every one with 1 - probability."""
    with np.errstate(divide="ignore"):
        return np.asarray(math.log(1 - probability) / np.log1p(-np.minimum(fraction, 1.0)))


def completeness(state: State, fraction: float) -> Completeness:
    """What the groups of a state of the given fraction may lack."""
    if fraction >= 1:
        return Completeness(True, 0.0, 0.0, 0.0)
    counts = state.sums[..., 0]
    rows = float(counts.sum())
    keys = float(distinct_keys(counts.sum(axis=0, keepdims=True))[0])
    single = np.count_nonzero(counts, axis=1) == 1
    missed = float(missed_keys(fraction, 0.99))
    if rows == 0:
        return Completeness(False, missed, math.nan, 1.0)
    return Completeness(False, missed, missed * rows / keys, float(counts[single].sum()) / rows)
