"""`QbeastTable`: an indexed table as an object, to ask it about its index and to look after it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pyqbeast import bridge
from pyqbeast.bridge import failures, progress_line
from pyqbeast.core.arguments import checked_fraction
from pyqbeast.core.format import constants
from pyqbeast.core.format.cube import symbols_of_level
from pyqbeast.core.format.file_tags import parse_tags
from pyqbeast.core.format.logged_file import LoggedFile
from pyqbeast.core.html import block_html, table_html, texts_html
from pyqbeast.core.location import Location, location_text
from pyqbeast.core.otree.measure import index_metrics
from pyqbeast.core.otree.metrics import IndexMetrics
from pyqbeast.core.revisions.revision import Revision, RevisionSet
from pyqbeast.core.secrets import without_secrets
from pyqbeast.table.hooks import PreCommitHook, add_hook
from pyqbeast.table.locate import indexed_revisions, path_of_name
from pyqbeast.table.maintain.clean import CleanReport, clean
from pyqbeast.table.maintain.delete import delete, delete_rows
from pyqbeast.table.maintain.optimize import OptimizeResult, optimize
from pyqbeast.table.maintain.repair import RepairReport, repair
from pyqbeast.table.maintain.verify import verify
from pyqbeast.verification.report import VerifyReport

if TYPE_CHECKING:
    from pyqbeast.approximate.estimate.outcome import Outcome
    from pyqbeast.plot import Page

#: What Spark draws samples by where it has to draw them itself: the same rows each time. Any number does.
_SAMPLE_SEED = 1


class QbeastTable:
    """An indexed table. Every call looks at the newest version of the table.

    Make one with `QbeastTable.for_path` or `QbeastTable.for_name`.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._path = path

    @classmethod
    def for_path(cls, spark: SparkSession, path: Location) -> QbeastTable:
        """The table at a path.

        Raises:
            InvalidInputError: `path` is neither a path nor a URL.
            TableNotFoundError: there is no table.
            NotIndexedError: there is one, and it is not indexed.
        """
        table = cls(spark, location_text(path))
        table._revisions()
        return table

    @classmethod
    def for_name(cls, spark: SparkSession, name: str) -> QbeastTable:
        """The table of a name (`db.table`) in the session's catalog. Raises as `for_path` does."""
        return cls.for_path(spark, path_of_name(spark, name))

    @property
    def path(self) -> str:
        """Where the table lies."""
        return self._path

    @property
    def columns_to_index(self) -> list[str]:
        """The indexed columns, in order."""
        return self.latest_revision.columns

    @property
    def cube_size(self) -> int:
        """Rows a cube in new files."""
        return self.latest_revision.cube_size

    def revisions(self) -> list[Revision]:
        """All revisions that can be read, by ascending id. Revision 0 stands for what is not indexed."""
        revisions = self._revisions().revisions
        return [revisions[revision_id] for revision_id in sorted(revisions)]

    @property
    def latest_revision(self) -> Revision:
        """The revision that new rows go to.

        Raises:
            FormatError: it cannot be read, or the table does not say which one it is; `repair` goes on with another.
        """
        return self._revisions().chosen(None, self._path)

    def df(self) -> DataFrame:
        """The whole table."""
        return self._spark.read.format("qbeast").load(self._path)

    def sample(self, fraction: float, seed: int | None = None) -> DataFrame:
        """The share `fraction` (0 to 1) of the table's rows.

        Args:
            fraction: the share.
            seed: without one the sample is always the same, the rows of lowest weight, and reads about that share of
                the files. Where these would not be about that share of the rows, Spark draws it from the whole table,
                with a warning. Each seed picks another sample, row by row and independent of all others, also where
                samples are nested or joined; it reads the whole table.

        Raises:
            InvalidInputError: `fraction` is no number from 0 to 1.
        """
        share = checked_fraction(fraction)
        if seed is None:
            return self.df().sample(fraction=share, seed=_SAMPLE_SEED)
        return self.df().filter(F.rand(seed) < share)

    def metrics(self, revision: int | None = None) -> IndexMetrics:
        """Figures of the index of a revision, by default of the latest. `str()` of them is a page to read.

        Raises:
            NotIndexedError: the table has no such revision.
        """
        log = self._table_log()
        revisions = indexed_revisions(log, self._path)
        chosen = revisions.chosen(revision, self._path)
        return index_metrics(
            chosen,
            _indexed_files(log, revisions.dimensions),
            is_prunable=chosen.id in log.prunable_revisions,
            key_granularity=log.key_granularity,
            bound_of=log.weight_of,
        )

    def blocks(self) -> DataFrame:
        """Every block of every indexed file, one a row.

        Columns: revision, cube, depth, file, file_bytes, min_weight, max_weight, element_count, replicated.
        """
        log = self._table_log()
        dimensions = indexed_revisions(log, self._path).dimensions
        symbols = F.create_map(
            [
                column
                for number, count in dimensions.items()
                for column in (F.lit(number).cast("bigint"), F.lit(symbols_of_level(count)))
            ]
        ).cast("map<bigint,int>")  # of no revision it would have no types
        tags = F.col("tags")
        block = F.col("block")
        cube = block[constants.BLOCK_CUBE_ID]
        revision = F.col("revision")
        return (
            log.file_frame()
            .withColumn("revision", log.tag_revision(tags))
            .filter(revision.isin(list(dimensions)))
            .withColumn("block", F.explode(log.tag_blocks(tags)))
            .select(
                revision,
                cube.alias("cube"),
                (F.length(cube) / symbols[revision]).cast("int").alias("depth"),
                F.col("path").alias("file"),
                F.col("size").alias("file_bytes"),
                block[constants.BLOCK_MIN_WEIGHT].alias("min_weight"),
                block[constants.BLOCK_MAX_WEIGHT].alias("max_weight"),
                block[constants.BLOCK_ELEMENT_COUNT].alias("element_count"),
                block[constants.BLOCK_REPLICATED].alias("replicated"),
            )
        )

    def delete(self, condition: str | Column) -> None:
        """Deletes the rows that meet a condition: an SQL text or a column of booleans.

        Rows are marked in deletion vectors; no data file is written again and the index stays as it is. Where the
        table does not take vectors (`delta.enableDeletionVectors` is not true) Delta writes the touched files again,
        and those are no longer indexed; a warning is logged.

        Raises:
            InvalidInputError: a condition that Spark cannot read or that names columns the table does not have.
            CommitConflictError: another writer changed the same rows first. Nothing is deleted.
            StorageError: a file cannot be read, also where the session is set to pass over it. Nothing is deleted.
            UnsupportedError: the table is append-only, or has to be upgraded first.
        """
        with failures.readable(f"deleting rows of {self._path}"):
            delete(self._spark, self._path, condition)

    def delete_rows(self, file: Location, indexes: Iterable[int]) -> int:
        """Deletes rows of one data file by where they lie in it; the index stays as it is.

        Args:
            file: a live file: its path in the log (the column `file` of `blocks()`), or its whole location
                (`_metadata.file_path`).
            indexes: row indexes, counted from 0 in the order of the file (`_metadata.row_index`).

        Returns:
            how many of the rows were not deleted before. Without one nothing is committed.

        Raises:
            InvalidInputError: a file that is not live, what is no row index, or one beyond the file.
            FormatError: the file's present vector is broken.
            UnsupportedError: the table does not take deletion vectors, is append-only, or has to be upgraded first.
            CommitConflictError: other writers kept changing the file. Nothing is deleted.
            StorageError: storage failed. A broken vector on a local disk is that, too, where its file does not meet the
                checksum that Hadoop keeps beside it.
        """
        with failures.readable(f"deleting rows of {self._path}"):
            return delete_rows(self._spark, self._path, file, indexes)

    def verify(self, level: str = "data") -> VerifyReport:
        """Checks that the index and the log say the truth. What is damaged is a problem in the report, never an error.

        Args:
            level: "log" compares tags, revisions, statistics and what storage lists, in seconds and without opening a
                file; "data" also looks at every row and deletion vector: that a row lies in its cube and weight
                bounds, that counts and statistics agree; "sample" does so for the rows of a twentieth of the files
                (20 at least), others each time.

        Raises:
            InvalidInputError: another level.
        """
        doing = f"verifying {self._path}"
        with failures.readable(doing, ""), progress_line.line_while(self._spark, doing):
            return verify(self._spark, self._path, level)

    def repair(self, dry_run: bool = True) -> RepairReport:
        """Heals what `verify(level="data")` finds, in one commit that changes no row and writes no data file.

        A file whose tags lie loses them and is read whole, until `optimize(revision=0)` indexes its rows again. Wrong
        statistics, sizes and counts are corrected. What cannot be healed, such as a lost data file, is in the report
        with what can be done about it.

        Args:
            dry_run: report what would change, and commit nothing.

        Raises:
            CommitConflictError: other writers changed the same files first, or the table's properties. Nothing is
                changed.
        """
        with failures.readable(f"repairing {self._path}"):
            return repair(self._spark, self._path, dry_run=dry_run)

    def optimize(
        self, revision: int | None = None, files: Sequence[str] | None = None, fraction: float = 1.0
    ) -> OptimizeResult:
        """Rewrites small files of scattered rows, and files with deleted rows, as files near the cube size.

        No row changes: the commit says `dataChange=false`. Where there is nothing to do, there is no commit; after an
        error the table is as it was. The files of several revisions are rewritten by a commit each; where a later one
        fails, the message says which have landed.

        Args:
            revision: by default the latest. 0 stands for the files that are not indexed yet: they join the latest
                revision, or a new one where its ranges have to grow.
            files: rewrite these, by their names in `blocks()`, whatever their revisions, and all files of broken cubes.
            fraction: above 0, up to 1. Only files that a sample of this fraction reads; of revision 0 the oldest files
                up to this share of its bytes.

        Raises:
            InvalidInputError: a fraction out of range, or `files` together with one of the others.
            NotIndexedError: the table has no such revision or file.
            CommitConflictError: other writers changed the same files again and again.
        """
        return optimize(self._spark, self._path, revision, files, fraction)

    def clean(self, retain_hours: int | None = None, dry_run: bool = True) -> CleanReport:
        """Deletes what failed writes left in the table's folder, and what no version needs any more.

        That is what Delta's `VACUUM` deletes (data files and vectors) and what it passes over: temporary files of the
        log, and checksums without their file or of what another program has replaced. As after a `VACUUM`, versions
        older than the retention cannot be read any more.

        Args:
            retain_hours: younger files stay, and files that a version of the last so many hours names. By default
                the table's property `delta.deletedFileRetentionDuration`, a week where it has none.
            dry_run: list the files, and delete none.

        Raises:
            InvalidInputError: fewer hours than the table's property says, which Delta refuses.
            UnsupportedError: a link below the table's folder leads to a folder, whose files `VACUUM` would delete.
        """
        with failures.readable(f"cleaning {self._path}", "; no file that the table needs was deleted"):
            return clean(self._spark, self._path, retain_hours, dry_run=dry_run)

    def plot(
        self, target: str | os.PathLike[str] | None = None, *, estimates: Outcome | Iterable[Outcome] = ()
    ) -> Page:
        """A page to explore the index with, which a notebook shows. See `pyqbeast.plot.page`.

        Needs `pyqbeast[plot]`. The table is read by fsspec and not by Spark.

        Args:
            target: a file to write the page to.
            estimates: what `pyqbeast.tolerance` or, step by step, `pyqbeast.refine` gave for one query of the table.
        """
        from pyqbeast.plot import page

        # Spark may know another file system, or another working directory, for a path that names none.
        return page(self._table_log().path, target, estimates=estimates)

    def add_pre_commit_hook(self, name: str, function: PreCommitHook) -> None:
        """From now on, `function` runs before each commit of rows that this process writes, and of `optimize`.

        Commits of deletes, of `repair`, `convert` and `upgrade`, and those that Delta makes itself, go without it.
        It gets Delta's actions, a list of dicts each with its kind (`add`, `remove`, `metaData`, …) as the only key,
        and returns a dict of tags for the commit's info, or None. What it raises ends the write: nothing is committed.
        Another hook of the same name takes the place of the first.

        Raises:
            InvalidInputError: `function` is none.
        """
        add_hook(self._table_log().path, name, function)

    def _table_log(self) -> bridge.TableLog:
        return bridge.TableLog(self._spark, self._path)

    def _revisions(self) -> RevisionSet:
        return indexed_revisions(self._table_log(), self._path)

    def __repr__(self) -> str:
        index = ""
        # Debuggers show it where the table is dropped, or the session stopped, too.
        with contextlib.suppress(Exception):
            latest = self.latest_revision
            index = f", columns={latest.columns}, cube_size={latest.cube_size}"
        return f"QbeastTable({without_secrets(self._path)!r}{index})"

    def _repr_html_(self) -> str | None:
        with contextlib.suppress(Exception):
            return self._page()
        return None  # a notebook shows the text then

    def _page(self) -> str:
        rows = [
            (each.id, ", ".join(transformer.spec for transformer in each.transformers), each.cube_size)
            for each in reversed(self.revisions())
            if not each.is_staging
        ]
        return block_html(
            f"The table at {without_secrets(self._path)}",
            table_html("Revisions, newest first", ("revision", "indexed by", "cube size"), rows),
            texts_html([".metrics() tells of its cubes, .plot() draws them."]),
        )


def _indexed_files(log: bridge.TableLog, dimensions: Mapping[int, int]) -> list[LoggedFile]:
    return [
        LoggedFile(
            file.path,
            file.size,
            file.rows,
            file.deleted,
            file.true_tags,
            *parse_tags(file.true_tags, dimensions.get),
        )
        for file in log.files()
    ]
