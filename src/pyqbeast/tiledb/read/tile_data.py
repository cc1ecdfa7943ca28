"""Reading the cells of chosen tiles of a fragment, column by column and only their bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyqbeast.core.errors import UnsupportedError
from pyqbeast.tiledb.datatypes import Datatype
from pyqbeast.tiledb.errors import ArrayFormatError, reading
from pyqbeast.tiledb.filters.base import ChunkContext, Octets
from pyqbeast.tiledb.filters.pipeline import FilterPipeline
from pyqbeast.tiledb.format.column import binary_array, fixed_array, present
from pyqbeast.tiledb.format.field import Field, FileKind
from pyqbeast.tiledb.format.schema import ArraySchema
from pyqbeast.tiledb.format.tile import StoredTile
from pyqbeast.tiledb.read.fragment import Fragment
from pyqbeast.tiledb.read.fragment_metadata import ColumnFile
from pyqbeast.tiledb.storage.stores import Store

Tiles = npt.NDArray[np.intp]
Counts = npt.NDArray[np.int64]

#: Up to so many bytes between two tiles are read with them, because a request for each takes longer.
_READ_OVER = 8192

#: Up to so many bytes between the tiles of a piece are read whatever lies in the tiles: they are worth no request more.
_READ_BESIDE = 1 << 16


def read_column(fragment: Fragment, column: str, tiles: Tiles) -> pa.Array:
    """The cells of a column in these tiles, in the order of the tiles, as a raw Arrow array.

    Args:
        fragment: the fragment.
        column: a name in `fragment.fields`.
        tiles: tile numbers.

    Raises:
        ArrayFormatError: a file is missing or broken.
    """
    field = fragment.fields[column][0]
    cells = fragment.tile_cells(tiles)
    valid = _read_validity(fragment, column, tiles, cells) if field.nullable else None
    if field.is_var:
        data, offsets = _read_var(fragment, column, field, tiles, cells)
        return binary_array(data, offsets, valid)
    file = fragment.files_of(column)[FileKind.FIXED]
    with reading(file.path, column):
        stored = _stored(fragment, file, tiles)
        context = field.context(fragment.footer.version)
        return fixed_array(
            _decode(stored, cells * field.cell_size, fragment.pipeline(field.filters), context), field, valid
        )


def read_as(fragment: Fragment, current: Field, tiles: Tiles) -> pa.Array:
    """As `read_column`, for a column as the array has it today.

    Raises:
        UnsupportedError: it has another type.
    """
    stored_field(fragment, current.name, current)
    cells = read_column(fragment, current.name, tiles)
    if not cells.null_count or current.nullable:
        return cells
    # A column that takes no nulls any more shows what is stored under them, as in libtiledb.
    return pa.Array.from_buffers(cells.type, len(cells), [None, *cells.buffers()[1:]], 0, cells.offset)


@contextmanager
def naming_files(chosen: Iterable[tuple[Fragment, Tiles]], schema: ArraySchema) -> Iterator[None]:
    """Says in an error about cells that cannot be shown, such as text that is no UTF-8, which file they are in.

    Cells of many files are shown at once: those of the column are looked at one by one only where that fails.
    """
    try:
        yield
    except ArrayFormatError as error:
        field = schema.fields.get(error.field)
        # Coordinates of a dense array are in no file.
        if field is not None and not error.file and not (schema.dense and field.is_dimension):
            for fragment, tiles in chosen:
                _show(fragment, field, tiles)
        raise


def _show(fragment: Fragment, field: Field, tiles: Tiles) -> None:
    """Raises ArrayFormatError, with the file, where cells of a fragment cannot be shown."""
    if field.name in fragment.fields:
        kind = FileKind.VAR if field.is_var else FileKind.FIXED
        with reading(fragment.files_of(field.name)[kind].path):
            present(read_as(fragment, field, tiles), field)


def stored_field(fragment: Fragment, column: str, current: Field | None) -> Field:
    """The column as a fragment has it. Raises UnsupportedError where the array has it in another type today."""
    own = fragment.fields[column][0]
    if current is not None and (own.datatype, own.cell_val_num) != (current.datatype, current.cell_val_num):
        raise UnsupportedError(f"{fragment.name.text}: column {column!r} has changed its type since")
    return own


def _read_validity(fragment: Fragment, column: str, tiles: Tiles, cells: Counts) -> Octets:
    file = fragment.files_of(column)[FileKind.VALIDITY]
    with reading(file.path, f"validity of {column}"):
        stored = _stored(fragment, file, tiles)
        context = ChunkContext(Datatype.UINT8, version=fragment.footer.version)
        return _decode(stored, cells, fragment.pipeline(fragment.schema.validity_filters), context)


def _read_var(
    fragment: Fragment, column: str, field: Field, tiles: Tiles, cells: Counts
) -> tuple[Octets, npt.NDArray[np.int64]]:
    """The bytes of variable cells, and their offsets."""
    files, version = fragment.files_of(column), fragment.footer.version
    with reading(files[FileKind.VAR].path, column):
        sizes = _chosen(fragment.tile_var_sizes(column).values, tiles)
        stored = _stored(fragment, files[FileKind.VAR], tiles)
        pipeline, context = fragment.pipeline(field.filters), field.context(version)
        if field.is_text_encoded(version):
            return _decode_text(stored, sizes, cells, pipeline, context)
        data = _decode(stored, sizes, pipeline, context)
    with reading(files[FileKind.FIXED].path, f"offsets of {column}"):
        stored = _stored(fragment, files[FileKind.FIXED], tiles)
        context = ChunkContext(Datatype.UINT64, version=version)
        raw = _decode(stored, 8 * cells, fragment.pipeline(fragment.schema.offsets_filters), context)
        return data, _absolute(raw.view("<u8"), cells, sizes)


def _absolute(starts: npt.NDArray[np.uint64], cells: Counts, sizes: Counts) -> npt.NDArray[np.int64]:
    """Offsets over all tiles, from starts that count from each tile's own first byte."""
    out = np.empty(starts.size + 1, dtype=np.int64)
    out[:-1] = starts.view(np.int64)
    if starts.size and (starts > np.uint64(sizes.max())).any():
        raise ArrayFormatError("a cell begins behind its tile's end")
    first = np.cumsum(cells) - cells
    if (out[first[cells > 0]] != 0).any() or (sizes[cells == 0] != 0).any():
        raise ArrayFormatError("the first cell does not begin its tile")
    out[:-1] += np.repeat(np.cumsum(sizes) - sizes, cells)
    out[-1] = sizes.sum()
    if (out[1:] < out[:-1]).any():
        raise ArrayFormatError("cells overlap")
    return out


def _chosen(values: npt.NDArray[np.uint64], tiles: Tiles) -> Counts:
    if tiles.size and int(tiles.max()) >= values.size:
        raise ArrayFormatError(f"tile {tiles.max()} where the section has {values.size}")
    chosen = values[tiles].astype(np.int64)
    if (chosen < 0).any():
        raise ArrayFormatError("a size or offset beyond any file")
    return chosen


def _stored(fragment: Fragment, file: ColumnFile, tiles: Tiles) -> list[StoredTile]:
    """The tiles of a file, read in as few ranges as they lie in."""
    # Tile i ends where tile i + 1 begins, the last one where the file ends.
    length = np.array([file.size], dtype=np.uint64)
    ends = np.concatenate([file.tile_offsets().values[: fragment.tile_count], length])
    starts, stops = _chosen(ends, tiles), _chosen(ends, tiles + 1)
    if (starts > stops).any():
        raise ArrayFormatError("tiles that end before they begin")
    return [StoredTile(data) for data in _fetch(fragment.store, file.path, starts, stops)]


def _fetch(store: Store, file: str, starts: Counts, stops: Counts) -> list[memoryview]:
    """The bytes of each range; ranges that touch, or nearly so, are read in one piece."""
    if not starts.size:
        return []
    heads = _heads(starts, stops)
    tails = np.append(heads[1:], starts.size) - 1
    ranges = list(zip(starts[heads].tolist(), stops[tails].tolist(), strict=True))
    pieces = [memoryview(piece) for piece in store.read_ranges(file, ranges)]
    which = np.repeat(np.arange(heads.size), tails - heads + 1)
    base = starts[heads][which]
    spans = zip(which.tolist(), (starts - base).tolist(), (stops - base).tolist(), strict=True)
    return [pieces[piece][a:b] for piece, a, b in spans]


def _heads(starts: Counts, stops: Counts) -> Counts:
    """The positions of the ranges that begin a piece.

    No piece has more bytes between its ranges than in them, but for `_READ_BESIDE`.
    """
    heads: list[int] = []
    end = wanted = between = 0
    for i, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
        gap, size = start - end, stop - start
        if not heads or not 0 <= gap <= min(_READ_OVER, max(wanted + size, _READ_BESIDE) - between):
            heads.append(i)
            wanted = between = gap = 0
        wanted, between, end = wanted + size, between + gap, stop
    return np.array(heads, dtype=np.int64)


def _decode(
    stored: list[StoredTile], sizes: Counts, pipeline: FilterPipeline, context: ChunkContext
) -> Octets:
    """All tiles, one after another, each of the size it must have."""
    for tile, size in zip(stored, sizes.tolist(), strict=True):
        if tile.size != size:
            raise ArrayFormatError(f"a tile of {tile.size} bytes where {size} are due")
    out = np.empty(int(sizes.sum()), dtype=np.uint8)
    position = 0
    for tile in stored:
        tile.decode(pipeline, context, out[position : position + tile.size])
        position += tile.size
    return out


def _decode_text(
    stored: list[StoredTile], sizes: Counts, cells: Counts, pipeline: FilterPipeline, context: ChunkContext
) -> tuple[Octets, npt.NDArray[np.int64]]:
    data, offsets, base = [], [np.zeros(1, dtype=np.int64)], 0
    for tile, size, count in zip(stored, sizes.tolist(), cells.tolist(), strict=True):
        if tile.size != size:
            raise ArrayFormatError(f"a tile of {tile.size} bytes where {size} are due")
        text, starts = tile.decode_text(pipeline, context, count)
        data.append(text)
        offsets.append(starts[1:] + base)
        base += size
    return np.concatenate(data) if data else np.zeros(0, np.uint8), np.concatenate(offsets)
