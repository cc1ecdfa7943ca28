"""Jars by pinned checksum from a Maven repository, kept in the user's cache. Imports nothing but the standard library.

The build uses it for what the bridge is compiled against, the session for Delta's two jars.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.client
import os
import re
import urllib.error
import urllib.request
import uuid
from pathlib import Path
from urllib.parse import unquote

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

    `PYQBEAST_MAVEN` names another repository than Maven Central, perhaps as `https://user:password@host/path`.

    Raises:
        OSError: the repository cannot be reached, or sent something with another checksum, or the cache cannot be
            read or written.
    """
    target = cache_folder() / where.rsplit("/", 1)[-1]
    try:
        if target.exists() and _sha256(target.read_bytes()) == checksum:
            return target
    except OSError as e:
        raise OSError(f"{target} cannot be read ({e}); set XDG_CACHE_HOME to another folder") from e
    repository, headers = _without_user(os.environ.get("PYQBEAST_MAVEN") or CENTRAL)
    url = f"{repository.rstrip('/')}/{where}"
    jar = _downloaded(url, headers)
    received = _sha256(jar)
    if received != checksum:
        raise OSError(f"{url} has SHA-256 {received}, expected {checksum}; nothing was kept")
    # Several users may share a cache, so it is a file as any other: one of `tempfile` nobody else may read.
    partial = target.with_name(f"{target.name}.{uuid.uuid4().hex}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(jar)
        partial.replace(target)
    except OSError as e:
        raise OSError(
            f"{target.parent}, where they are kept, cannot be written ({e}); set XDG_CACHE_HOME to a folder that can be"
        ) from e
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()
    return target


def _without_user(repository: str) -> tuple[str, dict[str, str]]:
    """A URL without its user and password, which messages show, and the header that a server takes these by.

    They may hold an `@` themselves. urllib would take them for a part of the host's name.
    """
    match = re.fullmatch(r"(https?://)([^/?#]*)@(.*)", repository, re.IGNORECASE)
    if match is None:
        return repository, {}
    user, _, password = match[2].partition(":")
    both = f"{unquote(user)}:{unquote(password)}".encode()
    return match[1] + match[3], {"Authorization": f"Basic {base64.b64encode(both).decode()}"}


def _downloaded(url: str, headers: dict[str, str]) -> bytes:
    try:
        request = urllib.request.Request(url)
        for name, value in headers.items():
            request.add_unredirected_header(name, value)  # another host is not to know the password
        with urllib.request.urlopen(request, timeout=_SECONDS_OF_SILENCE) as answer:
            content: bytes = answer.read()
            return content
    # urllib's errors are of the first class, and so are timeouts; a text that is no URL and an answer that breaks off
    # are of the others.
    except (OSError, ValueError, http.client.HTTPException) as e:
        if isinstance(e, urllib.error.HTTPError):
            e.close()  # it is the answer, too
        raise OSError(
            f"cannot download {url} ({e}); set PYQBEAST_MAVEN to a Maven repository that this machine reaches"
        ) from e


def _sha256(jar: bytes) -> str:
    return hashlib.sha256(jar).hexdigest()
