"""Dimensions: columns that say where a cell lies, each with its domain and the size of a space tile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyqbeast.tiledb.cursor import Cursor, text, u8, u32, u64
from pyqbeast.tiledb.datatypes import Datatype
from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.filters.pipeline import NO_FILTERS, FilterPipeline
from pyqbeast.tiledb.format.field import Field


@dataclass(frozen=True)
class Dimension:
    """A dimension.

    Attributes:
        field: Its column.
        domain: The least and greatest coordinate, `None` where it is text.
        extent: The size of a space tile in this dimension, `None` where there are none.
        own_filters: The filters of its own; without any, the schema's filters of coordinates apply.
    """

    field: Field
    domain: tuple[Any, Any] | None = None
    extent: Any = None
    own_filters: FilterPipeline = NO_FILTERS

    @property
    def name(self) -> str:
        """The name."""
        return self.field.name

    @classmethod
    def parse(cls, cursor: Cursor, version: int, coords: FilterPipeline) -> Dimension:
        """Read a dimension of a schema.

        Args:
            cursor: Where it begins.
            version: The schema's format version.
            coords: The schema's filters of coordinates.

        Raises:
            ArrayFormatError: The bytes are broken.
        """
        name = cursor.text(cursor.u32("dimension name size"), "dimension name")
        kind = Datatype.parse(cursor.u8("dimension type"), "dimension type")
        cell_val_num = cursor.u32("dimension cell_val_num")
        own = FilterPipeline.parse(cursor, version)
        column = Field(name, kind, cell_val_num, filters=own if own.filters else coords, is_dimension=True)
        is_text = kind is Datatype.STRING_ASCII
        if (
            not (is_text or kind.is_number or kind.unit)
            or is_text != column.is_var
            or not (is_text or cell_val_num == 1)
        ):
            raise ArrayFormatError(f"dimension {name!r} of {cell_val_num} {kind.name} values per cell")
        bounds = cursor.take(cursor.u64("domain size"), "domain")
        domain = extent = None
        if len(bounds):
            if len(bounds) != 2 * kind.size:
                raise ArrayFormatError(f"dimension {name!r} has a domain of {len(bounds)} bytes")
            low, high = np.frombuffer(bounds, dtype=kind.dtype)
            domain = low.item(), high.item()
            if not low <= high:
                raise ArrayFormatError(f"dimension {name!r} has the domain {domain}")
        elif not is_text:
            raise ArrayFormatError(f"dimension {name!r} has no domain")
        if not cursor.u8("null tile extent"):
            extent = cursor.array(kind.dtype, 1, "tile extent")[0].item()
            if not extent > 0:
                raise ArrayFormatError(f"dimension {name!r} has a tile extent of {extent}")
        return cls(column, domain, extent, own)

    def to_bytes(self) -> bytes:
        """The dimension as a schema stores it."""
        column = self.field
        out = text(column.name) + u8(column.datatype) + u32(column.cell_val_num) + self.own_filters.to_bytes()
        dtype = column.datatype.dtype
        bounds = b"" if self.domain is None else np.array(self.domain, dtype=dtype).tobytes()
        out += u64(len(bounds)) + bounds + u8(self.extent is None)
        return out if self.extent is None else out + np.array(self.extent, dtype=dtype).tobytes()
