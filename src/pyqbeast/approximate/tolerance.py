"""Table tolerance: the answer to a query within a stated error, from as few bytes as that takes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from pyqbeast.approximate.answer import Estimate, columns_of_answer, estimated_answer, exact_answer
from pyqbeast.approximate.estimate import Completeness, Estimates, Requested, Status
from pyqbeast.approximate.estimate.choice import Choice
from pyqbeast.approximate.estimate.interval import check_confidence
from pyqbeast.approximate.estimate.limit import Limit
from pyqbeast.approximate.estimate.outcome import (
    WORTH,
    Reading,
    check_names,
    worth_of,
)
from pyqbeast.approximate.estimate.stopping import Goal, goal_within
from pyqbeast.approximate.query_rows import QueryRows
from pyqbeast.approximate.selected_groups import selection_of
from pyqbeast.approximate.steps.loop import read_until
from pyqbeast.approximate.steps.planning import must_run_in_full, refining_step
from pyqbeast.approximate.steps.progress import Progress
from pyqbeast.bridge import failures, progress_line
from pyqbeast.bridge.aggregate_query import AggregateQuery
from pyqbeast.bridge.frames import check_query, is_case_sensitive
from pyqbeast.core.errors import UnsupportedError

_DOING = "estimating an answer"


@failures.readable(_DOING, "")
def tolerance(
    df: DataFrame,
    error: float | None = None,
    confidence: float = 0.95,
    *,
    relative: bool = True,
    exact: bool = False,
    budget: float | str | dt.timedelta | None = None,
    smallest_group: int = 0,
) -> Estimate:
    """The answer to a query within an error, from the rows of lowest weight of an indexed table.

    It reads as many rows as the error takes and answers exactly where a sample would not do: all steps together
    read no more than 1.1 times the bytes of the exact query, and up to twice as many where only the last step shows
    that sums do not tell the answer.

    Args:
        df: a query that ends in an aggregation (count, sum, avg, min, max, stddev, variance, corr, count_if,
            percentile_approx) over one indexed table, with filters, projections, groupBy, and joins to small tables
            that are not indexed; or over several that are joined by the columns of which their weights are made. Above
            it may stand conditions on the aggregates, and the first rows by one of them.
        error: the largest distance of an estimate to the truth: as a share of the truth, or in the estimate's unit. By
            default 0.01 where there is no budget.
        confidence: how often that has to hold, for each estimate by itself.
        relative: whether `error` is a share.
        exact: run the query in full; the result then has the same columns as an estimate.
        budget: the most that may be read: bytes (a whole number, or a text such as "200 MB") or seconds (a float, a
            timedelta or a text such as "2 s"; the first step takes what it takes). The answer is then the best one
            for so much, with its bounds; with an error as well it may cost less.
        smallest_group: groups of so many rows have to be in the list and to meet the error. Smaller ones, by what
            the sample tells of their size, are shown as they are. By default every group counts, and where that costs
            less than the exact query the files that can hold a rare one are read for it.

    Raises:
        InvalidInputError: an error, a confidence, a size or a budget out of range, or the smallest sample opens more
            bytes than the budget, or two columns of the answer would have one name.
        UnsupportedError: a query that cannot be estimated; the message says why.
    """
    goal, limit = _checked(df, error, confidence, budget, smallest_group, relative=relative)
    if exact:
        return _in_full(df, confidence)
    query = _taken_apart(df)
    if query.reads_nothing():
        return _exact(df, query, confidence)
    rows = QueryRows(query)
    progress = Progress(rows, selection_of(query, rows.aggregates))
    with progress_line.line_while(df.sparkSession, _DOING):
        by_aggregate = read_until(progress, goal, limit, confidence)
    if by_aggregate is None:
        return _exact(df, query, confidence, progress.readings)
    return _estimate(df, query, rows, progress, by_aggregate, confidence)


@failures.readable(_DOING, "")
def schema_of_answer(
    df: DataFrame,
    error: float | None = None,
    confidence: float = 0.95,
    *,
    budget: float | str | dt.timedelta | None = None,
    smallest_group: int = 0,
) -> StructType:
    """What the answer of `tolerance` to the same arguments is like. It reads no rows.

    Raises:
        InvalidInputError: as `tolerance` does, which finds out by reading whether a budget suffices.
        UnsupportedError: a query of a shape that cannot be estimated; which functions can be, only reading tells.
    """
    _checked(df, error, confidence, budget, smallest_group, relative=True)
    return columns_of_answer(df, _taken_apart(df))


def _checked(
    df: DataFrame,
    error: float | None,
    confidence: float,
    budget: float | str | dt.timedelta | None,
    smallest_group: int,
    *,
    relative: bool,
) -> tuple[Goal | None, Limit]:
    """The goal and the limit that the arguments of `tolerance` tell. Raises InvalidInputError for others."""
    check_query(df, "tolerance")
    limit = Limit.of(budget)
    goal = goal_within(error, limit, relative=relative, smallest_group=smallest_group)
    check_confidence(confidence)
    return goal, limit


@failures.readable(_DOING, "")
def refine(df: DataFrame, confidence: float = 0.95) -> Iterator[Estimate]:
    """The answer to a query as it gets better: after each step of reading an estimate, the last one exact.

    Args:
        df: a query as `tolerance` takes it.
        confidence: how often a bound has to hold, each by itself and at each step.

    Raises:
        InvalidInputError: a confidence out of range, or two columns of the answer would have one name.
        UnsupportedError: a query that cannot be estimated; the message says why.
    """
    check_query(df, "refine")
    check_confidence(confidence)
    query = _taken_apart(df)
    if query.reads_nothing():
        return iter([_exact(df, query, confidence)])
    return _refined(df, query, QueryRows(query), confidence)


def _refined(df: DataFrame, query: AggregateQuery, rows: QueryRows, confidence: float) -> Iterator[Estimate]:
    """The steps of `refine`, each taken when it is asked for: an error comes then."""
    with failures.readable(_DOING, ""):
        progress = Progress(rows, selection_of(query, rows.aggregates))
        while progress.fraction < 1:
            step = refining_step(progress)
            if must_run_in_full(progress, step):
                yield _exact(df, query, confidence, progress.readings)
                return
            with progress_line.line_while(df.sparkSession, _DOING):
                progress.read(step)
            by_aggregate = progress.estimates(confidence)
            if progress.overflows or (step.exact and not progress.is_mergeable):
                yield _exact(df, query, confidence, progress.readings)
                return
            yield _estimate(df, query, rows, progress, by_aggregate, confidence)


def _taken_apart(df: DataFrame) -> AggregateQuery:
    """The parts of a query. Raises UnsupportedError, and InvalidInputError where names of its columns collide."""
    query = AggregateQuery(df)
    groups = [each.name for each in query.result if query.outputs[each.output].group is not None]
    estimates = [each.name for each in query.result if query.outputs[each.output].group is None]
    check_names(
        groups,
        estimates,
        keeps_some=query.keeps_some,
        case_sensitive=is_case_sensitive(df.sparkSession),
    )
    return query


def _in_full(df: DataFrame, confidence: float) -> Estimate:
    """Runs any query in full. A query that cannot be estimated gets no bounds beside its columns."""
    try:
        return _exact(df, _taken_apart(df), confidence)
    except UnsupportedError:
        return _exact(df, None, confidence)


def _exact(
    df: DataFrame, query: AggregateQuery | None, confidence: float, readings: Sequence[Reading] = ()
) -> Estimate:
    """A query run as it was asked, after whatever was read before; `query` is None where it cannot be taken apart."""
    asked = df if query is None else query.exact()
    with progress_line.line_while(asked.sparkSession, "answering exactly"):
        answer, cost = exact_answer(asked, query)
    steps = (*readings, Reading(0.0, 1.0, cost))
    groups = [] if query is None else [output.group for output in query.outputs]
    shown = [] if query is None else query.result
    return Estimate(
        df=answer,
        fraction=1.0,
        exact=True,
        bytes_read=sum(step.bytes for step in steps),
        exact_bytes=cost,
        steps=steps,
        confidence=confidence,
        worth={each.name: WORTH[Status.EXACT] for each in shown if groups[each.output] is None},
        groups=Completeness(complete=True) if any(group is not None for group in groups) else None,
        choice=Choice() if query is not None and query.keeps_some else None,
    )


def _estimate(
    df: DataFrame,
    query: AggregateQuery,
    rows: QueryRows,
    progress: Progress,
    by_aggregate: Mapping[Requested, Estimates],
    confidence: float,
) -> Estimate:
    fraction = progress.fraction
    exact = fraction >= 1 and progress.is_mergeable
    answer, chosen, shown = estimated_answer(
        query, rows.aggregates, progress.state, by_aggregate, df, progress.kept(confidence), exact=exact
    )
    return Estimate(
        df=answer,
        fraction=fraction,
        exact=exact,
        bytes_read=progress.bytes_read,
        exact_bytes=progress.exact_bytes,
        steps=tuple(progress.readings),
        confidence=confidence,
        worth={
            each.name: worth_of(by_aggregate[aggregate], shown)
            for each in query.result
            if (aggregate := rows.aggregates.of_outputs[each.output]) is not None
        },
        groups=progress.completeness(confidence),
        choice=chosen,
    )
