"""`pyqbeast.upgrade`: tables written before format 0.6 become tables of today, by one commit and without their data.

The tags of each file turn into a list with the one block that it holds, and the sets of replicated cubes leave the
configuration. Files are handled as rows of a DataFrame: their number costs time, and no memory on the driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pyqbeast import bridge
from pyqbeast.bridge import failures, progress_line
from pyqbeast.core.errors import CommitConflictError, FormatError
from pyqbeast.core.format import constants
from pyqbeast.core.html import block_html, table_html, texts_html
from pyqbeast.core.location import Location
from pyqbeast.core.secrets import without_secrets
from pyqbeast.core.visible import counted
from pyqbeast.table.locate import find_path

#: How often the upgrade starts again after another writer came first.
_ATTEMPTS = 10
#: The name of the operation in the table's history.
_OPERATION = "UPGRADE QBEAST FORMAT"

#: Names of columns beside those of Delta's `AddFile`.
_LEGACY = "__legacy"
_REPLICATED = "__replicated"
_DROPPED = "__dropped"
_REVISION = "__revision"
_BLOCKS = "__blocks"


@dataclass(frozen=True)
class RevisionChanges:
    """What an upgrade changes in the files of one revision.

    Attributes:
        revision: its id.
        files: files that get new tags.
        blocks: blocks in them; a file held one before format 0.6.
        replicated: how many of the blocks only repeat rows of other files, and are never read.
        dropped_files: files of replicated blocks that leave the table.
        dropped_bytes: their size.
    """

    revision: int
    files: int
    blocks: int
    replicated: int
    dropped_files: int
    dropped_bytes: int


@dataclass(frozen=True)
class UpgradeReport:
    """What `upgrade` changed, or with `dry_run` would change. `str()` tells it to a person.

    Attributes:
        path: where the table lies.
        dry_run: whether nothing was to be committed.
        version: the table's version with the changes in it; None where nothing was committed.
        revisions: changes by revision.
        removed_settings: keys that leave the table's configuration.
    """

    path: str
    dry_run: bool
    version: int | None
    revisions: tuple[RevisionChanges, ...]
    removed_settings: tuple[str, ...]

    @property
    def is_needed(self) -> bool:
        """Whether there was anything to change."""
        return bool(self.revisions or self.removed_settings)

    def to_dict(self) -> dict[str, Any]:
        """The fields and `is_needed`, as JSON can hold them."""
        return {**asdict(self), "is_needed": self.is_needed}

    @property
    def summary(self) -> str:
        """What became of the table, as a line."""
        if not self.is_needed:
            return f"{self.path} is at format 0.6 already: nothing to upgrade"
        return (
            f"would upgrade {self.path}" if self.dry_run else f"upgraded {self.path}, version {self.version}"
        )

    def __str__(self) -> str:
        if not self.is_needed:
            return self.summary
        lines = [f"{self.summary}:"]
        for each in self.revisions:
            lines.append(
                f"  revision {each.revision}: {counted(each.files, 'file')} and {counted(each.blocks, 'block')} "
                f"changed, {counted(each.replicated, 'block')} replicated"
            )
            if each.dropped_files:
                lines.append(
                    f"    {counted(each.dropped_files, 'replicated file')} dropped, "
                    f"{counted(each.dropped_bytes, 'byte')}"
                )
        lines += [f"  setting {key} removed" for key in self.removed_settings]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        columns = ("revision", "files", "blocks", "replicated blocks", "dropped files", "dropped bytes")
        rows = [tuple(asdict(each).values()) for each in self.revisions]
        return block_html(
            self.summary,
            table_html("What changes", columns, rows) if rows else "",
            texts_html(f"setting {key} removed" for key in self.removed_settings),
        )


def upgrade(
    spark: SparkSession, path: Location, dry_run: bool = False, drop_replicated: bool = False
) -> UpgradeReport:
    """Turns a table written before format 0.6 into one of today, in one commit. Reads and writes no data file.

    Running it again changes nothing. `RESTORE` to the version before takes it back.

    Args:
        spark: a session that `configure` or `attach` made ready.
        path: where the table lies, or its name in the catalog.
        dry_run: report what would change, and commit nothing.
        drop_replicated: take files out of the table whose rows other files hold too. We never read them; other
            readers of Delta tables count their rows twice as long as they are there.

    Raises:
        InvalidInputError: `path` is no text and no path.
        TableNotFoundError: there is no table.
        NotIndexedError: there is a Delta table, and it is not indexed.
        FormatError: the tags of a file are damaged. Nothing is changed.
        CommitConflictError: other writers came first again and again. Nothing is changed.
    """
    with failures.readable(doing := f"upgrading {path}"), progress_line.line_while(spark, doing):
        return _upgrade(spark, find_path(spark, path), dry_run=dry_run, drop_replicated=drop_replicated)


def _upgrade(spark: SparkSession, path: str, *, dry_run: bool, drop_replicated: bool) -> UpgradeReport:
    for _ in range(_ATTEMPTS):
        attempt = _Attempt(spark, path, drop_replicated=drop_replicated)
        report = attempt.report(dry_run=dry_run)
        if dry_run or not report.is_needed:
            return report
        version = attempt.commit(report)
        if version is not None:
            return replace(report, version=version)
    raise CommitConflictError(
        f"{path} was changed by other writers during each of {_ATTEMPTS} attempts, and is not upgraded; run the "
        "upgrade again when fewer write to it"
    )


class _Attempt:
    """The upgrade of one version of a table."""

    def __init__(self, spark: SparkSession, path: str, *, drop_replicated: bool) -> None:
        self.path = path
        self.log = bridge.TableLog(spark, path)
        tags = F.col("tags")
        files = self.log.file_frame()
        self.columns = files.columns
        marked = files.select(
            "*",
            self.log.tags_are_legacy(tags).alias(_LEGACY),
            self.log.tags_are_replicated(tags).alias(_REPLICATED),
            self.log.tag_revision(tags).alias(_REVISION),
            self.log.tag_blocks(tags).alias(_BLOCKS),
        ).withColumn(_DROPPED, F.col(_REPLICATED) & F.lit(drop_replicated))
        self.touched = marked.filter(F.col(_LEGACY) | F.col(_DROPPED))
        self.changed = self.touched.filter(~F.col(_DROPPED))

    def report(self, *, dry_run: bool) -> UpgradeReport:
        """What changes. One Spark job."""
        settings = [
            key for key in self.log.configuration if key.startswith(constants.LEGACY_REPLICATED_SET_PREFIX)
        ]
        return UpgradeReport(
            without_secrets(self.path), dry_run, None, self._changes(), tuple(sorted(settings))
        )

    def _changes(self) -> tuple[RevisionChanges, ...]:
        stays = ~F.col(_DROPPED)
        damaged = F.when(stays & (F.size(_BLOCKS) == F.lit(0)), F.col("path"))
        per_revision = (
            bridge.grouped(
                self.touched,
                [_REVISION],
                F.count_if(stays).alias("files"),
                F.count_if(stays & F.col(_REPLICATED)).alias("replicated"),
                F.count_if(_DROPPED).alias("dropped_files"),
                F.sum(F.when(F.col(_DROPPED), F.col("size")).otherwise(0)).alias("dropped_bytes"),
                F.min(damaged).alias("damaged"),
            )
            .sort(_REVISION)
            .collect()
        )
        for row in per_revision:
            if row["damaged"] is not None:
                raise self._damage(row["damaged"])
        return tuple(
            RevisionChanges(
                row[_REVISION],
                row["files"],
                row["files"],
                row["replicated"],
                row["dropped_files"],
                row["dropped_bytes"],
            )
            for row in per_revision
        )

    def _damage(self, file: str) -> FormatError:
        row = self.changed.filter(F.col("path") == file).select("tags").first()
        assert row is not None
        return FormatError(
            f"file {file} of {self.path} has tags of before format 0.6 that cannot be used: {row['tags']}; the "
            "table is left as it was. Restore a version in which the file has whole numbers in them, or write the "
            "table anew"
        )

    def commit(self, report: UpgradeReport) -> int | None:
        """The version that it made; None where another writer came first."""
        tags = F.create_map(
            F.lit(constants.TAG_REVISION),
            F.col("tags")[constants.TAG_REVISION],
            F.lit(constants.TAG_BLOCKS),
            F.to_json(_BLOCKS),
        )
        changed = self.changed.withColumns({"tags": tags, "dataChange": F.lit(False)})
        return self.log.rewrite_entries(
            _OPERATION,
            changed.select(*self.columns),
            self.touched.filter(F.col(_DROPPED)).select(*self.columns),
            dict.fromkeys(report.removed_settings),
            _metrics(report),
        )


def _metrics(report: UpgradeReport) -> Mapping[str, str]:
    return {
        "numUpgradedFiles": str(sum(each.files for each in report.revisions)),
        "numRemovedFiles": str(sum(each.dropped_files for each in report.revisions)),
        "numRemovedBytes": str(sum(each.dropped_bytes for each in report.revisions)),
    }
