"""The global order of cells: space tiles one after another, and cells inside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.core.errors import InvalidInputError, UnsupportedError
from pyqbeast.tiledb.format.column import numbers
from pyqbeast.tiledb.format.dimension import Dimension
from pyqbeast.tiledb.format.domain import Coordinate, Range1D
from pyqbeast.tiledb.format.schema import ArraySchema, Layout
from pyqbeast.tiledb.read.order import (
    Keys,
    Rows,
    coordinate_keys,
    joined,
    last_of_equals,
    row_major,
    signs_of_zeros,
)

#: What follows the words that something wrote the same coordinates twice.
NO_DUPLICATES = (
    "and the array does not allow duplicates; drop the duplicates before the write, or make the array with"
    " allows_duplicates=True (the option duplicates of Spark's source)"
)


def global_order(columns: Mapping[str, pa.Array], schema: ArraySchema) -> Rows | None:
    """The positions of cells in global order, `None` where they are in it already.

    Args:
        columns: raw columns.
        schema: the array's schema.

    Raises:
        InvalidInputError: a coordinate is outside the domain or no number, or two cells have the same
            coordinates in an array that does not allow it.
        UnsupportedError: the array's cells are in Hilbert order.
    """
    if schema.cell_order is Layout.HILBERT:
        raise UnsupportedError(
            "writing arrays in Hilbert order is not supported; copy the cells into a new array in another order"
        )
    in_use = schema.current_domain.ranges if schema.current_domain else [None] * len(schema.dimensions)
    for dimension, current in zip(schema.dimensions, in_use, strict=True):
        _check_domain(columns[dimension.name], dimension, current)
    of_dimensions = [columns[d.name] for d in schema.dimensions], schema.dimension_fields
    coordinates, signs = coordinate_keys(*of_dimensions), signs_of_zeros(*of_dimensions)
    order = row_major(joined(_keys(columns, coordinates, schema) + signs))
    if not schema.allows_duplicates and not last_of_equals(coordinates + signs, order).all():
        raise InvalidInputError(f"two cells have the same coordinates, {NO_DUPLICATES}")
    return order


def is_in_global_order(columns: Mapping[str, pa.Array], schema: ArraySchema) -> bool:
    """Whether cells with coordinates in the domain are in global order, by row or by column.

    Cells with equal coordinates may be in any order, and 0.0 is equal to -0.0 here, as in the library of TileDB.
    """
    coordinates = coordinate_keys([columns[d.name] for d in schema.dimensions], schema.dimension_fields)
    order = row_major(_keys(columns, coordinates, schema))
    return order is None or bool((np.diff(order) == 1).all())


def _keys(columns: Mapping[str, pa.Array], coordinates: Keys, schema: ArraySchema) -> Keys:
    """What cells are ordered by: their tiles, and in a tile their coordinates, which are given as keys."""
    tiled = [dimension for dimension in schema.dimensions if dimension.extent is not None]
    tiles = [_tile_numbers(dimension, numbers(columns[dimension.name])) for dimension in tiled]
    keys = _ordered(tiles, schema.tile_order) + _ordered(coordinates, schema.cell_order)
    return [key for key in keys if key.size and key.min() != key.max()] or keys[-1:]


def _ordered(keys: Keys, layout: Layout) -> Keys:
    return keys[::-1] if layout is Layout.COL_MAJOR else keys


def _check_domain(column: pa.Array, dimension: Dimension, current: Range1D | None) -> None:
    """Check coordinates: other readers do not see those outside the domain, or outside its part in use."""
    domain = dimension.domain if current is None else (current.low, current.high)
    if domain is not None and not are_inside(column, domain):
        raise InvalidInputError(
            f"a coordinate of {dimension.name!r} is not in its domain, {domain[0]} to {domain[1]}"
        )


def are_inside(column: pa.Array, domain: tuple[Coordinate, Coordinate]) -> bool:
    """Whether no raw coordinate lies outside a domain."""
    if not len(column):
        return True
    low, high = domain
    if isinstance(low, bytes):
        bounds = pc.min_max(column).as_py()
        return bool(low <= bounds["min"] and bounds["max"] <= high)
    values = numbers(column)
    return bool(((values >= low) & (values <= high)).all())


def _tile_numbers(dimension: Dimension, coordinates: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The position of each coordinate's space tile in its dimension."""
    assert dimension.domain is not None, "a tile extent comes with a domain"
    tiles: npt.NDArray[Any]
    low = np.array(dimension.domain[0], dtype=dimension.field.datatype.dtype)
    if coordinates.dtype.kind == "f":
        with np.errstate(over="ignore", invalid="ignore"):
            quotients = (coordinates - low) / dimension.extent
        # The library makes 64 bits of them: on x86 0 of what is beyond, and the greatest of what is no number.
        tiles = np.where(quotients < 2.0**64, np.floor(quotients), np.where(np.isnan(quotients), np.inf, 0))
        return tiles
    # The difference may not fit the signed type, but it always fits the unsigned one.
    unsigned = np.dtype(f"<u{coordinates.dtype.itemsize}")
    steps = coordinates.view(unsigned) - low.view(unsigned)
    tiles = steps // unsigned.type(dimension.extent)
    return tiles
