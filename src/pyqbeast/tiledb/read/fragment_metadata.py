"""The metadata file of a fragment: its footer and its sections, each read when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.once import once
from pyqbeast.tiledb.cursor import Cursor
from pyqbeast.tiledb.datatypes import Datatype
from pyqbeast.tiledb.errors import ArrayFormatError, reading
from pyqbeast.tiledb.format.field import Field, FileKind
from pyqbeast.tiledb.format.footer import LENGTH_SIZE, Footer, footer_length, parse_head
from pyqbeast.tiledb.format.generic_tile import GenericTile
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

#: Bytes that are fetched from the end of the file for the footer, and often have the fragment's statistics before it. A
#: longer footer is fetched afterwards.
_TAIL = 2048

#: Up to so many bytes of sections are fetched at once, whichever of them is asked for first, and kept. Elsewhere that
#: takes no longer than a request, and a read asks for several sections of each column. Of many columns a read may ask
#: for few, and of thousands of fragments for the R-tree alone.
_FETCHED_WHOLE = 1 << 14

Section = TypeVar("Section")
SchemaLoader = Callable[[str], ArraySchema]


@dataclass(frozen=True)
class ColumnFile:
    """A data file of a column.

    Attributes:
        name: its name in the fragment's folder.
        path: the same, relative to the array.
        size: its bytes, as the footer says.
        tile_offsets: reads where its tiles begin.
    """

    name: str
    path: str
    size: int
    tile_offsets: Callable[[], TileOffsets]


class FragmentMetadata:
    """What is stored of a fragment beside its cells.

    Nothing is read before it is asked for, and each section only once.

    Attributes:
        name: its name, with the times it spans.
        path: its folder, relative to the array.
        store: the array's files.
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

    def __getstate__(self) -> dict[str, Any]:
        # Another process fetches what it needs of the sections.
        return {name: value for name, value in self.__dict__.items() if name != "_section_bytes"}

    @property
    def metadata_path(self) -> str:
        """The metadata file, relative to the array."""
        return f"{self.path}/{METADATA_FILE}"

    @property
    @once
    def footer(self) -> Footer:
        """The footer."""
        file = self.metadata_path
        with reading(file, "footer"):
            raw, start = self._raw_footer
            _, schema_name = parse_head(Cursor(raw, file))
            schema = self._schema_of(schema_name)
            footer = Footer.parse(raw, file, schema.dimension_fields, len(schema.attributes))
            if footer.dense != schema.dense or any(offset >= start for offset in footer.offsets):
                raise ArrayFormatError("the footer does not fit its schema and file")
        return footer

    @property
    def _raw_footer(self) -> tuple[bytes, int]:
        """The footer's bytes, and where they begin."""
        tail, held_from, start = self._tail
        return tail[start - held_from : -LENGTH_SIZE], start

    @property
    @once
    def _tail(self) -> tuple[bytes, int, int]:
        """The last bytes of the file, where they begin, and where the footer does."""
        file = self.metadata_path
        size = self.store.size(file)
        if size is None:
            raise ArrayFormatError("the file is missing", file=file)
        held_from = max(size - _TAIL, 0)
        tail = self.store.read(file, held_from, size)
        start = size - LENGTH_SIZE - footer_length(tail, file)
        if start < 0:
            raise ArrayFormatError("the footer is longer than the file", file=file, field="footer length")
        if start < held_from:
            tail, held_from = self.store.read(file, start, size), start
        return tail, held_from, start

    @property
    @once
    def schema(self) -> ArraySchema:
        """The schema that the fragment was written with, which may not be the array's newest."""
        return self._schema_of(self.footer.schema_name)

    @property
    def fields(self) -> Mapping[str, tuple[Field, str, int]]:
        """(field, stem of its files, slot) by name; the time columns are `__t`, `__dt` and `__dci`."""
        return MappingProxyType(self._fields)

    @property
    @once
    def _fields(self) -> dict[str, tuple[Field, str, int]]:
        schema, footer = self.schema, self.footer
        first = len(schema.attributes) + 1
        columns = {a.name: (a, f"a{i}", i) for i, a in enumerate(schema.attributes)}
        columns |= {d.name: (d.field, f"d{i}", first + i) for i, d in enumerate(schema.dimensions)}
        slot = first + len(schema.dimensions)
        times = [TIMESTAMP] if footer.has_timestamps else []
        times += [DELETE_TIMESTAMP, DELETE_CONDITION] if footer.has_deletes else []
        for i, name in enumerate(times):
            field = Field(name, Datatype.UINT64, filters=schema.coords_filters)
            columns[name] = (field, name[2:], slot + i)
        return columns

    def slot(self, column: str) -> int:
        """The position of a column in the lists of the footer.

        Raises:
            InvalidInputError: the fragment has no such column.
        """
        if column not in self.fields:
            raise InvalidInputError(f"{self.name.text}: no column {column!r}; there are {list(self.fields)}")
        return self.fields[column][2]

    def files_of(self, column: str) -> dict[FileKind, ColumnFile]:
        """The data files of a column.

        Raises:
            InvalidInputError: the fragment has no such column.
        """
        slot = self.slot(column)
        field, stem, _ = self.fields[column]
        files = {}
        for kind in field.file_kinds:
            name, size = kind.file_name(stem), self.footer.sizes(kind)[slot]
            offsets = partial(self._tile_offsets, kind, column)
            files[kind] = ColumnFile(name, f"{self.path}/{name}", size, offsets)
        return files

    def _tile_offsets(self, kind: FileKind, column: str) -> TileOffsets:
        return _need(self._slot_section(kind.offsets_section, column, TileOffsets.parse))

    def section(self, offset: int, label: str) -> GenericTile:
        """The generic tile at this offset of the metadata file."""
        tail, held_from, end = self._tail
        after = next((o for o in self.footer.offsets if o > offset), end)
        if offset >= held_from:
            data = tail[offset - held_from : after - held_from]
        else:
            held = self._section_bytes
            data = self.store.read(self.metadata_path, offset, after) if held is None else held[offset:after]
        return GenericTile.parse(data, self.metadata_path, label, self._key)

    @property
    @once
    def _section_bytes(self) -> bytes | None:
        """The bytes of all sections, `None` where they are too many to be fetched at once."""
        end = self._tail[2]
        return self.store.read(self.metadata_path, 0, end) if end <= _FETCHED_WHOLE else None

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

    @property
    @once
    def rtree(self) -> RTree:
        """The R-tree."""
        with reading(self.metadata_path, "R-tree"):
            payload = self.section(self.footer.rtree, "R-tree").payload
            tree = RTree.parse(payload, self.metadata_path, self.schema.dimension_fields)
            leaves = tree.leaves
            if not self.footer.dense and (0 if leaves is None else len(leaves)) != self.footer.sparse_tiles:
                raise ArrayFormatError(f"the leaves are not the {self.footer.sparse_tiles} tiles")
        return tree

    def tile_offsets(self, column: str) -> TileOffsets:
        """Where the tiles of a column's (first) file begin."""
        return self._tile_offsets(FileKind.FIXED, column)

    def tile_var_offsets(self, column: str) -> TileOffsets:
        """Where the tiles of a column's file of variable cells begin."""
        return self._tile_offsets(FileKind.VAR, column)

    def tile_var_sizes(self, column: str) -> TileSizes:
        """Bytes of a column's variable cells in each tile, before filtering."""
        return _need(self._slot_section("tile_var_sizes", column, TileSizes.parse))

    def tile_validity_offsets(self, column: str) -> TileOffsets:
        """Where the tiles of a column's validity file begin."""
        return self._tile_offsets(FileKind.VALIDITY, column)

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

    @property
    @once
    def statistics(self) -> TileFragmentMinMaxSumNullCount | None:
        """The statistics of the whole fragment, `None` before version 12."""
        offset = self.footer.fragment_statistics
        if offset is None:
            return None
        with reading(self.metadata_path, "fragment statistics"):
            payload = self.section(offset, "fragment statistics").payload
            slots = len(self.footer.file_sizes)
            return TileFragmentMinMaxSumNullCount.parse(payload, self.metadata_path, slots)

    @property
    @once
    def processed_conditions(self) -> TileProcessedConditions:
        """The delete conditions that the fragment's cells have been through already."""
        offset = self.footer.processed_conditions
        if offset is None:
            return TileProcessedConditions()
        with reading(self.metadata_path, "processed conditions"):
            payload = self.section(offset, "processed conditions").payload
            return TileProcessedConditions.parse(payload, self.metadata_path)


def _need(section: Section | None) -> Section:
    assert section is not None, "every version has this section"
    return section
