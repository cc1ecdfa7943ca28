"""Writing boxes of cells into dense arrays."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.location import Location
from pyqbeast.tiledb.errors import telling
from pyqbeast.tiledb.format.domain import MBR
from pyqbeast.tiledb.format.grid import TileGrid, numpy_order
from pyqbeast.tiledb.format.ingest import check_table
from pyqbeast.tiledb.format.rtree import FANOUT, RTree
from pyqbeast.tiledb.read.array import Array
from pyqbeast.tiledb.read.dense import whole_box
from pyqbeast.tiledb.read.opening import open_array
from pyqbeast.tiledb.read.predicate import parse_box
from pyqbeast.tiledb.write.columns import columns_to_write
from pyqbeast.tiledb.write.fragment_files import FragmentFiles, encode_column, padding
from pyqbeast.tiledb.write.staging import commit_staged, put_fragment

Rows = npt.NDArray[np.int64]


@telling()
def write_dense(
    uri: Location,
    table: pa.Table,
    box: Mapping[str, Any] | None = None,
    *,
    timestamp: int | None = None,
    encryption_key: str | bytes | None = None,
) -> str:
    """Write a box of cells into a dense array, as one fragment.

    Args:
        uri: the array.
        table: a column for each attribute, with one row per cell of the box in row-major order. Columns of
            dimensions may be there and say nothing.
        box: (low, high) by dimension, both included; the whole domain by default.
        timestamp: when, in ms since 1970 (UTC); now by default.
        encryption_key: the array's key, if it is encrypted.

    Returns:
        the fragment's name.

    Raises:
        InvalidInputError: the array is sparse, the box is not in its domain, or the rows do not fill it.
    """
    check_table(table)
    array = open_array(uri, encryption_key=encryption_key)
    schema = array.schema
    if not schema.dense:
        raise InvalidInputError(f"{uri} is sparse: write it with write_array")
    region = _region(array, box)
    shape = region.shape
    if table.num_rows != prod(shape):
        raise InvalidInputError(f"{table.num_rows} rows for a box of {prod(shape)} cells")
    grid = TileGrid.of_fragment(schema, region)
    rows = _rows_of_tiles(grid, shape)
    raw = columns_to_write(table, array)
    columns = {}
    for attribute in schema.attributes:
        # One more cell behind the last one stands for all padding.
        cells = pa.concat_arrays([raw[attribute.name], padding(attribute)])
        tiles = [cells.take(pa.array(positions)) for positions in rows]
        counted = [cells.take(pa.array(positions[positions < table.num_rows])) for positions in rows]
        columns[attribute.name] = encode_column(tiles, attribute, schema, array.key, counted)
    fragment = FragmentFiles(schema, columns, grid.tile_count, grid.cells_per_tile, region, RTree(FANOUT, ()))
    return commit_staged(array.store, put_fragment(array, fragment, timestamp))


def _region(array: Array, box: Mapping[str, Any] | None) -> MBR:
    """The box with open ends closed; it must lie in the (current) domain."""
    whole = whole_box(array.schema)
    parsed = parse_box(box, array.schema)
    if parsed is None:
        return whole
    region = parsed.closed(whole)
    if region.intersection(whole) != region:
        raise InvalidInputError(f"the box {region} is not in the domain {whole}")
    return region


def _rows_of_tiles(grid: TileGrid, shape: tuple[int, ...]) -> list[Rows]:
    """For each tile, the row of each of its cells in file order; the number of rows stands for padding."""
    rows = np.arange(prod(shape), dtype=np.int64).reshape(shape)
    order = numpy_order(grid.cell_order)
    rows_of_tiles = []
    for _, inside, target in grid.overlaps(grid.domain, np.arange(grid.tile_count)):
        tile = np.full(grid.extents, rows.size, dtype=np.int64)
        tile[inside] = rows[target]
        rows_of_tiles.append(tile.ravel(order=order))
    return rows_of_tiles
