"""What is wrong with a deletion vector, in words that follow its name: readers raise them, and `verify` lists them.

Each rule is a function that gives None where the vector keeps it.
"""

from __future__ import annotations

from pyqbeast.delta_log.descriptor import DeletionVectorDescriptor


def wrong_count(logged: DeletionVectorDescriptor, count: int) -> str | None:
    """It holds `count` rows, as many as the log says."""
    if count == logged.cardinality:
        return None
    return f"cardinality: {logged.cardinality} in the log, and it holds {count} rows"


def wrong_largest(logged: DeletionVectorDescriptor, largest: int | None) -> str | None:
    """Its largest row index (None without rows) is the one that the log says, if it says one."""
    if logged.max_row_index in (None, largest):
        return None
    return f"maxRowIndex: {logged.max_row_index} in the log, and it is {largest}"


def beyond_file(largest: int | None, rows: int | None) -> str | None:
    """Its largest row index (None without rows) is one of the `rows` rows of the data file (None where unknown)."""
    if largest is None or rows is None or largest < rows:
        return None
    return f"row index {largest} is beyond the file's {rows} rows"


def too_many(cardinality: int, rows: int | None) -> str | None:
    """The log counts no more deleted rows than the `rows` rows of the data file (None where unknown)."""
    if rows is None or cardinality <= rows:
        return None
    return f"cardinality: {cardinality} rows deleted of the {rows} that the file has"
