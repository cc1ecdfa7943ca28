"""A data file of a table, and one that is gone, as an entry of the log tells of them."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Mapping
from typing import Any

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.constants import LONG_MAX
from pyqbeast.core.format.statistics_keys import NUM_RECORDS
from pyqbeast.core.format.stored_text import is_text, read_json, shown
from pyqbeast.delta_log import locations
from pyqbeast.delta_log.descriptor import DeletionVectorDescriptor
from pyqbeast.delta_log.file_checks import surely_stored

#: What tells a file apart: all spellings of its path are one, and its deletion vector.
FileKey = tuple[str, str | None]

_ONLY_TEXTS = {str}
#: How Delta's statistics begin.
_ROWS_FIRST = re.compile(rf'\{{"{NUM_RECORDS}":([0-9]{{1,18}})[,}}]', re.ASCII)


@dataclasses.dataclass(frozen=True)
class LiveFile:
    """A data file of a version of a table, as an entry of the log tells of it.

    The reader of logs makes it, without a JVM. It knows nothing of the table's revisions: `LoggedFile`
    knows what its tags say by these.

    `path` is as the log has it: URL-encoded, relative to the table or absolute. `physical_rows` counts the
    rows in the file, deleted ones included, as its statistics say, and is None where the log has none of the file;
    `surely_stored` knows in which files a writer may have counted others.
    `tags` are what writers noted beside it. `size` counts its bytes. `statistics` is the JSON text of its
    statistics, None where the log has none or has them in another form.
    """

    path: str
    deletion_vector: DeletionVectorDescriptor | None
    physical_rows: int | None
    tags: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    size: int = dataclasses.field(default=0, compare=False)
    statistics: str | None = dataclasses.field(default=None, compare=False, repr=False)

    @classmethod
    def of_entry(cls, add: Any, source: str) -> LiveFile:  # noqa: ANN401 - what JSON holds
        """The file of an entry `add`. Raises FormatError, naming the field, for an entry that is none."""
        path, vector = identity_of(add, source)
        where = f"{source} {path}"
        statistics = _statistics(add, where)
        rows = _physical_rows(add, statistics, where)
        return cls(path, vector, rows, texts_of(add, "tags", where), _size(add, where), statistics)

    @property
    def deleted(self) -> int:
        """How many of its rows its deletion vector hides."""
        return self.deletion_vector.cardinality if self.deletion_vector else 0

    @property
    def surely_stored(self) -> int | None:
        """How many rows it stores, deleted ones too; None where the log does not surely tell."""
        return surely_stored(self.physical_rows, self.deleted, self.statistics)

    @property
    def key(self) -> FileKey:
        """What tells it apart in a version of its table."""
        return key_of(self.path, self.deletion_vector)


@dataclasses.dataclass(frozen=True)
class RemovedFile:
    """A data file, or a deletion vector of one, that versions before needed. `timestamp` is in epoch milliseconds."""

    path: str
    deletion_vector: DeletionVectorDescriptor | None
    timestamp: int


def identity_of(entry: Any, source: str) -> tuple[str, DeletionVectorDescriptor | None]:  # noqa: ANN401 - JSON
    """The path and the vector of the file of an entry. Raises FormatError, naming the field, for one that has none."""
    if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
        raise FormatError(f"{source}: path: it has none")
    path, struct = entry["path"], entry.get("deletionVector")
    if not is_text(path):
        raise FormatError(f"{source}: path: the log names a file {shown(path)}, which is no UTF-8")
    try:
        return path, None if struct is None else DeletionVectorDescriptor.from_struct(struct)
    except FormatError as error:
        raise FormatError(f"{source} {path}: deletionVector: {error}") from error


def key_of(path: str, vector: DeletionVectorDescriptor | None) -> FileKey:
    """What tells a file apart in a version of its table."""
    return locations.same_file_key(path), vector.unique_id if vector else None


def removal_time(remove: Mapping[str, Any], source: str) -> int:
    """When an entry `remove` says that its file went, in epoch milliseconds. Raises FormatError for what is no time."""
    timestamp = remove.get("deletionTimestamp") or 0
    if type(timestamp) is not int:
        raise FormatError(f"{source}: deletionTimestamp: {shown(timestamp)} is no time")
    return timestamp


def rows_told_first(statistics: object) -> int | None:
    """`numRecords` of statistics that begin with it and tell it once; None for all others.

    Decoding all bounds of 100,000 files takes long, and is left to those who need them.
    """
    if not isinstance(statistics, str):
        return None
    match = _ROWS_FIRST.match(statistics)
    # A name can be written with a backslash, too.
    if match is None or "\\" in statistics or statistics.count(f'"{NUM_RECORDS}"') > 1:
        return None
    return int(match[1])


def texts_of(entry: Any, name: str, source: str) -> dict[str, str]:  # noqa: ANN401 - what JSON holds
    """A map of texts; a Parquet checkpoint has it as pairs. Raises FormatError for what is no map."""
    stored = entry.get(name) or {}
    try:
        entries = dict(stored)
    except (TypeError, ValueError) as error:
        raise FormatError(f"{source}: {name}: no map of texts: {shown(stored)}") from error
    if set(map(type, itertools.chain(entries, entries.values()))) <= _ONLY_TEXTS:
        return entries
    return {str(key): str(value) for key, value in entries.items() if value is not None}


def _size(add: Mapping[str, Any], source: str) -> int:
    size = add.get("size") or 0
    if type(size) is not int or not 0 <= size <= LONG_MAX:
        raise FormatError(f"{source}: size: {shown(size)} is no count of bytes")
    return size


def _statistics(add: Mapping[str, Any], source: str) -> str | None:
    text = add.get("stats")
    if text is not None and not isinstance(text, str):
        raise FormatError(f"{source}: stats: a text is expected, not {shown(text)}")
    return text


def _physical_rows(add: Mapping[str, Any], text: str | None, source: str) -> int | None:
    """`numRecords` of the statistics: a struct, which checkpoints may hold, or JSON text."""
    parsed = add.get("stats_parsed")
    rows = parsed.get(NUM_RECORDS) if isinstance(parsed, dict) else None
    if rows is None and text:
        rows = rows_told_first(text)
    if rows is None and text:
        # Old versions of delta-rs tell bounds that are infinities as no JSON does, beside a right number of rows.
        stats = read_json(text, f"{source}: stats", finite=False)
        rows = stats.get(NUM_RECORDS) if isinstance(stats, dict) else stats
    if rows is not None and (type(rows) is not int or not 0 <= rows <= LONG_MAX):
        raise FormatError(f"{source}: stats: {NUM_RECORDS} is {shown(rows)}, no count of rows")
    return rows
