"""The regular grid of space tiles that a dense fragment's cells lie in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Literal

import numpy as np
import numpy.typing as npt

from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.format.domain import MBR, Range1D
from pyqbeast.tiledb.format.schema import ArraySchema, Layout

#: The most cells of a tile. A schema that says more is broken.
_MOST_CELLS = 2**40

Slices = tuple[slice, ...]


def numpy_order(layout: Layout) -> Literal["C", "F"]:
    """NumPy's letter for row-major or column-major."""
    return "C" if layout is Layout.ROW_MAJOR else "F"


@dataclass(frozen=True)
class TileGrid:
    """The tiles around the non-empty domain of a dense fragment.

    Attributes:
        domain: the fragment's non-empty domain; cells of its tiles outside of it are padding.
        origin: the least coordinates of the first tile.
        extents: cells of a tile, per dimension.
        shape: tiles, per dimension.
        tile_order, cell_order: the order of tiles in the file, and of cells in a tile.
    """

    domain: MBR
    origin: tuple[int, ...]
    extents: tuple[int, ...]
    shape: tuple[int, ...]
    tile_order: Layout
    cell_order: Layout

    @classmethod
    def of_fragment(cls, schema: ArraySchema, domain: MBR) -> TileGrid:
        """The grid of a fragment with this non-empty domain; it begins where the array's domain does."""
        origin, extents, shape = [], [], []
        for dimension, bounds in zip(schema.dimensions, domain.ranges, strict=True):
            if dimension.domain is None or dimension.extent is None or not isinstance(dimension.extent, int):
                raise ArrayFormatError(f"dense dimension {dimension.name!r} without domain and extent")
            low, high = dimension.domain
            if not low <= bounds.low <= bounds.high <= high:
                raise ArrayFormatError(f"cells outside the domain of {dimension.name!r}")
            first = (bounds.low - low) // dimension.extent
            origin.append(low + first * dimension.extent)
            extents.append(dimension.extent)
            shape.append((bounds.high - low) // dimension.extent - first + 1)
        if prod(extents) > _MOST_CELLS or prod(shape) > _MOST_CELLS:
            raise ArrayFormatError(f"{prod(shape)} tiles of {prod(extents)} cells")
        return cls(domain, tuple(origin), tuple(extents), tuple(shape), schema.tile_order, schema.cell_order)

    @property
    def cells_per_tile(self) -> int:
        """Cells of a tile, with padding."""
        return prod(self.extents)

    @property
    def tile_count(self) -> int:
        """Number of tiles."""
        return prod(self.shape)

    def tiles_in(self, box: MBR) -> npt.NDArray[np.intp]:
        """The numbers of the tiles that hold cells of `box`, ascending."""
        steps = []
        for i, bounds in enumerate(box.ranges):
            low = max((bounds.low - self.origin[i]) // self.extents[i], 0)
            high = min((bounds.high - self.origin[i]) // self.extents[i], self.shape[i] - 1)
            steps.append(np.arange(low, high + 1))
        positions = np.meshgrid(*steps, indexing="ij")
        order = numpy_order(self.tile_order)
        numbers = np.ravel_multi_index([p.reshape(-1) for p in positions], self.shape, order=order)
        return np.sort(numbers).astype(np.intp)

    def tile_box(self, tile: int) -> MBR:
        """The coordinates of a tile's cells, with padding."""
        order = numpy_order(self.tile_order)
        position = np.unravel_index(tile, self.shape, order=order)
        lows = [o + int(p) * e for o, p, e in zip(self.origin, position, self.extents, strict=True)]
        return MBR(tuple(Range1D(low, low + e - 1) for low, e in zip(lows, self.extents, strict=True)))

    def cell_numbers(self, part: Slices) -> npt.NDArray[np.int64]:
        """The positions of some cells of a tile in the tile's file order, as a table with one axis per dimension.

        Args:
            part: which cells; the table is as large as that, however large the tile.
        """
        row_major = self.cell_order is Layout.ROW_MAJOR
        axes = range(len(self.extents))
        numbers = np.zeros([max(part[i].stop - part[i].start, 0) for i in axes], dtype=np.int64)
        for i in axes:
            stride = prod(self.extents[i + 1 :] if row_major else self.extents[:i])
            shape = [-1 if k == i else 1 for k in axes]
            numbers += (np.arange(part[i].start, part[i].stop, dtype=np.int64) * stride).reshape(shape)
        return numbers

    def overlaps(self, box: MBR, tiles: npt.NDArray[np.intp]) -> Iterator[tuple[int, Slices, Slices]]:
        """For each tile: its number, the part of it that holds cells of `box`, and where these lie in `box`.

        Both parts are slices per dimension, counted from the tile's and the box's first cell.
        """
        for tile in tiles.tolist():
            inside, target = [], []
            ranges = zip(self.tile_box(tile).ranges, self.domain.ranges, box.ranges, strict=True)
            for t, d, b in ranges:
                low, high = max(t.low, d.low, b.low), min(t.high, d.high, b.high)
                inside.append(slice(low - t.low, max(high - t.low + 1, 0)))
                target.append(slice(low - b.low, max(high - b.low + 1, 0)))
            yield tile, tuple(inside), tuple(target)
