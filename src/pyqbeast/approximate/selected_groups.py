"""What a query keeps of its groups (`HAVING`, `ORDER BY … LIMIT`), in terms of its estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyqbeast.approximate.estimate import Estimates, Requested, State
from pyqbeast.approximate.estimate.selection import (
    Comparison,
    Condition,
    Junction,
    Negation,
    Selection,
    SortKey,
    estimated_values,
    sorted_groups,
)
from pyqbeast.approximate.requested_aggregates import RequestedAggregates
from pyqbeast.bridge.aggregate_query import AggregateQuery, Order


def selection_of(query: AggregateQuery, aggregates: RequestedAggregates) -> Selection | None:
    """What a query keeps; None for a query that keeps all groups."""
    if not query.keeps_some:
        return None
    having = None if query.having is None else _condition(query.having, aggregates)
    if query.limit is None:
        return Selection(having)
    order = query.order[0]
    return Selection(
        having,
        _requested(order.output, aggregates),
        order.ascending,
        order.nulls_first,
        query.limit,
        order.rounding,
    )


def _condition(stored: list[Any], aggregates: RequestedAggregates) -> Condition:
    sign, *rest = stored
    if sign == "not":
        return Negation(_condition(rest[0], aggregates))
    if sign in ("and", "or"):
        return Junction(sign, _condition(rest[0], aggregates), _condition(rest[1], aggregates))
    ordinal, than = rest
    other = _requested(than[1], aggregates) if isinstance(than, list) else float(than)
    return Comparison(_requested(ordinal, aggregates), sign, other)


def _requested(ordinal: int, aggregates: RequestedAggregates) -> Requested:
    requested = aggregates.of_outputs[ordinal]
    assert requested is not None
    return requested


def first_groups(
    query: AggregateQuery,
    aggregates: RequestedAggregates,
    state: State,
    estimates: Mapping[Requested, Estimates],
    kept: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Which of the kept groups [group] are shown: the first by their estimates, as many as the query takes."""
    if query.limit is None:
        return kept

    def values(order: Order) -> Sequence[Any]:
        at = query.outputs[order.output].group
        if at is not None:
            return [group[at] for group in state.groups]
        return estimated_values(state, estimates[_requested(order.output, aggregates)], order.rounding)

    keys = [SortKey(values(each), each.ascending, each.nulls_first) for each in query.order]
    return np.isin(np.arange(len(kept)), sorted_groups(keys, kept)[: query.limit])
