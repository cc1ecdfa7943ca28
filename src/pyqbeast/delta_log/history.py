"""A table's figures version by version, told by its commits one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.format.file_tags import of_any_revision, parse_tags
from pyqbeast.core.format.logged_file import counted_rows
from pyqbeast.core.revisions.revision import RevisionSet, revisions_from_configuration
from pyqbeast.delta_log import locations
from pyqbeast.delta_log.actions import (
    Action,
    checkpoint_actions,
    commit_actions,
    commits_one_by_one,
    despite_cleanup,
)
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from pyqbeast.delta_log.live_file import FileKey, LiveFile
from pyqbeast.delta_log.log_files import LogFiles, find_log_files, readable_versions
from pyqbeast.delta_log.reader import Replay

#: The most versions that a history has.
MOST_VERSIONS = 500


@dataclass(frozen=True)
class VersionFigures:
    """What a version of a table holds.

    Attributes:
        version: its number.
        timestamp: when its commit says that it was made, in epoch milliseconds; None where it does not say.
        operation: what its commit says that was done (`WRITE`, `OPTIMIZE`, …); empty where it does not say.
        files, bytes: live data files.
        rows: rows in them that are not deleted, in the files whose rows the log counts.
        deleted_rows: rows in them that deletion vectors hide.
        unindexed_files, unindexed_bytes: of files outside of every index.
        uncounted_files: files whose rows the log does not count.
    """

    version: int
    timestamp: int | None
    operation: str
    files: int
    bytes: int
    rows: int
    deleted_rows: int
    unindexed_files: int
    unindexed_bytes: int
    uncounted_files: int

    @property
    def unindexed_share(self) -> float:
        """Unindexed bytes by all bytes."""
        return self.unindexed_bytes / max(1, self.bytes)


def read_history(index: IndexedSnapshot, storage_options: locations.Options = None) -> list[VersionFigures]:
    """The versions of a table up to this one that its log still tells, oldest first.

    There are `MOST_VERSIONS` at the most. Raises as `read_snapshot`.
    """
    return despite_cleanup(partial(_read, index, storage_options))


def _read(index: IndexedSnapshot, storage_options: locations.Options) -> list[VersionFigures]:
    table, version = index.location, index.snapshot.version
    readable = readable_versions(table, storage_options)
    first = max(readable.start, version - MOST_VERSIONS + 1) if version in readable else version
    with find_log_files(table, first, options=storage_options) as beginning:
        return _figures(index, beginning, version)


def _figures(index: IndexedSnapshot, beginning: LogFiles, version: int) -> list[VersionFigures]:
    """The figures of the version of `beginning` and of those behind it, up to `version`."""
    replay, first = Replay(), beginning.version
    for path in beginning.checkpoint[:1]:
        for action in checkpoint_actions(beginning):
            replay.apply(action, path)
    live = _CountedFiles(index.revisions)
    live.learn(replay.metadata.configuration)
    # A checkpoint may have the revisions behind the files that they tell of.
    for key, file in replay.live.items():
        live[key] = file
    replay.live = live
    info = {} if beginning.commits else _info_beside_checkpoint(beginning)
    for path, actions in commits_one_by_one(beginning, beginning.commits):
        info = _apply(actions, replay, live, path)
    figures = [live.figures(first, info)]
    later = [f"{beginning.folder}/{number:020d}.json" for number in range(first + 1, version + 1)]
    for number, (path, actions) in enumerate(commits_one_by_one(beginning, later), first + 1):
        info = _apply(actions, replay, live, path)
        figures.append(live.figures(number, info))
    return figures


def _info_beside_checkpoint(files: LogFiles) -> Action:
    """What the commit of a version that a checkpoint holds says of itself, where the log still has it."""
    path = f"{files.folder}/{files.version:020d}.json"
    try:
        # fsspec's `exists` takes every error for a file that is not there.
        with locations.looking_for(files.file_system, f"looking for {path}"):
            files.file_system.info(path)
    except FileNotFoundError:
        return {}
    told = (action.get("commitInfo") for action in commit_actions(files, path))
    return next((info for info in told if isinstance(info, dict)), {})


def _apply(actions: Iterator[Action], replay: Replay, live: _CountedFiles, source: str) -> Action:
    """Applies the actions of a commit, and returns what it says of itself."""
    info: Action = {}
    # The revisions come first: they tell whether the tags of files can be used.
    for action in sorted(actions, key=lambda action: "metaData" not in action):
        replay.apply(action, source)
        if "metaData" in action:
            live.learn(replay.metadata.configuration)
        said = action.get("commitInfo")
        info = said if isinstance(said, dict) else info
    return info


class _CountedFiles(dict[FileKey, LiveFile]):
    """Live files, with the sums of their figures kept up to date as files come and go."""

    def __init__(self, revisions: RevisionSet) -> None:
        super().__init__()
        self._sums = np.zeros(7, np.int64)
        self._figures: dict[FileKey, NDArray[np.int64]] = {}
        self._dimensions = dict(revisions.dimensions)
        self._learned: dict[str, str] = {}

    def learn(self, configuration: Mapping[str, str]) -> None:
        """Takes note of a version's revisions, which tell whether the tags of files can be used.

        Each version repeats those before it, of which there may be hundreds.
        """
        new = {key: text for key, text in configuration.items() if self._learned.get(key) != text}
        self._dimensions.update(revisions_from_configuration(new).dimensions)
        self._learned.update(new)

    def __setitem__(self, key: FileKey, file: LiveFile) -> None:
        self.pop(key, None)
        super().__setitem__(key, file)
        self._figures[key] = self._of(file)
        self._sums += self._figures[key]

    def pop(self, key: FileKey, default: Any = None) -> Any:  # noqa: ANN401 (as dict's)
        """Takes a file out."""
        if key in self:
            self._sums -= self._figures.pop(key)
        return super().pop(key, default)

    def figures(self, version: int, info: Action) -> VersionFigures:
        """The figures of a version, given what its commit says of itself."""
        time, operation = info.get("timestamp"), info.get("operation")
        return VersionFigures(
            version,
            time if type(time) is int else None,
            operation if isinstance(operation, str) else "",
            *map(int, self._sums),
        )

    def _of(self, file: LiveFile) -> NDArray[np.int64]:
        tags = parse_tags(file.tags, self._dimensions.get)
        stored = counted_rows(file.physical_rows, of_any_revision(tags, file.tags).blocks)
        rows = max(0, (stored or 0) - file.deleted)
        is_unindexed = not tags.blocks
        unindexed = (is_unindexed, is_unindexed * file.size)
        return np.array([1, file.size, rows, file.deleted, *unindexed, stored is None], np.int64)
