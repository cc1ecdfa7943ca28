"""The types of cells, and what they are in NumPy and Arrow."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
import pyarrow as pa

from pyqbeast.core.errors import UnsupportedError
from pyqbeast.tiledb.errors import ArrayFormatError

#: `cell_val_num` of a field whose cells vary in length.
VAR_NUM = 2**32 - 1

#: Bytes of a cell of fixed size, as far as Arrow has a type for it.
LARGEST_CELL = 2**31 - 1

_UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")
_ARROW_UNITS = {"s", "ms", "us", "ns"}


class Datatype(IntEnum):
    """A cell type, by the number that stands for it on disk."""

    INT32 = 0
    INT64 = 1
    FLOAT32 = 2
    FLOAT64 = 3
    CHAR = 4
    INT8 = 5
    UINT8 = 6
    INT16 = 7
    UINT16 = 8
    UINT32 = 9
    UINT64 = 10
    STRING_ASCII = 11
    STRING_UTF8 = 12
    STRING_UTF16 = 13
    STRING_UTF32 = 14
    STRING_UCS2 = 15
    STRING_UCS4 = 16
    ANY = 17
    DATETIME_YEAR = 18
    DATETIME_MONTH = 19
    DATETIME_WEEK = 20
    DATETIME_DAY = 21
    DATETIME_HR = 22
    DATETIME_MIN = 23
    DATETIME_SEC = 24
    DATETIME_MS = 25
    DATETIME_US = 26
    DATETIME_NS = 27
    DATETIME_PS = 28
    DATETIME_FS = 29
    DATETIME_AS = 30
    TIME_HR = 31
    TIME_MIN = 32
    TIME_SEC = 33
    TIME_MS = 34
    TIME_US = 35
    TIME_NS = 36
    TIME_PS = 37
    TIME_FS = 38
    TIME_AS = 39
    BLOB = 40
    BOOL = 41
    GEOM_WKB = 42
    GEOM_WKT = 43

    @classmethod
    def parse(cls, number: int, field: str) -> Datatype:
        """The type with this number; `ArrayFormatError` where there is none."""
        try:
            return cls(number)
        except ValueError:
            raise ArrayFormatError(f"unknown datatype {number}", field=field) from None

    @property
    def dtype(self) -> np.dtype[Any]:
        """One value in NumPy; text and bytes count in code units."""
        return _DTYPES[self]

    @property
    def size(self) -> int:
        """Bytes of one value."""
        return self.dtype.itemsize

    @property
    def unit(self) -> str | None:
        """NumPy's unit of a date or time, `None` for other types."""
        if Datatype.DATETIME_YEAR <= self <= Datatype.DATETIME_AS:
            return _UNITS[self - Datatype.DATETIME_YEAR]
        if Datatype.TIME_HR <= self <= Datatype.TIME_AS:
            return _UNITS[4:][self - Datatype.TIME_HR]
        return None

    @property
    def is_datetime(self) -> bool:
        """A point in time (and no span of it)."""
        return Datatype.DATETIME_YEAR <= self <= Datatype.DATETIME_AS

    @property
    def is_float(self) -> bool:
        """A floating-point number."""
        return self in (Datatype.FLOAT32, Datatype.FLOAT64)

    @property
    def is_number(self) -> bool:
        """An integer or floating-point number; neither text, bytes, truth value, date nor time."""
        return self.is_float or (self in _INTEGERS)

    @property
    def is_integral(self) -> bool:
        """An integer, date or time: what the integer filters take."""
        return self in _INTEGERS or self.unit is not None

    @property
    def is_text(self) -> bool:
        """Text in one-byte code units, ASCII or UTF-8."""
        return self in (Datatype.STRING_ASCII, Datatype.STRING_UTF8, Datatype.GEOM_WKT)

    @property
    def is_bytes(self) -> bool:
        """Bytes and wide text, which are handed out as they are stored."""
        return self in _BYTES

    @property
    def is_wide_text(self) -> bool:
        """Text in code units of two or four bytes."""
        return Datatype.STRING_UTF16 <= self <= Datatype.STRING_UCS4

    def arrow(self) -> pa.DataType:
        """One value in Arrow. Dates and times in units that Arrow lacks stay integers."""
        unit = self.unit
        if self is Datatype.BOOL:
            return pa.bool_()
        if self is Datatype.DATETIME_DAY:
            return pa.date32()
        if unit in _ARROW_UNITS:
            return pa.timestamp(unit) if self.is_datetime else pa.duration(unit)
        return pa.from_numpy_dtype(self.dtype)


#: Signed integers by their width in bytes.
SIGNED = {1: Datatype.INT8, 2: Datatype.INT16, 4: Datatype.INT32, 8: Datatype.INT64}

_INTEGERS = frozenset(
    {
        Datatype.INT8,
        Datatype.UINT8,
        Datatype.INT16,
        Datatype.UINT16,
        Datatype.INT32,
        Datatype.UINT32,
        Datatype.INT64,
        Datatype.UINT64,
    }
)
_BYTES = frozenset(
    {
        Datatype.CHAR,
        Datatype.BLOB,
        Datatype.GEOM_WKB,
        Datatype.ANY,
        Datatype.STRING_UTF16,
        Datatype.STRING_UTF32,
        Datatype.STRING_UCS2,
        Datatype.STRING_UCS4,
    }
)
_CODES = {
    Datatype.INT32: "<i4",
    Datatype.INT64: "<i8",
    Datatype.FLOAT32: "<f4",
    Datatype.FLOAT64: "<f8",
    Datatype.INT8: "i1",
    Datatype.INT16: "<i2",
    Datatype.UINT16: "<u2",
    Datatype.UINT32: "<u4",
    Datatype.UINT64: "<u8",
    Datatype.STRING_UTF16: "<u2",
    Datatype.STRING_UCS2: "<u2",
    Datatype.STRING_UTF32: "<u4",
    Datatype.STRING_UCS4: "<u4",
}
_DTYPES = {t: np.dtype(_CODES.get(t, "<i8" if t.unit else "u1")) for t in Datatype}
_NUMBERS = {pa.from_numpy_dtype(t.dtype): t for t in Datatype if t.is_number}
_TIMES = {
    "s": (Datatype.DATETIME_SEC, Datatype.TIME_SEC),
    "ms": (Datatype.DATETIME_MS, Datatype.TIME_MS),
    "us": (Datatype.DATETIME_US, Datatype.TIME_US),
    "ns": (Datatype.DATETIME_NS, Datatype.TIME_NS),
}


def datatype_of(kind: pa.DataType) -> tuple[Datatype, int]:
    """The datatype and values per cell for an Arrow type.

    Raises:
        UnsupportedError: the format has no such type.
    """
    if kind in _NUMBERS:
        return _NUMBERS[kind], 1
    if pa.types.is_boolean(kind):
        return Datatype.BOOL, 1
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return Datatype.STRING_UTF8, VAR_NUM
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return Datatype.BLOB, VAR_NUM
    if pa.types.is_date32(kind):
        return Datatype.DATETIME_DAY, 1
    if pa.types.is_timestamp(kind):
        return _TIMES[kind.unit][0], 1
    if pa.types.is_duration(kind):
        return _TIMES[kind.unit][1], 1
    if (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and (
        kind.value_type in _NUMBERS or pa.types.is_boolean(kind.value_type)
    ):
        return datatype_of(kind.value_type)[0], VAR_NUM
    raise UnsupportedError(f"an array cannot hold {kind}")
