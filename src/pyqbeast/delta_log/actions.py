"""The actions in files of the log: JSON commits, and checkpoints in Parquet or JSON, with their sidecars."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence, Set
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.statistics_keys import NUM_RECORDS
from pyqbeast.core.format.stored_text import read_json, read_loose_json
from pyqbeast.delta_log import locations, parsed_statistics
from pyqbeast.delta_log.adds_in_bulk import adds_in_bulk
from pyqbeast.delta_log.json_in_bulk import AT_ONCE, Lines
from pyqbeast.delta_log.log_files import LogFiles
from pyqbeast.delta_log.read_ahead import read_each

#: One entry of the log: `{"add": {…}}`, `{"remove": {…}}`, `{"protocol": {…}}` and the like; or many that were read in
#: bulk, `{ADDED: [LiveFile, …]}`.
Action = dict[str, Any]
ADDED = "files added"
Answer = TypeVar("Answer")

#: Columns of what tells of the table as a whole. No sidecar has them.
_OF_TABLE = ["metaData.configuration", "metaData.partitionColumns", "metaData.schemaString", "protocol"]
# Statistics can be a struct, a JSON text, or both; a column that a checkpoint lacks is left out by pyarrow.
_COLUMNS = [
    "add.path",
    "add.size",
    "add.deletionVector",
    "add.stats",
    f"add.stats_parsed.{NUM_RECORDS}",
    "add.tags",
    *_OF_TABLE,
    "sidecar.path",
]
#: Rows of a checkpoint that are Arrow's and Python's at once: more take more memory, and no less time.
_ROWS_AT_ONCE = 1 << 13
#: What a row of a checkpoint cannot do without, by its column. Arrow would leave the column out, and all its rows.
_REQUIRED = {
    "add": "path",
    "remove": "path",
    "sidecar": "path",
    "metaData": "schemaString",
    "protocol": "minReaderVersion",
}
#: The actions that say what is in a table. What others hold, such as `commitInfo`, is free.
_OF_CONTENT = frozenset(
    {
        "add",
        "checkpointMetadata",
        "domainMetadata",
        "metaData",
        "protocol",
        "remove",
        "sidecar",
        "txn",
    }
)
_OF_REMOVED = ["remove.path", "remove.deletionVector", "remove.deletionTimestamp"]


class _MissingFileError(FormatError):
    """A file that the log lists or names is not there."""


def despite_cleanup(read: Callable[[], Answer]) -> Answer:
    """What `read` makes of the log, which it lists itself: once more where a file that it listed is gone.

    A writer may have made a checkpoint meanwhile, and have removed the commits before it. Raises as `read`.
    """
    try:
        return read()
    except _MissingFileError:
        return read()


def checkpoint_actions(files: LogFiles, *, with_removed: bool = False) -> Iterator[Action]:
    """Yield the actions of the checkpoint of `files`, those of its sidecars among them; files that were removed where
    they are asked for.

    Raises, naming the file, `FormatError` where one is missing or broken, and `StorageError` where reading it fails.
    """
    columns = [*_COLUMNS, *(_OF_REMOVED if with_removed else [])]
    for path in files.checkpoint:
        with _way_out(files, path):
            for action in _file_actions(files, path, columns):
                sidecar = action.get("sidecar")
                if sidecar is None:
                    yield action
                else:
                    yield from _sidecar_actions(files, _sidecar_path(files, path, sidecar), columns)


@contextlib.contextmanager
def _way_out(files: LogFiles, path: str) -> Iterator[None]:
    """Lets errors of a file of a checkpoint say that the table can be read without it, where that is so.

    The step is left to the user: damage is to be seen, and Spark does not read its own tables with it either.
    """
    try:
        yield
    except FormatError as error:
        if files.needs_checkpoint:
            raise
        raise type(error)(
            f"{error}; the log tells the same without this checkpoint: move {path} away, and the table can be read"
        ) from error


def commit_actions(files: LogFiles, path: str) -> Iterator[Action]:
    """Yield the actions of the JSON file `path`; `FormatError`, naming file and line, where it is broken."""
    return _actions(_content(files, path), path)


def actions_of_commits(files: LogFiles) -> Iterator[tuple[str, Action]]:
    """Yield the actions of all commits of `files`, each with the path of its commit.

    Raises `FormatError`, naming file and line, where one is missing or broken.
    """
    for path, actions in commits_one_by_one(files, files.commits):
        for action in actions:
            yield path, action


def commits_one_by_one(files: LogFiles, paths: Sequence[str]) -> Iterator[tuple[str, Iterator[Action]]]:
    """Yield some JSON files of the log of `files`, each with its actions, as `commit_actions` gives them."""
    for path, content in _contents(files, paths):
        yield path, _actions(content, path)


def actions_of_table(files: LogFiles) -> Iterator[tuple[str, Action]]:
    """Yield the actions of `files` that tell of the table as a whole, each with its file: its properties, its columns
    and its protocol. Those of data files, which are nearly all, are not decoded.

    Raises as `checkpoint_actions` and `actions_of_commits`.
    """
    for path in files.checkpoint:
        with _way_out(files, path):
            for action in _file_actions(files, path, _OF_TABLE):
                if _is_of_table(action):
                    yield path, action
    for path, content in _contents(files, files.commits):
        lines = Lines.of(content)
        # A line has one action, and most writers leave no space.
        are_of_files = lines.begin_with(b'{"add":{') | lines.begin_with(b'{"remove":{')
        for at in np.flatnonzero(~are_of_files).tolist():
            actions = _actions_one_by_one(lines.part(at, at + 1), at + 1, path)
            yield from ((path, action) for action in actions if _is_of_table(action))


def _is_of_table(action: Action) -> bool:
    return "metaData" in action or "protocol" in action


def _contents(files: LogFiles, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """JSON files of the log, each by its path. Those of a store elsewhere are read several at once."""
    return zip(paths, read_each(files.file_system, paths, partial(_content, files)), strict=True)


def _content(files: LogFiles, path: str) -> bytes:
    try:
        with locations.looking_for(files.file_system, f"reading {path}"):
            locations.check_is_file(files.file_system, path)
            return bytes(files.file_system.cat_file(path))
    except FileNotFoundError as error:
        raise _missing(path) from error


def _actions(content: bytes, path: str) -> Iterator[Action]:
    """The actions of a JSON file, one a line."""
    lines = Lines.of(content)
    # Files that are added stand together in most commits.
    are_adds = lines.begin_with(b'{"add":')
    borders = [0, *(np.flatnonzero(are_adds[1:] != are_adds[:-1]) + 1).tolist(), lines.count]
    for start, end in pairwise(borders):
        # The lines of a large commit a few at a time take half of its memory.
        for first in range(start, end, AT_ONCE):
            part = lines.part(first, min(first + AT_ONCE, end))
            files = adds_in_bulk(part) if are_adds[first] else None
            if files is not None:
                yield {ADDED: files}
            else:
                yield from _actions_one_by_one(part, first + 1, path)


def _actions_one_by_one(lines: Lines, first: int, path: str) -> Iterator[Action]:
    for at in range(lines.count):
        line = lines.line(at)
        if not line or line.isspace():
            continue
        try:
            action = read_json(line, f"{path}, line {first + at}")
        except FormatError:
            action = _free_action(line)
            if action is None:
                raise
        if not isinstance(action, dict):
            raise FormatError(f"{path}, line {first + at}: an object is expected")
        yield action


def _free_action(line: bytes) -> Action | None:
    """An action that says nothing of what is in the table; None for all other lines.

    Its JSON may have what `read_json` refuses: programs write there what users give them.
    """
    action = read_loose_json(line)
    return action if isinstance(action, dict) and not action.keys() & _OF_CONTENT else None


def _file_actions(files: LogFiles, path: str, columns: list[str]) -> Iterator[Action]:
    if path.endswith(".json"):
        return commit_actions(files, path)
    return _parquet_actions(files, path, columns)


def _sidecar_actions(files: LogFiles, path: str, columns: list[str]) -> Iterator[Action]:
    for action in _file_actions(files, path, columns):
        if "sidecar" in action:
            raise FormatError(f"{path}: sidecar: a sidecar has none of its own")
        yield action


def _sidecar_path(files: LogFiles, checkpoint: str, sidecar: Any) -> str:  # noqa: ANN401 - what JSON holds
    if not isinstance(sidecar, dict) or not isinstance(sidecar.get("path"), str):
        raise FormatError(f"{checkpoint}: sidecar: it has no path")
    location = locations.file_location(f"{files.folder}/_sidecars", sidecar["path"])
    if locations.is_absolute(sidecar["path"]):
        system, location = locations.open_named(location, files.table, files.options)
        # That of the log's files may be one of its own, for as long as they are read.
        if system != locations.open_location(files.table, files.options)[0]:
            raise FormatError(f"{checkpoint}: sidecar: {sidecar['path']} lies in another store than the log")
    return location


def _parquet_actions(files: LogFiles, path: str, columns: list[str]) -> Iterator[Action]:
    doing = f"reading {path}"
    try:
        with locations.looking_for(files.file_system, doing):
            locations.check_is_file(files.file_system, path)
            opened = locations.OpenedFile(locations.open_file(files.file_system, path), doing)
    except FileNotFoundError as error:
        raise _missing(path) from error
    try:
        with (
            locations.storage_errors(doing, but_for=(FileNotFoundError,)),
            _damage(path),
            contextlib.closing(opened),
            pq.ParquetFile(opened, coerce_int96_timestamp_unit="us") as parquet,
        ):
            if not _REQUIRED.keys() & set(parquet.schema_arrow.names):
                raise FormatError(
                    f"{path}: not a checkpoint: it has none of the columns {', '.join(_REQUIRED)}"
                )
            for name, required in _REQUIRED.items():
                _check_column(parquet.schema_arrow, name, required, path)
            has_structs = "add.stats" in columns and parsed_statistics.are_needed(parquet)
            if has_structs:
                columns = [*columns, parsed_statistics.COLUMN]
            instants = parsed_statistics.instants(parquet)
            for batch in parquet.iter_batches(_ROWS_AT_ONCE, columns=columns):
                for row in _rows_of(batch, path):
                    if has_structs and row.get("add") is not None:
                        _add_statistics(row["add"], instants)
                    yield {name: value for name, value in row.items() if value is not None}
    # Stores that read nothing when a file is opened say only now that there is none.
    except FileNotFoundError as error:
        raise _missing(path) from error


def _rows_of(batch: pa.RecordBatch, path: str) -> list[Action]:
    try:
        return parsed_statistics.rows_of(batch)
    except ValueError as error:
        raise _unreadable(path, error) from error


@contextlib.contextmanager
def _damage(path: str) -> Iterator[None]:
    """Raise `FormatError` for what Arrow says of a file that is no Parquet, and leave the errors of storage alone."""
    try:
        yield
    except Exception as error:
        if is_damage(error):
            raise _unreadable(path, error) from error
        raise


def is_damage(error: Exception) -> bool:
    """Whether an error of reading an opened file as Parquet is about what the file holds, and not about its storage.

    A file that fsspec has opened is a `locations.OpenedFile`.
    """
    if isinstance(error, (pa.ArrowException, UnicodeError)):
        return True
    # Arrow raises it of content. Of a local file that it reads itself, its errors of storage have a number.
    return type(error) is OSError and error.errno is None


def _unreadable(path: str, error: Exception) -> FormatError:
    return FormatError(f"{path}: not a readable Parquet checkpoint: {error}")


def _add_statistics(add: Action, instants: Set[str]) -> None:
    """Gives a file that has its statistics as a struct only the text of them."""
    parsed = add.get("stats_parsed")
    if isinstance(parsed, dict) and add.get("stats") is None:
        add["stats"] = parsed_statistics.as_json(parsed, instants)


def _check_column(schema: pa.Schema, name: str, required: str, path: str) -> None:
    if name not in schema.names:
        return
    kind = schema.field(name).type
    # A column without a value may have no type.
    if not pa.types.is_null(kind) and not (pa.types.is_struct(kind) and kind.get_field_index(required) >= 0):
        raise FormatError(f"{path}: not a checkpoint: its column {name} has no field {required}")


def _missing(path: str) -> _MissingFileError:
    return _MissingFileError(f"{path}: the log names this file, and it is missing")
