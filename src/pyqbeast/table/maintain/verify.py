"""`QbeastTable.verify`: whether a table's index says the truth, and whether its files are what the log says."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from pyqbeast import bridge
from pyqbeast.bridge.file_contents import files_on_disk
from pyqbeast.core.errors import UnsupportedError
from pyqbeast.core.format.file_tags import parse_tags
from pyqbeast.core.revisions.revision import RevisionSet, revisions_from_configuration
from pyqbeast.delta_log.log_entry import FileOnDisk, LogEntry
from pyqbeast.table.locate import existing
from pyqbeast.table.maintain.verify_contents import check_contents
from pyqbeast.verification.log_checks import LoggedTable, VerifiedFile, check_log
from pyqbeast.verification.report import VerifyReport, check_level, untellable

_log = logging.getLogger(__name__)

#: Of so many files, `sample` reads one; and so many at least.
_SAMPLED = 20
_LEAST = 20


@dataclass(frozen=True)
class Verified:
    """A version of a table and what was found in it.

    Attributes:
        log: the version.
        stored: its revisions.
        files: its live files.
        report: for users.
        statistics: the right ones, by path, of files whose own are wrong, where somebody wants them.
        are_tags_compared: whether the tags of all files were compared with their rows.
    """

    log: bridge.TableLog
    stored: RevisionSet
    files: Sequence[VerifiedFile]
    report: VerifyReport
    statistics: Mapping[str, str]
    are_tags_compared: bool


def verify(spark: SparkSession, path: str, level: str) -> VerifyReport:
    """Checks the newest version of the table at a path; see `QbeastTable.verify`."""
    return look_at(spark, path, level).report


def look_at(
    spark: SparkSession,
    path: str,
    level: str,
    *,
    asks_storage: bool = True,
    wants_statistics: bool = False,
) -> Verified:
    """The same, with all that was seen.

    Args:
        spark: the session.
        path: the table.
        level: how much is read.
        asks_storage: whether files are looked for, which takes long in a large table. Otherwise problems of files
            are not told rightly, and those of all files together, such as gaps in a tree, are.
        wants_statistics: whether the right statistics of files are computed where their own are wrong.
    """
    check_level(level)
    log = existing(bridge.TableLog(spark, path), path)
    stored = revisions_from_configuration(log.configuration).named_as(log.schema.names)
    try:
        entries = log.files(with_statistics=True)
    except UnsupportedError as error:
        return Verified(log, stored, [], untellable(level, error), {}, False)
    _log.info("%s: checking the log of %d files", log.path, len(entries))
    on_disk, orphans = files_on_disk(log) if asks_storage else ([_unseen(entry) for entry in entries], [])
    dimensions = stored.dimensions
    tags = [parse_tags(entry.true_tags, dimensions.get) for entry in entries]
    table = LoggedTable(stored, log.names_in_files, log.prunable_revisions, entries, tags, on_disk, orphans)
    files, problems, notes = check_log(table)
    chosen = {"log": [], "sample": _sample(files), "data": files}[level]
    contents = check_contents(spark, log, stored, chosen, wants_statistics=wants_statistics)
    problems = list(dict.fromkeys([*problems, *contents.problems]))
    report = VerifyReport(
        level, len(files), tuple(problems), (*notes, *contents.notes), contents.files, contents.rows
    )
    return Verified(
        log, stored, files, report, contents.statistics, contents.compared >= {f.path for f in files}
    )


def _unseen(entry: LogEntry) -> FileOnDisk:
    """A file as the log has it."""
    return FileOnDisk(entry.path, entry.path, entry.size, None, None)


def _sample(files: Sequence[VerifiedFile]) -> list[VerifiedFile]:
    """Other files each time, so that verifying again and again comes to see all."""
    return random.sample(files, min(len(files), max(_LEAST, len(files) // _SAMPLED)))
