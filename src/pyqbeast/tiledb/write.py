"""Writing arrays: new ones, and fragments that become visible one by one or all at once."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.core.errors import InvalidInputError, UnsupportedError
from pyqbeast.tiledb.array import Array, open_array
from pyqbeast.tiledb.column import numbers
from pyqbeast.tiledb.conditions import Operator, comparison_bytes
from pyqbeast.tiledb.cursor import u64
from pyqbeast.tiledb.domain import MBR, MBRs
from pyqbeast.tiledb.field import Field
from pyqbeast.tiledb.folder import COMMITS, FRAGMENTS, METADATA, SCHEMAS
from pyqbeast.tiledb.fragment import Fragment
from pyqbeast.tiledb.fragment_files import FragmentFiles, encode_column
from pyqbeast.tiledb.generic_tile import WRITTEN_VERSION, encode_generic_tile
from pyqbeast.tiledb.global_order import global_order
from pyqbeast.tiledb.ingest import raw_columns
from pyqbeast.tiledb.metadata import metadata_bytes
from pyqbeast.tiledb.names import TimestampedName
from pyqbeast.tiledb.order import last_of_equals, row_major, sort_keys
from pyqbeast.tiledb.prune import tiles_in_box
from pyqbeast.tiledb.rtree import RTree
from pyqbeast.tiledb.schema import ArraySchema
from pyqbeast.tiledb.storage import Store, open_store
from pyqbeast.tiledb.tile_data import read_column

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
    tiles = {n: [c[a:b] for a, b in itertools.pairwise(cuts)] for n, c in columns.items()}
    leaves = leaves_of(tiles, schema.dimension_fields)
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
        _write_consolidated(store, names, b"")


def replace_cells(array: Array, names: Sequence[str], timestamp: int) -> None:
    """Delete every cell up to a time and make staged fragments of later times visible, all in one step.

    Args:
        array: The sparse array.
        names: The staged fragments, all later than `timestamp`.
        timestamp: In ms since 1970 (UTC). The cells can still be read as of a time before it.
    """
    version = array.schema.version
    name = TimestampedName.new(timestamp, version).text
    tile = encode_generic_tile(_nothing(array.schema), version, array.key)
    entry = f"{COMMITS}/{name}.del\n".encode() + u64(len(tile)) + tile
    _write_consolidated(array.store, [*names, name], entry)


def _nothing(schema: ArraySchema) -> bytes:
    """A condition on the cells that stay, which none satisfies: to lie before the first coordinate."""
    first = schema.dimensions[0]
    least = b"" if first.domain is None else np.array(first.domain[0], first.field.datatype.dtype).tobytes()
    return comparison_bytes(first.name, Operator.LT, least)


def _write_consolidated(store: Store, names: Sequence[str], deletes: bytes) -> None:
    """One file that commits all of these; those that `deletes` holds have their bytes there."""
    parsed = [name for name in map(TimestampedName.parse, names) if name is not None]
    first, last = min(n.start for n in parsed), max(n.end for n in parsed)
    unique = uuid.uuid4().hex
    lines = "".join(f"{COMMITS}/{name}.wrt\n" for name in sorted(names) if name.encode() not in deletes)
    store.write(
        f"{COMMITS}/__{first}_{last}_{unique}_{parsed[0].version}.con", lines.encode("utf-8") + deletes
    )


def abort_fragments(store: Store, names: Sequence[str]) -> None:
    """Delete staged fragments that were not committed."""
    for name in names:
        store.delete(f"{FRAGMENTS}/{name}")


def refuse_duplicates(array: Array, names: Sequence[str]) -> None:
    """Check that staged fragments of one time have no coordinates in common.

    Raises:
        InvalidInputError: They have; which cell would win is up to chance.
    """
    staged = [array.fragment(name) for name in names]
    for i, fragment in enumerate(staged):
        others = [f.footer.non_empty_domain for f in staged[:i] if f.footer.non_empty_domain is not None]
        domain = fragment.footer.non_empty_domain
        near = [
            staged[k] for k, other in enumerate(others) if domain is not None and domain.intersects(other)
        ]
        if near and domain is not None:
            _compare_coordinates(array, [*near, fragment], domain)


def _compare_coordinates(array: Array, fragments: Sequence[Fragment], box: MBR) -> None:
    dimensions = array.schema.dimension_fields
    columns: dict[str, list[pa.Array]] = {d.name: [] for d in dimensions}
    for fragment in fragments:
        tiles = np.flatnonzero(tiles_in_box(fragment, box))
        for name, parts in columns.items():
            parts.append(read_column(fragment, name, tiles))
    keys = sort_keys([pa.concat_arrays(columns[d.name]) for d in dimensions], dimensions)
    if not last_of_equals(keys, row_major(keys)).all():
        raise InvalidInputError(
            "two tasks wrote the same coordinates, and the array does not allow duplicates"
        )


def write_metadata(
    uri: str,
    values: Mapping[str, Any],
    *,
    timestamp: int | None = None,
    encryption_key: str | bytes | None = None,
) -> None:
    """Set array metadata: text, bytes, a number or a sequence of numbers by key; `None` deletes a key."""
    array = open_array(uri, encryption_key=encryption_key)
    name = TimestampedName.new(timestamp).text
    array.store.write(f"{METADATA}/{name}", encode_generic_tile(metadata_bytes(values), key=array.key))


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
    found = pc.min_max(part).as_py()
    return found["min"], found["max"]
