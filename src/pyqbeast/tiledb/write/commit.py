"""Making staged fragments visible, all in one step, and taking back those that were not."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from pyqbeast.core.arguments import check_type
from pyqbeast.core.errors import CommitConflictError, InvalidInputError, UncertainWriteError, UnsupportedError
from pyqbeast.tiledb.cursor import u64
from pyqbeast.tiledb.format.conditions import Operator, comparison_bytes
from pyqbeast.tiledb.format.generic_tile import encode_generic_tile
from pyqbeast.tiledb.format.schema import ArraySchema
from pyqbeast.tiledb.read.array import Array
from pyqbeast.tiledb.storage.folder import COMMITS, FRAGMENTS, ArrayFolder
from pyqbeast.tiledb.storage.names import TimestampedName, no_fragment
from pyqbeast.tiledb.storage.stores import Store

#: Before this version fragments do not tell which deletes their cells have been through.
_DELETES_SINCE = 16

_CELLS_LANDED = "the cells are written"


def commit_fragments(store: Store, names: Iterable[str]) -> None:
    """Make staged fragments visible, all in one step: by a file of their own, or by one that lists them all.

    Raises:
        InvalidInputError: there is no such fragment; nothing was made visible.
        StorageError: the storage failed; nothing was made visible.
        UncertainWriteError: the storage failed and does not say whether they are visible.
    """
    names = _fragments(store, names)
    staged = {entry.name for entry in store.entries(FRAGMENTS)}
    if missing := [name for name in names if _parsed(name).text not in staged]:
        raise InvalidInputError(f"{store.uri}: there is no staged fragment {missing[0]!r}")
    if len(names) == 1:
        write_landed(store, f"{COMMITS}/{names[0]}.wrt", b"", _CELLS_LANDED)
    elif names:
        _write_consolidated(store, names, b"")


def _fragments(store: Store, names: Iterable[str]) -> list[str]:
    check_type(store, Store, "fragments are committed and aborted in a store, as `array.store` is one")
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidInputError(f"{store.uri}: the names of fragments come as a list, not {names!r}")
    return list(names)


def refuse_old_version(array: Array) -> None:
    """Check that cells of an array can be deleted: of earlier versions libtiledb refuses it too.

    Where it consolidates such an array, it forgets which cells are later than a delete, and all of them are gone.

    Raises:
        UnsupportedError: the array is of an earlier version.
    """
    version = array.schema.version
    if version < _DELETES_SINCE:
        raise UnsupportedError(
            f"{array.uri}: overwriting cells of format version {version} is not supported; write into a new array"
        )


def replace_cells(array: Array, names: Sequence[str], timestamp: int) -> None:
    """Delete every cell up to a time and make staged fragments of later times visible, all in one step.

    Args:
        array: the sparse array.
        names: the staged fragments, all later than `timestamp`.
        timestamp: in ms since 1970 (UTC). The cells can still be read as of a time before it.
    """
    version = array.schema.version
    name = TimestampedName.new(timestamp, version).text
    tile = encode_generic_tile(_nothing(array.schema), version, array.key)
    entry = f"{COMMITS}/{name}.del\n".encode() + u64(len(tile)) + tile
    _write_consolidated(array.store, [*names, name], entry)


def _nothing(schema: ArraySchema) -> bytes:
    """A condition that no cell satisfies, so that none stays: to lie before the first coordinate."""
    first = schema.dimensions[0]
    least = b"" if first.domain is None else np.array(first.domain[0], first.field.datatype.dtype).tobytes()
    return comparison_bytes(first.name, Operator.LT, least)


def _write_consolidated(store: Store, names: Sequence[str], deletes: bytes) -> None:
    """One file that commits all of these; those that `deletes` holds have their bytes there."""
    parsed = [_parsed(name) for name in names]
    first, last = min(n.start for n in parsed), max(n.end for n in parsed)
    unique = uuid.uuid4().hex
    lines = "".join(f"{COMMITS}/{name}.wrt\n" for name in sorted(names) if name.encode() not in deletes)
    path = f"{COMMITS}/__{first}_{last}_{unique}_{parsed[0].version}.con"
    write_landed(store, path, lines.encode("utf-8") + deletes, _CELLS_LANDED)


def write_landed(store: Store, path: str, data: bytes, meaning: str) -> None:
    """Write a file that changes what readers see. It counts as written if it is there whole, whatever the storage says.

    Args:
        store: the array's files.
        path: the file.
        data: its bytes.
        meaning: what is true once the file is there, for messages.

    Raises:
        UncertainWriteError: the storage failed, and again when it was asked for the file.
    """
    try:
        store.write(path, data)
    except Exception as error:
        try:
            stored = None if store.size(path) is None else store.read(path)
            if stored not in (None, data):
                # A storage that shows files while they are written has a part of it, which nobody could read.
                store.delete(path)
        except Exception as second:
            raise UncertainWriteError(
                f"{store.uri}: nobody can tell whether {meaning}: {error}; and finding out failed too: {second}. If "
                f"{path} is there with its {len(data)} bytes, {meaning}. If it is not there, write again; if it is "
                "there with fewer, delete it first"
            ) from error
        if stored != data:
            raise


def abort_fragments(store: Store, names: Iterable[str]) -> None:
    """Delete staged fragments that were not committed.

    Raises:
        InvalidInputError: one is committed, or is no fragment; nothing was deleted.
    """
    names = _fragments(store, names)
    committed = ArrayFolder.load(store).fragments
    if visible := [name for name in names if _parsed(name) in committed]:
        raise InvalidInputError(f"{store.uri}: fragment {visible[0]} is committed and is not taken back")
    for name in names:
        store.delete(f"{FRAGMENTS}/{name}")


def drop_uncommitted(store: Store, job: str, keep: Collection[str] = ()) -> None:
    """Delete what a job staged and nobody committed: also what a lost worker or a slower copy of a task left.

    Args:
        store: the array's files.
        job: the digits that the names of its fragments begin with; see `TimestampedName.job`.
        keep: fragments that are known to be committed.
    """
    committed = {name.text for name in ArrayFolder.load(store).fragments} | set(keep)
    for entry in store.entries(FRAGMENTS):
        name = TimestampedName.parse(entry.name)
        if name is not None and name.job == job and name.text not in committed:
            store.delete(f"{FRAGMENTS}/{name.text}")


def _parsed(name: str) -> TimestampedName:
    parsed = TimestampedName.parse(name) if isinstance(name, str) else None
    if parsed is None or parsed.version is None:
        raise no_fragment(name)
    return parsed


def refuse_conflicts(array: Array, timestamp: int, *, replaces: bool) -> None:
    """Check that no other writer's commit since the array was opened goes wrong with a commit now.

    Args:
        array: the array as it was when the write began.
        timestamp: the time of the staged fragments.
        replaces: whether all earlier cells are deleted with the commit.

    Raises:
        CommitConflictError: the other writer's delete hides the staged cells, or ours would hide its cells.
    """
    before, now = array.folder, ArrayFolder.load(array.store)
    if array.schema.name not in {name.text for name in now.schemas} and now.schemas:
        raise _conflict(array, "made an array here")
    hiding = timestamp - 1 if replaces else timestamp
    if any(name.end >= hiding for name in now.conditions.keys() - before.conditions.keys()):
        raise _conflict(array, "deleted cells up to a later time")
    if replaces and any(name.start < timestamp for name in now.fragments.keys() - before.fragments.keys()):
        raise _conflict(array, "added cells of an earlier time, which this overwrite has not seen")


def _conflict(array: Array, deed: str) -> CommitConflictError:
    return CommitConflictError(
        f"{array.uri}: another writer {deed} meanwhile; nothing was written: write again"
    )
