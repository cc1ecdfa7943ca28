"""Multi-dimensionally indexed Delta Lake tables for PySpark."""

from pyqbeast.core.errors import (
    CommitConflictError,
    FormatError,
    InvalidInputError,
    NotIndexedError,
    QbeastError,
    SessionError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedError,
)
from pyqbeast.delta import writers as _writers
from pyqbeast.delta.session import attach, configure
from pyqbeast.delta.session import when_attached as _when_attached
from pyqbeast.table.answer import Estimate
from pyqbeast.table.qbeast_table import QbeastTable
from pyqbeast.table.tolerance import refine, tolerance
from pyqbeast.table.write import write as _write
from pyqbeast.tiledb.spark import register as _register_tiledb

__version__ = "0.1.0"

__all__ = [
    "CommitConflictError",
    "Estimate",
    "FormatError",
    "InvalidInputError",
    "NotIndexedError",
    "QbeastError",
    "QbeastTable",
    "SessionError",
    "TableExistsError",
    "TableNotFoundError",
    "UnsupportedError",
    "__version__",
    "attach",
    "configure",
    "refine",
    "tolerance",
]

_writers.set_write_function(_write)
_when_attached(_register_tiledb)
