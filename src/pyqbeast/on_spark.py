"""The public names that run on Spark, and the parts put together that do not know of each other.

The bridge learns here who writes and who answers, and that sessions get the TileDB source.
"""

from pyqbeast.approximate.answer import Estimate
from pyqbeast.approximate.tolerance import refine, tolerance
from pyqbeast.bridge import python_callbacks, session
from pyqbeast.bridge.session import attach, configure
from pyqbeast.table import sql_functions
from pyqbeast.table.convert import convert
from pyqbeast.table.maintain.upgrade import UpgradeReport, upgrade
from pyqbeast.table.qbeast_table import QbeastTable
from pyqbeast.table.write import writer
from pyqbeast.table.write.quantiles import compute_quantiles_for_column
from pyqbeast.tiledb.spark import data_source

__all__ = [
    "Estimate",
    "QbeastTable",
    "UpgradeReport",
    "attach",
    "compute_quantiles_for_column",
    "configure",
    "convert",
    "refine",
    "tolerance",
    "upgrade",
]

python_callbacks.set_functions(writer.write, writer.configuration, sql_functions.answer)
session.when_attached(data_source.register)
