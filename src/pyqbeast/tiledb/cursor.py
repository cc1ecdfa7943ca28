"""Reading little-endian fields one after another, never past the end of the bytes."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from pyqbeast.tiledb.errors import ArrayFormatError

Bytes = bytes | bytearray | memoryview

_U8, _U32, _I32, _U64, _F64 = (struct.Struct(code) for code in ("<B", "<I", "<i", "<Q", "<d"))


class Cursor:
    """A position in some bytes.

    Every count is checked against the bytes that are left before anything is allocated, so that a broken
    length costs an error and no memory.

    Args:
        data: the bytes to read.
        file: their file, for messages.
    """

    def __init__(self, data: Bytes, file: str = "") -> None:
        self.data = memoryview(data).cast("B")
        self.file = file
        self.position = 0

    @property
    def remaining(self) -> int:
        """Bytes that are left."""
        return len(self.data) - self.position

    def take(self, size: int, field: str) -> memoryview:
        """The next `size` bytes."""
        if size > self.remaining:
            raise self.error(f"needs {size} bytes where {self.remaining} are left", field)
        start = self.position
        self.position = start + size
        return self.data[start : self.position]

    def rest(self) -> memoryview:
        """All bytes that are left."""
        return self.take(self.remaining, "rest")

    def u8(self, field: str) -> int:
        """One unsigned byte."""
        return int(_U8.unpack(self.take(1, field))[0])

    def u32(self, field: str) -> int:
        """One unsigned 32-bit integer."""
        return int(_U32.unpack(self.take(4, field))[0])

    def i32(self, field: str) -> int:
        """One signed 32-bit integer."""
        return int(_I32.unpack(self.take(4, field))[0])

    def u64(self, field: str) -> int:
        """One unsigned 64-bit integer."""
        return int(_U64.unpack(self.take(8, field))[0])

    def f64(self, field: str) -> float:
        """One 64-bit float."""
        return float(_F64.unpack(self.take(8, field))[0])

    def array(self, dtype: npt.DTypeLike, count: int, field: str) -> npt.NDArray[Any]:
        """The next `count` values of `dtype`, a read-only view."""
        kind = np.dtype(dtype)
        return np.frombuffer(self.take(count * kind.itemsize, field), dtype=kind)

    def u64s(self, count: int, field: str) -> npt.NDArray[np.uint64]:
        """The next `count` unsigned 64-bit integers."""
        return np.frombuffer(self.take(count * 8, field), dtype="<u8")

    def text(self, size: int, field: str) -> str:
        """The next `size` bytes as UTF-8."""
        try:
            return bytes(self.take(size, field)).decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.error(f"is no UTF-8 text ({error.reason})", field) from error

    def error(self, problem: str, field: str) -> ArrayFormatError:
        """An error about `field` of this file; the caller raises it."""
        return ArrayFormatError(problem, file=self.file, field=field)


def u8(value: int) -> bytes:
    """One unsigned byte."""
    return _U8.pack(value)


def u32(*values: int) -> bytes:
    """Unsigned 32-bit integers."""
    return b"".join(map(_U32.pack, values))


def i32(value: int) -> bytes:
    """One signed 32-bit integer."""
    return _I32.pack(value)


def u64(*values: int) -> bytes:
    """Unsigned 64-bit integers."""
    return b"".join(map(_U64.pack, values))


def f64(value: float) -> bytes:
    """One 64-bit float."""
    return _F64.pack(value)


def text(value: str) -> bytes:
    """The size of a text in UTF-8 (u32), and its bytes."""
    raw = value.encode("utf-8")
    return u32(len(raw)) + raw
