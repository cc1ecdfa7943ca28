"""The public names that run on Spark, and the parts put together that do not know of each other.

The bridge learns here who writes and who answers, and that sessions get the TileDB source.
"""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pyqbeast.approximate import sql_estimate
from pyqbeast.approximate.answer import Estimate as Estimate
from pyqbeast.approximate.tolerance import refine as refine
from pyqbeast.approximate.tolerance import tolerance as tolerance
from pyqbeast.bridge import python_callbacks, session
from pyqbeast.bridge.session import attach as attach
from pyqbeast.bridge.session import configure as configure
from pyqbeast.core.explanation.explanation import Explanation as Explanation
from pyqbeast.table import sql_functions
from pyqbeast.table.convert import convert as convert
from pyqbeast.table.explain import explain as explain
from pyqbeast.table.maintain.clean import CleanReport as CleanReport
from pyqbeast.table.maintain.optimize import OptimizeResult as OptimizeResult
from pyqbeast.table.maintain.repair import RepairReport as RepairReport
from pyqbeast.table.maintain.upgrade import UpgradeReport as UpgradeReport
from pyqbeast.table.maintain.upgrade import upgrade as upgrade
from pyqbeast.table.qbeast_table import QbeastTable as QbeastTable
from pyqbeast.table.write import writer
from pyqbeast.table.write.quantiles import compute_quantiles_for_column as compute_quantiles_for_column
from pyqbeast.tiledb.spark import data_source


def _bind(
    spark: SparkSession, question: str, arguments: Mapping[str, Any]
) -> python_callbacks.BoundQuestion | None:
    if question == "estimate":
        return sql_estimate.bind(spark, arguments)
    return sql_functions.bind(spark, question, arguments)


def _answer(spark: SparkSession, question: str, arguments: Mapping[str, Any]) -> DataFrame:
    if question == "estimate":
        return sql_estimate.estimate(arguments)
    return sql_functions.answer(spark, question, arguments)


python_callbacks.set_functions(writer.write, writer.configuration, _bind, _answer)
session.when_attached(data_source.register)
