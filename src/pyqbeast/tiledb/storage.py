"""Where an array's files are: any fsspec file system, or a web server that answers range requests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb.errors import ArrayFormatError

#: Ranges up to this many bytes are read without asking for the file's size first.
_UNCHECKED = 1 << 24


@dataclass(frozen=True)
class Entry:
    """One entry of a folder: its name, and its size in bytes if it is a file and the store says so."""

    name: str
    size: int | None = None


class Store(ABC):
    """The files of one array. Paths are relative to its folder and use `/`."""

    uri: str

    @abstractmethod
    def entries(self, folder: str) -> list[Entry]:
        """What a folder holds, sorted by name; nothing where it does not exist."""

    @abstractmethod
    def size(self, path: str) -> int | None:
        """Bytes of a file, `None` where there is none."""

    @abstractmethod
    def read(self, path: str, start: int = 0, end: int | None = None) -> bytes:
        """The bytes from `start` up to `end`.

        Raises:
            ArrayFormatError: There is no such file, or it ends before `end`.
        """

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of several ranges of a file."""
        return [self.read(path, start, end) for start, end in ranges]

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file; nobody sees a part of it."""
        raise InvalidInputError(f"{self.uri}: this kind of storage is read-only")

    def delete(self, path: str) -> None:
        """Delete a file or folder, which may be absent."""
        raise InvalidInputError(f"{self.uri}: this kind of storage is read-only")


class FsspecStore(Store):
    """Files through fsspec."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._fs, root = fsspec.core.url_to_fs(uri)
        self._root = root.rstrip("/")
        self._fs.invalidate_cache(self._root)

    def _path(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def entries(self, folder: str) -> list[Entry]:
        """What a folder holds, sorted by name; nothing where it does not exist."""
        try:
            found: list[dict[str, Any]] = self._fs.ls(self._path(folder), detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        entries = [
            Entry(
                info["name"].rstrip("/").rsplit("/", 1)[-1], info["size"] if info["type"] == "file" else None
            )
            for info in found
        ]
        return sorted(entries, key=lambda entry: entry.name)

    def size(self, path: str) -> int | None:
        """Bytes of a file, `None` where there is none."""
        try:
            return int(self._fs.size(self._path(path)))
        except FileNotFoundError:
            return None

    def read(self, path: str, start: int = 0, end: int | None = None) -> bytes:
        """The bytes from `start` up to `end`."""
        if end is not None and end - start > _UNCHECKED and end > (self.size(path) or 0):
            # A broken length must not make the file system reserve memory for it.
            raise ArrayFormatError("the file ends before what is read", file=path)
        try:
            data: bytes = self._fs.cat_file(self._path(path), start=start, end=end)
        except FileNotFoundError as error:
            raise ArrayFormatError("the file is missing", file=path) from error
        return whole(data, path, start, end)

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file; nobody sees a part of it."""
        target = self._path(path)
        self._fs.makedirs(target.rsplit("/", 1)[0], exist_ok=True)
        if isinstance(self._fs, LocalFileSystem):
            # Object stores show a file when it is complete; here a rename has to do that.
            self._fs.pipe_file(f"{target}.part", data)
            self._fs.mv(f"{target}.part", target)
        else:
            self._fs.pipe_file(target, data)

    def delete(self, path: str) -> None:
        """Delete a file or folder, which may be absent."""
        if self._fs.exists(self._path(path)):
            self._fs.rm(self._path(path), recursive=True)


def whole(data: bytes, path: str, start: int, end: int | None) -> bytes:
    """The bytes of a range, if the file held all of them; `ArrayFormatError` where not."""
    if end is not None and len(data) != end - start:
        raise ArrayFormatError(
            f"the file ends {end - start - len(data)} bytes before the end of what is read", file=path
        )
    return data


def open_store(uri: str) -> Store:
    """The store for a URI: a path, or anything that fsspec knows, or http(s)."""
    if uri.startswith(("http://", "https://")):
        from pyqbeast.tiledb.http_store import HttpStore

        return HttpStore(uri)
    try:
        return FsspecStore(uri)
    except (ValueError, ImportError) as error:
        raise InvalidInputError(f"{uri}: {error}") from error
