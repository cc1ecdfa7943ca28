"""When the estimates are good enough, and how much to read next where they are not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyqbeast.approximate.estimate.combination import Requested
from pyqbeast.approximate.estimate.estimates import Estimates, Status
from pyqbeast.approximate.estimate.formulas import COUNTS
from pyqbeast.approximate.estimate.limit import Limit
from pyqbeast.approximate.estimate.state import FloatArray
from pyqbeast.core.arguments import is_number, is_whole_number
from pyqbeast.core.errors import InvalidInputError

# The numbers below are tuned. `python -m benchmarks.suite --only tolerance` shows what they cost.
#: How many keys the first step (the pilot) should hold. With fewer keys the first prediction is poor, and the
#: sample may stop too early.
PILOT_KEYS = 3_000
#: How many steps after the pilot go by prediction. If they do not meet the goal, the query is answered exactly.
PREDICTED_STEPS = 2
#: If a larger fraction is predicted, the query is answered exactly.
LARGEST_SAMPLE = 0.5

# The sample of a correlation of heavy-tailed columns can be biased by more than narrow bounds say. For a goal
# below this error the sample alone is not enough.
_CORR_ERROR = 0.05
# By how much predictions are enlarged to be safe.
_SAFETY, _KEY_SAFETY = 1.15, 1.3
# How many times the fraction read so far a step reads, at least and at most; and the same if keys are few.
_SMALLEST_STEP, _LARGEST_STEP = 1.1, 16.0
_FEW_KEYS_STEPS = (2.0, 8.0)


@dataclass(frozen=True)
class Goal:
    """The error that every estimate has to meet.

    Attributes:
        error: largest distance from the value to the truth: as a share of the truth, or in its unit.
        relative: which of the two.
        smallest_group: groups of fewer rows need not meet it.
    """

    error: float
    relative: bool = True
    smallest_group: float = 0

    def allowed(self, value: FloatArray) -> FloatArray:
        """The margin that meets the error, by value.

        A margin w <= e (|value| - w) makes the distance to the truth at most e |truth|, because |truth| is at
        least |value| - w; near zero it asks for more than e |value| does, and stops no query by chance.
        """
        if not self.relative:
            return np.full(value.shape, self.error)
        return np.asarray(self.error * np.abs(value) / (1 + self.error))


def goal_within(error: float | None, limit: Limit, *, relative: bool, smallest_group: int = 0) -> Goal | None:
    """The goal of a caller who may have stated a limit in its place; an error of 0.01 where neither is.

    Raises InvalidInputError for an error or a size out of range.
    """
    if not is_whole_number(smallest_group) or smallest_group < 0:
        raise InvalidInputError(
            f"smallest_group is the number of rows from which a group has to meet the error, not {smallest_group!r}"
        )
    if error is None and limit.is_stated:
        return None
    wanted_error = 0.01 if error is None else error
    if is_number(wanted_error):
        # What is compared is the double: a fraction above 0 may be 0 as one, and a share below 1 may be 1.
        wanted_error = _double(wanted_error)
    if not (is_number(wanted_error) and 0 < wanted_error < math.inf):
        raise InvalidInputError(
            f"error has to be a number above 0, not {wanted_error!r}; for an exact answer pass exact=True"
        )
    if relative and wanted_error >= 1:
        raise InvalidInputError(
            f"error={wanted_error} is a share of the truth and has to be below 1; for an error in the estimate's unit "
            "pass relative=False"
        )
    return Goal(wanted_error, relative, smallest_group)


def _double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def pilot_keys(aggregates: Iterable[Requested]) -> float:
    """How many distinct keys the first step should hold: what all bounds need."""
    return max(PILOT_KEYS, *(aggregate.min_keys for aggregate in aggregates))


def met(estimates: Estimates, goal: Goal) -> NDArray[np.bool_]:
    """Which groups [group] of an estimate need no more rows: they are exact, have certain bounds (min, max), or
    are within the error.
    """
    with np.errstate(invalid="ignore"):
        within = estimates.margin <= goal.allowed(estimates.value)
    trusted = [Status.BOUNDED]
    if all(part.kind != "corr" for part in estimates.aggregate.parts) or goal.error >= _CORR_ERROR:
        trusted.append(Status.SAMPLE_ONLY)
    bounded = np.isin(estimates.status, trusted) & ~_have_few_keys(estimates)
    return np.isin(estimates.status, (Status.EXACT, Status.CERTAIN)) | (bounded & within)


def wanted_fractions(
    estimates: Sequence[Estimates],
    goal: Goal,
    fraction: float,
    steps: int,
    small: NDArray[np.bool_],
) -> FloatArray:
    """The fraction [group] to read up to next: the largest that any estimate of the group asks for.

    It is 0 for a group that is done, and 1 for one that has to be answered exactly.

    Args:
        estimates: those of the sample read.
        goal: the error to meet.
        fraction: read so far, above 0.
        steps: read so far; the pilot is the first.
        small: [group], those whose estimates need not meet the goal.
    """
    asked = np.maximum.reduce([wanted(each, goal, fraction) for each in estimates])
    if steps > PREDICTED_STEPS:
        asked = np.where(asked > 0, 1.0, 0.0)
    return np.asarray(np.where(small, 0.0, asked))


def wanted(estimates: Estimates, goal: Goal, fraction: float | FloatArray) -> FloatArray:
    """The fraction [group] that each group asks for next: 0 where it is done, 1 for the exact answer.

    `fraction` is the one read so far, one number or one per group.
    """
    with np.errstate(all="ignore"):
        # The squared error is proportional to (1 - f) / f, for the fraction f.
        odds = _SAFETY * (estimates.margin / goal.allowed(estimates.value)) ** 2 * fraction / (1 - fraction)
        by_error = np.where(np.isfinite(odds), odds / (1 + odds), 1.0)
        by_keys = fraction * _KEY_SAFETY * estimates.aggregate.min_keys / np.maximum(estimates.keys, 1)
        # What missed keys can add is proportional to 1 / f, and the width of the bounds to its square root. So
        # the ratio enters squared.
        by_tail = fraction * np.clip(estimates.unseen**2, _SMALLEST_STEP, _LARGEST_STEP)
    by_error = _within(by_error, fraction, _SMALLEST_STEP, _LARGEST_STEP)
    by_keys = _within(by_keys, fraction, *_FEW_KEYS_STEPS)
    heavy = estimates.status == Status.HEAVY_TAIL
    wanted_next = np.where(
        _have_few_keys(estimates), by_keys, np.where(heavy, np.maximum(by_error, by_tail), by_error)
    )
    wanted_next = np.where(wanted_next > LARGEST_SAMPLE, 1.0, wanted_next)
    return np.where(met(estimates, goal), 0.0, wanted_next)


def _have_few_keys(estimates: Estimates) -> NDArray[np.bool_]:
    """Which groups [group] were seen through too few keys to stop at. A count of few keys has bounds even so."""
    of_few = estimates.keys < estimates.aggregate.min_keys
    return np.asarray((estimates.status == Status.FEW_KEYS) | (of_few & (estimates.aggregate.kind in COUNTS)))


def _within(wanted_next: FloatArray, fraction: float | FloatArray, least: float, most: float) -> FloatArray:
    """Limits a step to `least` to `most` times the fraction. A step to the exact answer is not limited."""
    return np.where(
        wanted_next > LARGEST_SAMPLE, 1.0, np.clip(wanted_next, least * fraction, most * fraction)
    )
