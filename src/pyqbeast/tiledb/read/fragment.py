"""Fragments: the cells of one write, in tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from pyqbeast.core.once import once
from pyqbeast.tiledb.datatypes import Datatype
from pyqbeast.tiledb.errors import ArrayFormatError, reading
from pyqbeast.tiledb.filters.pipeline import FilterPipeline, in_array
from pyqbeast.tiledb.format.column import Mask
from pyqbeast.tiledb.format.domain import MBRs
from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.format.grid import TileGrid
from pyqbeast.tiledb.format.statistics import are_of_numbers
from pyqbeast.tiledb.read.fragment_metadata import FragmentMetadata

#: The delete time of cells that are not deleted.
NOT_DELETED = 2**64 - 1


class Fragment(FragmentMetadata):
    """A fragment of an array: what is stored of it, and what follows of its tiles.

    Attributes:
        name: its name, with the times it spans.
        path: its folder, relative to the array.
        store: the array's files.
    """

    def __repr__(self) -> str:
        return f"Fragment({self.name.text!r})"

    def pipeline(self, filters: FilterPipeline) -> FilterPipeline:
        """The filters that the tiles of a column went through."""
        return in_array(filters, self._key)

    @property
    @once
    def grid(self) -> TileGrid | None:
        """The space tiles of a dense fragment, `None` for a sparse one or one without cells."""
        domain = self.footer.non_empty_domain
        if not self.footer.dense or domain is None:
            return None
        with reading(self.metadata_path, "footer"):
            return TileGrid.of_fragment(self.schema, domain)

    @property
    @once
    def tile_count(self) -> int:
        """Number of tiles.

        Raises:
            ArrayFormatError: the footer (which no checksum guards) contradicts the sections.
        """
        if not self.footer.dense:
            leaves = self.rtree.leaves
            return 0 if leaves is None else len(leaves)
        count = self.grid.tile_count if self.grid else 0
        first = self.schema.attributes[0].name if count and self.schema.attributes else None
        if first is not None and self.tile_offsets(first).values.size != count:
            raise ArrayFormatError(f"there are not {count} tiles", file=self.metadata_path, field="footer")
        return count

    @property
    @once
    def stored_bytes(self) -> int:
        """Bytes of the fragment's files, as far as the store tells; as its footer says where not."""
        sizes = [entry.size for entry in self.store.entries(self.path)]
        if None not in sizes:
            return sum(size or 0 for size in sizes)
        return self.footer.data_bytes

    def tile_cells(self, tiles: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        """Cells of each of these tiles; those of a dense fragment count its padding."""
        if self.grid is not None:
            return np.full(tiles.size, self.grid.cells_per_tile, dtype=np.int64)
        last = self.tile_count - 1
        return np.where(tiles == last, self.footer.last_tile_cells, self.schema.capacity).astype(np.int64)

    @property
    def cell_count(self) -> int:
        """Cells, without the padding of a dense fragment."""
        if self.grid is not None:
            return prod(self.grid.domain.shape)
        return int(self.tile_cells(np.arange(self.tile_count)).sum())

    @property
    @once
    def leaves(self) -> MBRs | None:
        """The rectangles around the cells of each tile as these are read, `None` in a dense fragment."""
        leaves = self.rtree.leaves
        return None if leaves is None else as_read(leaves, self.schema.dimension_fields, self._told_tiles)

    def has_numbers_alone(self, dimension: Field) -> bool:
        """Whether every coordinate of a dimension of floats is a number, as far as sums tell.

        There are sums of tiles from version 11 on, and of fragments from 12 on. Older coordinates are taken for
        numbers: to believe no range would have readers read the whole of every ordinary array.
        """
        if self.statistics is None:
            return bool(self._tiles_of_numbers(dimension).all())
        total = self.statistics.fields[self.slot(dimension.name)].sum
        return bool(are_of_numbers(_floats([total]))[0])

    def _told_tiles(self, dimension: Field) -> Mask:
        """As `has_numbers_alone`, of each tile. Sums of tiles are read where that of the fragment does not suffice."""
        if self.has_numbers_alone(dimension):
            return np.ones(self.tile_count, dtype=bool)
        return self._tiles_of_numbers(dimension)

    def _tiles_of_numbers(self, dimension: Field) -> Mask:
        sums = self.tile_sums(dimension.name)
        if sums is None:
            return np.ones(self.tile_count, dtype=bool)
        if sums.values.size != self.tile_count:
            return np.zeros(self.tile_count, dtype=bool)
        return are_of_numbers(_floats(sums.values))


def as_read(rectangles: MBRs, dimensions: Sequence[Field], told: Callable[[Field], Mask]) -> MBRs:
    """Stored rectangles around cells, so that they hold the cells as these are read.

    They are of coordinates before filtering. A float scale changes coordinates, so for such a dimension they say
    nothing. Nor do they where a coordinate may be NaN, which libtiledb takes for one: it writes NaN for their ends, or
    leaves the NaN out, and other coordinates with it.

    Args:
        rectangles: the rectangles.
        dimensions: the dimensions.
        told: of which rectangles all coordinates in a dimension of floats are numbers.
    """
    if not any(d.is_rounded or d.datatype.is_float for d in dimensions):
        return rectangles
    lows, highs = [], []
    for dimension, low, high in zip(dimensions, rectangles.lows, rectangles.highs, strict=True):
        is_told = np.full(len(low), not dimension.is_rounded)
        if dimension.datatype.is_float and not dimension.is_rounded:
            # Beside an infinite coordinate sums tell nothing.
            is_told = np.isfinite(low) & np.isfinite(high) & told(dimension)
        if not is_told.all():
            least, greatest = _ends(dimension.datatype)
            low, high = np.where(is_told, low, least), np.where(is_told, high, greatest)
        lows.append(low)
        highs.append(high)
    return MBRs(tuple(lows), tuple(highs))


def _ends(datatype: Datatype) -> tuple[float, float]:
    """The least and greatest value of a type."""
    if datatype.is_float:
        return -np.inf, np.inf
    bounds = np.iinfo(datatype.dtype)
    return bounds.min, bounds.max


def _floats(sums: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Sums of floats, from their bits."""
    return np.asarray(sums, dtype="<u8").view("<f8")
