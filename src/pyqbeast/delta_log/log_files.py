"""Which files of a table's `_delta_log` tell one version of it: one checkpoint, and the commits after it.

The version is the newest, or one that a number or a time names.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import math
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pyqbeast.core.errors import FormatError, InvalidInputError, TableNotFoundError, UnsupportedError
from pyqbeast.core.format.stored_text import read_loose_json
from pyqbeast.core.format.types import epoch_milliseconds
from pyqbeast.core.location import Location
from pyqbeast.delta_log import locations
from pyqbeast.delta_log.read_ahead import is_local
from pyqbeast.listings import fresh_tree

_COMMIT = re.compile(r"(\d{20})\.json")
# One file; one of several parts (number, count); or a file of the second checkpoint format, with a UUID.
_CHECKPOINT = re.compile(
    r"(\d{20})\.checkpoint(?:(?:\.(\d{10})\.(\d{10}))?\.parquet|\.[^.]+\.(?:parquet|json))"
)


@dataclasses.dataclass(frozen=True)
class LogFiles:
    """The files that make up version `version` of `table`, as paths of `file_system`, made with `options`.

    `needs_checkpoint` says whether the log would not tell the version without this checkpoint.
    """

    table: Location
    file_system: Any
    options: locations.Options
    folder: str
    version: int
    checkpoint: tuple[str, ...]
    commits: tuple[str, ...]
    needs_checkpoint: bool


@dataclasses.dataclass(frozen=True)
class TimesInCommits:
    """From which version on commits of a table keep their times, and from which time on (epoch milliseconds)."""

    version: int
    timestamp: float


@contextlib.contextmanager
def find_log_files(
    table: Location,
    version: int | None = None,
    timestamp: int | None = None,
    options: locations.Options = None,
    times: TimesInCommits | None = None,
) -> Iterator[LogFiles]:
    """The log files of a version of `table`, to be read meanwhile: the newest one unless `version` names another, or
    `timestamp` (epoch milliseconds) the newest one of that time. `times` of a table whose commits keep theirs.

    Stores elsewhere tell of these files by that listing, and are not asked for each of them. The hint in
    `_last_checkpoint` is left alone: it spares its reader a full listing but can be stale, and fsspec lists the whole
    folder in any case.

    Raises `TableNotFoundError` where there is no log, `FormatError` where a commit is missing from it,
    `InvalidInputError` for a version or a time that the log does not reach, and `StorageError` where storage fails.
    """
    shared, root = locations.open_location(table, options)
    with fresh_tree(shared, root) as file_system:
        folder, commits, checkpoints = _listing(table, file_system, root)
        newest = max([*checkpoints, *commits])
        if timestamp is not None:
            version = _version_at(
                timestamp, file_system, {n: f"{folder}/{name}" for n, name in sorted(commits.items())}, times
            )
        elif version is None:
            version = newest
        start = max((number for number in checkpoints if number <= version), default=-1)
        # Only the first: a version or a file's name can be any number of digits.
        missing = next((number for number in range(start + 1, version + 1) if number not in commits), None)
        if not 0 <= version <= newest or (missing is not None and version < newest):
            raise InvalidInputError(
                f"version {version} of the table at {table} cannot be read: the log holds versions up to {newest}, "
                "from the first commit or the oldest checkpoint on"
            )
        if missing is not None:
            raise FormatError(
                f"{folder}: commit {missing:020d}.json is missing, and no checkpoint makes up for it"
            )
        older = max((number for number in checkpoints if number < start), default=-1)
        yield LogFiles(
            table,
            file_system,
            options,
            folder,
            version,
            tuple(f"{folder}/{name}" for name in checkpoints.get(start, ())),
            tuple(f"{folder}/{commits[number]}" for number in range(start + 1, version + 1)),
            not all(number in commits for number in range(older + 1, start + 1)),
        )


def readable_versions(table: Location, options: locations.Options = None) -> range:
    """The versions that the log of `table` still tells, from the newest back to the first gap.

    Raises as `find_log_files`.
    """
    shared, root = locations.open_location(table, options)
    with fresh_tree(shared, root) as file_system:
        _, commits, checkpoints = _listing(table, file_system, root)
    newest = max([*checkpoints, *commits])
    oldest = newest
    while oldest in commits:
        oldest -= 1
    start = min((number for number in checkpoints if number >= oldest), default=newest)
    return range(0 if oldest < 0 else start, newest + 1)


def _listing(
    table: Location,
    file_system: Any,  # noqa: ANN401 (fsspec's)
    root: str,
) -> tuple[str, dict[int, str], dict[int, list[str]]]:
    """The folder of a log, and by version its commits and its complete checkpoints."""
    folder = f"{root.rstrip('/')}/_delta_log"
    try:
        with locations.looking_for(file_system, f"listing {folder}"):
            names = _names(file_system, folder)
    except FileNotFoundError as error:
        raise TableNotFoundError(f"there is no Delta table at {table}: it has no _delta_log") from error
    commits = {int(match[1]): name for name in names if (match := _COMMIT.fullmatch(name))}
    checkpoints = _complete_checkpoints(names)
    if not commits and not checkpoints:
        raise TableNotFoundError(
            f"there is no Delta table at {table}: its _delta_log holds no commit and no whole checkpoint"
        )
    return folder, commits, checkpoints


def _names(file_system: Any, folder: str) -> list[str]:  # noqa: ANN401 (fsspec's)
    """The names of the files in a folder, without empty checkpoints: a writer may die before the first byte of one.

    Delta skips those too. Stores tell sizes as they list; of local files each size is a call.
    """
    if is_local(file_system):
        names = [str(path).rpartition("/")[2] for path in file_system.ls(folder, detail=False)]
        empty = {
            name
            for name in filter(_CHECKPOINT.fullmatch, names)
            if _is_empty_or_gone(file_system, f"{folder}/{name}")
        }
    else:
        entries = file_system.ls(folder, detail=True)
        sizes = {str(entry["name"]).rpartition("/")[2]: entry.get("size") for entry in entries}
        names = list(sizes)
        empty = {name for name in filter(_CHECKPOINT.fullmatch, names) if sizes[name] == 0}
    return [name for name in names if name not in empty]


def _is_empty_or_gone(file_system: Any, path: str) -> bool:  # noqa: ANN401 (fsspec's)
    """Whether a file has no byte, or has been cleaned up since it was listed."""
    try:
        return bool(file_system.size(path) == 0)
    except FileNotFoundError:
        return True


def _version_at(
    timestamp: int,
    file_system: Any,  # noqa: ANN401 (fsspec's)
    commits: Mapping[int, str],
    times: TimesInCommits | None,
) -> int:
    """The newest version that was committed at `timestamp` or before, as Delta tells it.

    From when commits keep their times on these alone count; before that, the times of the files of earlier commits.
    """
    if times is not None and timestamp >= times.timestamp:
        keeping = {version: path for version, path in commits.items() if version >= times.version}
        found, last = _by_times_in_commits(timestamp, file_system, keeping)
    else:
        before = math.inf if times is None else times.version
        written = {version: path for version, path in commits.items() if version < before}
        found, last = _by_times_of_files(timestamp, file_system, written)
    if found is None:
        raise InvalidInputError("timestamp: the log holds no commit of that time or before")
    if found == max(commits) and last < timestamp:
        raise InvalidInputError("timestamp: it is after the newest commit; leave it out to read that one")
    return found


def _by_times_of_files(
    timestamp: int,
    file_system: Any,  # noqa: ANN401 (fsspec's)
    commits: Mapping[int, str],
) -> tuple[int | None, float]:
    """The newest of some commits up to a time, None if there is none; and when the last one of all was written.

    A file that is not newer than the one before it counts as a millisecond newer, as in Delta. One that has been
    cleaned up since it was listed is left out, as in a listing of now: a clean-up removes the oldest ones.
    """
    found, last = None, -math.inf
    for version, path in commits.items():
        modified = _modified(file_system, path)
        if modified is None:
            continue
        last = max(last + 1, modified)
        if last <= timestamp:
            found = version
    return found, last


def _by_times_in_commits(
    timestamp: int,
    file_system: Any,  # noqa: ANN401 (fsspec's)
    commits: Mapping[int, str],
) -> tuple[int | None, float]:
    """The newest of some commits up to a time, None if there is none, and its time. Later commits have later times."""
    versions = list(commits)
    found, last = None, -math.inf
    low, high = 0, len(versions)
    while low < high:
        middle = (low + high) // 2
        time = _time_in_commit(file_system, commits[versions[middle]])
        if time is None:
            # It has been cleaned up since it was listed, with those before it.
            found, low = None, middle + 1
        elif time <= timestamp:
            found, last, low = versions[middle], time, middle + 1
        else:
            high = middle
    return found, last


def _time_in_commit(file_system: Any, path: str) -> int | None:  # noqa: ANN401 (fsspec's)
    """When a commit says that it was made, in epoch milliseconds; None if it is gone."""
    try:
        with locations.looking_for(file_system, f"reading {path}"):
            locations.check_is_file(file_system, path)
            content = bytes(file_system.cat_file(path))
    except FileNotFoundError:
        return None
    for line in content.splitlines():
        action = read_loose_json(line) if b"commitInfo" in line else None
        info = action.get("commitInfo") if isinstance(action, dict) else None
        if isinstance(info, dict) and type(time := info.get("inCommitTimestamp")) is int:
            return time
    raise FormatError(
        f"{path}: commitInfo: it has no inCommitTimestamp, and the table keeps times in its commits: give a version"
    )


def _modified(file_system: Any, path: str) -> int | None:  # noqa: ANN401 (fsspec's)
    """When a file was written, in milliseconds without the fraction, as the JVM tells it; None if it is gone."""
    unknown = (NotImplementedError, KeyError)
    try:
        with locations.storage_errors(
            f"looking when {path} was written", but_for=(*unknown, FileNotFoundError)
        ):
            if is_local(file_system):
                # fsspec's time comes by a double of seconds, which may round to the next millisecond.
                return os.stat(path).st_mtime_ns // 1_000_000  # noqa: PTH116 (there may be 100,000 files)
            modified = file_system.modified(path)
    except FileNotFoundError:
        return None
    except unknown as error:
        raise UnsupportedError(
            f"timestamp: {path} does not tell when it was written: give a version"
        ) from error
    return epoch_milliseconds(modified if modified.tzinfo else modified.replace(tzinfo=dt.timezone.utc))


def _complete_checkpoints(names: list[str]) -> dict[int, list[str]]:
    """The files of a complete checkpoint for each version that has one."""
    parts: dict[tuple[int, int], list[str]] = {}
    complete: dict[int, list[str]] = {}
    for name in sorted(names):
        match = _CHECKPOINT.fullmatch(name)
        if match is None:
            continue
        version, number, count = int(match[1]), int(match[2] or 1), int(match[3] or 1)
        if match[3] is None:
            complete[version] = [name]
            continue
        if not 1 <= number <= count:
            continue
        seen = parts.setdefault((version, count), [])
        seen.append(name)
        # A writer that stopped halfway leaves fewer parts than it announced.
        if len(seen) == count:
            complete.setdefault(version, seen)
    return complete
