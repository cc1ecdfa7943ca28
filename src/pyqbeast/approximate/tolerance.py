"""Table tolerance: the answer to a query within a stated error, from as few bytes as that takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from pyspark.sql import DataFrame

from pyqbeast.approximate.answer import WORTH, Estimate, estimated_answer, exact_answer
from pyqbeast.approximate.estimate import (
    Aggregate,
    Estimates,
    Goal,
    Status,
    Step,
    all_met,
    completeness,
    wanted_fraction,
)
from pyqbeast.approximate.progress import Progress, Reading
from pyqbeast.bridge import failures
from pyqbeast.bridge.aggregate_query import AggregateQuery
from pyqbeast.core.errors import InvalidInputError, UnsupportedError

#: The largest confidence. Beyond it the formulas' tails cannot be trusted.
MOST_CONFIDENCE = 0.9999
#: How many times the fraction of the last step the next step of `refine` reads up to. Four times the rows make
#: bounds half as wide. The smaller numbers are used if a larger one would end in the exact answer.
REFINEMENTS = (4.0, 2.0, 1.4)


@failures.words("estimating an answer", "")
def tolerance(
    df: DataFrame,
    error: float = 0.01,
    confidence: float = 0.95,
    *,
    relative: bool = True,
    exact: bool = False,
) -> Estimate:
    """The answer to a query within an error, from the rows of lowest weight of an indexed table.

    It reads as many rows as the error takes and answers exactly where a sample would not do: all steps together
    read no more than 1.1 times the bytes of the exact query.

    Args:
        df: a query that ends in an aggregation (count, sum, avg, min, max, stddev, variance, corr, count_if,
            percentile_approx) over one indexed table, with filters, projections, groupBy, and joins to small tables
            that are not indexed.
        error: the largest distance of an estimate to the truth: as a share of the truth, or in the estimate's unit.
        confidence: how often that has to hold, for each estimate by itself.
        relative: whether `error` is a share.
        exact: run the query in full; the result then has the same columns as an estimate.

    Raises:
        InvalidInputError: an error or a confidence out of range.
        UnsupportedError: a query that cannot be estimated; the message says why.
    """
    goal = _goal(error, relative)
    _check_confidence(confidence)
    if exact:
        return _in_full(df, confidence)
    query = AggregateQuery(df)
    if query.reads_nothing():
        return _exact(query, confidence, ())
    progress = Progress(query)
    wanted = progress.first_fraction
    while True:
        step = progress.plan(wanted)
        if step.restart or (step.exact and not progress.readings):
            return _exact(query, confidence, tuple(progress.readings))
        progress.read(step)
        by_aggregate = dict(progress.estimates(confidence))
        estimates = list(by_aggregate.values())
        if step.exact or all_met(estimates, goal):
            return _estimate(df, query, progress, by_aggregate, confidence)
        wanted = wanted_fraction(estimates, goal, progress.fraction, len(progress.readings))


def refine(df: DataFrame, confidence: float = 0.95) -> Iterator[Estimate]:
    """The answer to a query as it gets better: after each step of reading an estimate, the last one exact.

    Args:
        df: a query as `tolerance` takes it.
        confidence: how often a bound has to hold, each by itself and at each step.

    Raises:
        InvalidInputError: a confidence out of range.
        UnsupportedError: a query that cannot be estimated; the message says why.
    """
    _check_confidence(confidence)
    query = AggregateQuery(df)
    if query.reads_nothing():
        return iter([_exact(query, confidence, ())])
    return _refined(df, query, Progress(query), confidence)


def _refined(
    df: DataFrame, query: AggregateQuery, progress: Progress, confidence: float
) -> Iterator[Estimate]:
    while progress.fraction < 1:
        step = _next_refinement(progress)
        if step.restart or (step.exact and not progress.readings):
            yield _exact(query, confidence, tuple(progress.readings))
            return
        with failures.words("estimating an answer", ""):
            progress.read(step)
        yield _estimate(df, query, progress, dict(progress.estimates(confidence)), confidence)


def _next_refinement(progress: Progress) -> Step:
    if not progress.readings:
        return progress.plan(progress.first_fraction)
    steps = [progress.plan(min(1.0, factor * progress.fraction)) for factor in REFINEMENTS]
    return next((step for step in steps if not step.exact), steps[-1])


def _goal(error: float, relative: bool) -> Goal:
    if not (isinstance(error, int | float) and math.isfinite(error) and error > 0):
        raise InvalidInputError(
            f"error has to be a number above 0, not {error!r}; for an exact answer pass exact=True"
        )
    if relative and error >= 1:
        raise InvalidInputError(
            f"error={error} is a share of the truth and has to be below 1; for an error in the estimate's unit pass "
            "relative=False"
        )
    return Goal(error, relative)


def _check_confidence(confidence: float) -> None:
    if not (isinstance(confidence, int | float) and 0.5 <= confidence <= MOST_CONFIDENCE):
        raise InvalidInputError(f"confidence has to be from 0.5 to {MOST_CONFIDENCE}, not {confidence!r}")


def _in_full(df: DataFrame, confidence: float) -> Estimate:
    """Runs any query in full. A query that cannot be estimated gets no bounds beside its columns."""
    try:
        return _exact(AggregateQuery(df), confidence, ())
    except UnsupportedError:
        answer, cost = exact_answer(df, None)
        return Estimate(answer, 1.0, True, cost, cost, (Reading(0.0, 1.0, cost),), confidence, {})


def _exact(query: AggregateQuery, confidence: float, readings: tuple[Reading, ...]) -> Estimate:
    """The query run as it was asked, after whatever was read before."""
    answer, cost = exact_answer(query.exact(), query)
    steps = (*readings, Reading(0.0, 1.0, cost))
    worth = {
        name: WORTH[Status.EXACT] for name, ordinal in query.result if query.outputs[ordinal].group is None
    }
    return Estimate(answer, 1.0, True, sum(step.bytes for step in steps), cost, steps, confidence, worth)


def _estimate(
    df: DataFrame,
    query: AggregateQuery,
    progress: Progress,
    by_aggregate: Mapping[Aggregate, Estimates],
    confidence: float,
) -> Estimate:
    fraction = progress.fraction
    groups = completeness(progress.state, fraction) if progress.partial.groups else None
    return Estimate(
        estimated_answer(query, progress.partial, progress.state, by_aggregate, df),
        fraction,
        fraction >= 1,
        progress.bytes_read,
        progress.exact_bytes,
        tuple(progress.readings),
        confidence,
        {
            name: _worth(by_aggregate[aggregate])
            for name, ordinal in query.result
            if (aggregate := progress.partial.aggregates[ordinal]) is not None
        },
        groups,
    )


def _worth(estimates: Estimates) -> str:
    """What the bounds are worth in the worst group."""
    worst = int(np.max(estimates.status, initial=Status.EXACT))
    return WORTH[Status(worst)]
