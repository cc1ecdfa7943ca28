"""The live files of a Delta table, read straight from its log: no Spark, no JVM."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

from pyqbeast.core.errors import FormatError, UnsupportedError
from pyqbeast.core.facts import LONG_MAX
from pyqbeast.core.stored_text import read_json, shown
from pyqbeast.delta import dv_paths
from pyqbeast.delta.dv_descriptor import DeletionVectorDescriptor
from pyqbeast.delta.dv_log_actions import Action, checkpoint_actions, commit_actions
from pyqbeast.delta.dv_log_files import find_log_files

# The reader features that leave the list of files and their vectors as they are without them.
# `catalogManaged` is not one: its newest commits are known to the catalog alone.
_READER_FEATURES = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "geospatial",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantShredding",
        "variantShredding-preview",
        "variantType",
        "variantType-preview",
    }
)


@dataclasses.dataclass(frozen=True)
class LiveFile:
    """A data file of a table's newest version.

    `path` is as the log has it: URL-encoded, relative to the table or absolute. `physical_rows` counts the
    rows in the file, deleted ones included, and is None where the log has no statistics of the file.
    """

    path: str
    deletion_vector: DeletionVectorDescriptor | None
    physical_rows: int | None


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """The newest version of a table and its live files, in the order of their paths."""

    version: int
    files: tuple[LiveFile, ...]


def read_snapshot(table: dv_paths.Location) -> Snapshot:
    """Read the newest version of the Delta table at `table`, a path or an fsspec URL.

    Raises `TableNotFoundError` where there is none, `FormatError` (naming file and field) where its log is
    broken, and `UnsupportedError` for a reader feature that may change what the log means.
    """
    files = find_log_files(table)
    live: dict[tuple[str, str | None], LiveFile] = {}
    if files.checkpoint:
        for action in checkpoint_actions(files):
            _apply(live, action, files.checkpoint[0])
    for path in files.commits:
        for action in commit_actions(files, path):
            _apply(live, action, path)
    ordered = tuple(live[key] for key in sorted(live, key=lambda key: (key[0], key[1] or "")))
    for one, other in itertools.pairwise(ordered):
        if one.path == other.path:
            raise FormatError(f"{files.folder}: file {one.path} is live with two deletion vectors at once")
    return Snapshot(files.version, ordered)


def _apply(live: dict[tuple[str, str | None], LiveFile], action: Action, source: str) -> None:
    """Bring `live` up to date with one action; a file is told from others by its path and its vector."""
    if (add := action.get("add")) is not None:
        path, vector = _identity(add, f"{source}: add")
        key = (path, vector.unique_id if vector else None)
        live[key] = LiveFile(path, vector, _physical_rows(add, f"{source}: add {path}"))
    elif (remove := action.get("remove")) is not None:
        path, vector = _identity(remove, f"{source}: remove")
        live.pop((path, vector.unique_id if vector else None), None)
    elif (protocol := action.get("protocol")) is not None:
        _check_protocol(protocol, source)


def _identity(entry: Any, source: str) -> tuple[str, DeletionVectorDescriptor | None]:  # noqa: ANN401 - JSON
    if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
        raise FormatError(f"{source}: path: it has none")
    path, struct = entry["path"], entry.get("deletionVector")
    try:
        return path, None if struct is None else DeletionVectorDescriptor.from_struct(struct)
    except FormatError as error:
        raise FormatError(f"{source} {path}: deletionVector: {error}") from error


def _physical_rows(add: Action, source: str) -> int | None:
    """Return `numRecords` of the statistics: a struct, which checkpoints may hold, or JSON text."""
    parsed = add.get("stats_parsed")
    rows = parsed.get("numRecords") if isinstance(parsed, dict) else None
    if rows is None and add.get("stats"):
        if not isinstance(add["stats"], str):
            raise FormatError(f"{source}: stats: a text is expected, not {shown(add['stats'])}")
        stats = read_json(add["stats"], f"{source}: stats")
        rows = stats.get("numRecords") if isinstance(stats, dict) else stats
    if rows is not None and (type(rows) is not int or not 0 <= rows <= LONG_MAX):
        raise FormatError(f"{source}: stats: numRecords is {shown(rows)}, no count of rows")
    return rows


def _check_protocol(protocol: Any, source: str) -> None:  # noqa: ANN401 - what JSON holds
    features = (protocol.get("readerFeatures") or []) if isinstance(protocol, dict) else None
    if not isinstance(features, list):
        raise FormatError(f"{source}: protocol: readerFeatures is no list")
    version = protocol.get("minReaderVersion")
    if version not in (1, 2, 3):
        raise UnsupportedError(f"{source}: the table needs reader version {version}; 3 is the newest known")
    unknown = [feature for feature in map(str, features) if feature not in _READER_FEATURES]
    if unknown:
        raise UnsupportedError(f"{source}: the table needs the reader feature {unknown[0]}: not supported")
