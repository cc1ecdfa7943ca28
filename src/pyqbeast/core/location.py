"""What users name tables and arrays by: a path, as text or as `pathlib` has it, or a URL."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pyqbeast.core.errors import InvalidInputError

#: What names a table or an array: a local path, or the URL of one.
Location = str | os.PathLike[str]
_FILE_URL = "file://"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def location_text(location: Location) -> str:
    """Return the text of `location`, without the host of this machine in a `file:` URL.

    Raises:
        InvalidInputError: It is neither a path nor a URL, or a `file:` URL that names another host.
    """
    text = os.fspath(location) if isinstance(location, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise InvalidInputError(f"{location!r} is neither a path nor a URL")
    if not text:
        raise InvalidInputError("an empty text is neither a path nor a URL")
    return _without_host(text) if text.startswith(_FILE_URL) else text


def _without_host(url: str) -> str:
    """A `file:` URL. fsspec takes its host for a folder of the working directory."""
    host, slash, path = url.removeprefix(_FILE_URL).partition("/")
    if host and host.lower() != "localhost":
        raise InvalidInputError(
            f"{url!r} names the host {host!r}: the URL of a file on this machine has three slashes, as file:///path"
        )
    return f"{_FILE_URL}{slash}{path}"


def local_file(location: Location) -> Path:
    """The file to write that a user names. `~` is the home directory, as where fsspec opens what is named.

    Raises:
        InvalidInputError: It is neither a path nor a URL of this machine.
    """
    text = location_text(location)
    if text.startswith("file:"):
        # Nothing in it is encoded, as in the URL of a table.
        text = text.removeprefix("file:").removeprefix("//")
    elif _URL.match(text):
        raise InvalidInputError(
            f"{text} is the URL of a store, and the file is written on this machine: name a path, and "
            "copy it to the store"
        )
    # `Path.expanduser` fails where there is no such user; fsspec takes the name as it is.
    return Path(os.path.expanduser(text))  # noqa: PTH111


def opening_failed(location: str, error: Exception) -> str:
    """What a message says where the file system of a location cannot be made."""
    needs = (
        "; HDFS needs the library libhdfs, JAVA_HOME, and in CLASSPATH what `hadoop classpath --glob` prints"
    )
    failed = f"opening {location} failed: {type(error).__name__}: {error}"
    return failed + (needs if location.startswith(("hdfs:", "viewfs:")) else "")
