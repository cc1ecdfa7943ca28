"""Putting schemas together: dimensions, attributes and whole schemas from Arrow ones."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pyqbeast.core.errors import InvalidInputError, UnsupportedError
from pyqbeast.tiledb.datatypes import VAR_NUM, Datatype
from pyqbeast.tiledb.domain import Coordinate
from pyqbeast.tiledb.field import Field
from pyqbeast.tiledb.filters import ByteShuffle, Dictionary, Zstd
from pyqbeast.tiledb.filters.base import Filter
from pyqbeast.tiledb.filters.pipeline import FilterPipeline
from pyqbeast.tiledb.schema import Dimension

_NUMBERS = {pa.from_numpy_dtype(t.dtype): t for t in Datatype if t.is_number}
_UNITS = {
    "s": (Datatype.DATETIME_SEC, Datatype.TIME_SEC),
    "ms": (Datatype.DATETIME_MS, Datatype.TIME_MS),
    "us": (Datatype.DATETIME_US, Datatype.TIME_US),
    "ns": (Datatype.DATETIME_NS, Datatype.TIME_NS),
}


def dimension(
    name: str,
    datatype: Datatype,
    domain: tuple[Coordinate, Coordinate] | None = None,
    extent: Coordinate = None,
    filters: Sequence[Filter] = (),
) -> Dimension:
    """A dimension to be written.

    Args:
        name: Its name.
        datatype: An integer, float, date or time, or `STRING_ASCII`, which varies in length.
        domain: The least and greatest coordinate as stored; none for text.
        extent: Coordinates per space tile. A dense array needs it; a sparse one is cut by it before it is
            cut by capacity.
        filters: Without any, the schema's filters of coordinates apply.

    Raises:
        InvalidInputError: These do not go together.
    """
    is_text = datatype is Datatype.STRING_ASCII
    if not is_text and not (datatype.is_number or datatype.unit):
        raise InvalidInputError(f"{datatype.name} cannot be a dimension")
    if is_text != (domain is None) or (is_text and extent is not None):
        raise InvalidInputError(f"dimension {name!r}: numbers need a domain, text has none and no extent")
    if domain is not None and (domain[0] > domain[1] or (extent is not None and not extent > 0)):
        raise InvalidInputError(f"dimension {name!r}: domain {domain}, extent {extent}")
    if (
        domain is not None
        and extent is not None
        and not datatype.is_float
        and domain[1] - domain[0] + 1 < extent
    ):
        raise InvalidInputError(f"dimension {name!r}: the extent {extent} is larger than the domain {domain}")
    own = FilterPipeline(tuple(filters))
    column = Field(name, datatype, VAR_NUM if is_text else 1, filters=own, is_dimension=True)
    return Dimension(column, domain, extent, own)


def attribute(
    name: str,
    datatype: Datatype,
    *,
    cell_val_num: int = 1,
    nullable: bool = False,
    filters: Sequence[Filter] = (),
    fill: bytes = b"",
) -> Field:
    """An attribute to be written.

    Args:
        name: Its name.
        datatype: The type of one value.
        cell_val_num: Values per cell; `VAR_NUM` for cells that vary in length.
        nullable: Whether cells may be null.
        filters: Applied in this order.
        fill: The value of cells that nobody wrote, as stored; the format's default where empty.

    Raises:
        InvalidInputError: A text filter that is not the first one, or an unusable number of values.
    """
    if cell_val_num < 1 or cell_val_num > VAR_NUM:
        raise InvalidInputError(f"attribute {name!r}: {cell_val_num} values per cell")
    if any(isinstance(step, Dictionary) for step in filters[1:]):
        raise InvalidInputError(f"attribute {name!r}: the dictionary filter must be the first one")
    return Field(name, datatype, cell_val_num, nullable, FilterPipeline(tuple(filters)), False, fill)


def attribute_from_arrow(field: pa.Field) -> Field:
    """The attribute for an Arrow field, compressed with zstd (numbers are byte-shuffled before).

    Raises:
        UnsupportedError: The format has no such type.
    """
    datatype, cell_val_num = datatype_of(field.type)
    shuffled = cell_val_num == 1 and datatype.size > 1
    filters: list[Filter] = [ByteShuffle(), Zstd()] if shuffled else [Zstd()]
    return attribute(
        field.name, datatype, cell_val_num=cell_val_num, nullable=field.nullable, filters=filters
    )


def datatype_of(kind: pa.DataType) -> tuple[Datatype, int]:
    """The datatype and values per cell for an Arrow type.

    Raises:
        UnsupportedError: The format has no such type.
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
        return _UNITS[kind.unit][0], 1
    if pa.types.is_duration(kind):
        return _UNITS[kind.unit][1], 1
    if (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and (
        kind.value_type in _NUMBERS or pa.types.is_boolean(kind.value_type)
    ):
        return datatype_of(kind.value_type)[0], VAR_NUM
    raise UnsupportedError(f"an array cannot hold {kind}")
