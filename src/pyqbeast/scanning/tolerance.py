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
    estimate,
    has_rows,
)
from pyqbeast.approximate.estimate.formulas import COUNTS
from pyqbeast.approximate.estimate.limit import Limit
from pyqbeast.approximate.estimate.outcome import (
    EXTREMES,
    HIGH,
    LOW,
    SHOWN_ROWS,
    Outcome,
    Reading,
    known_numbers,
    worth_of,
)
from pyqbeast.approximate.estimate.state import FloatArray, Group
from pyqbeast.approximate.steps.loop import read_until
from pyqbeast.approximate.steps.progress import Progress
from pyqbeast.scanning.aggregates import Request
from pyqbeast.scanning.scan_rows import ScanRows


@dataclass(frozen=True, kw_only=True)
class ScanEstimate(Outcome):
    """Aggregates from a part of a table's rows, with what they are worth. `str()` tells a person.

    Attributes:
        table: the groups, and after each estimate `value` its bounds `value_low` and `value_high`. Counts, and sums of
            whole numbers, are whole numbers; smallest and largest values have the type of their column; all others and
            all other bounds are doubles. Null where there is none.
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
    rows: ScanRows, request: Request, goal: Goal | None, limit: Limit, confidence: float
) -> ScanEstimate:
    """The aggregates within a goal and a limit; exactly where there is neither, or where a sample would not do."""
    progress = Progress(rows)
    by_aggregate = read_until(progress, goal, limit, confidence)
    if by_aggregate is None:
        state, by_aggregate = _exact(rows, confidence)
        steps, fraction = (*progress.readings, Reading(0.0, 1.0, progress.exact_bytes)), 1.0
        groups = Completeness(complete=True) if request.groups else None
    else:
        state, steps, fraction = progress.state, tuple(progress.readings), progress.fraction
        groups = progress.completeness(confidence)
    return ScanEstimate(
        table=_table(request, state, by_aggregate),
        fraction=fraction,
        exact=fraction >= 1,
        bytes_read=sum(step.bytes for step in steps),
        exact_bytes=progress.exact_bytes,
        steps=steps,
        confidence=confidence,
        worth={name: worth_of(by_aggregate[each]) for name, each in request.aggregates.items()},
        groups=groups,
    )


def _exact(rows: ScanRows, confidence: float) -> tuple[State, dict[Requested, Estimates]]:
    state, percentiles = rows.read_all()
    found: dict[Requested, Estimates] = {}
    for each in dict.fromkeys(rows.requested):
        if each in percentiles:
            found[each] = _exact_percentile(each, state, percentiles[each])
        else:
            found[each] = estimate(state, each, 1.0, confidence, rows.known)
    return state, found


def _exact_percentile(aggregate: Aggregate, state: State, values: Mapping[Group, FloatArray]) -> Estimates:
    found = np.array([values[group][0] if group in values else np.nan for group in state.groups])
    status = np.full(len(found), Status.EXACT, np.int8)
    zeros = np.zeros(len(found))
    return Estimates(aggregate, found, found, found, status, zeros, zeros)


def _table(request: Request, state: State, by_aggregate: Mapping[Requested, Estimates]) -> pa.Table:
    columns: dict[str, pa.Array] = {}
    for at, name in enumerate(request.groups):
        columns[name] = pa.array([group[at] for group in state.groups], request.schema.field(name).type)
    for name, aggregate in request.aggregates.items():
        found = by_aggregate[aggregate]
        is_set = has_rows(state, aggregate)
        value, low, high = (
            known_numbers(values, aggregate.kind, is_set, found.value)
            for values in (found.value, found.low, found.high)
        )
        kind = _value_type(request, aggregate)
        bound_kind = kind if aggregate.kind in EXTREMES else pa.float64()
        columns[name] = _typed(value, kind)
        # Bounds stay doubles: as whole numbers they could be rounded to the wrong side.
        columns[name + LOW], columns[name + HIGH] = _typed(low, bound_kind), _typed(high, bound_kind)
    return pa.table(columns)


def _value_type(request: Request, aggregate: Aggregate) -> pa.DataType:
    if aggregate.kind in COUNTS:
        return pa.int64()
    of = request.sources[aggregate.columns[0]].type
    if aggregate.kind in EXTREMES:
        return of
    return pa.int64() if aggregate.kind == "sum" and pa.types.is_integer(of) else pa.float64()


def _typed(values: Sequence[float | None], kind: pa.DataType) -> pa.Array:
    """Numbers in a column's type: days since 1970 as dates, microseconds as timestamps."""
    if pa.types.is_floating(kind):
        return pa.array(values, pa.float64()).cast(kind, safe=False)
    if pa.types.is_decimal(kind):
        return pa.array([_decimal(value, kind) for value in values], kind)
    whole: list[Any] = [None if value is None else round(value) for value in values]
    if pa.types.is_integer(kind):
        return pa.array(whole, kind)
    return pa.array(whole, pa.int32() if pa.types.is_date(kind) else pa.int64()).view(kind)


def _decimal(value: float | None, kind: pa.DataType) -> Decimal | None:
    return None if value is None else Decimal(f"{value:.{max(kind.scale, 0)}f}")
