"""Row-major order of cells, and finding cells with the same coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.tiledb.format.column import numbers
from pyqbeast.tiledb.format.field import Field

Keys = list[npt.NDArray[Any]]
Rows = npt.NDArray[np.int64]

#: Keys are joined into one as long as that fits 63 bits.
_JOINT_LIMIT = 2**63


def sort_keys(columns: Sequence[pa.Array | pa.ChunkedArray], dimensions: Sequence[Field]) -> Keys:
    """Numbers that order cells as their coordinates do, most significant first; equal only for one coordinate."""
    return joined(coordinate_keys(columns, dimensions) + signs_of_zeros(columns, dimensions))


def coordinate_keys(columns: Sequence[pa.Array | pa.ChunkedArray], dimensions: Sequence[Field]) -> Keys:
    """For each dimension numbers in the order of its coordinates. 0.0 and -0.0 have one."""
    keys: Keys = []
    for column, field in zip(columns, dimensions, strict=True):
        if field.is_var:
            whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
            keys.append(numbers(pc.rank(whole, tiebreaker="dense")))
        else:
            key = numbers(column)
            keys.append(_order_of_floats(key) if key.dtype.kind == "f" else key)
    return keys


def signs_of_zeros(columns: Sequence[pa.Array | pa.ChunkedArray], dimensions: Sequence[Field]) -> Keys:
    """What tells 0.0 and -0.0 apart, for the dimensions that have -0.0.

    The library of TileDB orders cells as if the two were one coordinate, and takes them for two where it looks for
    cells with the same. So they are told apart after all else.
    """
    keys: Keys = []
    for column, field in zip(columns, dimensions, strict=True):
        if field.datatype.is_float:
            key = numbers(column)
            below = np.signbit(key) & (key == 0)
            if below.any():
                keys.append(~below)
    return keys


def _order_of_floats(key: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Whole numbers in the order of floats."""
    bits = (key + 0.0).view(f"i{key.dtype.itemsize}")  # the sum is 0.0 for -0.0
    ordered: npt.NDArray[Any] = np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)
    return ordered


def joined(keys: Keys) -> Keys:
    """The same order with one key, where all are integers of small enough a span."""
    if len(keys) == 1 or any(key.dtype.kind == "f" or not key.size for key in keys):
        return keys
    lows = [int(key.min()) for key in keys]
    spans = [int(key.max()) - low + 1 for key, low in zip(keys, lows, strict=True)]
    product = 1
    for span in spans:
        product *= span
    if product >= _JOINT_LIMIT:
        return keys
    joint = np.zeros(keys[0].size, dtype=np.int64)
    for key, low, span in zip(keys, lows, spans, strict=True):
        # The differences are below 2**63, so they are right even if the subtraction wraps around.
        step = (key.astype(np.int64) if key.dtype.itemsize < 8 else key.view(np.int64)) - np.int64(
            _signed(low)
        )
        joint = joint * np.int64(span) + step
    return [joint]


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def row_major(keys: Keys) -> Rows | None:
    """The positions of the cells in row-major order, `None` where they are in it already. Ties keep their order."""
    if len(keys) == 1:
        key = keys[0]
        if (key[1:] >= key[:-1]).all():
            return None
        return np.argsort(key, kind="stable")
    return np.lexsort(keys[::-1])


def in_row_major(table: pa.Table, dimensions: Sequence[Field]) -> pa.Table:
    """The cells of a table in row-major order of these columns."""
    columns = [_orderable(table[d.name], d.raw_type) for d in dimensions]
    rows = row_major(sort_keys(columns, dimensions))
    return table if rows is None else table.take(pa.array(np.ascontiguousarray(rows)))


def _orderable(column: pa.ChunkedArray, raw: pa.DataType) -> pa.Array:
    """A column as readers get it, back in its raw form."""
    whole = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if pa.types.is_date32(whole.type):
        return whole.cast(pa.int32()).cast(pa.int64())
    return whole.cast(raw) if pa.types.is_large_string(whole.type) else whole.view(raw)


def last_of_equals(keys: Keys, order: Rows | None) -> npt.NDArray[np.bool_]:
    """Which cells, taken in `order`, are the last with their coordinates."""
    last = np.ones(keys[0].size, dtype=bool)
    if last.size:
        differs = np.zeros(last.size - 1, dtype=bool)
        for key in keys:
            sorted_key = key if order is None else key[order]
            differs |= sorted_key[1:] != sorted_key[:-1]
        last[:-1] = differs
    return last
