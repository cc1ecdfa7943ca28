"""A few rows of a table as points: the lightest ones, whose files a sample opens first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pyqbeast.core.errors import QbeastError, UnsupportedError
from pyqbeast.core.format.types import MILLISECONDS_PER_DAY, Value
from pyqbeast.core.revisions.revision import Revision
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from pyqbeast.plot.gather.fractions import Fractions
from pyqbeast.plot.gather.midnights import coordinate_of
from pyqbeast.scanning.row_weights import row_weights
from pyqbeast.scanning.scan import Scan, hashed_values

#: Rows that a picture shows, about.
MOST_POINTS = 2_000
#: Bytes of files that may be opened to find them.
_MOST_BYTES = 2**28


@dataclass(frozen=True)
class Points:
    """Rows of a sample.

    Attributes:
        rows: the rows, with the hashed columns of the newest revision.
        first_read: for each the first fraction, by its position, that has it.
        problem: why there are no rows; empty where there are.
    """

    rows: pa.Table
    first_read: NDArray[np.uint8]
    problem: str = ""

    def coordinates(self, revision: Revision) -> tuple[NDArray[np.float64], ...]:
        """Where the rows lie in the cubes of a revision: for each dimension a coordinate from 0 to 1.

        NaN stands for a value that the revision has no place for.
        """
        return tuple(
            _places(self.rows, transformer.column, coordinate_of(transformer, transformation))
            for transformer, transformation in zip(
                revision.transformers, revision.transformations, strict=True
            )
        )


def points_of(index: IndexedSnapshot, scan: Scan, fractions: Fractions) -> Points:
    """About `MOST_POINTS` rows of a table, from the smallest sample that has so many.

    Args:
        index: a version of the table.
        scan: all rows of the same version.
        fractions: those of the same version.
    """
    try:
        return _sampled(index, scan, fractions)
    except QbeastError as error:
        # The log has enough to show where a data file is missing or damaged.
        return Points(pa.table({}), np.zeros(0, np.uint8), str(error))


def _sampled(index: IndexedSnapshot, scan: Scan, fractions: Fractions) -> Points:
    sample = scan.sample(min(1.0, MOST_POINTS / max(1, _rows_of(index))))
    size = sum(file.size for file in sample.files() if file.skipped is None)
    if size > _MOST_BYTES:
        raise UnsupportedError(f"a sample of {MOST_POINTS:,} rows would open {size:,} bytes of this table")
    found = hashed_values(sample).combine_chunks()
    arrays = [found.column(name).combine_chunks() for name in index.revision().hashed_columns]
    weights = row_weights(arrays) if found.num_rows else np.zeros(0, np.int32)
    return Points(found, fractions.first_read(int(weight) for weight in weights))


def _rows_of(index: IndexedSnapshot) -> int:
    """The rows that are not deleted. Raises UnsupportedError where the log does not count them.

    A page that takes unknown rows for none would show them all, and who gets it may not be meant to have the table.
    """
    total = 0
    for file in index.files_to_read:
        stored = file.counted_rows
        if stored is None:
            raise UnsupportedError(
                f"the log does not say how many rows are in {file.path}, so it is not known which sample has "
                f"{MOST_POINTS:,}"
            )
        total += max(0, stored - file.deleted)
    return total


def _milliseconds(times: pa.ChunkedArray) -> list[int | None]:
    """Dates and times as epoch milliseconds. Python has no dates of their own for some of them."""
    if pa.types.is_date(times.type):
        return [
            None if day is None else day * MILLISECONDS_PER_DAY for day in times.cast(pa.int32()).to_pylist()
        ]
    micros = times.cast(pa.timestamp("us", times.type.tz), safe=False).cast(pa.int64()).to_pylist()
    return [None if micro is None else micro // 1_000 for micro in micros]


def _places(rows: pa.Table, column: str, coordinate: Callable[[Value], float]) -> NDArray[np.float64]:
    if column not in rows.column_names:
        return np.full(rows.num_rows, np.nan)
    values = rows.column(column)
    is_single = pa.types.is_float32(values.type)
    held = _milliseconds(values) if pa.types.is_temporal(values.type) else values.to_pylist()
    # The text of a 32-bit float, which may be hashed, is not that of the double of the same value.
    places = [coordinate(np.float32(value) if is_single and value is not None else value) for value in held]
    return np.array(places, np.float64)
