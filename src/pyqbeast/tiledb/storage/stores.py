"""Where an array's files are: any file system that fsspec knows."""

from __future__ import annotations

import contextlib
import glob
import math
import os
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from pyqbeast.core.errors import (
    InvalidInputError,
    QbeastError,
    StorageError,
    UnsupportedError,
)
from pyqbeast.core.extras import of_extra
from pyqbeast.core.location import Location, location_text, opening_failed
from pyqbeast.listings import fresh_folder, fresh_tree
from pyqbeast.tiledb.errors import ArrayFormatError

#: The name of a file while it is written, where a store shows files before they are complete.
_PART = ".{}.part"
_IS_PART = re.compile(_PART.format("[0-9a-f]{32}").replace(".", r"\."))

#: What says that nothing is there. Nothing is opened where these are caught, and the names come from listings: a folder
#: in a file's place, and a name that is no path, do not come up as they do in `delta_log.locations`.
_ABSENT = (FileNotFoundError, NotADirectoryError)

#: A URL as Hadoop spells it where it names no host. A single letter is a drive of Windows.
_ONE_SLASH = re.compile(r"(?s)([A-Za-z][A-Za-z0-9+.-]+):/(?!/)(.*)")

#: Ranges up to this many bytes are read without asking for the file's size first.
_UNCHECKED = 1 << 24

#: Ranges that are asked for at once, of no more than `_UNCHECKED` bytes together: clients have about so many
#: connections, and limits of time that an answer also spends waiting for one.
_AT_ONCE = 16


@dataclass(frozen=True)
class Entry:
    """One entry of a folder: its name, and its size in bytes if it is a file and the store says so."""

    name: str
    size: int | None = None


def is_part(entry: Entry) -> bool:
    """Whether it is a file that a local write began, as no file of others is called."""
    return entry.size is not None and _IS_PART.fullmatch(entry.name) is not None


class Store:
    """The files of one array. Paths are relative to its folder and use `/`.

    What the storage itself raises becomes a `StorageError` that names the array, the path and the cause.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        system, root = _file_system(uri)
        self._system, self._root = (os.getpid(), system), root.rstrip("/")

    @property
    def _fs(self) -> Any:  # noqa: ANN401 (fsspec's)
        """The file system. Most of those of stores elsewhere fail in a process that was forked from theirs."""
        made_in, system = self._system
        if made_in != os.getpid():
            system, _ = _file_system(self.uri)
            self._system = os.getpid(), system
        return system

    def _path(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    @contextlib.contextmanager
    def _using(self, doing: str, path: str, *absent: type[Exception]) -> Iterator[None]:
        """Puts words in the place of the storage's errors, but for those that say that nothing is there."""
        try:
            yield
        except (QbeastError, MemoryError):
            raise
        # Each file system that fsspec knows has errors of its own.
        except Exception as error:
            if isinstance(error, absent):
                raise
            words = str(error) or "no answer"
            raise StorageError(
                f"{self.uri}: {doing} {path or 'its folder'} failed: {type(error).__name__}: {words}"
            ) from error

    def entries(self, folder: str) -> list[Entry]:
        """What a folder holds, sorted by name; nothing where it does not exist."""
        with fresh_folder(self._fs, self._path(folder)) as fresh:
            return self._listed(fresh, folder)

    def newest(self, folder: str) -> float:
        """When the newest file of a folder was written, or the folder itself if it has none; see `modified`.

        In stores that tell no time of folders, one without files may have been made just now: its time is infinite.
        """
        with fresh_folder(self._fs, self._path(folder)) as fresh:
            files = [entry.name for entry in self._listed(fresh, folder) if entry.size is not None]
            if files:
                return max(self._modified(fresh, f"{folder}/{name}") for name in files)
            return self._modified(fresh, folder, KeyError, IsADirectoryError)

    def _listed(self, fs: Any, folder: str) -> list[Entry]:  # noqa: ANN401 (fsspec's)
        try:
            with self._using("listing", folder, *_ABSENT):
                listed: list[dict[str, Any]] = fs.ls(self._path(folder), detail=True)
        except _ABSENT:
            return []
        entries = [
            Entry(name.rsplit("/", 1)[-1], info["size"] if info["type"] == "file" else None)
            for info in listed
            # Clients list a folder as its own child where an object of the store stands for it.
            if (name := info["name"].rstrip("/")) != self._path(folder)
        ]
        return sorted(entries, key=lambda entry: entry.name)

    def size(self, path: str) -> int | None:
        """Bytes of a file, `None` where there is none."""
        file = self._path(path)
        try:
            with (
                fresh_folder(self._fs, file.rpartition("/")[0]) as fresh,
                self._using("looking for", path, *_ABSENT),
            ):
                size: int | None = fresh.size(file)
        except _ABSENT:
            return None
        return size

    def modified(self, path: str) -> float:
        """When a file was written, in seconds since 1970; infinite for one that has just gone.

        Raises:
            UnsupportedError: the storage does not say.
        """
        return self._modified(self._fs, path)

    def _modified(self, fs: Any, path: str, *untold: type[Exception]) -> float:  # noqa: ANN401 (fsspec's)
        # What has gone since it was listed is not found, and `memory://` finds no folder.
        absent: tuple[type[Exception], ...] = (FileNotFoundError, *untold)
        try:
            with self._using("looking for", path, NotImplementedError, *absent):
                time: datetime = fs.modified(self._path(path))
        except NotImplementedError as error:
            raise UnsupportedError(f"{self.uri}: this storage does not say how old files are") from error
        except absent:
            return math.inf
        return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp()

    def read(self, path: str, start: int = 0, end: int | None = None) -> bytes:
        """The bytes from `start` up to `end`.

        Raises:
            ArrayFormatError: there is no such file, or it ends before `end`.
        """
        if end is not None and end - start > _UNCHECKED and end > (self.size(path) or 0):
            # A broken length must not make the file system reserve that much memory.
            raise ArrayFormatError("the file ends before what is read", file=path)
        with self._reading(path):
            data: bytes = self._fs.cat_file(self._path(path), start=start, end=end)
        return data if end is None else _whole(data, path, end - start)

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of several ranges of a file. Stores elsewhere are asked for several at once.

        Raises:
            ArrayFormatError: as `read`.
        """
        read: list[bytes] = []
        for batch in _batches(ranges):
            if len(batch) == 1:
                read.append(self.read(path, *batch[0]))
                continue
            starts, ends = map(list, zip(*batch, strict=True))
            with self._reading(path):
                answers = self._fs.cat_ranges([self._path(path)] * len(batch), starts, ends)
                for answer in answers:
                    if isinstance(answer, Exception):
                        raise answer
            read += [
                _whole(data, path, end - start) for data, (start, end) in zip(answers, batch, strict=True)
            ]
        return read

    @contextlib.contextmanager
    def _reading(self, path: str) -> Iterator[None]:
        try:
            with self._using("reading", path, FileNotFoundError):
                yield
        except FileNotFoundError as error:
            raise ArrayFormatError("the file is missing", file=path) from error

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file. Nobody sees a part of it, on local disks and in object stores."""
        with self._using("writing", path):
            target = self._path(path)
            self._fs.makedirs(target.rsplit("/", 1)[0], exist_ok=True)
            if isinstance(self._fs, LocalFileSystem):
                # The library reads whatever lies in the folders of an array, and nothing else beside them.
                _write_local(Path(target), Path(self._path(_PART.format(uuid.uuid4().hex))), data)
            else:
                self._fs.pipe_file(target, data)

    def delete(self, path: str) -> None:
        """Delete a file, or a folder with all that it holds; it may be absent."""
        if not path:
            raise InvalidInputError(
                f"{self.uri}: an array's folder may hold files of others and is not deleted"
            )
        target = self._path(path)
        with (
            contextlib.suppress(FileNotFoundError),
            fresh_tree(self._fs, target) as fresh,
            self._using("deleting", path, FileNotFoundError),
        ):
            if isinstance(self._fs, LocalFileSystem) or not glob.has_magic(target):
                fresh.rm(target, recursive=True)
            else:
                # Other file systems take what is to be deleted for a pattern, and files one by one for what they are.
                for file in fresh.find(target):
                    fresh.rm_file(file)

    def missing_folders(self, folders: Sequence[str]) -> list[str]:
        """Which of these folders are not there, in a store where a folder without files can be."""
        local = isinstance(self._fs, LocalFileSystem)
        return [folder for folder in folders if local and not Path(self._path(folder)).exists()]

    def make_folder(self, folder: str) -> None:
        """Make a folder of such a store, if that is possible: nobody but other libraries needs one without files."""
        if self.missing_folders([folder]):
            with contextlib.suppress(OSError):
                Path(self._path(folder)).mkdir(parents=True, exist_ok=True)

    def delete_if_empty(self, folder: str) -> None:
        """Delete a folder of such a store, unless something is in it."""
        with contextlib.suppress(OSError):
            Path(self._path(folder)).rmdir()


def _batches(ranges: Sequence[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """The ranges in the same order, those together that are asked for at once."""
    batch: list[tuple[int, int]] = []
    size = 0
    for start, end in ranges:
        if batch and (len(batch) == _AT_ONCE or size + end - start > _UNCHECKED):
            yield batch
            batch, size = [], 0
        batch.append((start, end))
        size += end - start
    if batch:
        yield batch


def _whole(data: bytes, path: str, size: int) -> bytes:
    """The bytes that were read of a range of this size; `ArrayFormatError` where they are fewer."""
    if len(data) != size:
        raise ArrayFormatError(
            f"the file ends {size - len(data)} bytes before the end of what is read", file=path
        )
    return data


def _write_local(target: Path, part: Path, data: bytes) -> None:
    """Object stores show a file when it is complete; here a rename has to do that."""
    try:
        part.write_bytes(data)
        part.replace(target)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def _file_system(uri: str) -> tuple[Any, str]:
    """The file system of a URI, and the path in it."""
    try:
        return _found(uri)
    except (QbeastError, MemoryError):
        raise
    except (ValueError, TypeError, ImportError) as error:
        raise InvalidInputError(f"{uri}: {error}") from error
    # Each file system that fsspec knows has errors of its own, and some of them ask their store at once.
    except Exception as error:
        raise StorageError(opening_failed(uri, error)) from error


def _found(uri: str) -> tuple[Any, str]:
    if (hadoop := _ONE_SLASH.fullmatch(uri)) and hadoop[1] != "file":
        uri = f"{hadoop[1]}:///{hadoop[2]}"
    if "://" not in uri or uri.startswith("file://"):
        # fsspec's `url_to_fs` takes the `::` of a name for a chain of URLs, and opens what is called like its end.
        return LocalFileSystem(), fsspec.core.strip_protocol(uri)
    if not uri.startswith(("http://", "https://")):
        fs, root = fsspec.core.url_to_fs(uri)
        return fs, str(root)
    of_extra("tiledb", "aiohttp", "arrays behind a web server")
    from pyqbeast.tiledb.storage.web import WebFileSystem

    return WebFileSystem(), uri


def open_store(location: Location) -> Store:
    """The store for a path, or a URI of anything that fsspec knows, or of http(s)."""
    return Store(location_text(location))
