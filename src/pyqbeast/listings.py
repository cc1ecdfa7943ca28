"""What file systems of fsspec remember of their listings.

Those of object stores keep each listing for as long as the process runs, share it with all who open the store by the
same options, and take what it lacks for missing: also what another process has written since.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from fsspec.dircache import DirCache

from pyqbeast.core.errors import StorageError

#: File systems that nobody uses just now, by the process that made them and the shared ones whose options they have.
#: They fail in a forked process, where a shared one may be equal to that of the parent.
_IDLE: dict[tuple[int, Any], list[Any]] = {}
#: The most of them that are kept of a store, and the most stores of which some are: each may hold connections.
_MOST_OF_A_STORE, _MOST_STORES = 8, 16


@contextlib.contextmanager
def fresh_folder(system: Any, folder: str) -> Iterator[Any]:  # noqa: ANN401 (fsspec's)
    """A file system that answers from its listing of a folder meanwhile: an older one is dropped, this one after it.

    `folder` is a path in the file system. Most drop what they know of the folders above, too.

    Raises StorageError where a second file system of the store cannot be made.
    """
    with dropped(system, folder), unshared(system) as own:
        yield own


@contextlib.contextmanager
def dropped(system: Any, folder: str) -> Iterator[None]:  # noqa: ANN401 (fsspec's)
    """Drops the listing of a folder that a file system remembers, now and in the end."""
    # The client of Azure knows a folder by its path without the slash that a URL may end with.
    folder = folder.rstrip("/")
    system.invalidate_cache(folder)
    try:
        yield
    finally:
        system.invalidate_cache(folder)


@contextlib.contextmanager
def unshared(system: Any) -> Iterator[Any]:  # noqa: ANN401 (fsspec's)
    """A file system for the listings of several folders: the same one, or where others list by that, one that nobody
    else uses meanwhile and that remembers nothing.

    Raises StorageError where the second one cannot be made.
    """
    if _is_shared(system):
        with _of_its_own(system) as own:
            yield own
    else:
        yield system


@contextlib.contextmanager
def fresh_tree(system: Any, folder: str) -> Iterator[Any]:  # noqa: ANN401 (fsspec's)
    """The same of a folder and of all folders below it, of which no file system drops its listings itself."""
    with fresh_folder(system, folder) as fresh:
        _forget_below(system, folder)
        try:
            yield fresh
        finally:
            _forget_below(system, folder)


def _is_shared(system: Any) -> bool:  # noqa: ANN401 (fsspec's)
    """Whether all threads have one file system, and it keeps listings.

    Then what another thread has asked before comes in at any time, and would be taken for a listing of now.
    """
    listings = getattr(system, "dircache", None)
    keeps = isinstance(listings, DirCache) and listings.use_listings_cache
    # That of web servers goes by an option of its own.
    return bool(system.async_impl and keeps and getattr(system, "use_listings_cache", True))


@contextlib.contextmanager
def _of_its_own(system: Any) -> Iterator[Any]:  # noqa: ANN401 (fsspec's)
    """A file system of the same options that nobody else uses meanwhile.

    It is kept for the next one: to be made takes as long as it takes to find credentials, and to connect.
    """
    process = os.getpid()
    # The store that was used last stands at the end. Those of the parent stay: to free them closes its connections.
    idle = _IDLE[process, system] = _IDLE.pop((process, system), [])
    for oldest in [key for key in list(_IDLE) if key[0] == process][:-_MOST_STORES]:
        _IDLE.pop(oldest, None)
    # Lists and dicts are safe among threads, and a lock that somebody holds while a process forks is never free there.
    try:
        own = idle.pop()
    except IndexError:
        try:
            own = type(system)(*system.storage_args, **system.storage_options, skip_instance_cache=True)
        except Exception as error:  # each file system that fsspec knows has errors of its own
            raise StorageError(
                f"opening the store to list it failed: {type(error).__name__}: {error}"
            ) from error
    # After a Ctrl-C nobody gets it: what was asked before may still come in.
    try:
        yield own
    except Exception:
        _give_back(own, idle)
        raise
    _give_back(own, idle)


def _give_back(own: Any, idle: list[Any]) -> None:  # noqa: ANN401 (fsspec's)
    own.dircache.clear()
    if len(idle) < _MOST_OF_A_STORE:
        idle.append(own)


def _forget_below(system: Any, folder: str) -> None:  # noqa: ANN401 (fsspec's)
    listings = getattr(system, "dircache", None)
    # A file system that keeps something else there may know its files by nothing else.
    if not isinstance(listings, DirCache):
        return
    below = folder.rstrip("/") + "/"
    for path in list(listings):
        if path.startswith(below):
            # Another thread may have dropped it by now.
            with contextlib.suppress(KeyError):
                del listings[path]
