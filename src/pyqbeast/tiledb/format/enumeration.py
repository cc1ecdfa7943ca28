"""Enumerations: the values that an attribute's numbers stand for."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from pyqbeast.core.arguments import check_type
from pyqbeast.core.errors import InvalidInputError, UnsupportedError
from pyqbeast.tiledb.cursor import Bytes, Cursor, text, u8, u32, u64
from pyqbeast.tiledb.datatypes import VAR_NUM, Datatype, datatype_of
from pyqbeast.tiledb.errors import ArrayFormatError, reading
from pyqbeast.tiledb.format.column import array_of, cut, fixed_bytes, present
from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.format.ingest import to_raw

_VERSION = 0


@dataclass(frozen=True)
class Enumeration:
    """The values of an enumeration.

    Attributes:
        name: the name.
        ordered: whether the order of the values has a meaning.
        values: number i of the attribute stands for value i.
        raw: the same as stored: bytes per value.
        datatype, cell_val_num: the type of a value, as that of an attribute.
    """

    name: str
    ordered: bool
    values: pa.Array = field(hash=False)
    raw: tuple[bytes, ...]
    datatype: Datatype
    cell_val_num: int

    @classmethod
    def parse(cls, payload: Bytes, file: str) -> Enumeration:
        """Read an enumeration from the payload of its generic tile.

        Raises:
            ArrayFormatError: the bytes are broken.
            UnsupportedError: a newer version.
        """
        with reading(file, "enumeration"):
            cursor = Cursor(payload, file)
            if version := cursor.u32("version"):
                raise UnsupportedError(f"{file}: enumeration version {version} is not supported")
            name = cursor.text(cursor.u32("name size"), "name")
            cursor.take(cursor.u32("path size"), "path")
            field = Field(name, Datatype.parse(cursor.u8("type"), "type"), cursor.u32("cell_val_num"))
            ordered = bool(cursor.u8("ordered"))
            data = cursor.take(cursor.u64("data size"), "data")
            raw = _split(cursor, bytes(data), field)
            return cls._of_raw(field, raw, ordered)

    @classmethod
    def _of_raw(cls, field: Field, raw: tuple[bytes, ...], ordered: bool) -> Enumeration:
        values = present(array_of(raw, field), field)
        return cls(field.name, ordered, values, raw, field.datatype, field.cell_val_num)

    @classmethod
    def of_values(cls, name: str, values: pa.Array, *, ordered: bool = False) -> Enumeration:
        """An enumeration to be written.

        Args:
            name: its name, to which attributes refer.
            values: text, bytes, numbers or times, in the order in which attributes number them from 0.
            ordered: whether this order has a meaning.

        Raises:
            InvalidInputError: a value is null or there twice, or there is no name.
            UnsupportedError: the format has no such type.
        """
        check_type(values, pa.Array, "the values of an enumeration are a pyarrow.Array")
        datatype, cell_val_num = datatype_of(values.type)
        field = Field(name, datatype, cell_val_num)
        stored = to_raw(values, field)
        raw = tuple(stored.to_pylist() if field.is_var else _cells(fixed_bytes(stored).tobytes(), field))
        if not name or len(set(raw)) < len(raw):
            raise InvalidInputError(f"enumeration {name!r}: it needs a name, and each value once")
        return cls._of_raw(field, raw, ordered)

    def to_bytes(self, file: str) -> bytes:
        """The payload of its generic tile, which is to be in a file of this name."""
        out = u32(_VERSION) + text(self.name) + text(file)
        out += u8(self.datatype) + u32(self.cell_val_num) + u8(self.ordered)
        data = b"".join(self.raw)
        out += u64(len(data)) + data
        if self.cell_val_num != VAR_NUM:
            return out
        starts = np.cumsum([0, *map(len, self.raw)])[:-1]
        return out + u64(8 * len(self.raw)) + u64(*starts.tolist())


def _split(cursor: Cursor, data: bytes, field: Field) -> tuple[bytes, ...]:
    if field.is_var:
        return tuple(cut(data, cursor.u64s(cursor.u64("offsets size") // 8, "offsets").tolist()))
    if not field.cell_size or len(data) % field.cell_size:
        raise ArrayFormatError(f"{len(data)} bytes are no whole values of {field.cell_size}")
    return tuple(_cells(data, field))


def _cells(data: bytes, field: Field) -> list[bytes]:
    return cut(data, [*range(0, len(data), field.cell_size)])
