"""Writing arrays: new ones, and fragments that become visible one by one or all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.core.errors import InvalidInputError, UnsupportedError
from pyqbeast.tiledb.array import Array, open_array
from pyqbeast.tiledb.column import numbers
from pyqbeast.tiledb.domain import MBRs
from pyqbeast.tiledb.folder import COMMITS, FRAGMENTS, METADATA, SCHEMAS
from pyqbeast.tiledb.fragment_files import FragmentFiles, encode_column
from pyqbeast.tiledb.generic_tile import WRITTEN_VERSION, encode_generic_tile
from pyqbeast.tiledb.global_order import global_order
from pyqbeast.tiledb.ingest import raw_columns
from pyqbeast.tiledb.metadata import metadata_bytes
from pyqbeast.tiledb.names import TimestampedName
from pyqbeast.tiledb.rtree import RTree
from pyqbeast.tiledb.schema import ArraySchema
from pyqbeast.tiledb.storage import Store, open_store

#: Fragments are written in the array's own version if it is at least this.
_OLDEST_WRITTEN = 12


def create_array(
    uri: str, schema: ArraySchema, *, timestamp: int | None = None, encryption_key: str | bytes | None = None
) -> None:
    """Make an array without cells.

    Args:
        uri: Where; a folder that is there already must hold no array.
        schema: What its cells are.
        timestamp: When, in ms since 1970 (UTC); now by default.
        encryption_key: 32 bytes, for an array to be encrypted.

    Raises:
        InvalidInputError: There is an array, or the storage is read-only.
    """
    store = open_store(uri)
    if any(TimestampedName.parse(entry.name) for entry in store.entries(SCHEMAS)):
        raise InvalidInputError(f"{uri}: there is an array already")
    key = encryption_key.encode("utf-8") if isinstance(encryption_key, str) else encryption_key
    name = TimestampedName.new(timestamp)
    store.write(f"{SCHEMAS}/{name.text}", encode_generic_tile(schema.to_bytes(), key=key))


def write_array(
    uri: str, table: pa.Table, *, timestamp: int | None = None, encryption_key: str | bytes | None = None
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
    """
    array = open_array(uri, encryption_key=encryption_key)
    name = stage_fragment(array, table, timestamp)
    commit_fragments(array.store, [name])
    return name


def stage_fragment(array: Array, table: pa.Table, timestamp: int | None = None) -> str:
    """Write a fragment that nobody sees until `commit_fragments`. The same as `write_array` otherwise."""
    schema = array.schema
    if schema.dense:
        raise InvalidInputError(f"{array.uri} is dense: write it with write_dense")
    columns = raw_columns(table, schema)
    order = global_order(columns, schema)
    if order is not None:
        columns = {name: column.take(pa.array(order)) for name, column in columns.items()}
    rows = table.num_rows
    if not rows:
        raise InvalidInputError("there are no cells to write")
    cuts = [*range(0, rows, schema.capacity), rows]
    tiles = {n: [c[a:b] for a, b in zip(cuts, cuts[1:], strict=False)] for n, c in columns.items()}
    leaves = _leaves(tiles, schema)
    files = {n: encode_column(tiles[n], schema.fields[n], schema, array.key) for n in schema.fields}
    fragment = FragmentFiles(
        schema, files, len(cuts) - 1, rows - cuts[-2], leaves.around(), RTree.build(leaves)
    )  # fmt: skip
    return put_fragment(array, fragment, timestamp)


def put_fragment(array: Array, fragment: FragmentFiles, timestamp: int | None) -> str:
    """Store the files of a fragment, without committing it."""
    version = array.schema.version
    if not _OLDEST_WRITTEN <= version <= WRITTEN_VERSION:
        raise UnsupportedError(f"{array.uri}: writing format version {version} is not supported")
    name = TimestampedName.new(timestamp, version).text
    for file, content in fragment.files(array.key).items():
        array.store.write(f"{FRAGMENTS}/{name}/{file}", content)
    return name


def commit_fragments(store: Store, names: Sequence[str]) -> None:
    """Make staged fragments visible, all in one step: by a file of their own, or by one that lists them all."""
    if len(names) == 1:
        store.write(f"{COMMITS}/{names[0]}.wrt", b"")
    elif names:
        parsed = [name for name in map(TimestampedName.parse, names) if name is not None]
        version = parsed[0].version
        first, last = min(n.start for n in parsed), max(n.end for n in parsed)
        unique = TimestampedName.new(None).text.rsplit("_", 1)[-1]
        lines = "".join(f"{COMMITS}/{name}.wrt\n" for name in sorted(names))
        store.write(f"{COMMITS}/__{first}_{last}_{unique}_{version}.con", lines.encode("utf-8"))


def abort_fragments(store: Store, names: Sequence[str]) -> None:
    """Delete staged fragments that were not committed."""
    for name in names:
        store.delete(f"{FRAGMENTS}/{name}")


def write_metadata(
    uri: str, values: Mapping[str, Any], *, timestamp: int | None = None, encryption_key: str | bytes | None = None
) -> None:
    """Set array metadata: text, bytes, a number or a sequence of numbers by key; `None` deletes a key."""
    array = open_array(uri, encryption_key=encryption_key)
    name = TimestampedName.new(timestamp).text
    array.store.write(f"{METADATA}/{name}", encode_generic_tile(metadata_bytes(values), key=array.key))


def _leaves(tiles: dict[str, list[pa.Array]], schema: ArraySchema) -> MBRs:
    """The rectangle around each tile."""
    lows, highs = [], []
    for dimension in schema.dimension_fields:
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
    found = pc.min_max(part).as_py()
    return found["min"], found["max"]
