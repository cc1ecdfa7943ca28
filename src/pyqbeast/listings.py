"""What file systems of fsspec remember of their listings.

Those of object stores keep each listing for as long as the process runs, share it with all who open the store by the
same options, and take what it lacks for missing: also what another process has written since.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from fsspec.dircache import DirCache


@contextlib.contextmanager
def fresh_folder(system: Any, folder: str) -> Iterator[None]:  # noqa: ANN401 (fsspec's)
    """Let a file system answer from its listing of a folder meanwhile: an older one is dropped, and this one after it.

    `folder` is a path in the file system. Most drop what they know of the folders above, too.
    """
    system.invalidate_cache(folder)
    try:
        yield
    finally:
        system.invalidate_cache(folder)


@contextlib.contextmanager
def fresh_tree(system: Any, folder: str) -> Iterator[None]:  # noqa: ANN401 (fsspec's)
    """The same of a folder and of all folders below it, of which no file system drops its listings itself."""
    with fresh_folder(system, folder):
        _forget_below(system, folder)
        try:
            yield
        finally:
            _forget_below(system, folder)


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
