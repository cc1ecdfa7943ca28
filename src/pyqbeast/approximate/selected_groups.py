"""What a query keeps of its groups (`HAVING`, `ORDER BY … LIMIT`), in terms of its estimates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyqbeast.approximate.estimate import Estimates, Requested, State, has_rows
from pyqbeast.approximate.estimate.selection import (
    Comparison,
    Condition,
    Junction,
    Negation,
    Selection,
)
from pyqbeast.approximate.partial_aggregates import PartialAggregates
from pyqbeast.bridge.aggregate_query import AggregateQuery, Order


def selection_of(query: AggregateQuery, partial: PartialAggregates) -> Selection | None:
    """What a query keeps; None for a query that keeps all groups."""
    if not query.keeps_some:
        return None
    having = None if query.having is None else _condition(query.having, partial)
    if query.limit is None:
        return Selection(having)
    order = query.order[0]
    return Selection(
        having, _requested(order.output, partial), order.ascending, order.nulls_first, query.limit
    )


def _condition(stored: list[Any], partial: PartialAggregates) -> Condition:
    sign, *rest = stored
    if sign == "not":
        return Negation(_condition(rest[0], partial))
    if sign in ("and", "or"):
        return Junction(sign, _condition(rest[0], partial), _condition(rest[1], partial))
    return Comparison(_requested(rest[0], partial), sign, float(rest[1]))


def _requested(ordinal: int, partial: PartialAggregates) -> Requested:
    requested = partial.aggregates[ordinal]
    assert requested is not None
    return requested


def first_groups(
    query: AggregateQuery,
    partial: PartialAggregates,
    state: State,
    estimates: Mapping[Requested, Estimates],
    kept: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Which of the kept groups [group] are shown: the first by their estimates, as many as the query takes."""
    if query.limit is None:
        return kept
    groups = np.flatnonzero(kept).tolist()
    # The sort is stable, so that the last order comes first.
    for order in reversed(query.order):
        values = dict(zip(groups, _values(order, query, partial, state, estimates, groups), strict=True))
        nulls = [group for group in groups if values[group] is None]
        others = [group for group in groups if values[group] is not None]
        others.sort(key=lambda group: _sortable(values[group]), reverse=not order.ascending)
        groups = nulls + others if order.nulls_first else others + nulls
    return np.isin(np.arange(len(kept)), groups[: query.limit])


def _values(
    order: Order,
    query: AggregateQuery,
    partial: PartialAggregates,
    state: State,
    estimates: Mapping[Requested, Estimates],
    groups: list[int],
) -> Iterator[Any]:
    requested, at = partial.aggregates[order.output], query.outputs[order.output].group
    if requested is None:
        assert at is not None
        yield from (state.groups[group][at] for group in groups)
    else:
        values, is_set = estimates[requested].value, has_rows(state, requested)
        yield from (float(values[group]) if is_set[group] else None for group in groups)


def _sortable(value: Any) -> tuple[bool, Any]:  # noqa: ANN401 (a value of a row)
    """NaN is the largest number, as in Spark."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan, 0.0 if is_nan else value
