"""Where an array's files are: any file system that fsspec knows."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from pyqbeast.core.errors import InvalidInputError, MissingPackageError
from pyqbeast.core.extras import of_extra
from pyqbeast.tiledb.errors import ArrayFormatError

#: Ranges up to this many bytes are read without asking for the file's size first.
_UNCHECKED = 1 << 24


@dataclass(frozen=True)
class Entry:
    """One entry of a folder: its name, and its size in bytes if it is a file and the store says so."""

    name: str
    size: int | None = None


class Store:
    """The files of one array. Paths are relative to its folder and use `/`."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._fs, root = _file_system(uri)
        self._root = root.rstrip("/")

    def _path(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def entries(self, folder: str) -> list[Entry]:
        """What a folder holds, sorted by name; nothing where it does not exist."""
        self._fs.invalidate_cache(self._path(folder))
        try:
            listed: list[dict[str, Any]] = self._fs.ls(self._path(folder), detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        entries = [
            Entry(
                info["name"].rstrip("/").rsplit("/", 1)[-1], info["size"] if info["type"] == "file" else None
            )
            for info in listed
        ]
        return sorted(entries, key=lambda entry: entry.name)

    def size(self, path: str) -> int | None:
        """Bytes of a file, `None` where there is none."""
        # Object stores cache listings, so a file that was missing a moment ago may be there now.
        self._fs.invalidate_cache(self._path(path).rpartition("/")[0])
        try:
            size: int | None = self._fs.size(self._path(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        return size

    def read(self, path: str, start: int = 0, end: int | None = None) -> bytes:
        """The bytes from `start` up to `end`.

        Raises:
            ArrayFormatError: There is no such file, or it ends before `end`.
        """
        if end is not None and end - start > _UNCHECKED and end > (self.size(path) or 0):
            # A broken length must not make the file system reserve that much memory.
            raise ArrayFormatError("the file ends before what is read", file=path)
        try:
            data: bytes = self._fs.cat_file(self._path(path), start=start, end=end)
        except FileNotFoundError as error:
            raise ArrayFormatError("the file is missing", file=path) from error
        if end is not None and len(data) != end - start:
            raise ArrayFormatError(
                f"the file ends {end - start - len(data)} bytes before the end of what is read", file=path
            )
        return data

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of several ranges of a file."""
        return [self.read(path, start, end) for start, end in ranges]

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file; nobody sees a part of it."""
        target = self._path(path)
        self._fs.makedirs(target.rsplit("/", 1)[0], exist_ok=True)
        if not isinstance(self._fs, LocalFileSystem):
            self._fs.pipe_file(target, data)
            return
        # Object stores show a file only when it is complete. A local file is renamed when it is complete.
        part = Path(f"{target}.part")
        try:
            part.write_bytes(data)
            part.replace(target)
        except OSError:
            part.unlink(missing_ok=True)
            raise

    def delete(self, path: str) -> None:
        """Delete a file, or a folder with all that it holds; it may be absent."""
        if not path:
            raise InvalidInputError(
                f"{self.uri}: an array's folder may hold files of others and is not deleted"
            )
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm(self._path(path), recursive=True)

    def missing_folders(self, folders: Sequence[str]) -> list[str]:
        """Which of these folders are not there, in a store where a folder without files can be."""
        local = isinstance(self._fs, LocalFileSystem)
        return [folder for folder in folders if local and not Path(self._path(folder)).exists()]

    def delete_if_empty(self, folder: str) -> None:
        """Delete a folder of such a store, unless something is in it."""
        with contextlib.suppress(OSError):
            Path(self._path(folder)).rmdir()


def _file_system(uri: str) -> tuple[Any, str]:
    if not uri.startswith(("http://", "https://")):
        fs, root = fsspec.core.url_to_fs(uri)
        return fs, str(root)
    of_extra("tiledb", "aiohttp", "arrays behind a web server")
    from pyqbeast.tiledb.storage.web import WebFileSystem

    return WebFileSystem(), uri


def open_store(uri: str) -> Store:
    """The store for a URI: a path, or anything that fsspec knows, or http(s)."""
    try:
        return Store(uri)
    except MissingPackageError:
        raise
    except (ValueError, ImportError) as error:
        raise InvalidInputError(f"{uri}: {error}") from error
