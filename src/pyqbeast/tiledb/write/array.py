"""Writing the cells of sparse arrays, as fragments, and array metadata."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.core.errors import InvalidInputError, UncertainWriteError, UnsupportedError, check_type
from pyqbeast.core.location import Location
from pyqbeast.tiledb.errors import telling
from pyqbeast.tiledb.format.column import numbers
from pyqbeast.tiledb.format.domain import MBRs
from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.format.generic_tile import WRITTEN_VERSION, encode_generic_tile
from pyqbeast.tiledb.format.metadata import metadata_bytes
from pyqbeast.tiledb.format.rtree import RTree
from pyqbeast.tiledb.read.array import Array
from pyqbeast.tiledb.read.opening import open_array
from pyqbeast.tiledb.storage.folder import FRAGMENTS, METADATA
from pyqbeast.tiledb.storage.names import TimestampedName, time_after
from pyqbeast.tiledb.storage.stores import Store
from pyqbeast.tiledb.write.columns import columns_to_write
from pyqbeast.tiledb.write.commit import abort_fragments, commit_fragments, write_landed
from pyqbeast.tiledb.write.fragment_files import FragmentFiles, encode_column
from pyqbeast.tiledb.write.global_order import global_order

#: Fragments are written in the array's own version if it is at least this.
_OLDEST_WRITTEN = 12


@telling()
def write_array(
    uri: Location, table: pa.Table, *, timestamp: int | None = None, encryption_key: str | bytes | None = None
) -> str:
    """Write cells into a sparse array, as one fragment.

    Args:
        uri: The array.
        table: A column for each dimension and attribute, in any order.
        timestamp: When, in ms since 1970 (UTC); now by default. Cells of a later time overwrite earlier ones.
        encryption_key: The array's key, if it is encrypted.

    Returns:
        The fragment's name.

    Raises:
        InvalidInputError: The cells do not fit the schema.
        UnsupportedError: The array is in Hilbert order, or older than format version 12.
        StorageError: The storage failed; the array is as it was.
        UncertainWriteError: The storage failed and does not say whether the cells are there.
    """
    array = open_array(uri, encryption_key=encryption_key)
    return commit_staged(array.store, stage_fragment(array, table, timestamp))


def commit_staged(store: Store, name: str) -> str:
    """Make one staged fragment visible, or delete it where that fails; gives its name."""
    try:
        commit_fragments(store, [name])
    except UncertainWriteError:
        raise
    except Exception:
        with contextlib.suppress(Exception):
            abort_fragments(store, [name])
        raise
    return name


@telling()
def stage_fragment(array: Array, table: pa.Table, timestamp: int | None = None, *, job: str = "") -> str:
    """Write a fragment that nobody sees until `commit_fragments`. The same as `write_array` otherwise.

    Args:
        array: The array.
        table: Its cells.
        timestamp: When, in ms since 1970 (UTC); now by default.
        job: Digits that are common to the names of a job's fragments; see `TimestampedName.job`.
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


def put_fragment(array: Array, fragment: FragmentFiles, timestamp: int | None, job: str = "") -> str:
    """Store the files of a fragment, without committing it; all of them or none."""
    version = array.schema.version
    if not _OLDEST_WRITTEN <= version <= WRITTEN_VERSION:
        raise UnsupportedError(f"{array.uri}: writing format version {version} is not supported")
    if timestamp is None:
        # Cells that are earlier than a delete or another cell would be hidden from the start.
        timestamp = time_after([*array.folder.fragments, *array.folder.conditions])
    name = TimestampedName.new(timestamp, version, job).text
    try:
        for file, content in fragment.files(array.key).items():
            array.store.write(f"{FRAGMENTS}/{name}/{file}", content)
    except Exception:
        with contextlib.suppress(Exception):
            array.store.delete(f"{FRAGMENTS}/{name}")
        raise
    return name


@telling()
def write_metadata(
    uri: Location,
    values: Mapping[str, Any],
    *,
    timestamp: int | None = None,
    encryption_key: str | bytes | None = None,
) -> None:
    """Set array metadata: text, bytes, a number or a sequence of numbers by key; `None` deletes a key."""
    array = open_array(uri, encryption_key=encryption_key)
    name = TimestampedName.new(time_after(array.folder.metadata) if timestamp is None else timestamp).text
    tile = encode_generic_tile(metadata_bytes(values), key=array.key)
    write_landed(array.store, f"{METADATA}/{name}", tile, "the metadata is set")


def leaves_of(tiles: Mapping[str, list[pa.Array]], dimensions: Sequence[Field]) -> MBRs:
    """The rectangle around each tile, from the tiles' raw coordinates."""
    lows, highs = [], []
    for dimension in dimensions:
        parts = tiles[dimension.name]
        if dimension.is_var:
            ends = [_text_range(part) for part in parts]
            low, high = (np.empty(len(ends), dtype=object) for _ in range(2))
            low[:], high[:] = [e[0] for e in ends], [e[1] for e in ends]
        else:
            low, high = (np.array([f(numbers(part)) for part in parts]) for f in (np.min, np.max))
        lows.append(low)
        highs.append(high)
    return MBRs(tuple(lows), tuple(highs))


def _text_range(part: pa.Array) -> tuple[bytes, bytes]:
    bounds = pc.min_max(part).as_py()
    return bounds["min"], bounds["max"]
