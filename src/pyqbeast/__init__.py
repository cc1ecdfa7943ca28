"""Multi-dimensionally indexed Delta Lake tables for PySpark.

Names that run on Spark are imported when they are first asked for: `pyqbeast.core`, `pyqbeast.delta`,
`pyqbeast.plot`, `pyqbeast.polars`, `pyqbeast.scan` and `pyqbeast.tiledb` work without Spark, and importing one of them
runs this file.
"""

import importlib
from typing import TYPE_CHECKING

from pyqbeast.core.errors import (
    CommitConflictError,
    ExecutionError,
    FormatError,
    InvalidInputError,
    MissingPackageError,
    NotIndexedError,
    QbeastError,
    SessionError,
    StorageError,
    TableExistsError,
    TableNotFoundError,
    UncertainWriteError,
    UnsupportedError,
)
from pyqbeast.core.extras import is_installed, of_extra
from pyqbeast.spark_versions import BUILT_FOR, NEWEST, SPARK_VERSIONS, minor

if TYPE_CHECKING:
    from pyqbeast import core as core
    from pyqbeast import delta as delta
    from pyqbeast import plot as plot
    from pyqbeast import polars as polars
    from pyqbeast import tiledb as tiledb
    from pyqbeast.core.otree.metrics import IndexMetrics
    from pyqbeast.core.revisions.revision import Revision
    from pyqbeast.on_spark import (
        CleanReport,
        Estimate,
        Explanation,
        OptimizeResult,
        QbeastTable,
        RepairReport,
        UpgradeReport,
        attach,
        compute_quantiles_for_column,
        configure,
        convert,
        explain,
        refine,
        tolerance,
        upgrade,
    )
    from pyqbeast.scanning.scan import Scan, scan
    from pyqbeast.scanning.scan_plan import ScannedFile
    from pyqbeast.scanning.tolerance import ScanEstimate
    from pyqbeast.verification.report import VerifyReport

__version__ = "0.1.0"

__all__ = [
    "CleanReport",
    "CommitConflictError",
    "Estimate",
    "ExecutionError",
    "Explanation",
    "FormatError",
    "IndexMetrics",
    "InvalidInputError",
    "MissingPackageError",
    "NotIndexedError",
    "OptimizeResult",
    "QbeastError",
    "QbeastTable",
    "RepairReport",
    "Revision",
    "Scan",
    "ScanEstimate",
    "ScannedFile",
    "SessionError",
    "StorageError",
    "TableExistsError",
    "TableNotFoundError",
    "UncertainWriteError",
    "UnsupportedError",
    "UpgradeReport",
    "VerifyReport",
    "__version__",
    "attach",
    "compute_quantiles_for_column",
    "configure",
    "convert",
    "explain",
    "refine",
    "scan",
    "tolerance",
    "upgrade",
]

#: Packages that are public too.
_DOORS = ("core", "delta", "plot", "polars", "tiledb")
#: Names that need no Spark, and where they live.
_WITHOUT_SPARK = {
    "IndexMetrics": "core.otree.metrics",
    "Revision": "core.revisions.revision",
    "Scan": "scanning.scan",
    "ScanEstimate": "scanning.tolerance",
    "ScannedFile": "scanning.scan_plan",
    "VerifyReport": "verification.report",
    "scan": "scanning.scan",
}
#: What every PySpark has but that of `pyspark-client`, and those that are too old.
_OF_CLASSIC = "pyspark.sql.classic"

# A type checker sees the imports above, and so knows which names there are not.
if not TYPE_CHECKING:
    # A star takes what can be had. Python asks `__getattr__` for the list, as it does for each name on it.
    _NAMES = __all__
    del __all__

    def __getattr__(name):  # noqa: ANN001, ANN202
        if name == "__all__":
            return sorted({*_NAMES} & {*__dir__()})
        if name in _DOORS:
            return importlib.import_module(f"pyqbeast.{name}")
        if name in _WITHOUT_SPARK:
            return getattr(importlib.import_module(f"pyqbeast.{_WITHOUT_SPARK[name]}"), name)
        if name in _NAMES:
            pyspark = of_extra("spark", "pyspark", f"pyqbeast.{name} and all else that runs on Spark")
            if minor(pyspark.__version__) not in SPARK_VERSIONS:  # others lack modules that are imported now
                raise SessionError(
                    f"{BUILT_FOR}, and finds PySpark {pyspark.__version__}; install pyspark=={NEWEST}.*"
                )
            if not is_installed(_OF_CLASSIC):
                raise SessionError(
                    f"this PySpark is a client of Spark Connect, and pyqbeast.{name} works where Spark's driver runs: "
                    "there, pip install 'pyqbeast[spark]' without pyspark-client. A client samples, writes and asks in "
                    "SQL with nothing of pyqbeast; for TileDB arrays it calls pyqbeast.tiledb.spark.register"
                )
            return getattr(importlib.import_module("pyqbeast.on_spark"), name)
        raise AttributeError(f"module 'pyqbeast' has no attribute {name!r}")

    def __dir__():  # noqa: ANN202
        # help() and inspect ask for each name that is listed, and take no error but AttributeError.
        shown = _NAMES if is_installed("pyspark") and is_installed(_OF_CLASSIC) else _WITHOUT_SPARK
        return sorted({*globals(), *shown, *_DOORS})
