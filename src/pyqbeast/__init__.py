"""Multi-dimensionally indexed Delta Lake tables for PySpark."""

from pyqbeast.approximate.answer import Estimate
from pyqbeast.approximate.tolerance import refine, tolerance
from pyqbeast.bridge import python_callbacks as _writers
from pyqbeast.bridge.session import attach, configure
from pyqbeast.bridge.session import when_attached as _when_attached
from pyqbeast.core.errors import (
    CommitConflictError,
    ExecutionError,
    FormatError,
    InvalidInputError,
    NotIndexedError,
    QbeastError,
    SessionError,
    StorageError,
    TableExistsError,
    TableNotFoundError,
    UncertainWriteError,
    UnsupportedError,
)
from pyqbeast.table.convert import convert
from pyqbeast.table.maintain.upgrade import UpgradeReport, upgrade
from pyqbeast.table.qbeast_table import QbeastTable
from pyqbeast.table.sql_functions import answer as _answer
from pyqbeast.table.write.quantiles import compute_quantiles_for_column
from pyqbeast.table.write.writer import configuration as _configuration
from pyqbeast.table.write.writer import write as _write
from pyqbeast.tiledb.spark.data_source import register as _register_tiledb

__version__ = "0.1.0"

__all__ = [
    "CommitConflictError",
    "Estimate",
    "ExecutionError",
    "FormatError",
    "InvalidInputError",
    "NotIndexedError",
    "QbeastError",
    "QbeastTable",
    "SessionError",
    "StorageError",
    "TableExistsError",
    "TableNotFoundError",
    "UncertainWriteError",
    "UnsupportedError",
    "UpgradeReport",
    "__version__",
    "attach",
    "compute_quantiles_for_column",
    "configure",
    "convert",
    "refine",
    "tolerance",
    "upgrade",
]

_writers.set_functions(_write, _configuration, _answer)
_when_attached(_register_tiledb)
