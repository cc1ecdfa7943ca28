"""`QbeastTable.optimize`: puts the rows of scattered and of unindexed files in order, and changes no row."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from pyqbeast import bridge
from pyqbeast.bridge import failures, progress_line
from pyqbeast.core.arguments import checked_fraction, is_whole_number
from pyqbeast.core.errors import (
    CommitConflictError,
    InvalidInputError,
    NotIndexedError,
    QbeastError,
    StorageError,
    UncertainWriteError,
)
from pyqbeast.core.format.constants import STAGING_REVISION, UNCHANGED, WEIGHT_END
from pyqbeast.core.format.file_tags import (
    FileTags,
    are_blocks_told,
    has_copies,
    is_copy,
    of_any_revision,
    parse_tags,
    recorded_weight,
)
from pyqbeast.core.format.logged_file import counted_rows
from pyqbeast.core.html import block_html
from pyqbeast.core.otree.compaction import StoredFile, files_to_rewrite
from pyqbeast.core.revisions.revision import RevisionSet, configuration_entries
from pyqbeast.core.sampling.replicated_cubes import holds_both
from pyqbeast.core.visible import counted
from pyqbeast.delta_log.log_entry import LogEntry
from pyqbeast.table.hooks import hook_tags
from pyqbeast.table.locate import existing
from pyqbeast.table.maintain.plan_optimize import Rewrite, plan_optimize
from pyqbeast.table.options import PAGE_ROWS, WriteOptions, number_of_retries
from pyqbeast.table.write.plan import RowsToWrite, plan_append
from pyqbeast.table.write.table_checks import check_hashed_columns, stored_revisions


@dataclass(frozen=True)
class OptimizeResult:
    """What an optimize did: files and bytes that it removed and added. All zero where there was nothing to do."""

    files_removed: int = 0
    files_added: int = 0
    bytes_removed: int = 0
    bytes_added: int = 0

    @property
    def changed(self) -> bool:
        """Whether there was anything to do."""
        return bool(self.files_removed or self.files_added)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    def __add__(self, other: OptimizeResult) -> OptimizeResult:
        return OptimizeResult(
            self.files_removed + other.files_removed,
            self.files_added + other.files_added,
            self.bytes_removed + other.bytes_removed,
            self.bytes_added + other.bytes_added,
        )

    def __str__(self) -> str:
        if not self.changed:
            return "nothing to optimize"
        return (
            f"{counted(self.files_removed, 'file')} ({self.bytes_removed / 1e6:.1f} MB) became "
            f"{self.files_added} ({self.bytes_added / 1e6:.1f} MB)"
        )

    def _repr_html_(self) -> str:
        return block_html(str(self))


def optimize(
    spark: SparkSession, path: str, revision: int | None, files: Sequence[str] | None, fraction: float
) -> OptimizeResult:
    """Rewrites files of the table at a path; see `QbeastTable.optimize`."""
    fraction = checked_fraction(fraction)
    if not fraction:
        raise InvalidInputError("fraction has to be above 0")
    if files is None:
        return _Optimize(spark, path, revision, None, fraction).run()
    if revision is not None or fraction != 1:
        raise InvalidInputError("give optimize either files, or a revision and a fraction")
    # An iterator has its names once only.
    names = None if isinstance(files, str) else [*files]
    if names is None or not all(isinstance(name, str) for name in names):
        raise InvalidInputError(
            f"files has to be a list of names, as the column file of blocks() has them, not {files!r}"
        )
    result = OptimizeResult()
    done: list[int] = []
    for revision_id, named in _by_revision(spark, path, names).items():
        try:
            result += _Optimize(spark, path, revision_id, named, fraction).run()
        except QbeastError as error:
            if not done:
                raise
            raise _partly(error, path, revision_id, done) from error
        done.append(revision_id)
    return result


def _partly(error: QbeastError, path: str, failed: int, done: Sequence[int]) -> QbeastError:
    """Each revision's files are rewritten by a commit of their own, and some are there by now."""
    fate = "may have been rewritten" if isinstance(error, UncertainWriteError) else "are as they were"
    return type(error)(
        f"{str(error).removesuffix(UNCHANGED)}; the files of revision {failed} of {path} {fate}, "
        f"those of revision {', '.join(map(str, done))} have been rewritten, and no row has changed"
    )


def _by_revision(spark: SparkSession, path: str, files: Sequence[str]) -> dict[int, set[str]]:
    with failures.readable(f"optimizing {path}"):
        transaction = bridge.Transaction(spark, path)
        log = existing(transaction.log(), path)
        stored = stored_revisions(transaction, path)
        dimensions_of = stored.dimensions.get
        revision_of = {
            file.path: parse_tags(file.true_tags, dimensions_of).revision_id for file in log.files()
        }
    unknown = sorted(set(files) - set(revision_of))
    if unknown:
        raise NotIndexedError(
            f"the table at {path} has no file {unknown[0]!r}; name files as the column file of blocks() does"
        )
    named: dict[int, set[str]] = {}
    for name in files:
        named.setdefault(revision_of[name], set()).add(name)
    return named


class _Optimize:
    """One optimize of one revision, tried as often as other writers come first."""

    def __init__(
        self, spark: SparkSession, path: str, revision: int | None, named: set[str] | None, fraction: float
    ) -> None:
        self.spark = spark
        self.path = path
        self.revision = revision
        self.latest = -1
        self.named = named
        self.fraction = fraction

    def run(self) -> OptimizeResult:
        with (
            failures.readable(doing := f"optimizing {self.path}"),
            progress_line.line_while(self.spark, doing),
        ):
            return self._run()

    def _run(self) -> OptimizeResult:
        for _ in range(1 + number_of_retries(self.spark)):
            transaction = bridge.Transaction(self.spark, self.path)
            log = existing(transaction.log(), self.path)
            files = log.files()
            rewrite = self._decide(transaction, log, files)
            if rewrite is None:
                return OptimizeResult()
            if self._commit(transaction, rewrite):
                return _result(files, rewrite, transaction)
        raise CommitConflictError(
            f"other writers changed the files of {self.path} while they were rewritten, so nothing was optimized; "
            f"run it again. Delta says: {transaction.conflict}"
        )

    def _commit(self, transaction: bridge.Transaction, rewrite: Rewrite) -> bool:
        """Returns False if another writer came first; the files are deleted then."""
        plan = rewrite.plan
        options = {}
        if plan is not None:
            defaults = WriteOptions.parse({"path": self.path})
            options = defaults.with_file_rows(self.spark, plan.revision.cube_size)
            if plan.is_new:
                entries = configuration_entries(plan.revision, transaction.configuration)
                transaction.store(entries, drops_revisions=False)
        try:
            transaction.rewrite(plan.frame if plan else None, rewrite.paths, options, PAGE_ROWS)
            self._check_rows(rewrite, transaction.written())
            transaction.tag(plan.tags(transaction.written()) if plan else {})
            if transaction.commit_rewrite(hook_tags(transaction, {})):
                return True
        except BaseException:
            transaction.discard()
            raise
        transaction.discard()
        return False

    def _check_rows(self, rewrite: Rewrite, files: Iterable[bridge.WrittenFile]) -> None:
        """A commit that changes no row takes the replaced files away, so what was not read would be lost."""
        counts = [file.rows for file in files]
        if rewrite.rows is None or None in counts:
            return
        written = sum(count or 0 for count in counts)
        if written != rewrite.rows:
            raise StorageError(
                f"the files that were to be rewritten hold {rewrite.rows} rows by the log of {self.path}, and "
                f"{written} were read; find the file that is not as the log says by verify('data')"
            )

    def _decide(
        self, transaction: bridge.Transaction, log: bridge.TableLog, files: Sequence[LogEntry]
    ) -> Rewrite | None:
        stored = stored_revisions(transaction, self.path)
        dimensions_of = stored.dimensions.get
        tagged = [(file, parse_tags(file.true_tags, dimensions_of)) for file in files]
        # What tells a copy from other rows is the file that it was copied to, which may be among those rewritten.
        copies: set[str] = set()
        for file, tags in tagged:
            blocks = of_any_revision(tags, file.true_tags).blocks
            if is_copy(blocks):
                copies.add(file.path)
            elif has_copies(blocks):
                raise holds_both(file.path)
        rewrite = self._rewrite(transaction, log, stored, tagged, copies)
        if rewrite is None:
            return None
        read = set(rewrite.paths) - copies
        moved = [(file, tags) for file, tags in tagged if file.path in read]
        counts = [_rows_of(file, tags) for file, tags in moved]
        deleted = sum(file.deleted for file, _ in moved)
        rows = None if None in counts else sum(count or 0 for count in counts) - deleted
        return replace(rewrite, paths=sorted(copies.union(rewrite.paths)), rows=rows)

    def _rewrite(
        self,
        transaction: bridge.Transaction,
        log: bridge.TableLog,
        stored: RevisionSet,
        tagged: Sequence[tuple[LogEntry, FileTags]],
        copies: Collection[str],
    ) -> Rewrite | None:
        revision_id = self._revision_in(stored)
        own = [(file, tags) for file, tags in tagged if tags.revision_id == revision_id]
        prunable = log.prunable_revisions
        if revision_id == STAGING_REVISION or revision_id not in prunable:
            read = [file for file, _ in own if file.path not in copies]
            return self._like_an_append(transaction, stored, read, prunable)
        revision = stored.get(revision_id)
        indexed = [
            StoredFile(file.path, tags.blocks, recorded_weight(file.true_tags, tags.blocks), file.deleted)
            for file, tags in own
        ]
        if self.named is not None:
            still_there = {file.path for file in indexed if file.path in self.named}
            return plan_optimize(transaction, revision, indexed, still_there)
        bound = WEIGHT_END if self.fraction == 1 else log.weight_of(self.fraction)
        within = [file for file in indexed if any(block.min_weight < bound for block in file.blocks)]
        due = files_to_rewrite(within, revision.cube_size) | {
            file.path for file, _ in own if file.falsely_replicated
        }
        return plan_optimize(transaction, revision, indexed, due)

    def _revision_in(self, stored: RevisionSet) -> int:
        """The revision to put in order.

        Where the caller named none it is the one that was the latest at the first attempt, and not one that another
        writer has added meanwhile; unless an overwrite took it away.
        """
        if self.latest != STAGING_REVISION and self.latest not in stored.revisions:
            self.latest = stored.last_id
        chosen = self.latest if self.revision is None else self.revision
        is_staging = is_whole_number(chosen) and chosen == STAGING_REVISION
        return STAGING_REVISION if is_staging else stored.chosen(chosen, self.path).id

    def _like_an_append(
        self,
        transaction: bridge.Transaction,
        stored: RevisionSet,
        files: Sequence[LogEntry],
        prunable: Collection[int],
    ) -> Rewrite | None:
        """Plans unindexed files like an append to the latest revision. If not all are rewritten, the oldest go first.

        Files of a revision whose weights no longer hold, because its columns have changed, are treated alike.
        """
        budget = self.fraction * sum(file.size for file in files)
        chosen = []
        for file in sorted(files, key=lambda each: (each.modified, each.path)):
            if budget > 0 and (self.named is None or file.path in self.named):
                chosen.append(file)
                budget -= file.size
        if not chosen:
            return None
        check_hashed_columns(transaction.columns, stored.latest)
        paths = [file.path for file in chosen]
        data = bridge.named_as(transaction.rows_of(paths), stored.get(stored.last_id).hashed_columns)
        options = WriteOptions.parse({"path": self.path})
        rows = RowsToWrite(data, options, options.fractions(transaction.configuration))
        plan = plan_append(rows, transaction.log(), stored.latest, prunable)
        return Rewrite(paths, plan if plan.arrangement else None)


def _rows_of(file: LogEntry, tags: FileTags) -> int | None:
    """The rows stored in a file, deleted ones too; None where the log does not tell."""
    blocks = of_any_revision(tags, file.true_tags).blocks
    return counted_rows(file.rows, blocks if are_blocks_told(file.true_tags, blocks) else ())


def _result(before: Iterable[LogEntry], rewrite: Rewrite, transaction: bridge.Transaction) -> OptimizeResult:
    sizes = {file.path: file.size for file in before}
    written = transaction.written()
    return OptimizeResult(
        len(rewrite.paths),
        len(written),
        sum(sizes[path] for path in rewrite.paths),
        sum(file.size for file in written),
    )
