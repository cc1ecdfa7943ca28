"""Writing the cells of sparse arrays, as fragments."""

from __future__ import annotations

import itertools

import pyarrow as pa

from pyqbeast.core.arguments import check_type
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.location import Location
from pyqbeast.tiledb.errors import telling
from pyqbeast.tiledb.format.rtree import RTree, leaves_of
from pyqbeast.tiledb.read.array import Array
from pyqbeast.tiledb.read.opening import open_array
from pyqbeast.tiledb.write.columns import columns_to_write
from pyqbeast.tiledb.write.fragment_files import FragmentFiles, encode_column
from pyqbeast.tiledb.write.global_order import global_order
from pyqbeast.tiledb.write.staging import commit_staged, put_fragment


@telling()
def write_array(
    uri: Location, table: pa.Table, *, timestamp: int | None = None, encryption_key: str | bytes | None = None
) -> str:
    """Write cells into a sparse array, as one fragment.

    Args:
        uri: the array.
        table: a column for each dimension and attribute, in any order.
        timestamp: when, in ms since 1970 (UTC); now by default. Cells of a later time overwrite earlier ones.
        encryption_key: the array's key, if it is encrypted.

    Returns:
        the fragment's name.

    Raises:
        InvalidInputError: the cells do not fit the schema.
        UnsupportedError: the array is in Hilbert order, or older than format version 12.
        StorageError: the storage failed; the array is as it was.
        UncertainWriteError: the storage failed and does not say whether the cells are there.
    """
    array = open_array(uri, encryption_key=encryption_key)
    return commit_staged(array.store, stage_fragment(array, table, timestamp))


@telling()
def stage_fragment(array: Array, table: pa.Table, timestamp: int | None = None, *, job: str = "") -> str:
    """Write a fragment that nobody sees until `commit_fragments`. The same as `write_array` otherwise.

    Args:
        array: the array.
        table: its cells.
        timestamp: when, in ms since 1970 (UTC); now by default.
        job: digits that are common to the names of a job's fragments; see `TimestampedName.job`.
    """
    check_type(array, Array, "stage_fragment takes an array, as open_array gives it")
    schema = array.schema
    if schema.dense:
        raise InvalidInputError(f"{array.uri} is dense: write it with write_dense")
    columns = columns_to_write(table, array)
    order = global_order(columns, schema)
    if order is not None:
        columns = {name: column.take(pa.array(order)) for name, column in columns.items()}
    rows = table.num_rows
    if not rows:
        raise InvalidInputError("there are no cells to write")
    cuts = [*range(0, rows, schema.capacity), rows]
    tiles = {n: [c[a:b] for a, b in itertools.pairwise(cuts)] for n, c in columns.items()}
    leaves = leaves_of(tiles, schema.dimension_fields)
    files = {n: encode_column(tiles[n], schema.fields[n], schema, array.key) for n in schema.fields}
    fragment = FragmentFiles(
        schema, files, len(cuts) - 1, rows - cuts[-2], leaves.around(), RTree.build(leaves)
    )  # fmt: skip
    return put_fragment(array, fragment, timestamp, job)
