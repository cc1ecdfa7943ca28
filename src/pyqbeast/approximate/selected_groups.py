"""What a query keeps of its groups (`HAVING`, `ORDER BY … LIMIT`), in terms of its estimates."""

from __future__ import annotations

from typing import Any

from pyqbeast.approximate.estimate import Requested
from pyqbeast.approximate.requested_aggregates import RequestedAggregates
from pyqbeast.approximate.selection import (
    Comparison,
    Condition,
    Junction,
    Negation,
    Selection,
    SortedBy,
)
from pyqbeast.bridge.aggregate_query import AggregateQuery, Order


def selection_of(query: AggregateQuery, aggregates: RequestedAggregates) -> Selection | None:
    """What a query keeps; None for a query that keeps all groups."""
    if not query.keeps_some:
        return None
    having = None if query.having is None else _condition(query.having, aggregates)
    if query.limit is None:
        return Selection(having)
    return Selection(having, tuple(_sorted_by(each, query, aggregates) for each in query.order), query.limit)


def _sorted_by(order: Order, query: AggregateQuery, aggregates: RequestedAggregates) -> SortedBy:
    group = query.outputs[order.output].group
    by = _requested(order.output, aggregates) if group is None else group
    return SortedBy(by, order.ascending, order.nulls_first, order.rounding)


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
