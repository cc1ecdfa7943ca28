"""The files of a new fragment: data files tile by tile, and the metadata file with every section."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyqbeast.core.errors import InvalidInputError, UnsupportedError
from pyqbeast.tiledb.datatypes import Datatype
from pyqbeast.tiledb.filters import FloatScale
from pyqbeast.tiledb.filters.base import ChunkContext, Octets, octets
from pyqbeast.tiledb.filters.pipeline import in_array
from pyqbeast.tiledb.format.column import filled, fixed_array, fixed_bytes, var_bytes
from pyqbeast.tiledb.format.domain import MBR
from pyqbeast.tiledb.format.field import Field, FileKind
from pyqbeast.tiledb.format.footer import SLOT_SECTIONS, Footer, slot_count
from pyqbeast.tiledb.format.generic_tile import encode_generic_tile
from pyqbeast.tiledb.format.rtree import RTree
from pyqbeast.tiledb.format.schema import ArraySchema
from pyqbeast.tiledb.format.sections import (
    TileFragmentMinMaxSumNullCount,
    TileOffsets,
    TileProcessedConditions,
    TileSizes,
)
from pyqbeast.tiledb.format.statistics import NO_STATISTICS, TileStatistics, tile_statistics
from pyqbeast.tiledb.format.tile import encode_tile
from pyqbeast.tiledb.read.fragment_metadata import METADATA_FILE

#: Stored for a text column whose filter keeps the cells' lengths: a tile without chunks.
_NO_CHUNKS = bytes(8)


@dataclass
class _File:
    """A data file in the making."""

    content: bytearray = dataclasses.field(default_factory=bytearray)
    offsets: list[int] = dataclasses.field(default_factory=list)


@dataclass
class FieldFiles:
    """The files of one column, and what the metadata file has to say about them."""

    by_kind: dict[FileKind, _File] = dataclasses.field(
        default_factory=lambda: {kind: _File() for kind in FileKind}
    )
    var_sizes: list[int] = dataclasses.field(default_factory=list)
    statistics: TileStatistics = NO_STATISTICS

    def add(self, kind: FileKind, tile: bytes) -> None:
        """Append a tile to a file."""
        file = self.by_kind[kind]
        file.offsets.append(len(file.content))
        file.content += tile


def encode_column(
    tiles: list[pa.Array],
    field: Field,
    schema: ArraySchema,
    key: bytes | None,
    counted: Iterable[pa.Array] | None = None,
) -> FieldFiles:
    """Filter a column's tiles.

    Args:
        tiles: the raw cells of each tile.
        field: the column.
        schema: the array's schema.
        key: the encryption key, if the array is encrypted.
        counted: the cells of each tile that statistics are of, where these are not all.
    """
    version, files = schema.version, FieldFiles()
    if field.order:
        raise UnsupportedError(
            f"column {field.name!r} is ordered; writing such columns is not supported: copy the cells into a new array"
        )
    values, context = in_array(field.filters, key), field.context(version)
    offsets, u64s = in_array(schema.offsets_filters, key), ChunkContext(Datatype.UINT64, version=version)
    validity, flags = in_array(schema.validity_filters, key), ChunkContext(Datatype.UINT8, version=version)
    try:
        for tile in tiles:
            if field.is_var:
                data, starts = var_bytes(tile)
                files.add(FileKind.VAR, encode_tile(data, values, context, starts))
                files.var_sizes.append(data.size)
                in_data = field.is_text_encoded(version)
                plain = starts[:-1].astype("<u8").view(np.uint8)
                files.add(FileKind.FIXED, _NO_CHUNKS if in_data else encode_tile(plain, offsets, u64s))
            else:
                files.add(FileKind.FIXED, encode_tile(_fixed_values(tile, field), values, context))
            if field.nullable:
                valid = tile.is_valid().to_numpy(zero_copy_only=False).astype(np.uint8)
                files.add(FileKind.VALIDITY, encode_tile(valid, validity, flags))
    except InvalidInputError as error:
        raise InvalidInputError(f"column {field.name!r}: {error}") from error
    files.statistics = tile_statistics(tiles if counted is None else list(counted), field)
    return files


def _fixed_values(tile: pa.Array, field: Field) -> Octets:
    """The stored bytes of a tile.

    The value under a null does not matter, except that the float scale must be able to store it.
    """
    data, scale = fixed_bytes(tile), _float_scale(field)
    if scale is None or not tile.null_count:
        return data
    cells = data.view(field.datatype.dtype).reshape(len(tile), -1).copy()
    cells[tile.is_null().to_numpy(zero_copy_only=False)] = scale.offset
    return octets(cells)


def padding(field: Field) -> pa.Array:
    """One cell to stand for those of a dense tile that nobody wrote: the fill value, if the filters take it."""
    scale = _float_scale(field)
    if scale is None or field.is_var:
        return filled(field, 1)
    if field.nullable:
        return pa.nulls(1, field.raw_type)
    return fixed_array(octets(np.full(field.cell_val_num, scale.offset, field.datatype.dtype)), field)


def _float_scale(field: Field) -> FloatScale | None:
    first = field.filters.first_step
    return first if isinstance(first, FloatScale) else None


@dataclass
class FragmentFiles:
    """A whole fragment.

    Attributes:
        schema: the schema it is written with.
        columns: the columns' files by name; a dense fragment has none for its dimensions.
        tile_count: number of tiles.
        last_tile_cells: cells of the last tile.
        domain: the rectangle around all cells.
        rtree: the R-tree; without levels for a dense fragment.
    """

    schema: ArraySchema
    columns: dict[str, FieldFiles]
    tile_count: int
    last_tile_cells: int
    domain: MBR
    rtree: RTree

    def files(self, key: bytes | None) -> dict[str, bytes]:
        """All files by name, the metadata file last."""
        contents = {}
        for stem, field, files in self._slots():
            if files is None or field is None:
                continue
            for kind in field.file_kinds:
                contents[kind.file_name(stem)] = bytes(files.by_kind[kind].content)
        return contents | {METADATA_FILE: self._metadata(key)}

    def _slots(self) -> list[tuple[str, Field | None, FieldFiles | None]]:
        """(stem, column, files) per slot; the one after the attributes is that of coordinates of old."""
        schema, columns = self.schema, self.columns
        slots: list[tuple[str, Field | None, FieldFiles | None]] = [
            (f"a{i}", a, columns[a.name]) for i, a in enumerate(schema.attributes)
        ]
        slots.append(("", None, None))
        return slots + [(f"d{i}", d.field, columns.get(d.name)) for i, d in enumerate(schema.dimensions)]

    def _metadata(self, key: bytes | None) -> bytes:
        """The metadata file."""
        schema, out = self.schema, bytearray()

        def place(payload: bytes) -> int:
            start = len(out)
            out.extend(encode_generic_tile(payload, schema.version, key))
            return start

        slots = [files or FieldFiles() for _, _, files in self._slots()]
        tree = place(self.rtree.to_bytes(schema.dimension_fields))
        payloads = {
            name: [_payload(name, files, self.tile_count) for files in slots] for name in SLOT_SECTIONS
        }
        sections = {name: tuple(map(place, payloads[name])) for name in SLOT_SECTIONS}
        whole = place(TileFragmentMinMaxSumNullCount(tuple(f.statistics.fragment for f in slots)).to_bytes())
        conditions = place(TileProcessedConditions().to_bytes())
        sizes = {kind: tuple(len(f.by_kind[kind].content) for f in slots) for kind in FileKind}
        attributes, dimensions = len(schema.attributes), len(schema.dimensions)
        assert len(slots) == slot_count(attributes, dimensions, timestamps=False, deletes=False)
        footer = Footer(
            version=schema.version,
            schema_name=schema.name,
            dense=schema.dense,
            non_empty_domain=self.domain,
            sparse_tiles=0 if schema.dense else self.tile_count,
            last_tile_cells=self.last_tile_cells,
            has_timestamps=False,
            has_deletes=False,
            file_sizes=sizes[FileKind.FIXED],
            var_sizes=sizes[FileKind.VAR],
            validity_sizes=sizes[FileKind.VALIDITY],
            rtree=tree,
            sections=sections,
            fragment_statistics=whole,
            processed_conditions=conditions,
        )
        return bytes(out) + footer.to_bytes(schema.dimension_fields)


def _payload(section: str, files: FieldFiles, tiles: int) -> bytes:
    """One section of one slot. Every slot has full lists of offsets and sizes, with zeros for files that it lacks."""
    statistics = files.statistics
    if section == "tile_var_sizes":
        return TileSizes(_full(files.var_sizes, tiles)).to_bytes()
    lists = {kind.offsets_section: file.offsets for kind, file in files.by_kind.items()}
    if section in lists:
        return TileOffsets(_full(lists[section], tiles)).to_bytes()
    if section == "tile_mins":
        return statistics.mins.to_bytes()
    if section == "tile_maxs":
        return statistics.maxs.to_bytes()
    return (statistics.sums if section == "tile_sums" else statistics.null_counts).to_bytes()


def _full(values: list[int], tiles: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array(values or [0] * tiles, dtype="<u8")
