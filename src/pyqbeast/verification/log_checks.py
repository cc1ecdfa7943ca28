"""Rules that hold for a whole log: for each file by itself, for the trees of cubes, and for the columns they are of."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pyqbeast.core.format.constants import STAGING_REVISION, TAG_WEIGHTS
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block, FileTags, indexed_files, is_copy
from pyqbeast.core.format.hashed_layout import column_names
from pyqbeast.core.format.weight_counts import rows_of_files
from pyqbeast.core.otree.invariants import check_columns, check_own_tags, check_tree
from pyqbeast.core.otree.status import IndexStatus
from pyqbeast.core.problems import BLOCK_ROWS, REPLICATED, SAME_COLUMNS, TAGS, VECTOR, Problem
from pyqbeast.core.revisions.damage import check_revisions
from pyqbeast.core.revisions.revision import Revision, RevisionSet
from pyqbeast.core.secrets import without_secrets
from pyqbeast.deletion_vectors.file_checks import check_inline, check_stored, read_descriptor
from pyqbeast.delta_log import statistics_in_bulk
from pyqbeast.delta_log.descriptor import DeletionVectorDescriptor
from pyqbeast.delta_log.file_checks import (
    check_live_once,
    check_on_disk,
    check_statistics,
    surely_stored,
)
from pyqbeast.delta_log.log_entry import FileOnDisk, LogEntry


@dataclass(frozen=True)
class LoggedTable:
    """A version of a table, by its log and by what storage lists.

    Attributes:
        revisions: those of its index.
        columns: the names of its columns, and what files written today call them.
        prunable_revisions: the revisions whose blocks tell the weights that rows have today.
        entries: the live files.
        tags: what the tags of each entry say.
        on_disk: each entry as storage has it.
        orphans: the locations and sizes of files in the table's folder that no version within its retention names.
    """

    revisions: RevisionSet
    columns: Mapping[str, str]
    prunable_revisions: Collection[int]
    entries: Sequence[LogEntry]
    tags: Sequence[FileTags]
    on_disk: Sequence[FileOnDisk]
    orphans: Sequence[tuple[str, int]]


class VerifiedFile(NamedTuple):
    """A live file as log and storage have it, and what is wrong with it so far."""

    logged: LogEntry
    on_disk: FileOnDisk
    tags: FileTags
    vector: DeletionVectorDescriptor | None
    problems: tuple[Problem, ...]

    @property
    def path(self) -> str:
        """Its path in the log."""
        return self.logged.path

    @property
    def location(self) -> str:
        """The whole one."""
        return self.on_disk.location

    @property
    def has_broken_vector(self) -> bool:
        """Whether its deletion vector cannot be read."""
        return any(problem.rule == VECTOR for problem in self.problems)

    @property
    def hidden(self) -> int:
        """How many of its rows its deletion vector hides."""
        return self.vector.cardinality if self.vector else 0


class LogFindings(NamedTuple):
    """What was found in a log: its files, what is wrong, and what is in order and costs time or space."""

    files: list[VerifiedFile]
    problems: list[Problem]
    notes: list[str]


def check_log(table: LoggedTable) -> LogFindings:
    """Checks all that can be told without opening a data file."""
    problems = check_revisions(table.revisions)
    files = _files(table, problems)
    problems += check_live_once((file.path, file.location) for file in files)
    notes = [*_check_index(table, files, problems), *_note_of_orphans(table.orphans)]
    return LogFindings(files, problems, notes)


def _files(table: LoggedTable, problems: list[Problem]) -> list[VerifiedFile]:
    """The live files, and what is wrong with the log of each by itself."""
    files = []
    in_order = statistics_in_bulk.in_order([file.statistics for file in table.entries])
    by_weight = rows_of_files([file.true_tags.get(TAG_WEIGHTS) for file in table.entries])
    entries = zip(table.entries, table.on_disk, table.tags, in_order, by_weight, strict=True)
    for file, on_disk, tags, has_statistics, rows in entries:
        vector, of_vector = _check_vector(file, on_disk)
        broken = [
            *check_on_disk(file.path, file.size, on_disk.size),
            *(() if has_statistics else _check_statistics(file)),
            *of_vector,
            *_check_tags(file, tags, rows),
        ]
        problems += broken
        files.append(VerifiedFile(file, on_disk, tags, vector, tuple(broken)))
    return files


def _check_statistics(file: LogEntry) -> list[Problem]:
    return check_statistics(file.path, file.statistics, has_vector=file.vector is not None)


def _check_vector(
    file: LogEntry, on_disk: FileOnDisk
) -> tuple[DeletionVectorDescriptor | None, list[Problem]]:
    if file.vector is None:
        return None, []
    vector, problems = read_descriptor(file.path, file.vector)
    if vector is None or vector == DeletionVectorDescriptor.EMPTY:
        return None, problems
    rows = surely_stored(file.rows, file.deleted, file.statistics)
    if vector.is_inline:
        return vector, check_inline(file.path, vector, rows)
    return vector, check_stored(file.path, vector, on_disk.vector_size, rows)


def _check_tags(file: LogEntry, tags: FileTags, by_weight: int | None) -> list[Problem]:
    if tags.problem:
        return [Problem(TAGS, file.path, "", tags.problem)]
    if tags.revision_id == STAGING_REVISION:
        return []
    problems = []
    if file.falsely_replicated:
        text = (
            "is marked as replicated, and no other file holds its rows. It is read like any other here, and not "
            "by readers that believe the mark; optimize(files=[…]) writes it anew"
        )
        problems.append(Problem(REPLICATED, file.path, "", text, truth=json.dumps(file.true_tags)))
    counted = sum([block.element_count for block in tags.blocks])
    if file.rows is not None and file.rows != counted:
        text = f"its blocks count {counted} rows and its statistics {file.rows}"
        problems.append(Problem(BLOCK_ROWS, file.path, "", text))
    return problems + check_own_tags(file.path, file.size, file.true_tags, tags.blocks, counted, by_weight)


def _check_index(table: LoggedTable, files: Sequence[VerifiedFile], problems: list[Problem]) -> list[str]:
    """The trees of cubes, and the columns that they are of; returns notes."""
    stored = table.revisions
    notes = []
    indexed = indexed_files(files)
    for number in sorted({*indexed, stored.last_id} & set(stored.revisions)):
        problems += check_columns(stored.get(number), [*table.columns])
    for number, of_revision in indexed.items():
        revision = stored.get(number)
        # The rows of copies are read from files of other cubes, and checked there.
        copies: list[Sequence[Block]] = []
        blocks: list[Sequence[Block]] = []
        for file in of_revision:
            (copies if is_copy(file.tags.blocks) else blocks).append(file.tags.blocks)
        if not blocks:
            continue
        problems += _check_names(table.columns, revision)
        if number not in table.prunable_revisions:
            notes.append(_unpruned(revision, len(blocks)))
        copied: set[CubeId] = {block.cube for each in copies for block in each}
        status = IndexStatus.from_blocks(revision, (block for each in blocks for block in each))
        problems += check_tree(number, status, copied)
    return notes


def _check_names(columns: Mapping[str, str], revision: Revision) -> list[Problem]:
    """Each column that a revision hashes still has the same name in the files."""
    today = [columns.get(column) for column in revision.hashed_columns]
    recorded = column_names(revision.hashed_as) if revision.hashed_as else today
    return [
        Problem(
            SAME_COLUMNS,
            "",
            "",
            f"revision {revision.id}: {column!r} is another column today, so that samples read all files of the "
            f"revision; rename the columns back, or call optimize(revision={revision.id})",
        )
        for column, then, now in zip(revision.hashed_columns, recorded, today, strict=True)
        if now is not None and then != now
    ]


def _unpruned(revision: Revision, files: int) -> str:
    """Why samples cannot use the weights that a revision's files have in the log."""
    why = (
        "no longer those of its hashed columns, one of which has another type or is another column"
        if revision.hashed_as
        else "of columns whose types or names in the files no writer recorded"
    )
    return (
        f"revision {revision.id}: its weights are {why}. Samples read all of its {files} files; "
        f"optimize(revision={revision.id}) indexes them anew"
    )


def _note_of_orphans(orphans: Sequence[tuple[str, int]]) -> list[str]:
    if not orphans:
        return []
    size, first = sum(size for _, size in orphans), without_secrets(min(orphans)[0])
    return [
        f"{len(orphans)} files of {size / 1e6:.1f} MB in the table's folder are named by no version within the "
        f"table's retention, such as {first}: later versions have replaced them, or writes that failed or still run "
        "left them. clean() deletes those that are older than the retention; versions that they belonged to cannot be "
        "read any more then"
    ]
