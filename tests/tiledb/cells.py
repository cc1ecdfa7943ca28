"""Cells as the golden files write them down, from Arrow columns."""

from __future__ import annotations

import json

import pyarrow as pa


def golden_reads(folder, array="array", record=None):
    """(path of the array, one read of its record) for each read."""
    record = folder / f"{folder.name}.json" if record is None else record
    return [(folder / array, read) for read in json.loads(record.read_text())["reads"]]


def encode(column, golden):
    """A column's cells in the notation of the golden files; `golden` cells show whether text is bytes."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    as_bytes = any(isinstance(cell, str) and cell.startswith("x:") for cell in golden)
    kind = column.type
    if pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        column = column.cast(pa.int64())
    return [_cell(cell, as_bytes) for cell in column.to_pylist()]


def _cell(cell, as_bytes):
    if isinstance(cell, list):
        return [_cell(item, as_bytes) for item in cell]
    if isinstance(cell, float):
        return f"f:{cell.hex()}"
    if isinstance(cell, bytes):
        return f"x:{cell.hex()}"
    if isinstance(cell, str):
        return f"x:{cell.encode().hex()}" if as_bytes else f"s:{cell}"
    return cell
