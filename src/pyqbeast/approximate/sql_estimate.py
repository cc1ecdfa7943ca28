"""`SELECT … FROM qbeast_estimate('SELECT …', 0.01)`: `tolerance` from SQL, for clients that have nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pyqbeast import bridge
from pyqbeast.approximate.tolerance import schema_of_answer, tolerance
from pyqbeast.bridge.python_callbacks import BoundQuestion
from pyqbeast.core.errors import InvalidInputError


def bind(spark: SparkSession, arguments: Mapping[str, Any]) -> BoundQuestion:
    """The query with the tables that its text names now, and what the rows of its answer are like. It reads no rows.

    Args:
        spark: the session that asks.
        arguments: `query`, and what `tolerance` takes by these names: `error`, `confidence`, `budget`,
            `smallest_group`.

    Raises:
        InvalidInputError: `query` is no text.
        QbeastError: what `tolerance` raises before it reads rows.
    """
    query = _query(spark, arguments)
    given = _given(arguments)
    return BoundQuestion(schema_of_answer(query, **given), query, {**given, "query": query})


def estimate(arguments: Mapping[str, Any]) -> DataFrame:
    """The rows that SQL gets.

    Args:
        arguments: as `bind` gives them.

    Raises:
        QbeastError: what `tolerance` raises.
    """
    return tolerance(arguments["query"], **_given(arguments)).df


def _query(spark: SparkSession, arguments: Mapping[str, Any]) -> DataFrame:
    query = arguments["query"]
    if not isinstance(query, str):
        raise InvalidInputError(
            "qbeast_estimate needs a constant text that is a query; after it may come the error, the confidence, "
            "the budget and the smallest group"
        )
    return bridge.query_frame(spark, query)


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name != "query" and value is not None}
