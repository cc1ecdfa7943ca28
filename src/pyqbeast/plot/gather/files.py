"""The files that a scan may open, as arrays: what each costs, and which fractions and ranges read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from pyqbeast.plot.gather.fractions import Fractions
from pyqbeast.plot.gather.scales import NO_STEP, Scale
from pyqbeast.scanning.conditions.column_types import arrow_type, can_be_read
from pyqbeast.scanning.conditions.file_bounds import BoundsOfFiles, ColumnBounds


@dataclass(frozen=True)
class Range:
    """The values of a column that a picture can choose from, and which files hold some of them.

    A file is read for the values from step a to step b if its `first` is b at the most and its `last` is a at least.

    Attributes:
        column: its name.
        scale: the values to choose from.
        first: for each file the first step that is not below its smallest value.
        last: for each file the last step that is not above its largest value.
    """

    column: str
    scale: Scale
    first: NDArray[np.uint8]
    last: NDArray[np.uint8]

    @classmethod
    def of(cls, column: str, scale: Scale, steps: Sequence[tuple[int, int]]) -> Range:
        """The range of a column, with the first and the last step of each file."""
        ends = np.array(steps, np.uint8).reshape(len(steps), 2)
        return cls(column, scale, ends[:, 0], ends[:, 1])


@dataclass(frozen=True)
class FileArrays:
    """The files that hold each row of a table once, or the tiles of an array.

    Attributes:
        size: bytes.
        rows: rows that are not deleted; NaN where the log does not say.
        first_read: the first fraction, by its position, whose sample opens the file.
        ranges: of the indexed columns that have an order and bounds in the log, or of the dimensions that have an
            order.
    """

    size: NDArray[np.float64]
    rows: NDArray[np.float64]
    first_read: NDArray[np.uint8]
    ranges: tuple[Range, ...]

    def opened(self, fractions: Fractions) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """How many files each fraction opens, and their share of all bytes."""
        steps = len(fractions.bounds)
        counts = np.cumsum(np.bincount(self.first_read, minlength=steps))[:steps]
        sizes = np.cumsum(np.bincount(self.first_read, self.size, minlength=steps))[:steps]
        row_by_row = np.array([problem != "" for problem in fractions.problems])
        shares = sizes / max(1.0, self.size.sum())
        return np.where(row_by_row, len(self.size), counts), np.where(row_by_row, 1.0, shares)


def files_of(index: IndexedSnapshot, fractions: Fractions) -> FileArrays:
    """The files of a version of a table."""
    read = index.files_to_read
    prunable = index.prunable_revisions
    return FileArrays(
        np.array([file.size for file in read], np.float64),
        np.array([_rows(file.counted_rows, file.deleted) for file in read], np.float64),
        fractions.first_read(file.weights(prunable)[0] for file in read),
        tuple(_ranges(index, [file.path for file in read])),
    )


def _rows(counted: int | None, deleted: int) -> float:
    return np.nan if counted is None else max(0, counted - deleted)


def _ranges(index: IndexedSnapshot, paths: list[str]) -> list[Range]:
    fields = {field["name"]: field for field in index.snapshot.metadata.fields}
    names = [name for name in index.revision().columns if name in fields and can_be_read(fields[name])]
    schema = pa.schema([(name, arrow_type(fields[name]["type"], name)) for name in names])
    in_statistics = index.names_in_statistics
    columns = {name: in_statistics[name] for name in names}
    by_path = {file.path: file for file in index.snapshot.files}
    known = BoundsOfFiles(
        [by_path[path] for path in paths], columns, schema, holds_lists=index.holds_lists
    ).columns
    ranges = [_range(name, known[name].each()) for name in names]
    return [each for each in ranges if each is not None]


def _range(column: str, bounds: list[ColumnBounds]) -> Range | None:
    held = [each for each in bounds if each.low is not None and not each.only_nulls]
    scale = Scale.over([value for each in held for value in (each.low, each.high)])
    if scale is None:
        return None
    last = len(scale.values) - 1
    steps = [
        (NO_STEP, 0)
        if each.only_nulls
        else (0, last)
        if each.low is None
        else scale.steps(each.low, each.high)
        for each in bounds
    ]
    return Range.of(column, scale, steps)
