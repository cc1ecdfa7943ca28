"""What storage lists of a table's files and deletion vectors, through fsspec. No file is opened.

`FilesOnDisk.java` explains the rules, and decides the same for Spark.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyqbeast.core.errors import InvalidInputError, StorageError, UnsupportedError
from pyqbeast.core.location import Location, location_text
from pyqbeast.core.once import once
from pyqbeast.delta_log import locations
from pyqbeast.delta_log.descriptor import DeletionVectorDescriptor
from pyqbeast.delta_log.live_file import LiveFile
from pyqbeast.delta_log.log_entry import FileOnDisk
from pyqbeast.delta_log.read_ahead import is_local
from pyqbeast.delta_log.reader import Snapshot
from pyqbeast.listings import dropped, fresh_tree, unshared

#: The property of a table that says how long files stay that no version names any more; a week by default.
RETENTION = "delta.deletedFileRetentionDuration"
#: The property of a table that names other formats in which its versions are told as well, separated by commas.
_FORMATS = "delta.universalFormat.enabledFormats"
_SECONDS = {"week": 604_800, "day": 86_400, "hour": 3_600, "minute": 60, "second": 1} | {
    "millisecond": 1e-3,
    "microsecond": 1e-6,
}
_PART = rf"(\d{{1,18}})\s+({'|'.join(_SECONDS)})s?\s*"
#: So many files of a folder outside the table's folder are asked for one by one before the folder is listed.
_ASKED_SINGLY = 20
_INTERVAL = re.compile(rf"\s*(?:interval\s+)?(?:{_PART})+", re.IGNORECASE)

#: A file system of fsspec, and a path in it. Two stores may have files of one path.
_Place = tuple[Any, str]


def files_on_disk(
    table: Location, snapshot: Snapshot, storage_options: locations.Options
) -> tuple[list[FileOnDisk], list[tuple[str, int]]]:
    """The live files, and the locations and sizes of files in the table's folder that no version within its retention
    names.

    Args:
        table: where it lies.
        snapshot: its newest version, with removed files.
        storage_options: for fsspec.

    Raises:
        StorageError: the folder cannot be listed.
        UnsupportedError: the table keeps removed files for a time that is not understood.
    """
    configuration = snapshot.metadata.configuration
    with contextlib.ExitStack() as listings:
        storage = _Storage(table, storage_options, listings)
        files = [storage.look_up(file) for file in snapshot.files]
        oldest = (time.time() - _retention(configuration)) * 1000
        for gone in snapshot.removed:
            if gone.timestamp > oldest:
                # What cannot be opened lies in another store than the table.
                with contextlib.suppress(StorageError):
                    storage.name(storage.place_of(gone.path))
                with contextlib.suppress(StorageError):
                    storage.name(storage.vector_place(gone.deletion_vector))
        return files, storage.orphans("iceberg" in configuration.get(_FORMATS, "").split(","))


class _Storage:
    """The sizes of all files below a table's folder, and which of them the log names. Paths are those of fsspec.

    Folders are listed until the end of `listings`.
    """

    def __init__(self, table: Location, options: locations.Options, listings: contextlib.ExitStack) -> None:
        self._table = table
        self._options = options
        self._system, root = locations.open_location(table, options)
        self._root = root.rstrip("/")
        self._listings = listings
        fresh = listings.enter_context(fresh_tree(self._system, self._root))
        with locations.storage_errors(f"listing {self._root}"):
            #: None where a list of files does not tell their sizes, as of a web server.
            self._sizes = _sizes_below(self._root, fresh)
        self._named: set[str] = set()
        #: The names of files outside the table's folder, which a shallow clone has, that were looked for, by folder.
        #: Deletion vectors may share one.
        self._asked: dict[_Place, set[str]] = {}
        #: The file systems that such folders are listed by, one for each store.
        self._fresh: dict[Any, Any] = {self._system: fresh}
        #: What they list: sizes by name.
        self._listed: dict[_Place, dict[str, int | None]] = {}
        #: What places outside the table's folder are called in the log: paths of fsspec have no account of Azure.
        self._names: dict[_Place, str] = {}
        self._root_location = _location_of(table, self._system, self._root)

    def look_up(self, file: LiveFile) -> FileOnDisk:
        plain = f"{self._root}/{file.path}"
        # Most are plain names of files that are there, and there may be 100,000 of them.
        if plain in self._sizes and file.deletion_vector is None and locations.is_plain(file.path):
            self._named.add(plain)
            return FileOnDisk(
                file.path, f"{self._root_location}/{file.path}", self._size((self._system, plain)), None, None
            )
        place = self.place_of(file.path)
        self.name(place)
        location, size = self._location(place or (self._system, file.path)), self._size(place)
        if file.deletion_vector is None or file.deletion_vector.is_inline:
            return FileOnDisk(file.path, location, size, None, None)
        vector = self.vector_place(file.deletion_vector)
        self.name(vector)
        named = self._location(vector or (self._system, file.deletion_vector.absolute_path(self._root)))
        return FileOnDisk(file.path, location, size, named, self._size(vector))

    def place_of(self, path: str) -> _Place | None:
        """Of a data file by its path in the log; None where there is no such store, or nothing says which."""
        return self._place(locations.file_location(self._root_location, path))

    def vector_place(self, vector: DeletionVectorDescriptor | None) -> _Place | None:
        """Of the file of a deletion vector; None for one that lies in none, and as for a data file."""
        if vector is None or vector.is_inline:
            return None
        return self._place(vector.absolute_path(self._root_location))

    def name(self, place: _Place | None) -> None:
        """Notes that the log names a file."""
        if place is not None and place[0] == self._system:
            self._named.add(place[1])

    def orphans(self, is_iceberg: bool) -> list[tuple[str, int]]:
        unnamed = [
            path for path in self._sizes if path not in self._named and not self._is_hidden(path, is_iceberg)
        ]
        return [
            (self._location((self._system, path)), self._size((self._system, path)) or 0) for path in unnamed
        ]

    def _place(self, location: str) -> _Place | None:
        if location.startswith(self._root_location + "/"):
            below = posixpath.normpath(location[len(self._root_location) + 1 :])
            return self._listed_place(self._system, f"{self._root}/{below}")
        try:
            place = self._listed_place(*locations.open_named(location, self._table, self._options))
        except (InvalidInputError, UnsupportedError):
            return None
        self._names.setdefault(place, location)
        return place

    def _listed_place(self, system: Any, path: str) -> _Place:  # noqa: ANN401 (fsspec's)
        """A file as the listing names it where that has it.

        Links give a local file many paths: the table's own path may be one, and the log may name another.
        """
        if path not in self._sizes and system == self._system and is_local(system):
            # No file has a path with a NUL character.
            with contextlib.suppress(ValueError):
                path = self._by_real_path.get(os.path.realpath(path), path)
        return system, path

    @property
    @once
    def _by_real_path(self) -> dict[str, str]:
        """The listed files by the paths that have no links in them."""
        return {os.path.realpath(path): path for path in self._sizes}

    def _is_below(self, place: _Place) -> bool:
        """Whether a file lies in the table's folder."""
        return place[1].startswith(self._root + "/") and place[0] == self._system

    def _size(self, place: _Place | None) -> int | None:
        """None for a file that is not there."""
        if place is None:
            return None
        system, path = place
        is_below = self._is_below(place)
        size = self._sizes.get(path) if is_below else None
        is_unlisted = is_below and path not in self._sizes
        # Files of a folder that two links lead to are listed by one of their paths.
        if size is not None or (is_unlisted and not is_local(system)):
            return size
        listed = None if is_below or is_local(system) else self._listed_size(path, system)
        if listed is not None:
            return listed
        asked: Any = system if is_below else self._fresh.get(system, system)
        try:
            with locations.looking_for(asked, f"looking for {path}"):
                if is_unlisted and not Path(path).is_file():
                    return None
                return int(asked.size(path))
        except FileNotFoundError:
            return None

    def _listed_size(self, path: str, system: Any) -> int | None:  # noqa: ANN401 (fsspec's)
        """The size of a file outside the table's folder, as its own folder lists it; None where that does not tell.

        A shallow clone may have 100,000 such files. Who may read them need not be allowed to list them.
        """
        folder, _, name = path.rpartition("/")
        names = self._asked.setdefault((system, folder), set())
        if not names:
            self._listings.enter_context(dropped(system, folder))
            if system not in self._fresh:
                self._fresh[system] = self._listings.enter_context(unshared(system))
        names.add(name)
        if len(names) <= _ASKED_SINGLY:
            return None
        sizes = self._listed.get((system, folder))
        if sizes is None:
            sizes = self._listed[system, folder] = {}
            with contextlib.suppress(StorageError), locations.storage_errors(f"listing {folder}"):
                for info in self._fresh[system].ls(folder, detail=True):
                    if info["type"] == "file":
                        sizes[info["name"].rpartition("/")[2]] = info["size"]
        return sizes.get(name)

    def _location(self, place: _Place) -> str:
        system, path = place
        if self._is_below(place):
            return self._root_location + path[len(self._root) :]
        return self._names.get(place) or locations.hadoop_path(system.unstrip_protocol(path))

    def _is_hidden(self, path: str, is_iceberg: bool) -> bool:
        """Whether a file is none of the table's rows: the log, checksums, change data, what a query engine keeps.

        Where the table is one of Iceberg as well, its metadata is such, too.
        """
        parts = path[len(self._root) + 1 :].split("/")
        return any(part.startswith(("_", ".")) for part in parts) or (is_iceberg and "metadata" in parts)


def _location_of(table: Location, system: Any, root: str) -> str:  # noqa: ANN401 (fsspec's)
    """The whole location of a table: as its URL names it, with an account of Azure that its path in fsspec lacks."""
    text = location_text(table)
    # The end of an archive's URL is no part of its files' paths.
    is_whole = "://" in text and "::" not in text and not is_local(system)
    return locations.hadoop_path(text if is_whole else system.unstrip_protocol(root)).rstrip("/")


def _sizes_below(root: str, system: Any) -> dict[str, int | None]:  # noqa: ANN401 (fsspec's)
    """The sizes of all files below a folder, by their paths.

    A folder of a local disk that several paths lead to is listed once; `Listing.java` has the same rule.
    """
    if not is_local(system):
        found = system.find(root, detail=True)
        # An object with a slash at its end is no file: consoles of stores make it where a folder is made.
        return {path: info["size"] for path, info in found.items() if not path.endswith("/")}
    # fsspec finds out more of each file, which takes five times as long.
    sizes: dict[str, int | None] = {}
    folders, links = [root], list[str]()
    seen: set[str] = set()
    while folders or links:
        folder = folders.pop() if folders else links.pop()
        # A link may lead back to a folder above.
        place = os.path.realpath(folder)
        if place in seen:
            continue
        seen.add(place)
        # What is gone by now has been deleted since the folder above was listed.
        with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir():
                    (links if entry.is_symlink() else folders).append(entry.path)
                    continue
                try:
                    sizes[entry.path] = entry.stat().st_size
                except FileNotFoundError:
                    continue
    return sizes


def _retention(configuration: Mapping[str, Any]) -> float:
    """For how many seconds removed files are kept."""
    text = configuration.get(RETENTION, "interval 1 week")
    if not _INTERVAL.fullmatch(text):
        raise UnsupportedError(
            f"{RETENTION} is {text!r}, which is not understood without Spark; write it like 'interval 7 days', or "
            "call QbeastTable.verify"
        )
    parts = re.findall(_PART, text, re.IGNORECASE)
    return float(sum(int(count) * _SECONDS[unit.lower()] for count, unit in parts))
