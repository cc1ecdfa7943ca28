"""Enumerations: the values that an attribute's numbers stand for."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyqbeast.core.arguments import check_type
from pyqbeast.core.errors import InvalidInputError, UnsupportedError
from pyqbeast.tiledb.cursor import Bytes, Cursor, text, u8, u32, u64
from pyqbeast.tiledb.datatypes import VAR_NUM, Datatype, datatype_of
from pyqbeast.tiledb.errors import ArrayFormatError, reading
from pyqbeast.tiledb.format.column import binary_array, fixed_bytes, present
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
    values: pa.Array
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
        joined = np.frombuffer(b"".join(raw), dtype=np.uint8)
        if field.is_var:
            array = binary_array(joined, np.cumsum([0, *map(len, raw)]))
        else:
            array = pa.Array.from_buffers(field.raw_type, len(raw), [None, pa.py_buffer(joined)])
        return cls(field.name, ordered, present(array, field), raw, field.datatype, field.cell_val_num)

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
        if field.is_var:
            raw = tuple(stored.to_pylist())
        else:
            data, size = fixed_bytes(stored).tobytes(), field.cell_size
            raw = tuple(data[i : i + size] for i in range(0, len(data), size))
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
        size = cursor.u64("offsets size")
        starts = cursor.u64s(size // 8, "offsets").astype(np.int64)
        cuts = [*starts.tolist(), len(data)]
        if any(a > b or a < 0 for a, b in itertools.pairwise(cuts)):
            raise ArrayFormatError("offsets that fall")
    elif field.cell_size and len(data) % field.cell_size == 0:
        cuts = list(range(0, len(data) + 1, field.cell_size))
    else:
        raise ArrayFormatError(f"{len(data)} bytes are no whole values of {field.cell_size}")
    return tuple(data[a:b] for a, b in itertools.pairwise(cuts))
