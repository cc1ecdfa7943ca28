"""Deleting what writes left in an array's folder when they failed: fragments nobody committed, and parts of files."""

from __future__ import annotations

import time

from pyqbeast.core.errors import InvalidInputError, TableNotFoundError
from pyqbeast.core.location import Location
from pyqbeast.tiledb.storage.folder import FRAGMENTS, ArrayFolder
from pyqbeast.tiledb.storage.names import TimestampedName
from pyqbeast.tiledb.storage.stores import Store, is_part, open_store

#: As long as Delta keeps files that no version names.
_WEEK_HOURS = 168


def clean(uri: Location, *, retain_hours: float = _WEEK_HOURS, dry_run: bool = True) -> list[str]:
    """Delete fragments that were never committed, and parts of files that a local write left.

    Args:
        uri: the array.
        retain_hours: what was touched in the last so many hours stays: it may belong to a write that still runs.
        dry_run: only say what would be deleted.

    Returns:
        the files, and folders of fragments, relative to the array's folder.

    Raises:
        TableNotFoundError: there is no array.
        InvalidInputError: a time below zero.
        UnsupportedError: the storage does not say how old files are.
    """
    if not isinstance(retain_hours, int | float) or not retain_hours >= 0:
        raise InvalidInputError(f"retain_hours has to be a number of hours, not {retain_hours!r}")
    store = open_store(uri)
    # What is committed is asked for last: a write may land while this looks.
    left = [path for path in _candidates(store) if _touched(store, path) < time.time() - retain_hours * 3600]
    folder = ArrayFolder.load(store)
    if not folder.schemas:
        raise TableNotFoundError(f"{uri}: there is no array")
    committed = {f"{FRAGMENTS}/{name.text}" for name in folder.fragments}
    left = [path for path in left if path not in committed]
    if not dry_run:
        for path in left:
            store.delete(path)
    return left


def _candidates(store: Store) -> list[str]:
    found = [
        f"{FRAGMENTS}/{entry.name}"
        for entry in store.entries(FRAGMENTS)
        if entry.size is None and TimestampedName.parse(entry.name) is not None
    ]
    return found + [entry.name for entry in store.entries("") if is_part(entry)]


def _touched(store: Store, path: str) -> float:
    """When a file, or the newest in a folder, was written, in seconds since 1970."""
    return store.newest(path) if path.startswith(FRAGMENTS) else store.modified(path)
