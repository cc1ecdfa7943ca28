"""Fragments: one write's cells and everything that is known of them, read section by section."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb.cursor import Cursor
from pyqbeast.tiledb.datatypes import Datatype
from pyqbeast.tiledb.errors import ArrayFormatError, reading
from pyqbeast.tiledb.filters.pipeline import FilterPipeline
from pyqbeast.tiledb.format.domain import MBRs
from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.format.footer import LENGTH_SIZE, Footer, FooterHead, footer_length
from pyqbeast.tiledb.format.generic_tile import GenericTile
from pyqbeast.tiledb.format.grid import TileGrid
from pyqbeast.tiledb.format.rtree import RTree
from pyqbeast.tiledb.format.schema import DELETE_CONDITION, DELETE_TIMESTAMP, TIMESTAMP, ArraySchema
from pyqbeast.tiledb.format.sections import (
    TileFragmentMinMaxSumNullCount,
    TileMinsMaxs,
    TileNullCount,
    TileOffsets,
    TileProcessedConditions,
    TileSizes,
    TileSums,
)
from pyqbeast.tiledb.storage.names import TimestampedName
from pyqbeast.tiledb.storage.stores import Store

METADATA_FILE = "__fragment_metadata.tdb"
#: The delete time of cells that are not deleted.
NOT_DELETED = 2**64 - 1

#: Bytes that are fetched from the end of the file for the footer. The rest of a longer footer is fetched
#: afterwards.
_TAIL = 2048

Section = TypeVar("Section")
SchemaLoader = Callable[[str], ArraySchema]


class Fragment:
    """A fragment of an array.

    Nothing is read before it is asked for, and each section only once.

    Attributes:
        name: Its name, with the times it spans.
        path: Its folder, relative to the array.
        store: The array's files.
    """

    def __init__(
        self,
        store: Store,
        path: str,
        name: TimestampedName,
        schema_of: SchemaLoader,
        key: bytes | None = None,
    ) -> None:
        self.store, self.path, self.name = store, path, name
        self._schema_of, self._key = schema_of, key
        self._sections: dict[tuple[str, int], Any] = {}

    def __repr__(self) -> str:
        return f"Fragment({self.name.text!r})"

    @property
    def metadata_path(self) -> str:
        """The metadata file, relative to the array."""
        return f"{self.path}/{METADATA_FILE}"

    @cached_property
    def footer(self) -> Footer:
        """The footer."""
        file = self.metadata_path
        with reading(file, "footer"):
            raw, start = self._raw_footer
            head = FooterHead.parse(Cursor(raw, file))
            schema = self._schema_of(head.schema_name)
            footer = Footer.parse(raw, file, schema.dimension_fields, len(schema.attributes))
            if footer.dense != schema.dense or any(offset >= start for offset in footer.offsets):
                raise ArrayFormatError("the footer does not fit its schema and file")
        return footer

    @cached_property
    def _raw_footer(self) -> tuple[bytes, int]:
        """The footer's bytes, and where they begin."""
        file = self.metadata_path
        size = self.store.size(file)
        if size is None:
            raise ArrayFormatError("the file is missing", file=file)
        tail = self.store.read(file, max(size - _TAIL, 0), size)
        start = size - LENGTH_SIZE - footer_length(tail, file)
        if start < 0:
            raise ArrayFormatError("the footer is longer than the file", file=file, field="footer length")
        if size - start > len(tail):
            tail = self.store.read(file, start, size)
        return tail[len(tail) - (size - start) : -LENGTH_SIZE], start

    @cached_property
    def schema(self) -> ArraySchema:
        """The schema that the fragment was written with, which may not be the array's newest."""
        return self._schema_of(self.footer.schema_name)

    @cached_property
    def fields(self) -> dict[str, tuple[Field, str, int]]:
        """(column, stem of its files, slot) by name; the time columns are `__t`, `__dt` and `__dci`."""
        schema, footer = self.schema, self.footer
        first = len(schema.attributes) + 1
        columns = {a.name: (a, f"a{i}", i) for i, a in enumerate(schema.attributes)}
        columns |= {d.name: (d.field, f"d{i}", first + i) for i, d in enumerate(schema.dimensions)}
        slot = first + len(schema.dimensions)
        times = [TIMESTAMP] if footer.has_timestamps else []
        times += [DELETE_TIMESTAMP, DELETE_CONDITION] if footer.has_deletes else []
        for i, name in enumerate(times):
            column = Field(name, Datatype.UINT64, filters=schema.coords_filters)
            columns[name] = (column, name[2:], slot + i)
        return columns

    def slot(self, column: str) -> int:
        """The position of a column in the lists of the footer.

        Raises:
            InvalidInputError: The fragment has no such column.
        """
        if column not in self.fields:
            raise InvalidInputError(f"{self.name.text}: no column {column!r}; there are {list(self.fields)}")
        return self.fields[column][2]

    # Sections -------------------------------------------------------------------------------------

    def section(self, offset: int, label: str) -> GenericTile:
        """The generic tile at this offset of the metadata file."""
        offsets, end = self.footer.offsets, self._raw_footer[1]
        after = next((o for o in offsets if o > offset), end)
        data = self.store.read(self.metadata_path, offset, after)
        return GenericTile.parse(data, self.metadata_path, label, self._key)

    def _slot_section(self, kind: str, column: str, parse: Callable[[bytes, str], Section]) -> Section | None:
        slot = self.slot(column)
        if (kind, slot) not in self._sections:
            offsets = self.footer.sections.get(kind)
            if offsets is None:
                return None
            label = f"{kind} of {column}"
            with reading(self.metadata_path, label):
                section = parse(self.section(offsets[slot], label).payload, self.metadata_path)
            self._sections[kind, slot] = section
        found: Section = self._sections[kind, slot]
        return found

    @cached_property
    def rtree(self) -> RTree:
        """The R-tree."""
        with reading(self.metadata_path, "R-tree"):
            payload = self.section(self.footer.rtree, "R-tree").payload
            tree = RTree.parse(payload, self.metadata_path, self.schema.dimension_fields)
            leaves = tree.leaves
            if not self.footer.dense and (0 if leaves is None else len(leaves)) != self.footer.sparse_tiles:
                raise ArrayFormatError(f"the leaves are not the {self.footer.sparse_tiles} tiles")
        return tree

    @cached_property
    def leaves(self) -> MBRs | None:
        """The rectangles around the cells of each tile as these are read, `None` in a dense fragment.

        The R-tree holds coordinates before filtering. A float scale changes coordinates, so for such a
        dimension the rectangles say nothing.
        """
        leaves = self.rtree.leaves
        if leaves is None or not any(d.is_rounded for d in self.schema.dimension_fields):
            return leaves
        dimensions = self.schema.dimension_fields
        lows, highs = [], []
        for dimension, low, high in zip(dimensions, leaves.lows, leaves.highs, strict=True):
            ends = _ends(dimension.datatype) if dimension.is_rounded else None
            lows.append(low if ends is None else np.full_like(low, ends[0]))
            highs.append(high if ends is None else np.full_like(high, ends[1]))
        return MBRs(tuple(lows), tuple(highs))

    def may_overlap(self, other: Fragment) -> bool:
        """Whether cells of both may have the same coordinates."""
        one, two = self.footer.non_empty_domain, other.footer.non_empty_domain
        if one is None or two is None:
            return False
        sides = zip(one.ranges, two.ranges, self.schema.dimension_fields, strict=True)
        return all(d.is_rounded or a.intersects(b) for a, b, d in sides)

    def tile_offsets(self, column: str) -> TileOffsets:
        """Where the tiles of a column's (first) file begin."""
        return _need(self._slot_section("tile_offsets", column, TileOffsets.parse))

    def tile_var_offsets(self, column: str) -> TileOffsets:
        """Where the tiles of a column's file of variable cells begin."""
        return _need(self._slot_section("tile_var_offsets", column, TileOffsets.parse))

    def tile_var_sizes(self, column: str) -> TileSizes:
        """Bytes of a column's variable cells in each tile, before filtering."""
        return _need(self._slot_section("tile_var_sizes", column, TileSizes.parse))

    def tile_validity_offsets(self, column: str) -> TileOffsets:
        """Where the tiles of a column's validity file begin."""
        return _need(self._slot_section("tile_validity_offsets", column, TileOffsets.parse))

    def tile_mins(self, column: str) -> TileMinsMaxs | None:
        """Least values of a column's tiles, `None` before version 11."""
        return self._slot_section("tile_mins", column, TileMinsMaxs.parse)

    def tile_maxs(self, column: str) -> TileMinsMaxs | None:
        """Greatest values of a column's tiles, `None` before version 11."""
        return self._slot_section("tile_maxs", column, TileMinsMaxs.parse)

    def tile_sums(self, column: str) -> TileSums | None:
        """Sums of a column's tiles, `None` before version 11."""
        return self._slot_section("tile_sums", column, TileSums.parse)

    def tile_null_counts(self, column: str) -> TileNullCount | None:
        """Null cells of a column's tiles, `None` before version 11."""
        return self._slot_section("tile_null_counts", column, TileNullCount.parse)

    @cached_property
    def statistics(self) -> TileFragmentMinMaxSumNullCount | None:
        """The statistics of the whole fragment, `None` before version 12."""
        offset = self.footer.fragment_statistics
        if offset is None:
            return None
        with reading(self.metadata_path, "fragment statistics"):
            payload = self.section(offset, "fragment statistics").payload
            slots = len(self.footer.file_sizes)
            return TileFragmentMinMaxSumNullCount.parse(payload, self.metadata_path, slots)

    @cached_property
    def processed_conditions(self) -> TileProcessedConditions:
        """The delete conditions that the fragment's cells have been through already."""
        offset = self.footer.processed_conditions
        if offset is None:
            return TileProcessedConditions()
        with reading(self.metadata_path, "processed conditions"):
            payload = self.section(offset, "processed conditions").payload
            return TileProcessedConditions.parse(payload, self.metadata_path)

    # Tiles ----------------------------------------------------------------------------------------

    def pipeline(self, filters: FilterPipeline) -> FilterPipeline:
        """The filters that the tiles of a column went through: encryption comes last where there is any."""
        return filters if self._key is None else filters.with_key(self._key)

    @cached_property
    def grid(self) -> TileGrid | None:
        """The space tiles of a dense fragment, `None` for a sparse one or one without cells."""
        domain = self.footer.non_empty_domain
        if not self.footer.dense or domain is None:
            return None
        with reading(self.metadata_path, "footer"):
            return TileGrid.of_fragment(self.schema, domain)

    @cached_property
    def tile_count(self) -> int:
        """Number of tiles.

        Raises:
            ArrayFormatError: The footer (which no checksum guards) contradicts the sections.
        """
        if not self.footer.dense:
            leaves = self.rtree.leaves
            return 0 if leaves is None else len(leaves)
        count = self.grid.tile_count if self.grid else 0
        first = self.schema.attributes[0].name if count and self.schema.attributes else None
        if first is not None and self.tile_offsets(first).values.size != count:
            raise ArrayFormatError(f"there are not {count} tiles", file=self.metadata_path, field="footer")
        return count

    @cached_property
    def stored_bytes(self) -> int:
        """Bytes of the fragment's files, as far as the store tells; as its footer says where not."""
        sizes = [entry.size for entry in self.store.entries(self.path)]
        if None not in sizes:
            return sum(size or 0 for size in sizes)
        footer = self.footer
        return sum(map(sum, (footer.file_sizes, footer.var_sizes, footer.validity_sizes)))

    def tile_cells(self, tiles: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        """Cells of each of these tiles; those of a dense fragment count its padding."""
        if self.grid is not None:
            return np.full(tiles.size, self.grid.cells_per_tile, dtype=np.int64)
        last = self.tile_count - 1
        return np.where(tiles == last, self.footer.last_tile_cells, self.schema.capacity).astype(np.int64)

    @property
    def cell_count(self) -> int:
        """Cells, with the padding of a dense fragment."""
        return int(self.tile_cells(np.arange(self.tile_count)).sum())


def _ends(datatype: Datatype) -> tuple[float, float]:
    """The least and greatest value of a type."""
    if datatype.is_float:
        return -np.inf, np.inf
    bounds = np.iinfo(datatype.dtype)
    return bounds.min, bounds.max


def _need(section: Section | None) -> Section:
    assert section is not None, "every version has this section"
    return section
