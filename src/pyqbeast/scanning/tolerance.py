"""`Scan.tolerance`: aggregates within a stated error, as an Arrow table with bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
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
from pyqbeast.approximate.estimate.choice import Choice
from pyqbeast.approximate.estimate.limit import Limit
from pyqbeast.approximate.estimate.outcome import HIGH, LOW, SHOWN_ROWS, SURE, Outcome, Reading, worth_of
from pyqbeast.approximate.estimate.rounding import (
    EXTREMES,
    in_calendar,
    known_numbers,
    shown_bounds,
)
from pyqbeast.approximate.estimate.state import FloatArray, Mask
from pyqbeast.approximate.selection import (
    SortKey,
    Verdict,
    choice,
    estimated_values,
    nulls_of,
    sorted_groups,
    verdict_of,
)
from pyqbeast.approximate.steps.loop import read_until
from pyqbeast.approximate.steps.progress import Progress
from pyqbeast.core.errors import UnsupportedError
from pyqbeast.scanning.aggregates import Request
from pyqbeast.scanning.conditions.sql_text import SortColumn
from pyqbeast.scanning.scan_rows import AllRows, ScanRows
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

    table: pa.Table = field(hash=False)

    def shown_rows(self, most: int | None = SHOWN_ROWS) -> tuple[list[str], list[tuple[object, ...]]]:
        """See `Outcome.shown_rows`."""
        shown = [
            pa.field(each.name, pa.string()) if pa.types.is_temporal(each.type) else each
            for each in self.table.schema
        ]
        rows = self.table.slice(0, most).cast(pa.schema(shown)).to_pylist()
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
        whole, by_aggregate, verdict = _exact(rows, request, kept, confidence)
        state, exact_numbers = whole.state, whole.exact
        steps, fraction = (*progress.readings, Reading(0.0, 1.0, progress.exact_bytes)), 1.0
        is_exact = True
        groups = Completeness(complete=True) if request.groups else None
    else:
        exact_numbers = {}
        state, steps, fraction = progress.state, tuple(progress.readings), progress.fraction
        groups, verdict = progress.completeness(confidence), progress.verdict(confidence)
        is_exact = fraction >= 1 and progress.is_mergeable
    values = _Values(request, state, by_aggregate, exact_numbers)
    table, chosen, shown = _answer(values, kept, verdict, exact=is_exact)
    return ScanEstimate(
        table=table,
        fraction=fraction,
        exact=is_exact,
        bytes_read=sum(step.bytes for step in steps),
        exact_bytes=progress.exact_bytes,
        steps=steps,
        confidence=confidence,
        worth={name: worth_of(by_aggregate[each], shown) for name, each in request.aggregates.items()},
        groups=groups,
        choice=chosen,
    )


def _of_log(rows: ScanRows, count: int, request: Request, kept: Kept, confidence: float) -> ScanEstimate:
    """The number of rows, for which no file has to be opened."""
    state = State.empty(axes_for(rows.requested), [()])
    found: dict[Requested, Estimates] = {
        each: _known_exactly(each, np.array([float(count)])) for each in rows.requested
    }
    table, _, shown = _answer(_Values(request, state, found, {}), kept, None, exact=True)
    return ScanEstimate(
        table=table,
        fraction=1.0,
        exact=True,
        bytes_read=0,
        exact_bytes=0,
        steps=(Reading(0.0, 1.0, 0),),
        confidence=confidence,
        worth={name: worth_of(found[each], shown) for name, each in request.aggregates.items()},
    )


@dataclass(frozen=True)
class _Values:
    """The values of an answer, group by group.

    Attributes:
        request: what is asked for.
        state: what the estimates were made of.
        estimates: by aggregate.
        exact: by aggregate and the number of a group, what no double tells.
    """

    request: Request
    state: State
    estimates: Mapping[Requested, Estimates]
    exact: Mapping[Requested, Mapping[int, Fraction]]

    def sort_key(self, column: SortColumn) -> SortKey:
        """What groups are sorted by."""
        values: Sequence[Any]
        if column.name in self.request.groups:
            at = self.request.groups.index(column.name)
            values = [group[at] for group in self.state.groups]
        else:
            aggregate = self.request.aggregates[column.name]
            doubles = estimated_values(self.state, self.estimates[aggregate])
            values = _with_exact(doubles, self.exact.get(aggregate, {}))
        return SortKey(values, column.ascending, column.nulls_first)

    def table(self) -> pa.Table:
        """The groups, and each estimate with its bounds."""
        columns: dict[str, pa.Array] = {}
        request = self.request
        for at, name in enumerate(request.groups):
            columns[name] = pa.array(
                [group[at] for group in self.state.groups], request.schema.field(name).type
            )
        for name, aggregate in request.aggregates.items():
            found = self.estimates[aggregate]
            value, low, high = (
                known_numbers(self.state, found, values) for values in (found.value, *shown_bounds(found))
            )
            kind, exact = request.value_type(aggregate), self.exact.get(aggregate, {})
            # Bounds of other estimates stay doubles: as whole numbers they could be rounded to the wrong side.
            bound_kind = kind if aggregate.kind in EXTREMES else pa.float64()
            for column, numbers, of in (
                (name, value, kind),
                (name + LOW, low, bound_kind),
                (name + HIGH, high, bound_kind),
            ):
                known = numbers if pa.types.is_floating(of) else _with_exact(numbers, exact)
                columns[column] = _typed(known, of)
        return pa.table(columns)


def _answer(
    values: _Values, kept: Kept, verdict: Verdict | None, *, exact: bool
) -> tuple[pa.Table, Choice | None, Mask]:
    """The groups that are kept, in their order, how sure that choice is, and which groups [group] these are."""
    groups = values.state.groups
    having: Mask = np.ones(len(groups), dtype=bool) if verdict is None else verdict.having
    numbers = sorted_groups([values.sort_key(each) for each in kept.order], having)
    table = values.table()
    if verdict is None or kept.selection is None:
        return table.take(pa.array(numbers, pa.int64())), None, having
    numbers = numbers[: kept.selection.limit]
    is_shown = np.isin(np.arange(len(groups)), numbers)
    # Of groups that are equal the exact answer has any.
    table = table.append_column(SURE, [pa.array(is_shown if exact else verdict.sure, pa.bool_())])
    return (
        table.take(pa.array(numbers, pa.int64())),
        Choice() if exact else choice(groups, is_shown, verdict),
        is_shown,
    )


def _exact(
    rows: ScanRows, request: Request, kept: Kept, confidence: float
) -> tuple[AllRows, dict[Requested, Estimates], Verdict | None]:
    """What all rows tell, as estimates, and which groups are kept by it."""
    whole = rows.read_all()
    found: dict[Requested, Estimates] = {}
    for each in dict.fromkeys(rows.requested):
        if each in whole.doubles:
            known = _known_exactly(each, whole.doubles[each])
            found[each] = _outward(known, whole.exact.get(each, {}), request)
        else:
            found[each] = estimate(whole.state, each, 1.0, confidence, rows.known)
    if kept.selection is None:
        return whole, found, None
    of_rows = whole.state.sums[..., 0].sum(axis=1)
    verdict = verdict_of(
        replace(kept.selection, limit=None),
        found,
        nulls_of(whole.state, found),
        of_rows,
        Completeness(complete=True),
        whole.exact,
    )
    return whole, found, verdict


def _outward(found: Estimates, exact: Mapping[int, Fraction], request: Request) -> Estimates:
    """Exact values with bounds that lie beside those that no double tells."""
    (aggregate,) = found.aggregate.parts
    is_integral = aggregate.kind == "sum" and pa.types.is_integer(request.value_type(aggregate))
    if is_integral and any(not -(2**63) <= each < 2**63 for each in exact.values()):
        column = request.sources[aggregate.columns[0]].column
        raise UnsupportedError(
            f"the sum of {column!r} is beyond 64 bits, in which Spark adds whole numbers up: sum "
            "doubles or decimals made of them, in a query on Spark"
        )
    low, high = found.low.copy(), found.high.copy()
    groups = [group for group, each in exact.items() if each != Fraction(float(found.value[group]))]
    low[groups], high[groups] = (np.nextafter(found.value[groups], end) for end in (-np.inf, np.inf))
    return replace(found, low=low, high=high)


def _known_exactly(aggregate: Aggregate, values: FloatArray) -> Estimates:
    zeros = np.zeros(len(values))
    status = np.full(len(values), Status.EXACT, np.int8)
    return Estimates(aggregate, values, values, values, status, zeros, zeros, zeros)


def _with_exact(
    values: Sequence[float | None], exact: Mapping[int, Fraction]
) -> Sequence[float | Fraction | None]:
    """Values of groups with those that no double tells in their place."""
    return [exact.get(group, value) for group, value in enumerate(values)] if exact else values


def _typed(values: Sequence[float | Fraction | None], kind: pa.DataType) -> pa.Array:
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
    micros = [
        each if each is None or isinstance(value, Fraction) else in_calendar(each)
        for value, each in zip(values, whole, strict=True)
    ]
    return pa.array(micros, pa.int64()).view(kind)


def _decimal(value: float | Fraction, scale: int) -> Decimal:
    if isinstance(value, Fraction):
        return Decimal(f"{round(value * 10**scale)}E-{scale}")
    return Decimal(f"{value:.{max(scale, 0)}f}")
