"""Array schemas: dimensions, attributes, order, capacity and filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from types import MappingProxyType

from pyqbeast.core.arguments import check_type
from pyqbeast.core.errors import InvalidInputError, UnsupportedError
from pyqbeast.core.once import once
from pyqbeast.tiledb.cursor import Bytes, Cursor, text, u8, u32, u64
from pyqbeast.tiledb.errors import ArrayFormatError, reading
from pyqbeast.tiledb.filters import Rle, Zstd
from pyqbeast.tiledb.filters.base import WRITTEN_VERSION
from pyqbeast.tiledb.filters.pipeline import FilterPipeline
from pyqbeast.tiledb.format.attribute import ENUMERATIONS_SINCE, attribute_bytes, parse_attribute
from pyqbeast.tiledb.format.dimension import Dimension
from pyqbeast.tiledb.format.domain import MBR
from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.format.generic_tile import check_version

#: The filters of new schemas: of coordinates and offsets, and of validity.
ZSTD_FILTERS, RLE_FILTERS = FilterPipeline((Zstd(),)), FilterPipeline((Rle(),))


#: What the time columns of a fragment are called here: when a cell was written, when it was deleted, and by which
#: processed condition. Their files are t.tdb and so on.
TIMESTAMP, DELETE_TIMESTAMP, DELETE_CONDITION = "__t", "__dt", "__dci"


class Layout(IntEnum):
    """An order of tiles or cells."""

    ROW_MAJOR = 0
    COL_MAJOR = 1
    HILBERT = 4


@dataclass(frozen=True)
class ArraySchema:
    """What the cells of an array are.

    Attributes:
        dimensions: the dimensions.
        attributes: the attributes' columns.
        dense: whether every cell of the domain exists.
        allows_duplicates: whether several cells may have the same coordinates.
        tile_order, cell_order: the order of space tiles, and of cells in them.
        capacity: cells of a tile of a sparse fragment.
        coords_filters, offsets_filters, validity_filters: what their names say.
        enumerations: file by name of each enumeration.
        current_domain: the part of the domain in use, `None` where all of it is.
        version: format version.
        name: the schema's file name, "" while it is not stored.
    """

    dimensions: tuple[Dimension, ...]
    attributes: tuple[Field, ...]
    dense: bool = False
    allows_duplicates: bool = False
    tile_order: Layout = Layout.ROW_MAJOR
    cell_order: Layout = Layout.ROW_MAJOR
    capacity: int = 10_000
    coords_filters: FilterPipeline = ZSTD_FILTERS
    offsets_filters: FilterPipeline = ZSTD_FILTERS
    validity_filters: FilterPipeline = RLE_FILTERS
    enumerations: dict[str, str] = field(default_factory=dict, hash=False)
    current_domain: MBR | None = None
    version: int = WRITTEN_VERSION
    name: str = ""

    def __post_init__(self) -> None:
        for columns, kind in ((self.dimensions, Dimension), (self.attributes, Field)):
            check_type(columns, Sequence, "a schema takes a tuple of dimensions and one of attributes")
            for column in columns:
                check_type(column, kind, "a schema takes what `dimension` and `attribute` make")
        names = [*(d.name for d in self.dimensions), *(a.name for a in self.attributes)]
        if len(set(names)) < len(names):
            raise InvalidInputError(f"a name stands for two columns: {names}")
        if taken := sorted({TIMESTAMP, DELETE_TIMESTAMP, DELETE_CONDITION} & set(names)):
            raise InvalidInputError(f"no column can be called {taken[0]!r}")
        if not self.dimensions:
            raise InvalidInputError("an array has at least one dimension")
        if self.dense and self.allows_duplicates:
            raise InvalidInputError("a dense array has no duplicates")
        if self.dense and len({d.field.datatype for d in self.dimensions}) > 1:
            raise InvalidInputError("the dimensions of a dense array have one type")
        if self.dense and any(
            d.extent is None or d.field.datatype.is_float or d.field.is_var for d in self.dimensions
        ):
            raise InvalidInputError("the dimensions of a dense array are whole numbers with a tile extent")

    @property
    @once
    def dimension_fields(self) -> tuple[Field, ...]:
        """The dimensions' columns."""
        return tuple(dimension.field for dimension in self.dimensions)

    @property
    def fields(self) -> Mapping[str, Field]:
        """All columns by name, the dimensions first."""
        return MappingProxyType(self._fields)

    @property
    @once
    def _fields(self) -> dict[str, Field]:
        return {f.name: f for f in (*self.dimension_fields, *self.attributes)}

    def select(self, columns: Sequence[str] | None) -> list[Field]:
        """The columns of these names, or all.

        Raises:
            InvalidInputError: there is no such column.
        """
        if columns is None:
            return list(self.fields.values())
        if not isinstance(columns, list | tuple):
            raise InvalidInputError(f"columns are a list of names, not {columns!r}")
        unknown = [name for name in columns if not isinstance(name, str) or name not in self.fields]
        if unknown:
            raise InvalidInputError(f"no column {unknown[0]!r}; the columns are {list(self.fields)}")
        return [self.fields[name] for name in columns]

    def check_current_domain(self) -> None:
        """Check that the current domain is a part of the domain.

        Raises:
            InvalidInputError: it is not.
        """
        if self.current_domain is None:
            return
        for dimension, bounds in zip(self.dimensions, self.current_domain.ranges, strict=True):
            low, high = (bounds.low, bounds.high) if dimension.domain is None else dimension.domain
            if not low <= bounds.low <= bounds.high <= high:
                raise InvalidInputError(f"the current domain leaves the domain of {dimension.name!r}")

    @classmethod
    def parse(cls, payload: Bytes, name: str) -> ArraySchema:
        """Read a schema from the payload of its generic tile.

        Raises:
            ArrayFormatError: the bytes are broken.
            UnsupportedError: dimension labels, or a version or filter that is not supported.
        """
        file = f"__schema/{name}"
        with reading(file, "schema"):
            try:
                return _parse(Cursor(payload, file), name)
            except InvalidInputError as error:
                raise ArrayFormatError(str(error)) from error

    def to_bytes(self) -> bytes:
        """The payload of the schema's generic tile, in the version that is written."""
        out = u32(WRITTEN_VERSION) + u8(self.allows_duplicates) + u8(not self.dense)
        out += u8(self.tile_order) + u8(self.cell_order) + u64(self.capacity)
        out += (
            self.coords_filters.to_bytes()
            + self.offsets_filters.to_bytes()
            + self.validity_filters.to_bytes()
        )
        out += u32(len(self.dimensions)) + b"".join(d.to_bytes() for d in self.dimensions)
        out += u32(len(self.attributes)) + b"".join(attribute_bytes(a) for a in self.attributes)
        out += u32(0, len(self.enumerations))
        out += b"".join(text(name) + text(file) for name, file in self.enumerations.items())
        out += u32(_CURRENT_DOMAIN_VERSION) + u8(self.current_domain is None)
        if self.current_domain is not None:
            out += u8(_RECTANGLE) + self.current_domain.to_bytes(self.dimension_fields)
        return out


_CURRENT_DOMAIN_VERSION, _RECTANGLE = 0, 0
_LABELS_SINCE, _CURRENT_DOMAIN_SINCE = 18, 22


def _parse(cursor: Cursor, name: str) -> ArraySchema:
    version = check_version(cursor.u32("version"), cursor.file)
    duplicates, sparse = bool(cursor.u8("allows duplicates")), cursor.u8("array type")
    orders = cursor.u8("tile order"), cursor.u8("cell order")
    if sparse > 1 or not {*orders} <= {*Layout}:
        raise ArrayFormatError(f"array type {sparse}, tile and cell order {orders}")
    capacity = cursor.u64("capacity")
    coords, offsets, validity = (FilterPipeline.parse(cursor, version) for _ in range(3))
    dimensions = tuple(Dimension.parse(cursor, version, coords) for _ in range(cursor.u32("dimensions")))
    attributes = tuple(parse_attribute(cursor, version) for _ in range(cursor.u32("attributes")))
    if version >= _LABELS_SINCE and cursor.u32("dimension labels"):
        raise UnsupportedError(f"{cursor.file}: dimension labels are not supported")
    enumerations = {}
    if version >= ENUMERATIONS_SINCE:
        for _ in range(cursor.u32("enumerations")):
            key = cursor.text(cursor.u32("enumeration name size"), "enumeration name")
            enumerations[key] = cursor.text(cursor.u32("enumeration file size"), "enumeration file")
    schema = ArraySchema(
        dimensions, attributes, not sparse, duplicates, Layout(orders[0]), Layout(orders[1]), capacity,
        coords, offsets, validity, enumerations, None, version, name,
    )  # fmt: skip
    if capacity == 0:
        raise ArrayFormatError("a capacity of 0 cells")
    schema = replace(schema, current_domain=_parse_current_domain(cursor, schema))
    schema.check_current_domain()
    return schema


def _parse_current_domain(cursor: Cursor, schema: ArraySchema) -> MBR | None:
    if schema.version < _CURRENT_DOMAIN_SINCE:
        return None
    version = cursor.u32("current domain version")
    if version != _CURRENT_DOMAIN_VERSION:
        raise UnsupportedError(f"{cursor.file}: current domain of version {version} is not supported")
    if cursor.u8("current domain empty"):
        return None
    if cursor.u8("current domain type") != _RECTANGLE:
        raise UnsupportedError(f"{cursor.file}: a current domain that is no rectangle is not supported")
    return MBR.parse(cursor, schema.dimension_fields)
