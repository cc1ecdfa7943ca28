"""The footer of a fragment's metadata file: what the fragment is, and where its sections are."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from pyqbeast.tiledb.cursor import Bytes, Cursor, u8, u32, u64
from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.format.domain import MBR
from pyqbeast.tiledb.format.field import Field, FileKind
from pyqbeast.tiledb.format.generic_tile import check_version

_PLACE_SECTIONS = ("tile_offsets", "tile_var_offsets", "tile_var_sizes", "tile_validity_offsets")
_STATISTICS_SECTIONS = ("tile_mins", "tile_maxs", "tile_sums", "tile_null_counts")
#: The sections that there are once per slot, in the order of their offsets in the footer.
SLOT_SECTIONS = _PLACE_SECTIONS + _STATISTICS_SECTIONS
_STATISTICS_SINCE, _FRAGMENT_STATISTICS_SINCE = 11, 12
_TIMESTAMPS_SINCE, _DELETES_SINCE, _CONDITIONS_SINCE, _OPTIONAL_SINCE = 14, 15, 16, 23
_GLOBAL_ORDER = 0

LENGTH_SIZE = 8


@dataclass(frozen=True)
class Footer:
    """The footer.

    Attributes:
        version: format version of the fragment.
        schema_name: the file of the schema that the fragment was written with.
        dense: whether the fragment is dense.
        non_empty_domain: the rectangle around all cells, `None` where there are none.
        sparse_tiles: tiles of a sparse fragment, 0 for a dense one.
        last_tile_cells: cells of the last tile.
        has_timestamps: whether every cell has its own time.
        has_deletes: whether every cell has a time of deletion and the condition that did it.
        file_sizes, var_sizes, validity_sizes: bytes of the data files, one entry per slot.
        rtree: offset of the R-tree.
        sections: offsets per slot by name of the section (see `SLOT_SECTIONS`).
        fragment_statistics: offset of the fragment's statistics, `None` before version 12.
        processed_conditions: offset of the processed conditions, `None` before version 16.
        global_order: offsets of the least and greatest coordinates in global order (two per dimension),
            where an optional section of version 23 holds them.
    """

    version: int
    schema_name: str
    dense: bool
    non_empty_domain: MBR | None
    sparse_tiles: int
    last_tile_cells: int
    has_timestamps: bool
    has_deletes: bool
    file_sizes: tuple[int, ...]
    var_sizes: tuple[int, ...]
    validity_sizes: tuple[int, ...]
    rtree: int
    sections: dict[str, tuple[int, ...]] = field(hash=False)
    fragment_statistics: int | None
    processed_conditions: int | None
    global_order: tuple[int, ...] = ()

    @classmethod
    def parse(cls, data: Bytes, file: str, dimensions: Sequence[Field], attributes: int) -> Footer:
        """Read a footer.

        Args:
            data: the footer without its length.
            file: its file, for messages.
            dimensions: the dimensions of the schema that the footer names.
            attributes: the number of that schema's attributes.

        Raises:
            ArrayFormatError: the bytes are broken.
        """
        cursor = Cursor(data, file)
        version, schema_name = parse_head(cursor)
        dense, null_domain = _flag(cursor, "dense"), _flag(cursor, "null non-empty domain")
        domain = None if null_domain else MBR.parse(cursor, dimensions)
        tiles, last_cells = cursor.u64("sparse tiles"), cursor.u64("last tile cells")
        timestamps = version >= _TIMESTAMPS_SINCE and _flag(cursor, "has timestamps")
        deletes = version >= _DELETES_SINCE and _flag(cursor, "has delete metadata")
        slots = slot_count(attributes, len(dimensions), timestamps=timestamps, deletes=deletes)
        sizes = {kind: _u64s(cursor, slots, f"{kind.value} sizes") for kind in FileKind}
        rtree = cursor.u64("R-tree offset")
        names = SLOT_SECTIONS if version >= _STATISTICS_SINCE else _PLACE_SECTIONS
        sections = {name: _u64s(cursor, slots, name) for name in names}
        statistics = cursor.u64("statistics offset") if version >= _FRAGMENT_STATISTICS_SINCE else None
        conditions = cursor.u64("conditions offset") if version >= _CONDITIONS_SINCE else None
        order = _optional_sections(cursor, len(dimensions)) if version >= _OPTIONAL_SINCE else ()
        if version == _STATISTICS_SINCE and cursor.remaining == LENGTH_SIZE:
            # Newer libraries that write this version leave room for the offset, though there is no such section.
            cursor.u64("statistics offset")
        if cursor.remaining:
            raise cursor.error(f"{cursor.remaining} bytes more than expected", "footer")
        return cls(
            version=version,
            schema_name=schema_name,
            dense=dense,
            non_empty_domain=domain,
            sparse_tiles=tiles,
            last_tile_cells=last_cells,
            has_timestamps=timestamps,
            has_deletes=deletes,
            file_sizes=sizes[FileKind.FIXED],
            var_sizes=sizes[FileKind.VAR],
            validity_sizes=sizes[FileKind.VALIDITY],
            rtree=rtree,
            sections=sections,
            fragment_statistics=statistics,
            processed_conditions=conditions,
            global_order=order,
        )

    def to_bytes(self, dimensions: Sequence[Field]) -> bytes:
        """The footer as written in versions 12 to 22, with its length behind it."""
        name = self.schema_name.encode("utf-8")
        out = u32(self.version) + u64(len(name)) + name + u8(self.dense) + u8(self.non_empty_domain is None)
        if self.non_empty_domain is not None:
            out += self.non_empty_domain.to_bytes(dimensions)
        out += u64(self.sparse_tiles, self.last_tile_cells)
        out += u8(self.has_timestamps) if self.version >= _TIMESTAMPS_SINCE else b""
        out += u8(self.has_deletes) if self.version >= _DELETES_SINCE else b""
        out += u64(*self.file_sizes, *self.var_sizes, *self.validity_sizes, self.rtree)
        out += u64(*(offset for section in SLOT_SECTIONS for offset in self.sections[section]))
        out += u64(self.fragment_statistics or 0)
        out += u64(self.processed_conditions or 0) if self.version >= _CONDITIONS_SINCE else b""
        return out + u64(len(out))

    def sizes(self, kind: FileKind) -> tuple[int, ...]:
        """Bytes of the data files of a kind, one entry per slot."""
        by_kind = {
            FileKind.FIXED: self.file_sizes,
            FileKind.VAR: self.var_sizes,
            FileKind.VALIDITY: self.validity_sizes,
        }
        return by_kind[kind]

    @property
    def data_bytes(self) -> int:
        """Bytes of all data files."""
        return sum(sum(self.sizes(kind)) for kind in FileKind)

    @property
    def offsets(self) -> list[int]:
        """The offsets of all sections, in the order of the file."""
        distinct = {
            self.rtree,
            *self.global_order,
            *(o for section in self.sections.values() for o in section),
        }
        distinct |= {o for o in (self.fragment_statistics, self.processed_conditions) if o is not None}
        return sorted(distinct)


def parse_head(cursor: Cursor) -> tuple[int, str]:
    """The version of a footer, and the file of the schema that the rest of it is to be read with.

    Raises:
        UnsupportedError: the version is not supported.
    """
    version = check_version(cursor.u32("version"), cursor.file)
    return version, cursor.text(cursor.u64("schema name size"), "schema name")


def slot_count(attributes: int, dimensions: int, *, timestamps: bool, deletes: bool) -> int:
    """Entries per list: the attributes, one for the coordinates of older versions, the dimensions, then the
    time columns.
    """
    return attributes + 1 + dimensions + timestamps + 2 * deletes


def footer_length(tail: bytes, file: str) -> int:
    """The footer's length, from the last bytes of the file."""
    if len(tail) < LENGTH_SIZE:
        raise ArrayFormatError(f"a metadata file of {len(tail)} bytes", file=file, field="footer length")
    return int(struct.unpack("<Q", tail[-LENGTH_SIZE:])[0])


def _flag(cursor: Cursor, field: str) -> bool:
    value = cursor.u8(field)
    if value > 1:
        raise cursor.error(f"{value} is no truth value", field)
    return bool(value)


def _u64s(cursor: Cursor, count: int, field: str) -> tuple[int, ...]:
    return tuple(cursor.u64s(count, field).tolist())


def _optional_sections(cursor: Cursor, dimensions: int) -> tuple[int, ...]:
    """Reads the only optional section that is known. Sections of unknown numbers are skipped, as the format asks."""
    order: tuple[int, ...] = ()
    for _ in range(cursor.u32("optional sections")):
        number, size = cursor.u64("section number"), cursor.u32("section size")
        content = Cursor(cursor.take(size, "optional section"), cursor.file)
        if number == _GLOBAL_ORDER:
            order = _u64s(content, 2 * dimensions, "global order offsets")
    return order
