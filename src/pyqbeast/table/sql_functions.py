"""SQL's questions about an index, answered as frames: `qbeast_blocks`, `qbeast_metrics`, `qbeast_optimize`.

`qbeast_estimate` is in `approximate/sql_estimate.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pyqbeast.bridge.python_callbacks import BoundQuestion
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.otree.metrics import IndexMetrics
from pyqbeast.table.locate import find_path
from pyqbeast.table.maintain.optimize import OptimizeResult
from pyqbeast.table.qbeast_table import QbeastTable

_SIZES = "struct<count: bigint, avg: bigint, stddev: bigint, quartiles: array<bigint>>"
_LEVEL = (
    "struct<depth: int, cube_count: bigint, block_count: bigint, "
    f"cube_element_count: {_SIZES}, avg_weight: double>"
)
#: The SQL type for each Python type of a result's fields.
_SQL_TYPES = {
    "int": "bigint",
    "int | None": "bigint",
    "float": "double",
    "str": "string",
    "SizeStats": _SIZES,
    "tuple[int, ...]": "array<bigint>",
    "tuple[LevelStats, ...]": f"array<{_LEVEL}>",
    "dict[float, float]": "map<string, double>",
}


def bind(spark: SparkSession, question: str, arguments: Mapping[str, Any]) -> BoundQuestion | None:
    """The question about the table that its text names now; the arguments and errors of `answer`.

    None for blocks: these are a query, which runs when it is read.
    """
    table = QbeastTable.for_path(spark, _path(spark, question, arguments))
    if question == "blocks":
        return None
    return BoundQuestion(_row(spark, IndexMetrics, {}).schema, table.df(), {"table": table.path})


def answer(spark: SparkSession, question: str, arguments: Mapping[str, Any]) -> DataFrame:
    """The rows that SQL gets.

    Args:
        spark: the session that asks.
        question: "blocks", "metrics" or "optimize".
        arguments: `table`, a name of the catalog or a path; for "optimize" also `revision` and
            `fraction`.

    Raises:
        InvalidInputError: `table` is no text.
        QbeastError: what `find_path` and the method of the question raise.
    """
    return _ANSWERS[question](spark, QbeastTable(spark, _path(spark, question, arguments)), arguments)


def _path(spark: SparkSession, question: str, arguments: Mapping[str, Any]) -> str:
    path_or_name = str(arguments["table"] or "")
    if not path_or_name:
        raise InvalidInputError(
            f"qbeast_{question} needs a constant text that is the name or the path of an indexed table"
        )
    return find_path(spark, path_or_name)


def _blocks(_: SparkSession, table: QbeastTable, __: Mapping[str, Any]) -> DataFrame:
    return table.blocks()


def _metrics(spark: SparkSession, table: QbeastTable, _: Mapping[str, Any]) -> DataFrame:
    return _row(spark, IndexMetrics, table.metrics().to_dict())


def _optimize(spark: SparkSession, table: QbeastTable, arguments: Mapping[str, Any]) -> DataFrame:
    keywords = {name: value for name, value in arguments.items() if name != "table" and value is not None}
    return _row(spark, OptimizeResult, table.optimize(**keywords).to_dict())


def _row(
    spark: SparkSession, kind: type[IndexMetrics | OptimizeResult], values: Mapping[str, Any]
) -> DataFrame:
    columns = ", ".join(f"{field.name} {_SQL_TYPES[str(field.type)]}" for field in fields(kind))
    text = F.lit(json.dumps(values))
    return spark.range(1).select(F.from_json(text, columns).alias("result")).select("result.*")


_ANSWERS: dict[str, Callable[[SparkSession, QbeastTable, Mapping[str, Any]], DataFrame]] = {
    "blocks": _blocks,
    "metrics": _metrics,
    "optimize": _optimize,
}
