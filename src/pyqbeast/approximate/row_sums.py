"""Sums of rows by group and bucket, as Spark computes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pyqbeast import bridge
from pyqbeast.approximate.estimate import Moment, State, StateAxes, about_centres, squared_columns
from pyqbeast.approximate.estimate.state import Group, group_key, group_values
from pyqbeast.approximate.expressions import literal, when
from pyqbeast.approximate.requested_aggregates import RequestedAggregates


def numbers_of(frame: DataFrame, aggregates: RequestedAggregates) -> DataFrame:
    """The rows with their groups, bucket and numbers only."""
    return frame.selectExpr(
        *aggregates.groups, "bucket", *(f"{value} AS {name}" for name, value in aggregates.columns.items())
    )


def state_of(numbers: DataFrame, aggregates: RequestedAggregates, axes: StateAxes) -> State:
    """The state of rows of `numbers_of`; with thresholds, if the axes have percentiles. One Spark job.

    Where the axes have no centres yet, the rows tell them.
    """
    has_centres = bool(axes.centres) or not squared_columns(axes)
    sums = [_sum(moment, aggregates, axes, has_centres=has_centres) for moment in axes.moments]
    lows = [f"coalesce(min({name}), {literal(np.nan)})" for name in axes.columns]
    highs = [f"coalesce(max({name}), {literal(-np.inf)})" for name in axes.columns]
    computed = [F.expr(f"CAST({value} AS DOUBLE) AS v{i}") for i, value in enumerate((*sums, *lows, *highs))]
    table = bridge.arrow_table(bridge.grouped(numbers, [*aggregates.groups, "bucket"], *computed))
    if not table.num_rows:
        return State.empty(axes, [] if aggregates.groups else [()])
    values = np.array([_column_array(table, f"v{i}") for i in range(len(computed))])
    parts = [part.T for part in np.split(values, np.cumsum([len(sums), len(lows)]))]
    buckets = _column_array(table, "bucket").astype(np.int64)
    if not has_centres:
        axes, parts[0] = about_centres(axes, parts[0])
    return State.from_rows(axes, group_keys(table, aggregates.groups), buckets, *parts)


def group_keys(table: pa.Table, groups: Sequence[str]) -> list[Group]:
    """The key of each row's group."""
    if not groups:
        return [()] * table.num_rows
    instead = "group by a text or number made of it, or pass exact=True"
    values = (group_values(table.column(name), f"number {at}", instead) for at, name in enumerate(groups, 1))
    return [group_key(each) for each in zip(*values, strict=True)]


def _sum(moment: Moment, aggregates: RequestedAggregates, axes: StateAxes, *, has_centres: bool) -> str:
    if not moment.columns:
        return "count(1)"
    if moment.at_most is not None:
        p, entry = moment.at_most
        number = next(
            k
            for k, each in enumerate(aggregates.percentiles)
            if (each.p, each.columns) == (p, moment.columns)
        )
        return f"count({when(f'{moment.columns[0]} <= t{number}[{entry}]')})"
    if moment.distinct:
        return f"count(DISTINCT {', '.join(moment.columns)})"
    are_set = " AND ".join(f"{name} IS NOT NULL" for name in moment.columns)
    if not any(moment.powers):
        return f"count({when(are_set)})"
    if not has_centres and sum(moment.powers) > 1:
        # Spark's own moments about the mean lose nothing to rounding.
        first, *others = [
            name for name, p in zip(moment.columns, moment.powers, strict=True) for _ in range(p)
        ]
        of = f"var_pop({when(are_set, first)})"
        if others != [first]:
            of = f"covar_pop({when(are_set, first)}, {when(are_set, others[0])})"
        return f"coalesce({of} * count({when(are_set)}), 0.0D)"
    factors = [
        f"({name} - {literal(axes.centres.get(name, 0.0))})"
        for name, power in zip(moment.columns, moment.powers, strict=True)
        for _ in range(power)
    ]
    return f"coalesce(sum({when(are_set, ' * '.join(factors))}), 0.0D)"


def _column_array(table: pa.Table, name: str) -> NDArray[np.float64]:
    """A column of numbers; NaN for null."""
    return np.asarray(table.column(name).to_numpy(), dtype=np.float64)
