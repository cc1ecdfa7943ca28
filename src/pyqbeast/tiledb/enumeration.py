"""Enumerations: the values that an attribute's numbers stand for."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyqbeast.core.errors import UnsupportedError
from pyqbeast.tiledb.column import binary_array, present
from pyqbeast.tiledb.cursor import Bytes, Cursor
from pyqbeast.tiledb.datatypes import Datatype
from pyqbeast.tiledb.errors import ArrayFormatError, reading
from pyqbeast.tiledb.field import Field

_VERSION = 0


@dataclass(frozen=True)
class Enumeration:
    """The values of an enumeration.

    Attributes:
        name: The name.
        ordered: Whether the order of the values has a meaning.
        values: Number i of the attribute stands for value i.
        raw: The same as stored: bytes per value.
    """

    name: str
    ordered: bool
    values: pa.Array
    raw: tuple[bytes, ...]

    @classmethod
    def parse(cls, payload: Bytes, file: str) -> Enumeration:
        """Read an enumeration from the payload of its generic tile.

        Raises:
            ArrayFormatError: The bytes are broken.
            UnsupportedError: A newer version.
        """
        with reading(file, "enumeration"):
            cursor = Cursor(payload, file)
            if version := cursor.u32("version"):
                raise UnsupportedError(f"{file}: enumeration version {version} is not supported")
            name = cursor.text(cursor.u32("name size"), "name")
            cursor.take(cursor.u32("path size"), "path")
            column = Field(name, Datatype.parse(cursor.u8("type"), "type"), cursor.u32("cell_val_num"))
            ordered = bool(cursor.u8("ordered"))
            data = cursor.take(cursor.u64("data size"), "data")
            raw = _split(cursor, bytes(data), column)
        joined = np.frombuffer(b"".join(raw), dtype=np.uint8)
        if column.is_var:
            array = binary_array(joined, np.cumsum([0, *map(len, raw)]))
        else:
            array = pa.Array.from_buffers(column.raw_type, len(raw), [None, pa.py_buffer(joined)])
        return cls(name, ordered, present(array, column), raw)


def _split(cursor: Cursor, data: bytes, column: Field) -> tuple[bytes, ...]:
    if column.is_var:
        size = cursor.u64("offsets size")
        starts = cursor.u64s(size // 8, "offsets").astype(np.int64)
        cuts = [*starts.tolist(), len(data)]
        if any(a > b or a < 0 for a, b in itertools.pairwise(cuts)):
            raise ArrayFormatError("offsets that fall")
    elif column.cell_size and len(data) % column.cell_size == 0:
        cuts = list(range(0, len(data) + 1, column.cell_size))
    else:
        raise ArrayFormatError(f"{len(data)} bytes are no whole values of {column.cell_size}")
    return tuple(data[a:b] for a, b in itertools.pairwise(cuts))
