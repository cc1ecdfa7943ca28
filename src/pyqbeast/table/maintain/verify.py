"""`QbeastTable.verify`: whether a table's index says the truth, and whether its files are what the log says."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.errors import UnsupportedOperationException
from pyspark.sql import SparkSession

from pyqbeast import bridge
from pyqbeast.bridge.file_contents import FileOnDisk, files_on_disk
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.constants import STAGING_REVISION
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import FileTags, parse_tags
from pyqbeast.core.otree.compaction import is_copy
from pyqbeast.core.otree.invariants import check_columns, check_own_tags, check_tree
from pyqbeast.core.otree.status import IndexStatus
from pyqbeast.core.problems import BLOCK_ROWS, REPLICATED, TAGS, Problem
from pyqbeast.core.revisions.damage import check_revisions
from pyqbeast.core.revisions.revision import RevisionSet, revisions_from_configuration
from pyqbeast.deletion_vectors.file_checks import check_inline, check_stored, read_descriptor
from pyqbeast.delta_log.descriptor import DeletionVectorDescriptor
from pyqbeast.delta_log.file_checks import check_live_once, check_on_disk, check_statistics
from pyqbeast.table.maintain.verify_columns import check_names, unpruned
from pyqbeast.table.maintain.verify_contents import VerifiedFile, check_contents

_log = logging.getLogger(__name__)

LEVELS = ("log", "sample", "data")
#: Of so many files, `sample` reads one; and so many at least.
_SAMPLED = 20
_LEAST = 20


@dataclass(frozen=True)
class VerifyReport:
    """What `verify` found. `str()` tells it to a person.

    Attributes:
        level: what was looked at.
        files: how many there are.
        problems: rules that are broken.
        notes: what is in order and costs time or space.
        files_read: of how many files every row was looked at.
        rows_read: how many rows these are.
    """

    level: str
    files: int
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
    files_read: int = 0
    rows_read: int = 0

    @property
    def ok(self) -> bool:
        """Whether no rule is broken."""
        return not self.problems

    def __str__(self) -> str:
        read = f", and {self.rows_read} rows of {self.files_read} files" if self.level != "log" else ""
        count = "no problems" if self.ok else f"{len(self.problems)} problems"
        head = f"the log of {self.files} files checked{read}: {count}"
        return "\n".join([head, *map(str, self.problems), *self.notes])


@dataclass(frozen=True)
class Verified:
    """A version of a table, what was found in it, and the right statistics of files whose own are wrong."""

    log: bridge.TableLog
    stored: RevisionSet
    files: Sequence[VerifiedFile]
    report: VerifyReport
    statistics: Mapping[str, str]


def verify(spark: SparkSession, path: str, level: str) -> VerifyReport:
    """Checks the newest version of the table at a path; see `QbeastTable.verify`."""
    return look_at(spark, path, level).report


def look_at(spark: SparkSession, path: str, level: str) -> Verified:
    """The same, with all that was seen."""
    if level not in LEVELS:
        raise InvalidInputError(f"level has to be one of {', '.join(LEVELS)}, not {level!r}")
    log = bridge.TableLog(spark, path)
    stored = revisions_from_configuration(log.configuration)
    try:
        logged = log.files(whole=True)
    except UnsupportedOperationException as error:
        # Where nobody can tell which files repeat the rows of others, nobody can read the table.
        problem = Problem(REPLICATED, "", "", str(error).strip().split("\n")[0])
        return Verified(log, stored, [], VerifyReport(level, 0, (problem,)), {})
    _log.info("%s: checking the log of %d files", log.path, len(logged))
    on_disk, orphans = files_on_disk(log)
    problems = check_revisions(stored)
    files = _files(logged, on_disk, stored, problems)
    problems += check_live_once((file.path, file.location) for file in files)
    notes = [*_check_index(log, stored, files, problems), *_told(orphans)]
    chosen = {"log": [], "sample": _sample(files), "data": files}[level]
    contents = check_contents(spark, log, stored, chosen)
    problems = list(dict.fromkeys([*problems, *contents.problems]))
    report = VerifyReport(level, len(files), tuple(problems), tuple(notes), contents.files, contents.rows)
    return Verified(log, stored, files, report, contents.statistics)


def _files(
    logged: Sequence[bridge.LoggedFile],
    on_disk: Sequence[FileOnDisk],
    stored: RevisionSet,
    problems: list[Problem],
) -> list[VerifiedFile]:
    """The live files, and what is wrong with the log of each by itself."""
    dimensions = {number: revision.dimensions for number, revision in stored.revisions.items()}
    listed = {file.path: file for file in on_disk}
    files = []
    for file in logged:
        tags = parse_tags(file.tags, dimensions.get)
        found = listed[file.path]
        vector, of_vector = _check_vector(file, found)
        broken = [
            *check_on_disk(file.path, file.size, found.size),
            *check_statistics(file.path, file.statistics, has_vector=file.vector is not None),
            *of_vector,
            *_check_tags(file, tags),
        ]
        problems += broken
        files.append(VerifiedFile(file, found, tags, vector, tuple(broken)))
    return files


def _check_vector(
    file: bridge.LoggedFile, on_disk: FileOnDisk
) -> tuple[DeletionVectorDescriptor | None, list[Problem]]:
    if file.vector is None:
        return None, []
    vector, problems = read_descriptor(file.path, file.vector)
    if vector is None or vector == DeletionVectorDescriptor.EMPTY:
        return None, problems
    if vector.is_inline:
        return vector, check_inline(file.path, vector, file.rows)
    return vector, check_stored(file.path, vector, on_disk.vector_size)


def _check_tags(file: bridge.LoggedFile, tags: FileTags) -> list[Problem]:
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
        problems.append(Problem(REPLICATED, file.path, "", text, truth=json.dumps(file.tags)))
    counted = sum(block.element_count for block in tags.blocks)
    if file.rows is not None and file.rows != counted:
        text = f"its blocks count {counted} rows and its statistics {file.rows}"
        problems.append(Problem(BLOCK_ROWS, file.path, "", text))
    return problems + check_own_tags(file.path, file.tags, tags.blocks)


def _check_index(
    log: bridge.TableLog, stored: RevisionSet, files: Sequence[VerifiedFile], problems: list[Problem]
) -> list[str]:
    """The trees of cubes, and the columns that they are of; returns notes."""
    columns = log.schema.fieldNames()
    notes = []
    used = {file.tags.revision_id for file in files} - {STAGING_REVISION}
    for number in sorted({*used, stored.last_id} & set(stored.revisions)):
        problems += check_columns(stored.get(number), columns)
    for number in sorted(used):
        revision = stored.get(number)
        of_revision = [file for file in files if file.tags.revision_id == number]
        # The rows of copies are read from files of other cubes, and checked there.
        copies = [file.tags.blocks for file in of_revision if is_copy(file.tags.blocks)]
        blocks = [file.tags.blocks for file in of_revision if not is_copy(file.tags.blocks)]
        if not blocks:
            continue
        problems += check_names(log, revision)
        if number not in log.prunable_revisions:
            notes.append(unpruned(revision, len(blocks)))
        copied: set[CubeId] = {block.cube for each in copies for block in each}
        status = IndexStatus.from_blocks(revision, (block for each in blocks for block in each))
        problems += check_tree(number, status, copied)
    return notes


def _sample(files: Sequence[VerifiedFile]) -> list[VerifiedFile]:
    """Other files each time, so that verifying again and again comes to see all."""
    return random.sample(files, min(len(files), max(_LEAST, len(files) // _SAMPLED)))


def _told(orphans: Sequence[tuple[str, int]]) -> list[str]:
    if not orphans:
        return []
    size = sum(size for _, size in orphans)
    return [
        f"{len(orphans)} files of {size / 1e6:.1f} MB in the table's folder are named nowhere in the log, such as "
        f"{min(orphans)[0]}: writes that failed or still run left them, and clean() deletes them when they are older "
        "than the table's retention"
    ]
