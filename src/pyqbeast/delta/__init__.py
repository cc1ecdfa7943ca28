"""The public door to Delta's log and deletion vectors, which need no JVM.

What it hands out lives in `pyqbeast.delta_log` and `pyqbeast.deletion_vectors`.
"""

from pyqbeast.deletion_vectors.reports import rows_report, table_report
from pyqbeast.deletion_vectors.table import FileVector, deleted_rows, file_vectors
from pyqbeast.deletion_vectors.vector import DeletionVector, write_vectors
from pyqbeast.delta_log.descriptor import DeletionVectorDescriptor
from pyqbeast.delta_log.diagnosis import Diagnosis, diagnose
from pyqbeast.delta_log.reader import Snapshot, read_snapshot

__all__ = [
    "DeletionVector",
    "DeletionVectorDescriptor",
    "Diagnosis",
    "FileVector",
    "Snapshot",
    "deleted_rows",
    "diagnose",
    "file_vectors",
    "read_snapshot",
    "rows_report",
    "table_report",
    "write_vectors",
]
