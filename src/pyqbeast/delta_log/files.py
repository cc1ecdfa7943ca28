"""Which files of a table's `_delta_log` tell its newest version: one checkpoint, and the commits after it."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from pyqbeast.core.errors import FormatError, TableNotFoundError
from pyqbeast.delta_log import locations

_COMMIT = re.compile(r"(\d{20})\.json")
# One file; one of several parts (number, count); or a file of the second checkpoint format, with a UUID.
_CHECKPOINT = re.compile(
    r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10})|\.[0-9a-fA-F-]{36})?\.(?:parquet|json)"
)


@dataclasses.dataclass(frozen=True)
class LogFiles:
    """The files that make up version `version` of a table, as paths of `file_system`."""

    file_system: Any
    folder: str
    version: int
    checkpoint: tuple[str, ...]
    commits: tuple[str, ...]


def find_log_files(table: locations.Location) -> LogFiles:
    """Return the log files of the newest version of `table`.

    The hint in `_last_checkpoint` is left alone: it spares its reader a full listing but can be stale, and
    fsspec lists the whole folder in any case.

    Raises `TableNotFoundError` where there is no log, `FormatError` where a commit is missing from it.
    """
    file_system, root = locations.open_location(table)
    folder = f"{root.rstrip('/')}/_delta_log"
    # Object stores cache listings, and another process may have committed since.
    file_system.invalidate_cache(folder)
    try:
        with locations.storage_errors(f"listing {folder}"):
            names = [str(path).rpartition("/")[2] for path in file_system.ls(folder, detail=False)]
    except (FileNotFoundError, NotADirectoryError) as error:
        raise TableNotFoundError(f"there is no Delta table at {table}: it has no _delta_log") from error
    commits = {int(match[1]): name for name in names if (match := _COMMIT.fullmatch(name))}
    checkpoints = _complete_checkpoints(names)
    if not commits and not checkpoints:
        raise TableNotFoundError(f"there is no Delta table at {table}: its _delta_log holds no commit")
    start = max(checkpoints, default=-1)
    version = max([start, *commits])
    missing = [number for number in range(start + 1, version + 1) if number not in commits]
    if missing:
        raise FormatError(
            f"{folder}: commit {missing[0]:020d}.json is missing, and no checkpoint makes up for it"
        )
    return LogFiles(
        file_system,
        folder,
        version,
        tuple(f"{folder}/{name}" for name in checkpoints.get(start, ())),
        tuple(f"{folder}/{commits[number]}" for number in range(start + 1, version + 1)),
    )


def _complete_checkpoints(names: list[str]) -> dict[int, list[str]]:
    """Return the files of a complete checkpoint for each version that has one."""
    parts: dict[tuple[int, int], list[str]] = {}
    complete: dict[int, list[str]] = {}
    for name in sorted(names):
        match = _CHECKPOINT.fullmatch(name)
        if match is None:
            continue
        version, count = int(match[1]), int(match[3] or 1)
        if match[3] is None:
            complete[version] = [name]
            continue
        seen = parts.setdefault((version, count), [])
        seen.append(name)
        # A writer that stopped halfway leaves fewer parts than it announced.
        if len(seen) == count:
            complete.setdefault(version, seen)
    return complete
