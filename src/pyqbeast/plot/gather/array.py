"""A TileDB array as data for a picture: its fragments, and their tiles with the rectangles around them."""

from __future__ import annotations

import datetime as dt
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.errors import UnsupportedError
from pyqbeast.core.location import Location
from pyqbeast.core.secrets import without_secrets
from pyqbeast.core.visible import visible
from pyqbeast.plot.gather.axes import Axis, half_cell, value_places
from pyqbeast.plot.gather.files import FileArrays, Range
from pyqbeast.plot.gather.scales import Scale
from pyqbeast.tiledb import Datatype, Dimension, Fragment, open_array

#: The most tiles of an array that a picture takes.
MOST_TILES = 500_000

#: The smallest and the largest coordinates of some tiles, dimension by dimension.
_Boxes = tuple[list[Any], list[Any]]


@dataclass(frozen=True)
class FragmentFigures:
    """A fragment: when it was written (epoch milliseconds), and what it holds."""

    name: str
    start: int
    end: int
    tiles: int
    cells: int
    bytes: int


@dataclass(frozen=True)
class Side:
    """One dimension of an array, and where on its axis tiles lie.

    Attributes:
        axis: its axis.
        lows, highs: the places of the first and the last cell of each tile.
        half_cell: half of what a cell takes; 0 where cells are points.
    """

    axis: Axis
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    half_cell: float


@dataclass(frozen=True)
class ArrayPicture:
    """An array at a glance.

    Attributes:
        uri: where it is.
        kind: `dense` or `sparse`.
        attributes: the names of its attributes.
        fragments: in the order in which they were written.
        tiles: bytes and cells of every tile, and the ranges that read it.
        owners: for each tile the position of its fragment.
        sides: one for each dimension.
    """

    uri: str
    kind: str
    attributes: tuple[str, ...]
    fragments: tuple[FragmentFigures, ...]
    tiles: FileArrays
    owners: NDArray[np.uint32]
    sides: tuple[Side, ...]


def gather_array(uri: Location) -> ArrayPicture:
    """What there is to see of an array.

    Raises:
        UnsupportedError: it has more than `MOST_TILES` tiles.
        QbeastError: there is no array, or it cannot be read.
    """
    array = open_array(uri)
    count = sum(fragment.tile_count for fragment in array.fragments)
    if count > MOST_TILES:
        raise UnsupportedError(f"{array.uri}: it has {count:,} tiles; a picture takes {MOST_TILES:,}")
    boxes = [_boxes(fragment) for fragment in array.fragments]
    sides, ranges = [], []
    for at, dimension in enumerate(array.schema.dimensions):
        ends = [[*itertools.chain(*(box[end][at] for box in boxes))] for end in (0, 1)]
        values = _values([*ends[0], *ends[1]], dimension)
        side, choice = _side(dimension, values[:count], values[count:])
        sides.append(side)
        if choice:
            ranges.append(choice)
    tiles = FileArrays(
        np.concatenate([np.zeros(0), *(_tile_bytes(fragment) for fragment in array.fragments)]),
        np.concatenate([np.zeros(0), *map(_cells, array.fragments, boxes)]),
        np.zeros(count, np.uint8),
        tuple(ranges),
    )
    return ArrayPicture(
        visible(without_secrets(array.uri)),
        "dense" if array.schema.dense else "sparse",
        tuple(attribute.name for attribute in array.schema.attributes),
        tuple(_figures(fragment) for fragment in array.fragments),
        tiles,
        np.repeat(
            np.arange(len(array.fragments), dtype=np.uint32),
            [fragment.tile_count for fragment in array.fragments],
        ),
        tuple(sides),
    )


def _side(dimension: Dimension, lows: list[Any], highs: list[Any]) -> tuple[Side, Range | None]:
    """A dimension with the first and the last coordinate of each tile; no range of it where all are the same."""
    scale = Scale.over([*lows, *highs])
    if scale is None:
        axis = Axis(dimension.name, np.array([0.5]), ("all cells",), is_ordered=False)
        return Side(axis, np.zeros(len(lows)), np.ones(len(lows)), 0.0), None
    axis = Axis(dimension.name, value_places(scale.values, scale), scale.labels, is_ordered=True)
    places = _on(axis, value_places(lows, scale)), _on(axis, value_places(highs, scale))
    steps = [scale.steps(low, high) for low, high in zip(lows, highs, strict=True)]
    unit = dimension.field.datatype.unit
    return Side(axis, *places, half_cell(scale, unit)), Range.of(dimension.name, scale, steps)


def _on(axis: Axis, places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places with the ends of an axis for those beyond all numbers: nobody knows how far such a tile goes."""
    return np.where(np.isinf(places), np.clip(places, axis.ticks[0], axis.ticks[-1]), places)


def _figures(fragment: Fragment) -> FragmentFigures:
    name = fragment.name
    return FragmentFigures(
        name.text, name.start, name.end, fragment.tile_count, fragment.cell_count, fragment.stored_bytes
    )


def _boxes(fragment: Fragment) -> _Boxes:
    """The smallest and the largest coordinates of each tile, dimension by dimension."""
    grid = fragment.grid
    if grid is None:
        leaves = fragment.leaves if not fragment.footer.dense else None
        none: list[Any] = [[] for _ in fragment.schema.dimensions]
        return (none, none) if leaves is None else ([*leaves.lows], [*leaves.highs])
    # Cells of a tile outside of the fragment's own domain are padding.
    places = np.array([*itertools.product(*(range(n) for n in grid.shape))], np.int64)
    lows, highs = [], []
    for at, (origin, extent, domain) in enumerate(
        zip(grid.origin, grid.extents, grid.domain.ranges, strict=True)
    ):
        # The last tile may end behind the last number of the type.
        starts = [origin + place * extent for place in places[:, at].tolist()]
        lows.append([max(start, domain.low) for start in starts])
        highs.append([min(start + extent - 1, domain.high) for start in starts])
    return lows, highs


def _values(stored: list[Any], dimension: Dimension) -> list[Any]:
    """Coordinates as people know them: texts, numbers, points in time as far as Python has all of them."""
    kind = dimension.field.datatype
    if dimension.field.is_var:
        return [bytes(value).decode("utf-8", "replace") for value in stored]
    values = np.array(stored, kind.dtype)
    numbers: list[Any] = values.tolist()
    return (_times(values, kind) or numbers) if kind.is_datetime else numbers


def _times(values: NDArray[Any], kind: Datatype) -> list[Any] | None:
    """Moments as Python has them; None where it has not all of them."""
    moments = values.view(f"<M8[{kind.unit}]")
    if (finer := kind - Datatype.DATETIME_US) > 0:
        # NumPy's cast takes the first moments of a finer unit past the end of 64 bits, to the other end of time.
        micro = np.where(np.isnat(moments), values, values // 1_000**finer).view("<M8[us]")
    else:
        try:
            micro = moments.astype("<M8[us]")
        except OverflowError:
            return None
    times: list[Any] = micro.tolist()
    # NumPy before 2.5 wraps moments that are too far away to be counted in microseconds.
    is_exact = finer > 0 or (micro.astype(moments.dtype) == moments).all()
    return times if is_exact and all(isinstance(time, dt.datetime) for time in times) else None


def _tile_bytes(fragment: Fragment) -> NDArray[np.float64]:
    """Bytes of each tile in all files of its fragment."""
    sizes = np.zeros(fragment.tile_count)
    for name in fragment.fields:
        for file in fragment.files_of(name).values():
            offsets = file.tile_offsets().values
            if offsets.size == sizes.size:
                sizes += np.diff(np.append(offsets.astype(np.float64), float(file.size)))
    return sizes


def _cells(fragment: Fragment, box: _Boxes) -> NDArray[np.float64]:
    """Cells of each tile. Those of a dense fragment fill the box around them."""
    if fragment.grid is None:
        return fragment.tile_cells(np.arange(fragment.tile_count)).astype(np.float64)
    sides = [[high - low + 1 for low, high in zip(*ends, strict=True)] for ends in zip(*box, strict=True)]
    cells: NDArray[np.float64] = np.prod(np.array(sides, np.float64), axis=0)
    return cells
