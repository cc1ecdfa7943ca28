"""`Scan.tolerance`: aggregates within a stated error, as an Arrow table with bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from pyqbeast.approximate.estimate import (
    Aggregate,
    Completeness,
    Estimates,
    Goal,
    Requested,
    State,
    Status,
    axes_for,
    estimate,
)
from pyqbeast.approximate.estimate.limit import Limit
from pyqbeast.approximate.estimate.outcome import HIGH, LOW, SHOWN_ROWS, SURE, Outcome, Reading, worth_of
from pyqbeast.approximate.estimate.rounding import (
    EXTREMES,
    in_calendar,
    is_rounded,
    known_numbers,
    largest_sum,
)
from pyqbeast.approximate.estimate.selection import (
    Choice,
    Mask,
    SortKey,
    Verdict,
    choice,
    estimated_values,
    nulls_of,
    sorted_groups,
    verdict_of,
)
from pyqbeast.approximate.estimate.state import FloatArray, Group
from pyqbeast.approximate.steps.loop import read_until
from pyqbeast.approximate.steps.progress import Progress
from pyqbeast.core.errors import UnsupportedError
from pyqbeast.scanning.aggregates import Request
from pyqbeast.scanning.conditions.sql_text import SortColumn
from pyqbeast.scanning.exact_sums import HEAD_ROOM
from pyqbeast.scanning.scan_rows import ScanRows
from pyqbeast.scanning.selected_groups import Kept


@dataclass(frozen=True, kw_only=True)
class ScanEstimate(Outcome):
    """Aggregates from a part of a table's rows, with what they are worth. `str()` tells a person.

    Attributes:
        table: the groups, and after each estimate `value` its bounds `value_low` and `value_high`. Counts, and sums of
            whole numbers, are whole numbers; smallest and largest values have the type of their column; all others and
            all other bounds are doubles. Null where there is none. Where `having` or `limit` choose groups, the last
            column `sure` tells whether a group surely belongs to the answer.
    """

    table: pa.Table

    def first_rows(self) -> tuple[list[str], list[tuple[object, ...]]]:
        """See `Outcome.first_rows`."""
        # Python knows fewer days than Arrow.
        shown = [
            pa.field(each.name, pa.string()) if pa.types.is_temporal(each.type) else each
            for each in self.table.schema
        ]
        rows = self.table.slice(0, SHOWN_ROWS).cast(pa.schema(shown)).to_pylist()
        return self.table.column_names, [tuple(row.values()) for row in rows]


def estimated(
    rows: ScanRows, request: Request, kept: Kept, goal: Goal | None, limit: Limit, confidence: float
) -> ScanEstimate:
    """The aggregates within a goal and a limit; exactly where there is neither, or where a sample would not do."""
    if rows.count_in_log is not None and kept.selection is None:
        return _of_log(rows, rows.count_in_log, request, kept, confidence)
    progress = Progress(rows, kept.selection)
    is_bounded = goal is not None or limit.is_stated
    by_aggregate = read_until(progress, goal, limit, confidence) if is_bounded else None
    if by_aggregate is None:
        state, by_aggregate = _exact(rows, request, confidence)
        steps, fraction = (*progress.readings, Reading(0.0, 1.0, progress.exact_bytes)), 1.0
        is_exact = True
        groups = Completeness(complete=True) if request.groups else None
        verdict = _exact_verdict(kept, state, by_aggregate)
    else:
        state, steps, fraction = progress.state, tuple(progress.readings), progress.fraction
        groups, verdict = progress.completeness(confidence), progress.verdict(confidence)
        is_exact = fraction >= 1 and progress.is_mergeable
    table, chosen = _answer(request, kept, state, by_aggregate, verdict, exact=is_exact)
    return ScanEstimate(
        table=table,
        fraction=fraction,
        exact=is_exact,
        bytes_read=sum(step.bytes for step in steps),
        exact_bytes=progress.exact_bytes,
        steps=steps,
        confidence=confidence,
        worth={name: worth_of(by_aggregate[each]) for name, each in request.aggregates.items()},
        groups=groups,
        choice=chosen,
    )


def _of_log(rows: ScanRows, count: int, request: Request, kept: Kept, confidence: float) -> ScanEstimate:
    """The number of rows, for which no file has to be opened."""
    state = State.empty(axes_for(rows.requested), [()])
    values: dict[Group, FloatArray] = {(): np.array([float(count)])}
    found: dict[Requested, Estimates] = {each: _known_exactly(each, state, values) for each in rows.requested}
    table, _ = _answer(request, kept, state, found, None, exact=True)
    return ScanEstimate(
        table=table,
        fraction=1.0,
        exact=True,
        bytes_read=0,
        exact_bytes=0,
        steps=(Reading(0.0, 1.0, 0),),
        confidence=confidence,
        worth={name: worth_of(found[each]) for name, each in request.aggregates.items()},
    )


def _exact_verdict(kept: Kept, state: State, estimates: Mapping[Requested, Estimates]) -> Verdict | None:
    if kept.selection is None:
        return None
    rows = state.sums[..., 0].sum(axis=1)
    nulls = nulls_of(state, estimates)
    return verdict_of(kept.selection, estimates, nulls, rows, Completeness(complete=True))


def _answer(
    request: Request,
    kept: Kept,
    state: State,
    estimates: Mapping[Requested, Estimates],
    verdict: Verdict | None,
    *,
    exact: bool,
) -> tuple[pa.Table, Choice | None]:
    """The groups that are kept, in their order, and how sure that choice is."""
    having: Mask = np.ones(len(state.groups), dtype=bool) if verdict is None else verdict.having
    numbers = sorted_groups([_sort_key(request, state, estimates, each) for each in kept.order], having)
    table = _table(request, state, estimates)
    if verdict is None or kept.selection is None:
        return table.take(pa.array(numbers, pa.int64())), None
    numbers = numbers[: kept.selection.limit]
    is_shown = np.isin(np.arange(len(state.groups)), numbers)
    # Of groups that are equal the exact answer has any.
    table = table.append_column(SURE, [pa.array(is_shown if exact else verdict.sure, pa.bool_())])
    return (
        table.take(pa.array(numbers, pa.int64())),
        Choice() if exact else choice(state.groups, is_shown, verdict),
    )


def _sort_key(
    request: Request, state: State, estimates: Mapping[Requested, Estimates], column: SortColumn
) -> SortKey:
    values: Sequence[Any]
    if column.name in request.groups:
        at = request.groups.index(column.name)
        values = [group[at] for group in state.groups]
    else:
        values = estimated_values(state, estimates[request.aggregates[column.name]])
    return SortKey(values, column.ascending, column.nulls_first)


def _exact(rows: ScanRows, request: Request, confidence: float) -> tuple[State, dict[Requested, Estimates]]:
    state, known = rows.read_all()
    found: dict[Requested, Estimates] = {}
    for each in dict.fromkeys(rows.requested):
        limit = rows.limits.exact_below.get(each, np.inf)
        if each in known:
            found[each] = _known_exactly(each, state, known[each])
            is_lost = each.kind == "sum" and bool(
                (largest_sum(state, found[each], 1.0) * HEAD_ROOM >= limit).any()
            )
        else:
            found[each] = estimate(state, each, 1.0, confidence, rows.known)
            is_lost = is_rounded(state, found[each], 1.0, limit)
        if is_lost:
            column = request.sources[each.columns[0]].column
            if (np.abs(found[each].value) >= rows.limits.overflows_at.get(each, np.inf)).any():
                raise UnsupportedError(
                    f"the sum of {column!r} is beyond 64 bits, in which Spark adds whole numbers up: sum "
                    "doubles or decimals made of them, in a query on Spark"
                )
            raise UnsupportedError(
                f"the exact {each.kind} of {column!r} has more digits than the doubles that a scan "
                "computes with: take it from Scan.to_arrow(), or ask for an estimate with a larger error"
            )
    return state, found


def _known_exactly(aggregate: Aggregate, state: State, values: Mapping[Group, FloatArray]) -> Estimates:
    found = np.array([values[group][0] if group in values else np.nan for group in state.groups])
    status = np.full(len(found), Status.EXACT, np.int8)
    zeros = np.zeros(len(found))
    return Estimates(aggregate, found, found, found, status, zeros, zeros, zeros)


def _table(request: Request, state: State, by_aggregate: Mapping[Requested, Estimates]) -> pa.Table:
    columns: dict[str, pa.Array] = {}
    for at, name in enumerate(request.groups):
        columns[name] = pa.array([group[at] for group in state.groups], request.schema.field(name).type)
    for name, aggregate in request.aggregates.items():
        found = by_aggregate[aggregate]
        value, low, high = (
            known_numbers(state, found, values) for values in (found.value, found.low, found.high)
        )
        kind = request.value_type(aggregate)
        bound_kind = kind if aggregate.kind in EXTREMES else pa.float64()
        columns[name] = _typed(value, kind)
        # Bounds stay doubles: as whole numbers they could be rounded to the wrong side.
        columns[name + LOW], columns[name + HIGH] = _typed(low, bound_kind), _typed(high, bound_kind)
    return pa.table(columns)


def _typed(values: Sequence[float | None], kind: pa.DataType) -> pa.Array:
    """Numbers in a column's type: days since 1970 as dates, microseconds as timestamps."""
    if pa.types.is_floating(kind):
        return pa.array(values, pa.float64()).cast(kind, safe=False)
    if pa.types.is_decimal(kind):
        # The largest decimals are below the doubles next to them.
        first, last = (Decimal((sign, (9,) * kind.precision, -kind.scale)) for sign in (1, 0))
        numbers = (None if value is None else _decimal(value, kind.scale) for value in values)
        return pa.array([None if each is None else max(first, min(last, each)) for each in numbers], kind)
    if pa.types.is_date(kind):
        return pa.array([None if value is None else round(value) for value in values], pa.int32()).view(kind)
    most = 2 ** (kind.bit_width - 1) - 1
    whole = [None if value is None else max(-most - 1, min(most, round(value))) for value in values]
    if pa.types.is_integer(kind):
        return pa.array(whole, kind)
    return pa.array([None if value is None else in_calendar(value) for value in whole], pa.int64()).view(kind)


def _decimal(value: float, scale: int) -> Decimal:
    return Decimal(f"{value:.{max(scale, 0)}f}")
