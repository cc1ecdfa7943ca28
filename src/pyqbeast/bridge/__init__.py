"""The Python side of the JVM bridge: one small typed function or class for each thing that only the JVM can do.

Private APIs of Spark and Delta are used here and in the Java bridge, nowhere else.
"""

from pyqbeast.bridge.columns import coordinate_of, date_milliseconds, is_midnight, midnight_of, row_weight
from pyqbeast.bridge.frames import (
    arrow_table,
    frame_of,
    grouped,
    local_frame,
    named_as,
    parquet_frame,
    query_frame,
    simple_types,
)
from pyqbeast.bridge.jvm import handed_over, java
from pyqbeast.bridge.layout import OUTSIDE, arranged, read_cube, sample_to
from pyqbeast.bridge.query_scans import ScanTotals, scan_totals
from pyqbeast.bridge.table_log import NO_VERSION, TableLog, change_table, field_in_statistics, name_parts
from pyqbeast.bridge.transaction import Transaction, WrittenBlock, WrittenFile

__all__ = [
    "NO_VERSION",
    "OUTSIDE",
    "ScanTotals",
    "TableLog",
    "Transaction",
    "WrittenBlock",
    "WrittenFile",
    "arranged",
    "arrow_table",
    "change_table",
    "coordinate_of",
    "date_milliseconds",
    "field_in_statistics",
    "frame_of",
    "grouped",
    "handed_over",
    "is_midnight",
    "java",
    "local_frame",
    "midnight_of",
    "name_parts",
    "named_as",
    "parquet_frame",
    "query_frame",
    "read_cube",
    "row_weight",
    "sample_to",
    "scan_totals",
    "simple_types",
]
