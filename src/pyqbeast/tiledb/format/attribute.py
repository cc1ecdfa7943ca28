"""Attributes as a schema stores them."""

from __future__ import annotations

from pyqbeast.tiledb.cursor import Cursor, text, u8, u32, u64
from pyqbeast.tiledb.datatypes import LARGEST_CELL, VAR_NUM, Datatype
from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.filters.pipeline import FilterPipeline
from pyqbeast.tiledb.format.field import Field, default_fill

_ORDER_SINCE = 17
#: The format version that enumerations came with.
ENUMERATIONS_SINCE = 20


def parse_attribute(cursor: Cursor, version: int) -> Field:
    """Read an attribute of a schema of this format version. Raises ArrayFormatError for broken bytes."""
    name = cursor.text(cursor.u32("attribute name size"), "attribute name")
    kind = Datatype.parse(cursor.u8("attribute type"), "attribute type")
    cell_val_num = cursor.u32("attribute cell_val_num")
    if cell_val_num == 0 or (cell_val_num != VAR_NUM and cell_val_num * kind.size > LARGEST_CELL):
        raise ArrayFormatError(f"attribute {name!r} has {cell_val_num} values per cell")
    filters = FilterPipeline.parse(cursor, version)
    fill = bytes(cursor.take(cursor.u64("fill size"), "fill value"))
    if cell_val_num != VAR_NUM and len(fill) != cell_val_num * kind.size:
        raise ArrayFormatError(f"attribute {name!r} has a fill value of {len(fill)} bytes")
    nullable, fill_valid = bool(cursor.u8("nullable")), bool(cursor.u8("fill validity"))
    enumeration, order = "", 0
    if version >= _ORDER_SINCE:
        order = cursor.u8("attribute order")
    if version >= ENUMERATIONS_SINCE:
        enumeration = cursor.text(cursor.u32("enumeration name size"), "enumeration name")
    return Field(name, kind, cell_val_num, nullable, filters, False, fill, fill_valid, enumeration, order)


def attribute_bytes(attribute: Field) -> bytes:
    """The bytes of an attribute in a schema."""
    fill = attribute.fill
    if not fill:
        fill = default_fill(attribute.datatype) * (1 if attribute.is_var else attribute.cell_val_num)
    out = text(attribute.name) + u8(attribute.datatype) + u32(attribute.cell_val_num)
    out += attribute.filters.to_bytes() + u64(len(fill)) + fill
    out += u8(attribute.nullable) + u8(attribute.fill_valid) + u8(attribute.order)
    return out + text(attribute.enumeration)
