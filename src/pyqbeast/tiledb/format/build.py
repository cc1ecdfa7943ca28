"""Putting schemas together: dimensions, attributes and whole schemas from Arrow ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pyqbeast.core.arguments import check_type
from pyqbeast.tiledb.datatypes import VAR_NUM, Datatype, datatype_of
from pyqbeast.tiledb.filters import ByteShuffle, Zstd
from pyqbeast.tiledb.filters.base import Filter
from pyqbeast.tiledb.filters.pipeline import FilterPipeline
from pyqbeast.tiledb.format.dimension import Dimension
from pyqbeast.tiledb.format.domain import Coordinate
from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.format.schema_rules import check_attribute, check_dimension


def dimension(
    name: str,
    datatype: Datatype,
    domain: tuple[Coordinate, Coordinate] | None = None,
    extent: Coordinate = None,
    filters: Sequence[Filter] = (),
) -> Dimension:
    """A dimension to be written.

    Args:
        name: its name.
        datatype: an integer, float, date or time, or `STRING_ASCII`, which varies in length.
        domain: the least and greatest coordinate as stored; none for text.
        extent: coordinates per space tile. A dense array needs it; a sparse one is cut by it before it is
            cut by capacity.
        filters: without any, the schema's filters of coordinates apply.

    Raises:
        InvalidInputError: these do not go together.
    """
    own = _pipeline(name, filters)
    count = VAR_NUM if datatype is Datatype.STRING_ASCII else 1
    made = Dimension(Field(name, datatype, count, filters=own, is_dimension=True), domain, extent, own)
    check_dimension(made)
    return made


def attribute(
    name: str,
    datatype: Datatype,
    *,
    cell_val_num: int | np.integer[Any] = 1,
    nullable: bool = False,
    filters: Sequence[Filter] = (),
    fill: bytes = b"",
    enumeration: str = "",
) -> Field:
    """An attribute to be written.

    Args:
        name: its name.
        datatype: the type of one value.
        cell_val_num: values per cell; `VAR_NUM` for cells that vary in length.
        nullable: whether cells may be null.
        filters: applied in this order.
        fill: the value of cells that nobody wrote, as stored; the format's default where empty.
        enumeration: the name of the enumeration that the values number; `create_array` takes the values.

    Raises:
        InvalidInputError: these do not go together.
    """
    own = _pipeline(name, filters)
    count = int(cell_val_num) if isinstance(cell_val_num, np.integer) else cell_val_num
    made = Field(name, datatype, count, nullable, own, fill=fill, enumeration=enumeration)
    check_attribute(made)
    return made


def _pipeline(name: str, filters: Sequence[Filter]) -> FilterPipeline:
    about = f"column {name!r}: filters are a list of those of pyqbeast.tiledb.filters"
    check_type(filters, Sequence, about)
    for step in filters:
        check_type(step, Filter, about)
    return FilterPipeline(tuple(filters))


def attribute_from_arrow(field: pa.Field) -> Field:
    """The attribute for an Arrow field, compressed with zstd (numbers are byte-shuffled before).

    Raises:
        UnsupportedError: the format has no such type.
    """
    datatype, cell_val_num = datatype_of(field.type)
    shuffled = cell_val_num == 1 and datatype.size > 1
    filters: list[Filter] = [ByteShuffle(), Zstd()] if shuffled else [Zstd()]
    return attribute(
        field.name, datatype, cell_val_num=cell_val_num, nullable=field.nullable, filters=filters
    )
