"""Jars by pinned checksum from a Maven repository, kept in the user's cache. Imports nothing but the standard library.

The build uses it for what the bridge is compiled against, the session for Delta's two jars.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import urllib.request
import uuid
from pathlib import Path

CENTRAL = "https://repo1.maven.org/maven2"
#: How long a repository may be silent before it counts as out of reach.
_SECONDS_OF_SILENCE = 30


def read_lock(path: Path) -> dict[str, str]:
    """Path in the repository to SHA-256, from a lock file of `checksum  path` lines."""
    lines = [
        line.split() for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")
    ]
    return {where: checksum for checksum, where in lines}


def cache_folder() -> Path:
    """Where fetched jars are kept: `$XDG_CACHE_HOME/pyqbeast/jars`, or `~/.cache/pyqbeast/jars`.

    Raises:
        OSError: there is neither.
    """
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pyqbeast" / "jars"
    except RuntimeError as e:  # no HOME, and no entry among the users
        raise OSError(f"there is no folder to keep them in ({e}); set XDG_CACHE_HOME to one") from e


def fetch(where: str, checksum: str) -> Path:
    """The local copy of a jar, downloaded where there is none.

    `PYQBEAST_MAVEN` names another repository than Maven Central.

    Raises:
        OSError: the repository cannot be reached, or sent something with another checksum, or the cache cannot be
            read or written.
    """
    target = cache_folder() / where.rsplit("/", 1)[-1]
    try:
        if target.exists() and _sha256(target) == checksum:
            return target
    except OSError as e:
        raise OSError(f"{target} cannot be read ({e}); set XDG_CACHE_HOME to another folder") from e
    url = f"{(os.environ.get('PYQBEAST_MAVEN') or CENTRAL).rstrip('/')}/{where}"
    # Several users may share a cache, so it is a file as any other: one of `tempfile` nobody else may read.
    partial = target.with_name(f"{target.name}.{uuid.uuid4().hex}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.touch(exist_ok=False)
    except OSError as e:
        raise OSError(
            f"{target.parent}, where they are kept, cannot be written ({e}); set XDG_CACHE_HOME to a folder that can be"
        ) from e
    try:
        _download(url, partial)
        received = _sha256(partial)
        if received != checksum:
            raise OSError(f"{url} has SHA-256 {received}, expected {checksum}; nothing was kept")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target


def _download(url: str, target: Path) -> None:
    try:
        with (
            urllib.request.urlopen(url, timeout=_SECONDS_OF_SILENCE) as answer,
            target.open("wb") as out,
        ):
            shutil.copyfileobj(answer, out)
    # urllib's errors are of the first class, and so are timeouts; a text that is no URL and an answer that breaks off
    # are of the others.
    except (OSError, ValueError, http.client.HTTPException) as e:
        raise OSError(
            f"cannot download {url} ({e}); set PYQBEAST_MAVEN to a Maven repository that this machine reaches"
        ) from e


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
