"""Dividing a read into parts that can be done apart from each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb.format.domain import MBR, Coordinate, Range1D
from pyqbeast.tiledb.read.array import Array
from pyqbeast.tiledb.read.dense import clipped, read_dense
from pyqbeast.tiledb.read.fragment import Fragment
from pyqbeast.tiledb.read.request import Request
from pyqbeast.tiledb.read.sparse import choose_tiles, overwrites, read_group

#: A part has about this many cells, so that its columns fit a worker's memory many times over.
_CELLS = 500_000
#: Smaller arrays are still divided into so many parts, as far as they have tiles.
_FEWEST = 4
#: A box of more parts is a mistake: nobody has time for so many tasks.
_MOST_PARTS = 1_000_000


@dataclass(frozen=True)
class Part:
    """One part of a read.

    Attributes:
        fragments: positions in `Array.fragments`.
        tiles: numbers of the tiles of the only fragment, `None` where the box says what to read.
        box: what the part covers, `None` for everything.
    """

    fragments: tuple[int, ...]
    tiles: npt.NDArray[np.intp] | None = None
    box: MBR | None = None


def split(array: Array, request: Request) -> list[Part]:
    """The parts of a read; together they give each cell once.

    Fragments that cannot overwrite each other are divided by tiles. Those that can are divided into ranges of
    the first dimension, each of which is read from all of them.

    Raises:
        InvalidInputError: a box of a dense array with more cells than anybody could read.
    """
    if array.schema.dense:
        return _split_dense(array, request)
    positions = {fragment: i for i, fragment in enumerate(array.fragments)}
    parts = []
    for group in array.groups(request.box):
        numbers = tuple(positions[fragment] for fragment in group)
        if overwrites(group, array.schema):
            parts += [Part(numbers, box=box) for box in ranges_of(group, request, _FEWEST)]
        else:
            (fragment,) = group
            tiles = choose_tiles(group, request)[fragment]
            parts += [Part(numbers, piece) for piece in _pieces(fragment, tiles)]
    return parts


def read_part(array: Array, request: Request, part: Part) -> list[pa.Table]:
    """The cells of a part, in tables of a size that is good to hand on."""
    every = array.fragments
    fragments = [every[i] for i in part.fragments]
    if array.schema.dense:
        assert part.box is not None, "parts of dense arrays are boxes"
        return [read_dense(fragments, request, part.box)]
    if part.tiles is not None:
        return [read_group(fragments, request, {fragments[0]: part.tiles})]
    return [read_group(fragments, replace(request, box=part.box))]


def _pieces(fragment: Fragment, tiles: npt.NDArray[np.intp]) -> list[npt.NDArray[np.intp]]:
    if not tiles.size:
        return []
    cells = int(fragment.tile_cells(tiles).sum())
    count = min(tiles.size, max(-(-cells // _CELLS), _FEWEST))
    return [piece for piece in np.array_split(tiles, count) if piece.size]


def ranges_of(group: Sequence[Fragment], request: Request, fewest: int) -> list[MBR]:
    """Ranges of the first dimension with about as many cells each. They end where tiles do.

    There is one where a coordinate may be NaN, which lies in no range.

    Args:
        group: the fragments to be read.
        request: what is asked of them.
        fewest: smaller groups are still divided into so many ranges, as far as they have tiles.
    """
    first = request.schema.dimension_fields[0]
    chosen = choose_tiles(group, request)
    highs: list[Any] = []
    for fragment, tiles in chosen.items():
        if fragment.leaves is not None:
            highs += fragment.leaves.highs[0][tiles].tolist()
    if not highs:
        return []
    if first.datatype.is_float and not np.isfinite(highs).all():
        highs = highs[:1]
    highs.sort()
    cells = sum(int(fragment.tile_cells(tiles).sum()) for fragment, tiles in chosen.items())
    count = min(len(highs), max(-(-cells // _CELLS), fewest))
    cuts = sorted({highs[len(highs) * i // count - 1] for i in range(1, count)} - {highs[-1]})
    starts = [None, *(_after(cut, first.datatype.dtype) for cut in cuts)]
    boxes = [_narrowed(request, start, end) for start, end in zip(starts, [*cuts, None], strict=True)]
    return [box for box in boxes if box is not None]


def _after(value: Coordinate, dtype: np.dtype[Any]) -> Coordinate:
    """The least coordinate above this one."""
    if isinstance(value, bytes):
        return value + b"\0"
    if dtype.kind == "f":
        return np.nextafter(dtype.type(value), dtype.type(np.inf)).item()
    return value + 1


def _narrowed(request: Request, low: Coordinate, high: Coordinate) -> MBR | None:
    """The request's box, with the first dimension cut down to a range; `None` where nothing is left."""
    everywhere = MBR.everywhere(len(request.schema.dimensions))
    part = MBR((Range1D(low, high), *everywhere.ranges[1:]))
    return part if request.box is None else request.box.intersection(part)


def _split_dense(array: Array, request: Request) -> list[Part]:
    """Boxes of whole tiles, as far as the request cuts none: of many along the first dimensions, which lie together."""
    box = clipped(request, array.fragments)
    if box is None:
        return []
    sides: list[list[Range1D]] = []
    cells, fewest = 1, _FEWEST
    for i, (bounds, dimension) in enumerate(zip(box.ranges, array.schema.dimensions, strict=True)):
        origin, extent = (dimension.domain or (bounds.low,))[0], dimension.extent
        first, last = (bounds.low - origin) // extent, (bounds.high - origin) // extent
        tiles = last - first + 1
        # Cells of the part in the dimensions before and, so far, all of the box's in those behind.
        steps = max(_CELLS // (cells * extent * prod(box.shape[i + 1 :])), 1)
        steps = min(steps, max(tiles // fewest, 1))
        pieces = -(-tiles // steps)
        if pieces * prod(map(len, sides)) > _MOST_PARTS:
            raise InvalidInputError(
                f"the {prod(box.shape)} cells of the box are too many: read a smaller one"
            )
        fewest = -(-fewest // pieces)
        cells *= min(steps * extent, box.shape[i])
        starts = range(origin + first * extent, bounds.high + 1, steps * extent)
        sides.append([Range1D(max(s, bounds.low), min(s + steps * extent - 1, bounds.high)) for s in starts])
    everything = tuple(range(len(array.fragments)))
    return [Part(everything, box=MBR(ranges)) for ranges in product(*sides)]
