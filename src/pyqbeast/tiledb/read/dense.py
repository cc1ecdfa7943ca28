"""Reading dense arrays: a box of cells, each from the newest fragment that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb.filters.base import octets
from pyqbeast.tiledb.format.column import filled, fixed_array, present, take
from pyqbeast.tiledb.format.domain import MBR, Range1D
from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.format.schema import ArraySchema
from pyqbeast.tiledb.read.fragment import Fragment
from pyqbeast.tiledb.read.request import Request
from pyqbeast.tiledb.read.tile_data import naming_files, read_as

#: The most unwritten cells, and the most bytes of them, with which the whole domain is read if no box is given.
_MOST_EMPTY, _MOST_EMPTY_BYTES = 2**22, 2**28

#: The most cells that one byte of a compressed file can stand for.
_MOST_PER_BYTE = 2**12

#: Stands for "no fragment" where a cell comes from.
_NOWHERE = -1

Tile = tuple[Fragment, int]


def whole_box(schema: ArraySchema) -> MBR:
    """The current domain, or the domain where the array has none."""
    if schema.current_domain is not None:
        return schema.current_domain
    pairs = [d.domain or (0, -1) for d in schema.dimensions]
    return MBR(tuple(Range1D(low, high) for low, high in pairs))


def clipped(request: Request, fragments: Sequence[Fragment]) -> MBR | None:
    """The cells to read: those of the request's box that exist, or all of them. `None` where there are none.

    Raises:
        InvalidInputError: no box, or one with open ends, and there are far more cells than were written.
    """
    whole = whole_box(request.schema)
    box = request.box or MBR.everywhere(len(whole.ranges))
    region = box.closed(whole).intersection(whole)
    if region is None or not any(r.low is None or r.high is None for r in box.ranges):
        return region
    # Each cell takes memory, so a footer's claim of cells is believed only as far as the files' bytes can hold
    # them.
    empty = min(_MOST_EMPTY, _MOST_EMPTY_BYTES // sum(f.cell_size for f in request.schema.fields.values()))
    large = _cells(region) > empty
    written = sum(min(_claimed(f), _MOST_PER_BYTE * f.stored_bytes) for f in fragments) if large else 0
    if _cells(region) - written > empty:
        raise InvalidInputError(
            f"there are {_cells(region)} cells to read, {written} are written: pass a box that is closed"
        )
    return region


def _claimed(fragment: Fragment) -> int:
    return fragment.grid.cells_per_tile * fragment.tile_count if fragment.grid else 0


def _cells(box: MBR) -> int:
    return prod(box.shape)


def read_dense(fragments: Sequence[Fragment], request: Request, box: MBR) -> pa.Table:
    """The cells of a box in row-major order, those that nobody wrote with their fill values.

    Args:
        fragments: oldest first.
        request: the columns wanted, and what cells must satisfy; its own box does not count.
        box: closed, and inside the domain.

    Raises:
        InvalidInputError: the box does not fit into memory.
    """
    schema, columns = request.schema, request.columns
    compared = (schema.fields[predicate.column] for predicate in request.predicates)
    tiles, source = _sources(fragments, box)
    shown = {}
    for field in dict.fromkeys((*columns, *compared)):
        raw = _coordinates(schema, field, box) if field.is_dimension else _cells_of(field, tiles, source)
        with naming_files(((fragment, np.array([tile])) for fragment, tile in tiles), schema):
            shown[field.name] = present(raw, field)
    table = pa.table([shown[f.name] for f in columns], names=[f.name for f in columns])
    keep = np.ones(source.size, dtype=bool)
    for predicate in request.predicates:
        keep &= predicate.mask(shown[predicate.column])
    return table if keep.all() else table.take(pa.array(np.flatnonzero(keep)))


def _sources(fragments: Sequence[Fragment], box: MBR) -> tuple[list[Tile], npt.NDArray[np.int64]]:
    """The tiles that the cells of the box come from, and the position of each cell in the concatenation of
    these tiles.
    """
    source = _nowhere(box)
    tiles: list[Tile] = []
    per_tile = 1
    for fragment in fragments:
        grid = fragment.grid
        common = grid.domain.intersection(box) if grid else None
        if grid is None or common is None:
            continue
        per_tile = grid.cells_per_tile
        for tile, inside, target in grid.overlaps(box, grid.tiles_in(common)):
            source[target] = grid.cell_numbers(inside) + len(tiles) * per_tile
            tiles.append((fragment, tile))
    flat = source.reshape(-1)
    # Tiles whose cells were all overwritten need not be read.
    used = np.zeros(len(tiles) + 1, dtype=bool)
    used[flat // per_tile] = True
    return _kept(tiles, used[:-1], per_tile, flat)


def _nowhere(box: MBR) -> npt.NDArray[np.int64]:
    try:
        return np.full(box.shape, _NOWHERE, dtype=np.int64)
    # NumPy's error depends on how far the size is beyond all memory.
    except (MemoryError, ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"the {_cells(box)} cells of the box do not fit into memory: read it in smaller boxes"
        ) from error


def _kept(
    tiles: list[Tile], keep: npt.NDArray[np.bool_], per_tile: int, source: npt.NDArray[np.int64]
) -> tuple[list[Tile], npt.NDArray[np.int64]]:
    """The tiles to keep, and the positions in them; the cells of the others come from nowhere."""
    known = np.append(keep, False)
    shift = np.cumsum(~known) * per_tile
    moved = np.where(known[source // per_tile], source - shift[source // per_tile], _NOWHERE)
    return [tile for tile, kept in zip(tiles, keep, strict=True) if kept], moved


def _cells_of(field: Field, tiles: list[Tile], source: npt.NDArray[np.int64]) -> pa.Array:
    """A raw column of the box's cells."""
    holds = np.array([field.name in fragment.fields for fragment, _ in tiles], dtype=bool)
    if not holds.all():
        # Of fragments that are older than the column no cells are made, which no file would vouch for.
        per_tile = int(tiles[0][0].tile_cells(np.zeros(1, np.intp))[0])
        tiles, source = _kept(tiles, holds, per_tile, source)
    parts, start = [], 0
    while start < len(tiles):
        fragment, end = tiles[start][0], start
        while end < len(tiles) and tiles[end][0] is fragment:
            end += 1
        numbers = np.array([number for _, number in tiles[start:end]], dtype=np.intp)
        parts.append(read_as(fragment, field, numbers))
        start = end
    written = sum(map(len, parts))
    stored = pa.concat_arrays([*parts, filled(field, 1)])
    if source.size == written and np.array_equal(source, np.arange(written)):
        return stored[:written]
    return take(stored, np.where(source == _NOWHERE, written, source))


def _coordinates(schema: ArraySchema, field: Field, box: MBR) -> pa.Array:
    """The coordinates of the box's cells in one dimension."""
    axis, shape = schema.dimension_fields.index(field), box.shape
    low, high = box.ranges[axis].low, box.ranges[axis].high
    steps = np.arange(high - low + 1, dtype=np.int64).astype(field.datatype.dtype)
    line = steps + np.array(low, dtype=field.datatype.dtype)
    wide = [-1 if i == axis else 1 for i in range(len(shape))]
    return fixed_array(octets(np.broadcast_to(line.reshape(wide), shape)), field)
