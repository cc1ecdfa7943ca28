"""What an array's folder holds: schemas, committed fragments, delete conditions and metadata, by name."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

from pyqbeast.core.secrets import without_secrets
from pyqbeast.tiledb.cursor import Cursor
from pyqbeast.tiledb.errors import ArrayFormatError, reading
from pyqbeast.tiledb.storage.names import TimestampedName, Window
from pyqbeast.tiledb.storage.stores import Store

SCHEMAS, ENUMERATIONS, COMMITS = "__schema", "__schema/__enumerations", "__commits"
FRAGMENTS, METADATA = "__fragments", "__meta"

#: Since this version consolidated fragments keep the time of each cell, so that part of them can be read.
_TIMES_SINCE = 15


@dataclass
class ArrayFolder:
    """The listing of an array, and which fragments take part in a read.

    Attributes:
        store: the array's files.
        schemas: schema files, oldest first.
        fragments: the folder of each committed fragment, by name.
        vacuumed: names of fragments that each vacuum file hides.
        conditions: (path in the array, bytes or `None` where they are in a file of that path) of each delete.
        metadata: array metadata files, oldest first.
    """

    store: Store
    schemas: list[TimestampedName] = field(default_factory=list)
    fragments: dict[TimestampedName, str] = field(default_factory=dict)
    vacuumed: dict[TimestampedName, set[str]] = field(default_factory=dict)
    conditions: dict[TimestampedName, tuple[str, bytes | None]] = field(default_factory=dict)
    metadata: list[TimestampedName] = field(default_factory=list)

    @classmethod
    def load(cls, store: Store, listings: int = 3) -> ArrayFolder:
        """List an array, up to so many times where files go meanwhile.

        A vacuum takes away what has been listed; what it said stands in other files by then.
        """
        try:
            return cls._listed(store)
        except ArrayFormatError as error:
            if listings == 1 or not error.file or store.size(error.file) is not None:
                raise
        return cls.load(store, listings - 1)

    @classmethod
    def _listed(cls, store: Store) -> ArrayFolder:
        folder = cls(store, _names(store, SCHEMAS), metadata=_names(store, METADATA))
        consolidated: dict[str, bytes | None] = {}
        ignored: set[str] = set()
        for place in ("", COMMITS):
            for entry in store.entries(place):
                path = f"{place}/{entry.name}" if place else entry.name
                stem, _, kind = entry.name.rpartition(".")
                name = TimestampedName.parse(stem)
                if name is None:
                    continue
                if kind == "con":
                    consolidated |= _read_consolidated(store, path)
                elif kind == "ign":
                    ignored |= set(_lines(store, path))
                elif kind == "vac":
                    folder.vacuumed[name] = {line.rsplit("/", 1)[-1] for line in _lines(store, path)}
                else:
                    folder._add(path, None)
        for path, content in consolidated.items():
            if path not in ignored:
                folder._add(path, content)
        return folder

    def _add(self, path: str, content: bytes | None) -> None:
        """Take in one commit: a file, or an entry of a consolidated one."""
        stem, _, kind = path.rsplit("/", 1)[-1].rpartition(".")
        name = TimestampedName.parse(stem)
        if name is None:
            return
        if kind == "wrt":
            self.fragments[name] = f"{FRAGMENTS}/{stem}"
        elif kind == "ok":
            self.fragments[name] = stem
        elif kind == "del":
            self.conditions[name] = (path, content)
        elif kind == "upd":
            warnings.warn(
                f"{without_secrets(self.store.uri)}: {path}: update conditions are not applied", stacklevel=4
            )

    def visible(self, window: Window, dense: bool) -> list[TimestampedName]:
        """The fragments that may hold cells of this span of time, in the order of their writing.

        A fragment that lies partly inside is among them where its version may keep the time of each cell.
        """
        hidden: set[str] = set()
        for name, names in self.vacuumed.items():
            if _in(name, window, dense):
                hidden |= names
        visible = [name for name in self.fragments if name.text not in hidden and _in(name, window, dense)]
        return sorted(visible, key=lambda name: (name.start, name.text))


def _in(name: TimestampedName, window: Window, dense: bool) -> bool:
    partly = not dense and name.version is not None and name.version >= _TIMES_SINCE
    return window.overlaps(name) if partly else window.contains(name)


def _names(store: Store, folder: str) -> list[TimestampedName]:
    names = [TimestampedName.parse(entry.name) for entry in store.entries(folder)]
    return sorted(name for name in names if name is not None)


def _lines(store: Store, path: str) -> list[str]:
    with reading(path):
        text = store.read(path).decode("utf-8")
    return [line for line in text.split("\n") if line]


def _read_consolidated(store: Store, path: str) -> dict[str, bytes | None]:
    """The commits in a consolidated commits file; conditions come with their bytes."""
    commits: dict[str, bytes | None] = {}
    data = store.read(path)
    cursor = Cursor(data, path)
    while cursor.remaining:
        end = data.find(b"\n", cursor.position)
        if end < 0:
            raise cursor.error("a line without an end", "commits")
        line = cursor.text(end - cursor.position, "commit")
        cursor.take(1, "line end")
        carries = line.endswith((".del", ".upd"))
        commits[line] = bytes(cursor.take(cursor.u64("condition size"), "condition")) if carries else None
    return commits
