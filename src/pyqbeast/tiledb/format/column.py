"""Columns as Arrow arrays: raw while they are read (numbers, or bytes as stored), typed when handed out."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.tiledb.datatypes import Datatype
from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.filters.base import Octets
from pyqbeast.tiledb.format.field import Field

#: Which cells or tiles are meant.
Mask = npt.NDArray[np.bool_]

#: What NumPy calls "not a time"; Arrow has nulls for it.
NO_TIME = int(np.iinfo(np.int64).min)


def bitmap(valid: npt.NDArray[Any] | None) -> pa.Buffer | None:
    """Arrow's validity bitmap of one byte or truth value per cell; `None` where all are valid."""
    if valid is None or valid.all():
        return None
    return pa.py_buffer(np.packbits(valid.astype(bool), bitorder="little"))


def fixed_array(data: Octets, field: Field, valid: npt.NDArray[Any] | None = None) -> pa.Array:
    """A raw array of cells of a fixed size."""
    count = data.size // field.cell_size
    return pa.Array.from_buffers(field.raw_type, count, [bitmap(valid), pa.py_buffer(data)])


def binary_array(
    data: Octets, offsets: npt.NDArray[np.int64], valid: npt.NDArray[Any] | None = None
) -> pa.Array:
    """A raw array of cells that vary in length; `offsets` has one more than cells."""
    buffers = [bitmap(valid), pa.py_buffer(np.ascontiguousarray(offsets, dtype=np.int64)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), offsets.size - 1, buffers)


def cut(data: bytes, starts: list[int], field: str = "") -> list[bytes]:
    """Values that lie one after another, by where each begins. Raises ArrayFormatError where one begins too late."""
    cuts = [*starts, len(data)]
    if any(a > b for a, b in itertools.pairwise(cuts)):
        raise ArrayFormatError("offsets that fall", field=field)
    return [data[a:b] for a, b in itertools.pairwise(cuts)]


def array_of(values: Sequence[bytes], field: Field) -> pa.Array:
    """A raw array of cells that are given as stored, each of the size that the field asks for."""
    joined = np.frombuffer(b"".join(values), dtype=np.uint8)
    if field.is_var:
        return binary_array(joined, np.cumsum([0, *map(len, values)]))
    return fixed_array(joined, field)


def filled(field: Field, count: int) -> pa.Array:
    """A raw array of cells that nobody wrote."""
    data = np.frombuffer(field.fill_bytes * count, dtype=np.uint8)
    valid = np.zeros(count, dtype=bool) if field.nullable and not field.fill_valid else None
    if field.is_var:
        return binary_array(data, np.arange(count + 1) * len(field.fill_bytes), valid)
    return fixed_array(data, field, valid)


def present(array: pa.Array | pa.ChunkedArray, field: Field) -> pa.Array | pa.ChunkedArray:
    """The column as readers get it, made from its raw form. Buffers are shared if the types allow it.

    Raises:
        ArrayFormatError: text that is no UTF-8, or a day that Arrow has no date for.
    """
    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array([present(chunk, field) for chunk in array.chunks], field.arrow_type)
    if field.is_var:
        return _present_var(array, field)
    if field.datatype.is_bytes or field.datatype.is_text:
        return array
    if field.cell_val_num == 1:
        return _present_values(array, field)
    one = Field(field.name, field.datatype)
    ends = np.arange(array.offset + len(array) + 1) * field.cell_val_num
    child = pa.Array.from_buffers(one.raw_type, int(ends[-1]), [_shown(array, ends, one), array.buffers()[1]])
    return pa.Array.from_buffers(
        field.arrow_type,
        len(array),
        [array.buffers()[0]],
        array.null_count,
        array.offset,
        [_present_values(child, one)],
    )


def _present_values(array: pa.Array, field: Field) -> pa.Array:
    kind = field.datatype
    if kind is Datatype.BOOL:
        return pc.not_equal(array, pa.scalar(0, pa.uint8()))
    if field.datatype.unit is None:
        return array
    if pa.types.is_temporal(kind.arrow()) and not field.is_dimension:
        is_time = pc.not_equal(array, NO_TIME)
        array = array if pc.all(is_time).as_py() else pc.if_else(is_time, array, pa.scalar(None, pa.int64()))
    if kind is Datatype.DATETIME_DAY:
        try:
            return array.cast(pa.int32()).view(pa.date32())
        except pa.ArrowInvalid as error:
            raise ArrayFormatError("a day is out of the range of dates", field=field.name) from error
    return array.view(kind.arrow())


def _present_var(array: pa.Array, field: Field) -> pa.Array:
    if field.datatype.is_bytes:
        return array
    if field.datatype.is_text:
        try:
            return array.cast(pa.large_string())
        except pa.ArrowInvalid as error:
            raise ArrayFormatError("text that is no UTF-8", field=field.name) from error
    validity, offsets, data = array.buffers()
    one, size = Field(field.name, field.datatype), field.datatype.size
    starts = np.frombuffer(offsets, dtype=np.int64)[: array.offset + len(array) + 1]
    if (starts % size).any():
        raise ArrayFormatError(f"a cell is no whole number of {size}-byte values", field=field.name)
    ends = starts // size
    child = pa.Array.from_buffers(one.raw_type, int(ends[-1]), [_shown(array, ends, one), data])
    return pa.Array.from_buffers(
        field.arrow_type,
        len(array),
        [validity, pa.py_buffer(ends)],
        array.null_count,
        array.offset,
        [_present_values(child, one)],
    )


def _shown(array: pa.Array, ends: npt.NDArray[np.int64], values: Field) -> pa.Buffer | None:
    """Which values of cells of several are shown, as a bitmap; `None` for all. What lies under nulls may be no day."""
    if values.datatype is not Datatype.DATETIME_DAY or array.buffers()[0] is None:
        return None
    before = np.zeros(array.offset, dtype=bool)
    cells = np.concatenate([before, array.is_valid().to_numpy(zero_copy_only=False)])
    return bitmap(np.append(np.zeros(ends[0], dtype=bool), np.repeat(cells, np.diff(ends))))


def take(array: pa.Array | pa.ChunkedArray, rows: npt.NDArray[np.int64]) -> pa.Array | pa.ChunkedArray:
    """The cells at these positions."""
    return array.take(pa.array(rows))


def numbers(array: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """A raw column of numbers as one NumPy array; nulls are whatever is stored under them."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    assert not pa.types.is_temporal(array.type), "raw columns have numbers for times"
    values: npt.NDArray[Any] = np.frombuffer(array.buffers()[1] or b"", dtype=array.type.to_pandas_dtype())
    return values[array.offset : array.offset + len(array)]


def fixed_bytes(array: pa.Array) -> Octets:
    """The stored bytes of a raw array of cells of a fixed size."""
    width = array.type.byte_width
    data = np.frombuffer(array.buffers()[1] or b"", dtype=np.uint8)
    return data[array.offset * width : (array.offset + len(array)) * width]


def var_bytes(array: pa.Array) -> tuple[Octets, npt.NDArray[np.int64]]:
    """The stored bytes of a raw array of variable cells, and the offsets of the cells in them."""
    if not len(array):
        return np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    _, offsets, data = array.buffers()
    starts = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    whole = np.frombuffer(data or b"", dtype=np.uint8)
    return whole[starts[0] : starts[-1]], starts - starts[0]
