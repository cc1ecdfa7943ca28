"""`SELECT … FROM qbeast_estimate('SELECT …', 0.01)`: `tolerance` from SQL, for clients that have nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pyqbeast import bridge
from pyqbeast.approximate.tolerance import tolerance
from pyqbeast.core.errors import InvalidInputError


def estimate(spark: SparkSession, arguments: Mapping[str, Any]) -> DataFrame:
    """The rows that SQL gets.

    Args:
        spark: the session that asks.
        arguments: `query`, and what `tolerance` takes by these names: `error`, `confidence`, `budget`,
            `smallest_group`.

    Raises:
        InvalidInputError: `query` is no text.
        QbeastError: what `tolerance` raises.
    """
    query = arguments["query"]
    if not isinstance(query, str):
        raise InvalidInputError(
            "qbeast_estimate needs a constant text that is a query; after it may come the error, the confidence, "
            "the budget and the smallest group"
        )
    given = {name: value for name, value in arguments.items() if name != "query" and value is not None}
    return tolerance(bridge.query_frame(spark, query), **given).df
