"""`SELECT … FROM qbeast_estimate('SELECT …', 0.01)`: `tolerance` from SQL, for clients that have nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from pyqbeast import bridge
from pyqbeast.approximate.tolerance import schema_of_answer, tolerance
from pyqbeast.core.errors import InvalidInputError


def schema(spark: SparkSession, arguments: Mapping[str, Any]) -> StructType:
    """What the rows of `estimate` are like; its arguments. No job runs.

    Raises:
        InvalidInputError: as `estimate` does.
        QbeastError: what `tolerance` raises before it reads rows.
    """
    return schema_of_answer(_query(spark, arguments), **_given(arguments))


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
    return tolerance(_query(spark, arguments), **_given(arguments)).df


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
