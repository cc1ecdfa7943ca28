"""Fragments that are stored and not yet seen, and making a single one visible."""

from __future__ import annotations

import contextlib

from pyqbeast.core.errors import UncertainWriteError, UnsupportedError
from pyqbeast.tiledb.filters.base import WRITTEN_VERSION
from pyqbeast.tiledb.read.array import Array
from pyqbeast.tiledb.storage.folder import FRAGMENTS
from pyqbeast.tiledb.storage.names import TimestampedName, time_after
from pyqbeast.tiledb.storage.stores import Store
from pyqbeast.tiledb.write.commit import abort_fragments, commit_fragments
from pyqbeast.tiledb.write.fragment_files import FragmentFiles

#: Fragments are written in the array's own version if it is at least this.
_OLDEST_WRITTEN = 12


def put_fragment(array: Array, fragment: FragmentFiles, timestamp: int | None, job: str = "") -> str:
    """Store the files of a fragment, without committing it; all of them or none."""
    version = array.schema.version
    if not _OLDEST_WRITTEN <= version <= WRITTEN_VERSION:
        raise UnsupportedError(
            f"{array.uri}: writing format version {version} is not supported; copy its cells into a new array"
        )
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
