"""The loop over the steps: it reads until every bound meets the goal, or the limit is spent."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyqbeast.approximate.estimate.budget import Step
from pyqbeast.approximate.estimate.combination import Requested
from pyqbeast.approximate.estimate.estimates import Estimates
from pyqbeast.approximate.estimate.limit import Limit
from pyqbeast.approximate.estimate.outcome import SmallBudgetError
from pyqbeast.approximate.estimate.stopping import LARGEST_SAMPLE, PREDICTED_STEPS, Goal, wanted_fractions
from pyqbeast.approximate.steps import planning
from pyqbeast.approximate.steps.progress import Progress

#: A share of the seconds that is too little to tell how long a byte takes: most of it may be what any step takes.
LITTLE_TIME = 0.1


class Needs(NamedTuple):
    """What a sample lacks.

    Attributes:
        done: [group], those whose estimates need no more rows.
        fraction: the one to read up to next; 0 if the sample suffices for the groups that it has.
        groups: whether there are groups that are better read where they lie, or such may be missing.
    """

    done: NDArray[np.bool_]
    fraction: float
    groups: bool


def read_until(
    progress: Progress,
    goal: Goal | None,
    limit: Limit,
    confidence: float,
    clock: Callable[[], float] = time.monotonic,
) -> dict[Requested, Estimates] | None:
    """Reads until every bound meets the goal or the limit is spent; None where the query has to be run in full.

    Seconds are foretold from those of the steps before. The first step is read whatever it takes, and so is a file more
    while little of the time is spent. Where the query would have to be run in full and costs more than is left, its
    estimates are those of the steps, and what it alone tells is left out.

    Args:
        progress: takes what is read; nothing has been read yet.
        goal: None to read as much as the limit allows.
        limit: what may be read.
        confidence: of each bound.
        clock: tells seconds.

    Raises:
        SmallBudgetError: the smallest sample opens more bytes than the limit.
    """
    began = clock()

    def bytes_left() -> float:
        left = limit.bytes - progress.bytes_read
        if limit.seconds < math.inf and progress.readings:
            spent = max(clock() - began, 1e-9)
            by_pace = (limit.seconds - spent) / spent * progress.bytes_read
            if spent < LITTLE_TIME * limit.seconds:
                by_pace = max(by_pace, planning.bytes_of_a_file(progress.reader))
            left = min(left, by_pace)
        return left

    left = bytes_left()
    in_steps = goal is not None or limit.seconds < math.inf
    nothing = np.zeros(0, dtype=bool)
    needs = Needs(nothing, planning.first_fraction(progress.reader) if in_steps else 1.0, groups=False)
    by_aggregate: dict[Requested, Estimates] = {}
    rest: Step | None = None
    while True:
        step = planning.step_within(progress, needs.fraction, left)
        if rest is not None and (step is None or step.exact or rest.cost <= step.cost):
            return _with_groups(progress, rest, needs.done, bytes_left, confidence)
        if step is None:
            break
        if planning.must_run_in_full(progress, step):
            return None
        progress.read(step)
        by_aggregate = progress.estimates(confidence)
        left = bytes_left()
        if progress.overflows or step.exact:
            settled = _settled(progress, by_aggregate, left, confidence)
            if settled is None or step.exact:
                return settled
            by_aggregate = settled
        needs = Needs(nothing, 1.0, groups=False)
        if goal is not None:
            needs = _needs(progress, goal, list(by_aggregate.values()), confidence, left)
            is_short = needs.fraction > 0 or needs.groups
            rest = planning.rest_of_groups(progress, needs.done, left) if is_short else None
            if not needs.fraction:
                if rest is None:
                    return by_aggregate
                return _with_groups(progress, rest, needs.done, bytes_left, confidence)
    if not progress.readings:
        raise SmallBudgetError(
            f"the smallest sample of this query opens more bytes than the budget; the exact query opens "
            f"{progress.exact_bytes:,}"
        )
    return by_aggregate


def _with_groups(
    progress: Progress,
    rest: Step,
    done: NDArray[np.bool_],
    bytes_left: Callable[[], float],
    confidence: float,
) -> dict[Requested, Estimates] | None:
    """The estimates once the rest of all groups is read that are not done [group]; None as in `read_until`."""
    progress.read_groups(rest, done)
    by_aggregate = progress.estimates(confidence)
    return _settled(progress, by_aggregate, bytes_left(), confidence)


def _settled(
    progress: Progress, by_aggregate: dict[Requested, Estimates], left: float, confidence: float
) -> dict[Requested, Estimates] | None:
    """The estimates as far as sums tell them; None where the query has to be run in full, for the bytes left."""
    if progress.is_mergeable:
        return by_aggregate
    if progress.exact_bytes <= left:
        return None
    progress.query_costs_too_much = True
    return progress.estimates(confidence)


def _needs(
    progress: Progress, goal: Goal, estimates: Sequence[Estimates], confidence: float, left: float
) -> Needs:
    """What the sample read lacks."""
    small = np.zeros(len(progress.state.groups), dtype=bool)
    if goal.smallest_group > 0:
        small |= progress.rows_at_most(confidence) < goal.smallest_group
    verdict = progress.verdict(confidence)
    if verdict is not None:
        small |= ~verdict.possible
    wanted = wanted_fractions(estimates, goal, progress.fraction, len(progress.readings), small)
    done = wanted == 0
    fraction = float(wanted.max(initial=0.0 if len(wanted) else 1.0))
    # What no sample answers may be read where it lies. The sample then has to serve the other groups only.
    are_rare = fraction == 1 and planning.rest_of_groups(progress, wanted < 1, left) is not None
    if are_rare:
        fraction = float(wanted.max(initial=0.0, where=wanted < 1))
    if verdict is None or verdict.missing:
        are_missing, by_size = _missing(progress, goal, confidence)
        are_rare, fraction = are_rare or are_missing, max(fraction, by_size)
    return Needs(done, fraction, are_rare)


def _missing(progress: Progress, goal: Goal, confidence: float) -> tuple[bool, float]:
    """Whether groups may be missing that count, and the fraction whose sample would not miss them; 0 if unknown."""
    missing = progress.completeness(confidence)
    if missing is None or missing.complete:
        return False, 0.0
    if goal.smallest_group == 0 or missing.most_rows is None:
        return True, 0.0
    # The size of the groups that a sample may have missed is proportional to 1 / f.
    by_size = progress.fraction * missing.most_rows / goal.smallest_group
    if by_size <= progress.fraction:
        return False, 0.0
    too_many = by_size > LARGEST_SAMPLE or len(progress.readings) > PREDICTED_STEPS
    return True, 1.0 if too_many else by_size
