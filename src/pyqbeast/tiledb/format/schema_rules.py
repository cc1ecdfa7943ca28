"""Rules for the schema of a new array, so that pyqbeast and libtiledb can open the array and read its cells."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from pyqbeast.core.arguments import check_type
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb.datatypes import LARGEST_CELL, Datatype
from pyqbeast.tiledb.filters import FloatScale
from pyqbeast.tiledb.filters.base import WRITTEN_VERSION, ChunkContext
from pyqbeast.tiledb.filters.pipeline import FilterPipeline
from pyqbeast.tiledb.format.dimension import Dimension
from pyqbeast.tiledb.format.domain import MBR, Coordinate, Range1D
from pyqbeast.tiledb.format.enumeration import Enumeration
from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.format.schema import ArraySchema, Layout

#: The format reserves names that begin like this.
_RESERVED = "__"
#: The Hilbert curve goes through so many dimensions at most.
_HILBERT_DIMENSIONS = 16
_LARGEST_CAPACITY = 2**64 - 1


def check_new_schema(schema: ArraySchema, enumerations: Mapping[str, Enumeration]) -> None:
    """Check a schema that an array is to be made with.

    Args:
        schema: the schema.
        enumerations: the enumerations that come with it, by name.

    Raises:
        InvalidInputError: no array can have it, or one that nobody could write or read.
    """
    _check_options(schema)
    _check_enumerations(enumerations)
    if schema.dense and not schema.attributes:
        raise InvalidInputError("a dense array has at least one attribute")
    if schema.tile_order is Layout.HILBERT or (schema.dense and schema.cell_order is Layout.HILBERT):
        raise InvalidInputError("only the cells of a sparse array can be in Hilbert order")
    if schema.cell_order is Layout.HILBERT and len(schema.dimensions) > _HILBERT_DIMENSIONS:
        raise InvalidInputError(f"Hilbert order takes {_HILBERT_DIMENSIONS} dimensions at most")
    _check_filters("offsets", schema.offsets_filters, ChunkContext(Datatype.UINT64))
    _check_filters("validity", schema.validity_filters, ChunkContext(Datatype.UINT8))
    for dimension in schema.dimensions:
        check_dimension(dimension)
        if not dimension.own_filters.filters:
            check_dimension_filters(dimension.field, schema.coords_filters)
    if schema.dense:
        _check_dense_tiles(schema)
    else:
        # The library of TileDB puts the times of cells that it consolidates through the filters of coordinates.
        _check_filters(
            "times of cells by coords_filters", schema.coords_filters, ChunkContext(Datatype.UINT64)
        )
    _check_current_domain(schema)
    for attribute in schema.attributes:
        check_attribute(attribute)
        if attribute.order and (not schema.dense or len(schema.dimensions) != 1):
            raise InvalidInputError(
                f"{attribute.name!r}: only dense arrays of one dimension order an attribute"
            )
        if attribute.enumeration:
            _check_enumerated(attribute, enumerations)
    _check_known(schema.enumerations, enumerations)


def _check_options(schema: ArraySchema) -> None:
    check_type(schema.capacity, (int, np.integer), "a capacity is a whole number of cells")
    if not 1 <= schema.capacity <= _LARGEST_CAPACITY:
        raise InvalidInputError(f"a tile has a capacity of 1 cell or more, not {schema.capacity}")
    for order in (schema.tile_order, schema.cell_order):
        check_type(order, Layout, "an order of tiles or cells is a Layout")
    for flag in (schema.dense, schema.allows_duplicates):
        check_type(flag, bool, "dense and allows_duplicates are True or False")
    for filters in (schema.coords_filters, schema.offsets_filters, schema.validity_filters):
        check_type(
            filters, FilterPipeline, "filters of coordinates, offsets and validity are a FilterPipeline"
        )


def check_dimension(dimension: Dimension) -> None:
    """Check a dimension by itself.

    Raises:
        InvalidInputError: its type, domain, extent and filters do not go together.
    """
    field, domain, extent = dimension.field, dimension.domain, dimension.extent
    _check_field(field)
    kind, about = field.datatype, f"dimension {field.name!r}"
    text = kind is Datatype.STRING_ASCII
    if not text and not (kind.is_number or kind.unit):
        raise InvalidInputError(f"{kind.name} cannot be a dimension")
    if text != field.is_var or (not text and field.cell_val_num != 1):
        raise InvalidInputError(f"{about}: {field.cell_val_num} values per cell")
    if text != (domain is None) or (text and extent is not None):
        raise InvalidInputError(f"{about}: numbers need a domain, text has none and no extent")
    if domain is not None:
        _check_domain(about, dimension)
    check_dimension_filters(field, field.filters)


def _check_field(field: Field) -> None:
    about = f"column {field.name!r}"
    check_type(field.name, str, "the name of a column is a text")
    check_type(field.datatype, Datatype, f"{about}: the type is a Datatype")
    check_type(field.cell_val_num, int, f"{about}: cell_val_num is a whole number")
    check_type(field.nullable, bool, f"{about}: nullable is True or False")
    check_type(field.fill, bytes, f"{about}: a fill value is bytes")
    check_type(field.enumeration, str, f"{about}: an enumeration is named by a text")
    check_type(field.filters, FilterPipeline, f"{about}: its filters are a FilterPipeline")


def check_dimension_filters(field: Field, filters: FilterPipeline) -> None:
    """Check the filters that apply to a dimension.

    Raises:
        InvalidInputError: they cannot keep its coordinates.
    """
    about = f"dimension {field.name!r}"
    if any(isinstance(step, FloatScale) for step in filters.filters):
        raise InvalidInputError(f"{about}: the filter float-scale would give cells other coordinates")
    _check_filters(about, filters, field.context(WRITTEN_VERSION))


def _check_domain(about: str, dimension: Dimension) -> None:
    kind, domain, extent = dimension.field.datatype, dimension.domain, dimension.extent
    assert domain is not None, "only text has none"
    try:
        low, high = domain
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{about}: a domain is its least and greatest coordinate, not {domain!r}"
        ) from error
    for value in (low, high):
        _check_value(about, kind, value)
    # The span of a domain, which libtiledb stores where there is no extent, may be more than the type holds.
    span = Dimension(dimension.field, domain).tile_span
    is_span = type(extent) is type(span) and extent == span
    if extent is not None and not is_span:
        _check_value(about, kind, extent)
    if low > high or (extent is not None and not extent > 0):
        raise InvalidInputError(
            f"{about}: the domain {domain} has to rise, and the extent {extent} to be above 0"
        )
    cells = high - low + 1
    if extent is not None and extent > cells and not is_span:
        raise InvalidInputError(f"{about}: the extent {extent} is larger than the domain {domain}")
    if kind.is_float:
        return
    bounds = np.iinfo(kind.dtype)
    if (low, high) == (bounds.min, bounds.max):
        raise InvalidInputError(f"{about}: the domain leaves out at least one value of {kind.name}")
    if bounds.bits == 64:
        _check_last_tile(about, kind, low, cells, extent)


def _check_last_tile(about: str, kind: Datatype, low: int, cells: int, extent: int | None) -> None:
    """Check that the end of the last tile, which is as large as the others, is a value of the type."""
    if extent is not None and low + -(-cells // extent) * extent - 1 > np.iinfo(kind.dtype).max:
        raise InvalidInputError(
            f"{about}: the last tile of {extent} ends behind the last value of {kind.name}"
        )


def _check_dense_tiles(schema: ArraySchema) -> None:
    """Check that libtiledb can count the cells and tiles of a dense array, which it does in the type of dimensions."""
    in_tile = 1
    for dimension in schema.dimensions:
        kind, about = dimension.field.datatype, f"dimension {dimension.name!r} of a dense array"
        assert dimension.domain is not None
        assert dimension.extent is not None
        (low, high), extent, bounds = dimension.domain, dimension.extent, np.iinfo(kind.dtype)
        cells = high - low + 1
        _check_last_tile(about, kind, low, cells, extent)
        # The library waits for a coordinate beyond the domain, which never comes, unless one dimension has one tile.
        if high == bounds.max and (extent < cells or len(schema.dimensions) > 1):
            raise InvalidInputError(f"{about}: the domain leaves out the last value of {kind.name}, {high}")
        if in_tile >= 2**bounds.bits:
            raise InvalidInputError(
                f"the extents of a dense array but for the last one make {in_tile} cells, and {kind.name} counts"
                f" {2**bounds.bits - 1}: make the tiles smaller or the dimensions of a wider type"
            )
        in_tile *= extent


def _check_value(about: str, kind: Datatype, value: Coordinate) -> None:
    if kind.is_float:
        fits = isinstance(value, int | float | np.number) and abs(value) <= np.finfo(kind.dtype).max.item()
    else:
        bounds = np.iinfo(kind.dtype)
        fits = isinstance(value, int | np.integer) and bounds.min <= value <= bounds.max
    if not fits:
        raise InvalidInputError(f"{about}: {value!r} is no {kind.name}")


def _check_current_domain(schema: ArraySchema) -> None:
    if schema.current_domain is None:
        return
    check_type(schema.current_domain, MBR, "the current domain is an MBR")
    if len(schema.current_domain.ranges) != len(schema.dimensions):
        raise InvalidInputError("the current domain has one range per dimension")
    for dimension, bounds in zip(schema.dimensions, schema.current_domain.ranges, strict=True):
        about = f"the current domain of {dimension.name!r}"
        check_type(bounds, Range1D, f"{about} is a Range1D")
        for end in (bounds.low, bounds.high):
            if dimension.field.is_var:
                check_type(end, bytes, f"{about} has bytes as its ends")
            else:
                _check_value(about, dimension.field.datatype, end)
        if bounds.high == b"":
            # libtiledb takes such a range for empty, and finds no cell in it but that of the empty text.
            raise InvalidInputError(f"{about} holds the empty text alone; the last of all texts is b'\\x7f'")
    schema.check_current_domain()


def check_attribute(attribute: Field) -> None:
    """Check an attribute by itself.

    Raises:
        InvalidInputError: its name, type, fill value and filters do not go together.
    """
    _check_field(attribute)
    about, count, fill = f"attribute {attribute.name!r}", attribute.cell_val_num, attribute.fill
    if attribute.name.startswith(_RESERVED):
        raise InvalidInputError(f"{about}: names that begin with {_RESERVED} are kept for the format")
    size = attribute.cell_size
    fixed_fits = count >= 1 and size <= LARGEST_CELL and attribute.datatype is not Datatype.ANY
    if not (attribute.is_var or fixed_fits):
        raise InvalidInputError(f"{about}: {count} {attribute.datatype.name} values per cell")
    if fill and (len(fill) % size if attribute.is_var else len(fill) != size):
        raise InvalidInputError(f"{about}: a fill value of {len(fill)} bytes in cells of {size}")
    _check_filters(about, attribute.filters, attribute.context(WRITTEN_VERSION))


def _check_filters(about: str, filters: FilterPipeline, context: ChunkContext) -> None:
    try:
        filters.check(context)
    except InvalidInputError as error:
        raise InvalidInputError(f"{about}: {error}") from error


def _check_enumerations(enumerations: Mapping[str, Enumeration]) -> None:
    for name, enumeration in enumerations.items():
        check_type(enumeration, Enumeration, f"the enumeration {name!r} is an Enumeration")
        if enumeration.name != name:
            raise InvalidInputError(
                f"enumeration {enumeration.name!r} is given as {name!r}, and libtiledb finds it by its own name"
            )


def _check_enumerated(attribute: Field, enumerations: Mapping[str, Enumeration]) -> None:
    about = f"attribute {attribute.name!r}"
    _check_known([attribute.enumeration], enumerations)
    kind = attribute.datatype
    if attribute.cell_val_num != 1 or not (kind is Datatype.BOOL or (kind.is_number and not kind.is_float)):
        raise InvalidInputError(f"{about}: an enumeration takes one whole number per cell")
    # libtiledb demands that the type has one number more than the enumeration has values.
    count = len(enumerations[attribute.enumeration].raw)
    if count >= np.iinfo(kind.dtype).max:
        raise InvalidInputError(f"{about}: {kind.name} cannot number the {count} values of its enumeration")


def _check_known(names: Collection[str], enumerations: Mapping[str, Enumeration]) -> None:
    if missing := sorted(set(names) - enumerations.keys()):
        raise InvalidInputError(
            f"the schema names the enumeration {missing[0]!r} and does not hold its values: "
            "pass them as enumerations, those of an array that is there are array.enumerations"
        )
