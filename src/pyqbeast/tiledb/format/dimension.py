"""Dimensions: columns that say where a cell lies, each with its domain and the size of a space tile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyqbeast.tiledb.cursor import Cursor, text, u8, u32, u64
from pyqbeast.tiledb.datatypes import Datatype
from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.filters.pipeline import NO_FILTERS, FilterPipeline
from pyqbeast.tiledb.format.field import Field


@dataclass(frozen=True)
class Dimension:
    """A dimension.

    Attributes:
        field: its column.
        domain: the least and greatest coordinate, `None` where it is text.
        extent: the size of a space tile in this dimension, `None` where there are none.
        own_filters: the filters of its own; without any, the schema's filters of coordinates apply.
    """

    field: Field
    domain: tuple[Any, Any] | None = None
    extent: Any = None
    own_filters: FilterPipeline = NO_FILTERS

    @property
    def name(self) -> str:
        """The name."""
        return self.field.name

    @property
    def tile_span(self) -> Any:  # noqa: ANN401 (a number of the dimension's type)
        """The extent; without one the span of the domain, which libtiledb stores with a schema.

        Coordinates of floats are divided by it then, so that the last one is in a tile of its own.
        """
        if self.extent is not None or self.domain is None:
            return self.extent
        if not self.field.datatype.is_float:
            return self.domain[1] - self.domain[0] + 1
        low, high = np.array(self.domain, self.field.datatype.dtype)
        with np.errstate(over="ignore"):
            return (high - low).item()

    @classmethod
    def parse(cls, cursor: Cursor, version: int, coords: FilterPipeline) -> Dimension:
        """Read a dimension of a schema.

        Args:
            cursor: where it begins.
            version: the schema's format version.
            coords: the schema's filters of coordinates.

        Raises:
            ArrayFormatError: the bytes are broken.
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
            extent = cursor.array(_extent_type(kind), 1, "tile extent")[0].item()
            if kind.is_float and extent == 0 and domain is not None and domain[0] == domain[1]:
                extent = None  # libtiledb stores the span of the one value where there is no extent
            elif not extent > 0:
                raise ArrayFormatError(f"dimension {name!r} has a tile extent of {extent}")
        return cls(column, domain, extent, own)

    def to_bytes(self) -> bytes:
        """The dimension as a schema stores it."""
        column = self.field
        out = text(column.name) + u8(column.datatype) + u32(column.cell_val_num) + self.own_filters.to_bytes()
        dtype = column.datatype.dtype
        bounds = b"" if self.domain is None else np.array(self.domain, dtype=dtype).tobytes()
        out += u64(len(bounds)) + bounds + u8(self.extent is None)
        if self.extent is None:
            return out
        return out + np.array(self.extent, dtype=_extent_type(column.datatype)).tobytes()


def _extent_type(kind: Datatype) -> npt.DTypeLike:
    """Extents count coordinates. The span of a domain may need the bit that is a sign in the type itself."""
    return f"<u{kind.size}" if kind.dtype.kind == "i" else kind.dtype
