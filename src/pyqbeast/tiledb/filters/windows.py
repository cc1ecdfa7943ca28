"""Integer filters that work window by window: bit-width reduction and positive delta."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb.cursor import Cursor, u32
from pyqbeast.tiledb.datatypes import Datatype
from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.filters.base import ChunkContext, Filter, Octets, octets, values, whole_values

Numbers = npt.NDArray[Any]

#: Types that these filters treat as bytes without a sign. Other text and CHAR pass through as they are.
_SINGLE_BYTES = frozenset({Datatype.BOOL, Datatype.BLOB, Datatype.GEOM_WKB, Datatype.GEOM_WKT})
#: Dates and times are integers to these filters from this version on.
_DATES_SINCE = 20


class _Windowed(Filter):
    """What both filters share.

    Args:
        window: the largest window, in bytes.
    """

    def __init__(self, window: int = 256) -> None:
        self.window = window

    def options(self) -> bytes:
        return u32(self.window)

    def problem(self, context: ChunkContext) -> str | None:
        kind = context.datatype
        if not (kind.is_integral or kind in _SINGLE_BYTES):
            return f"does not take {kind.name} values"
        # The library of TileDB divides by the values in a window.
        if type(self.window) is not int or not kind.size <= self.window < 2**32:
            return f"takes a window from {kind.size} to {2**32 - 1} bytes, not {self.window!r}"
        return None

    def _takes(self, context: ChunkContext) -> bool:
        kind = context.datatype
        if kind.unit is not None:
            return context.version >= _DATES_SINCE
        return kind.is_integral or kind in _SINGLE_BYTES

    def _windows(self, cursor: Cursor, record: np.dtype[np.void]) -> Numbers:
        return cursor.array(record, cursor.u32("number of windows"), "windows")


def _in_windows(numbers: Numbers, window: int) -> list[Numbers]:
    """The values as tables of one window per row: the full windows, then the shorter last one."""
    per_window = max(window // numbers.dtype.itemsize, 1)
    full = numbers.size // per_window * per_window
    tables = [numbers[:full].reshape(-1, per_window)] if full else []
    return [*tables, numbers[full:].reshape(1, -1)] if numbers.size > full else tables


class PositiveDelta(_Windowed):
    """Differences of neighbours, counted from the first value of each window."""

    id, name = 10, "positive-delta"
    needs_whole_values = leaves_whole_values = True

    def decode(self, metadata: memoryview, data: Octets, context: ChunkContext) -> tuple[memoryview, Octets]:
        """Undo the filter on one chunk."""
        if not self._takes(context):
            return metadata, data
        dtype = context.datatype.dtype
        cursor = Cursor(metadata)
        windows = self._windows(cursor, np.dtype([("offset", dtype), ("size", "<u4")]))
        sizes = windows["size"].astype(np.int64)
        if int(sizes.sum()) != data.size:
            raise ArrayFormatError(
                f"positive-delta: windows of {sizes.sum()} bytes in a chunk of {data.size}"
            )
        counts = sizes // dtype.itemsize
        whole = sizes == counts * dtype.itemsize
        if whole.all():
            return cursor.rest(), octets(_sums(values(data, dtype), windows["offset"], counts))
        # Windows that end in a part of a value, as compressors leave it, are stored as they are.
        summed = np.repeat(whole, sizes)
        out = data.copy()
        out[summed] = octets(_sums(values(data[summed], dtype), windows["offset"][whole], counts[whole]))
        return cursor.rest(), out

    def encode(self, metadata: bytes, data: Octets, context: ChunkContext) -> tuple[bytes, Octets]:
        """Apply the filter to one chunk."""
        if not self._takes(context):
            return metadata, data
        tables = _in_windows(whole_values(data, context.datatype.dtype, self.name), self.window)
        records, deltas = [], []
        for table in tables:
            if (table[:, 1:] < table[:, :-1]).any():
                raise InvalidInputError("the filter positive-delta takes values that never fall")
            first = table[:, :1]
            deltas.append(octets(np.diff(table, axis=1, prepend=first)))
            record = np.empty(len(table), dtype=[("offset", table.dtype), ("size", "<u4")])
            record["offset"], record["size"] = first[:, 0], table.shape[1] * table.dtype.itemsize
            records.append(record)
        head = b"".join(record.tobytes() for record in records)
        return u32(sum(map(len, records))) + head + metadata, _concatenated(deltas)


def _sums(deltas: Numbers, offsets: Numbers, counts: npt.NDArray[np.int64]) -> Numbers:
    """Running sums that start anew, from its offset, in each window; they wrap around."""
    out = np.cumsum(deltas, dtype=deltas.dtype)
    starts = np.cumsum(counts) - counts
    used = counts > 0
    before = np.zeros(counts.size, dtype=deltas.dtype)
    before[used] = out[starts[used]] - deltas[starts[used]]
    out += np.repeat(offsets - before, counts)
    return out


class BitWidthReduction(_Windowed):
    """Values as small differences from the least one of their window, in 8, 16 or 32 bits each."""

    id, name = 7, "bit-width-reduction"

    def _takes(self, context: ChunkContext) -> bool:
        return super()._takes(context) and context.datatype.size > 1

    def decode(self, metadata: memoryview, data: Octets, context: ChunkContext) -> tuple[memoryview, Octets]:
        """Undo the filter on one chunk."""
        if not self._takes(context):
            return metadata, data
        dtype = context.datatype.dtype
        cursor = Cursor(metadata)
        total = cursor.u32("original size")
        windows = self._windows(cursor, np.dtype([("offset", dtype), ("bits", "u1"), ("size", "<u4")]))
        return cursor.rest(), _widen(windows, data, dtype, total)

    def encode(self, metadata: bytes, data: Octets, context: ChunkContext) -> tuple[bytes, Octets]:
        """Apply the filter to one chunk."""
        if not self._takes(context):
            return metadata, data
        dtype = context.datatype.dtype
        whole = values(data, dtype)
        records, parts, count = [], [], 0
        for table in _in_windows(whole, self.window):
            record, part = _narrow(table)
            records.append(record.tobytes())
            parts.append(part)
            count += len(table)
        if data.size > whole.size * dtype.itemsize:
            # The bytes of a partial value are kept as they are.
            tail = data[whole.size * dtype.itemsize :]
            records.append(bytes(dtype.itemsize) + bytes([8 * dtype.itemsize]) + u32(tail.size))
            parts.append(tail)
            count += 1
        return u32(data.size, count) + b"".join(records) + metadata, _concatenated(parts)


def _stored_bits(largest: npt.NDArray[np.uint64], dtype: np.dtype[Any]) -> npt.NDArray[np.uint8]:
    """8, 16, 32 or 64: the narrowest that holds the largest difference in the type's signedness."""
    spare = 1 if dtype.kind == "i" else 0
    steps = np.array([1 << (bits - spare) for bits in (8, 16, 32)], dtype=np.uint64)
    width = np.array([8, 16, 32, 64], dtype=np.uint8)[np.searchsorted(steps, largest, side="right")]
    return np.minimum(width, 8 * dtype.itemsize).astype(np.uint8)


def _narrow(table: Numbers) -> tuple[Numbers, Octets]:
    """The window records of a table of windows, and their values one window after another."""
    dtype = table.dtype
    low = table.min(axis=1)
    unsigned = np.dtype(f"<u{dtype.itemsize}")
    differences = table.view(unsigned) - low.view(unsigned)[:, None]
    bits = _stored_bits(differences.max(axis=1).astype(np.uint64), dtype)
    record = np.empty(len(table), dtype=[("offset", dtype), ("bits", "u1"), ("size", "<u4")])
    record["offset"], record["bits"], record["size"] = low, bits, table.shape[1] * dtype.itemsize
    raw = bits >= 8 * dtype.itemsize
    sizes = np.where(raw, dtype.itemsize, bits.astype(np.int64) // 8) * table.shape[1]
    out = np.empty(int(sizes.sum()), dtype=np.uint8)
    starts = np.cumsum(sizes) - sizes
    for width in np.unique(bits):
        rows = np.flatnonzero(bits == width)
        chosen = table[rows] if width >= 8 * dtype.itemsize else differences[rows].astype(f"<u{width // 8}")
        content = octets(chosen).reshape(rows.size, -1)
        out[starts[rows][:, None] + np.arange(content.shape[1])] = content
    return record, out


def _widen(windows: Numbers, data: Octets, dtype: np.dtype[Any], total: int) -> Octets:
    """The original bytes of all windows."""
    sizes, bits = windows["size"].astype(np.int64), windows["bits"].astype(np.int64)
    # Windows that end in a part of a value are stored as they are, whatever width they state.
    raw = (bits >= 8 * dtype.itemsize) | (sizes % dtype.itemsize != 0)
    if not np.isin(bits, (8, 16, 32, 64)).all():
        raise ArrayFormatError("bit-width-reduction: a window has a width that cannot be")
    stored = np.where(raw, sizes, sizes // dtype.itemsize * bits // 8)
    if int(sizes.sum()) != total or int(stored.sum()) != data.size:
        raise ArrayFormatError(
            f"bit-width-reduction: windows of {stored.sum()} bytes in a chunk of {data.size}"
        )
    out = np.empty(total, dtype=np.uint8)
    starts, ends_at = np.cumsum(stored) - stored, np.cumsum(sizes) - sizes
    # Windows of the same width and size are done together; there are very few kinds of them.
    kinds, which = np.unique(np.stack([bits, sizes]), axis=1, return_inverse=True)
    for kind, (width, size) in enumerate(kinds.T):
        rows = np.flatnonzero(which.reshape(-1) == kind)
        length = stored[rows[0]]
        content = data[starts[rows][:, None] + np.arange(length)]
        if not raw[rows[0]]:
            small = content.view(f"<{dtype.kind}{width // 8}").astype(dtype)
            content = octets(small + windows["offset"][rows][:, None]).reshape(rows.size, -1)
        out[ends_at[rows][:, None] + np.arange(size)] = content
    return out


def _concatenated(parts: list[Octets]) -> Octets:
    return np.concatenate(parts) if parts else octets(b"")
