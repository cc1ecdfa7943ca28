"""One version of a Delta table, the newest or another, read straight from its log: live files, protocol, metadata.

No Spark, no JVM.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any

from pyqbeast.core.arguments import is_whole_number
from pyqbeast.core.errors import FormatError, InvalidInputError, UnsupportedError
from pyqbeast.core.format.hashed_layout import PHYSICAL_NAME
from pyqbeast.core.format.stored_text import is_text, read_json, shown, whole_number
from pyqbeast.core.location import Location
from pyqbeast.delta_log import locations
from pyqbeast.delta_log.actions import (
    ADDED,
    Action,
    actions_of_commits,
    actions_of_table,
    checkpoint_actions,
    despite_cleanup,
)
from pyqbeast.delta_log.live_file import (
    FileKey,
    LiveFile,
    RemovedFile,
    identity_of,
    key_of,
    removal_time,
    texts_of,
)
from pyqbeast.delta_log.log_files import LogFiles, TimesInCommits, find_log_files

# The reader features that do not change the list of files and their vectors. `catalogManaged` is not one of
# them: only the catalog knows the newest commits of such a table.
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

_TIMES_IN_COMMITS = "delta.enableInCommitTimestamps"
#: The version that began to keep them, and its time; no table has them that did so from its first version on.
_TIMES_BEGIN = ("delta.inCommitTimestampEnablementVersion", "delta.inCommitTimestampEnablementTimestamp")
#: Who knows the newest commits of a table. Delta makes no reader feature of it.
_COORDINATOR = "delta.coordinatedCommits.commitCoordinator-preview"
#: What the JSON of a type has to hold.
_INSIDE = {"struct": ("fields",), "array": ("elementType",), "map": ("keyType", "valueType")}
#: A struct in a struct takes three levels of a schema's JSON.
_SCHEMA_DEPTH = 400


@dataclasses.dataclass(frozen=True)
class Protocol:
    """What a program has to know to read or write a table: the versions of readers and of writers, and the features
    that reader version 3 and writer version 7 name.
    """

    reader_version: int = 1
    writer_version: int = 1
    reader_features: frozenset[str] = frozenset()
    writer_features: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class Metadata:
    """A table's properties, its columns as the schema has them in JSON, and those that it is partitioned by."""

    configuration: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    fields: tuple[Mapping[str, Any], ...] = dataclasses.field(default=(), hash=False)
    partition_columns: tuple[str, ...] = ()


#: That of a log without any. Its files and vectors can be told all the same.
NO_METADATA = Metadata()


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """A version of a table and its live files, in the order of their paths; `removed` where they were asked for."""

    version: int
    files: tuple[LiveFile, ...]
    protocol: Protocol
    metadata: Metadata
    removed: tuple[RemovedFile, ...] = ()


def read_snapshot(
    table: Location,
    version: int | None = None,
    timestamp: int | None = None,
    storage_options: locations.Options = None,
    *,
    with_removed: bool = False,
) -> Snapshot:
    """Read a version of the Delta table at `table`, a path or an fsspec URL: by default the newest one.

    `version` names another one, `timestamp` (epoch milliseconds) the newest one of that time. `storage_options` go
    to fsspec. With `with_removed` the snapshot also has the files that the log says are gone.

    Raises `TableNotFoundError` where there is none, `FormatError` (naming file and field) where its log is
    broken, `InvalidInputError` for a version or a time that the log does not reach, and `UnsupportedError` for a
    reader feature that may change what the log means, and for the newest version where only a coordinator of commits
    knows it.
    """
    if version is not None and timestamp is not None:
        raise InvalidInputError("give a version or a timestamp, not both")
    for given in (version, timestamp):
        if given is not None and not is_whole_number(given):
            raise InvalidInputError(
                f"a version, or a timestamp in ms since 1970, is a whole number, not {given!r}"
            )
    version = None if version is None else int(version)
    timestamp = None if timestamp is None else int(timestamp)
    times = None if timestamp is None else _times_in_commits(table, storage_options)

    def replayed() -> tuple[LogFiles, Replay]:
        with find_log_files(table, version, timestamp, storage_options, times) as files:
            checkpoint = checkpoint_actions(files, with_removed=with_removed)
            of_checkpoint = ((files.checkpoint[0], action) for action in checkpoint)
            actions = itertools.chain(of_checkpoint, actions_of_commits(files))
            return files, _replayed(files, actions, Replay(with_removed=with_removed))

    files, replay = despite_cleanup(replayed)
    protocol = _checked_protocol(files, replay, is_newest=version is None and timestamp is None)
    ordered = tuple(sorted(replay.live.values(), key=attrgetter("path")))
    for one, other in itertools.pairwise(ordered):
        if one.path == other.path:
            raise FormatError(f"{files.folder}: file {one.path} is live with two deletion vectors at once")
    return Snapshot(files.version, ordered, protocol, replay.metadata, tuple(replay.removed))


def _times_in_commits(table: Location, storage_options: locations.Options) -> TimesInCommits | None:
    """Which commits keep their times; None where the times of their files count.

    Only the newest version says so: an older one may be from before.
    """

    def replayed() -> tuple[LogFiles, Replay]:
        with find_log_files(table, options=storage_options) as files:
            return files, _replayed(files, actions_of_table(files), Replay())

    files, newest = despite_cleanup(replayed)
    _checked_protocol(files, newest, is_newest=True)
    configuration = newest.metadata.configuration
    if configuration.get(_TIMES_IN_COMMITS, "").lower() != "true":
        return None
    if not any(name in configuration for name in _TIMES_BEGIN):
        return TimesInCommits(0, -math.inf)
    where = f"{files.folder}: version {files.version}"
    version, timestamp = (whole_number(configuration.get(name), f"{where}: {name}") for name in _TIMES_BEGIN)
    return TimesInCommits(version, timestamp)


def _replayed(files: LogFiles, actions: Iterable[tuple[str, Action]], replay: Replay) -> Replay:
    """The state after some actions of a log, each with its file.

    Raises FormatError, and UnsupportedError where the version needs a feature that may be the reason for it.
    """
    try:
        for path, action in actions:
            replay.apply(action, path)
    except FormatError:
        needed = _needed_protocol(files)
        if needed is not None:
            _check_readable(needed, f"{files.folder}: version {files.version}")
        raise
    return replay


def _needed_protocol(files: LogFiles) -> Protocol | None:
    """The protocol of a version that cannot be read; None where that cannot be told either."""
    protocol = None
    try:
        for path, action in actions_of_table(files):
            if (stated := action.get("protocol")) is not None:
                protocol = _protocol(stated, path)
    except FormatError:
        return None
    return protocol


def _checked_protocol(files: LogFiles, replay: Replay, *, is_newest: bool) -> Protocol:
    """The protocol of a version. Raises UnsupportedError where it cannot be read, or is not surely the newest one."""
    where = f"{files.folder}: version {files.version}"
    if replay.protocol is None:
        raise FormatError(f"{where}: no commit and no checkpoint before it holds the action protocol")
    _check_readable(replay.protocol, where)
    if is_newest and replay.metadata.configuration.get(_COORDINATOR):
        raise UnsupportedError(
            f"{where}: only a coordinator of commits knows the table's newest version ({_COORDINATOR}), and nobody "
            "asks it without Spark; read it with Spark, or give a version that the log holds"
        )
    return replay.protocol


class Replay:
    """The state of a table after some actions. A file is identified by its path and its deletion vector."""

    def __init__(self, *, with_removed: bool = False) -> None:
        self._with_removed = with_removed
        self.removed: list[RemovedFile] = []
        self.live: dict[FileKey, LiveFile] = {}
        self.protocol: Protocol | None = None
        self.metadata = NO_METADATA

    def apply(self, action: Action, source: str) -> None:
        """Brings the state up to date with one action."""
        if (files := action.get(ADDED)) is not None:
            for file in files:
                self.live[file.key] = file
        elif (add := action.get("add")) is not None:
            added = LiveFile.of_entry(add, f"{source}: add")
            self.live[added.key] = added
        elif (remove := action.get("remove")) is not None:
            path, vector = identity_of(remove, f"{source}: remove")
            self.live.pop(key_of(path, vector), None)
            if self._with_removed:
                self.removed.append(
                    RemovedFile(path, vector, removal_time(remove, f"{source}: remove {path}"))
                )
        elif (protocol := action.get("protocol")) is not None:
            self.protocol = _protocol(protocol, source)
        elif (metadata := action.get("metaData")) is not None:
            self.metadata = _metadata(metadata, f"{source}: metaData")


def _metadata(metadata: Any, source: str) -> Metadata:  # noqa: ANN401 - what JSON holds
    if not isinstance(metadata, dict):
        raise FormatError(f"{source}: an object is expected")
    stored = metadata.get("schemaString")
    schema = read_json(
        '{"fields": []}' if stored in (None, "") else stored, f"{source}: schemaString", _SCHEMA_DEPTH
    )
    fields = schema.get("fields") if isinstance(schema, dict) else None
    if not isinstance(fields, list) or not all(map(_is_column, fields)):
        raise FormatError(f"{source}: schemaString: no list of columns: {shown(schema)}")
    if len({field["name"].lower() for field in fields}) < len(fields):
        raise FormatError(f"{source}: schemaString: two columns have one name: {shown(schema)}")
    partition_columns = _names(metadata, "partitionColumns", f"{source}: metaData")
    return Metadata(
        texts_of(metadata, "configuration", source), tuple(fields), tuple(sorted(partition_columns))
    )


def _is_column(field: Any) -> bool:  # noqa: ANN401 - what JSON holds
    return (
        isinstance(field, dict)
        and is_text(field.get("name"))
        and isinstance(metadata := field.get("metadata") or {}, dict)
        and is_text(metadata.get(PHYSICAL_NAME, ""))
        and _is_type(field.get("type"))
    )


def _is_type(of: Any) -> bool:  # noqa: ANN401 - what JSON holds
    """Whether the JSON of a type is whole. One that is not known may have others inside, as those do that are."""
    if not isinstance(of, dict):
        return isinstance(of, str)
    kind = of.get("type")
    if not isinstance(kind, str) or any(name not in of for name in _INSIDE.get(kind, ())):
        return False
    fields = of.get("fields", [])
    inside = [of[name] for name in ("elementType", "keyType", "valueType") if name in of]
    return isinstance(fields, list) and all(map(_is_column, fields)) and all(map(_is_type, inside))


def _protocol(protocol: Any, source: str) -> Protocol:  # noqa: ANN401 - what JSON holds
    if not isinstance(protocol, dict):
        raise FormatError(f"{source}: protocol: an object is expected")
    reader_features, writer_features = (
        _names(protocol, name, f"{source}: protocol") for name in ("readerFeatures", "writerFeatures")
    )
    version = protocol.get("minReaderVersion")
    if type(version) is not int:
        raise FormatError(f"{source}: protocol: minReaderVersion is {shown(version)}, no version")
    # No reader needs it, so a log is read without.
    writers = protocol.get("minWriterVersion")
    return Protocol(version, writers if type(writers) is int else 1, reader_features, writer_features)


def _check_readable(protocol: Protocol, where: str) -> None:
    """Only the protocol of the version itself counts: features of earlier ones may have been dropped since."""
    if protocol.reader_version not in (1, 2, 3):
        raise UnsupportedError(
            f"{where}: the table needs reader version {protocol.reader_version}, and 1 to 3 are known without Spark; "
            "read it with Spark, or upgrade pyqbeast"
        )
    unknown = sorted(protocol.reader_features - _READER_FEATURES)
    if unknown:
        raise UnsupportedError(
            f"{where}: the table needs the reader feature {unknown[0]}, which is not known without Spark; "
            "read it with Spark, or upgrade pyqbeast"
        )


def _names(action: Action, name: str, source: str) -> frozenset[str]:
    names = action.get(name) or []
    if not isinstance(names, list):
        raise FormatError(f"{source}: {name} is no list")
    return frozenset(map(str, names))
