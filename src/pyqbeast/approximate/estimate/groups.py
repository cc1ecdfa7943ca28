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
        complete: whether every group is in the list, which is known only if all rows were read.
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
    """The number of keys such that a sample of the fraction contains one of them with this probability."""
    with np.errstate(divide="ignore"):
        return np.asarray(math.log(1 - probability) / np.log1p(-np.minimum(fraction, 1.0)))


def completeness(state: State, fraction: float) -> Completeness:
    """Which groups may be missing from a state of a sample of this fraction."""
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
