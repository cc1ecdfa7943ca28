"""Writing: from the rows of `df.write.format("qbeast")` to one commit in the table's log."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from pyqbeast import bridge
from pyqbeast.core.errors import CommitConflictError, TableExistsError
from pyqbeast.core.format.constants import TABLE_PROPERTY
from pyqbeast.core.revisions.revision import configuration_entries, revisions_from_configuration
from pyqbeast.table.hooks import hook_tags, named_hooks
from pyqbeast.table.options import PAGE_ROWS, WriteOptions, number_of_retries
from pyqbeast.table.write.plan import RowsToWrite, WritePlan, plan_append, plan_new
from pyqbeast.table.write.table_checks import check_hashed_columns, check_names, stored_revisions

#: How often a commit is tried again with the same files. Each time another writer's commit has come first.
_COMMITS = 1_000


def write(spark: SparkSession, data: DataFrame, mode: str, options: Mapping[str, str]) -> None:
    """Writes rows to the indexed table at `options["path"]`.

    Args:
        spark: the session of the rows.
        data: the rows.
        mode: a name of Spark's `SaveMode`.
        options: those of the DataFrameWriter, names in any case.

    Raises:
        InvalidInputError: an option or a column that cannot be used.
        TableExistsError: mode ErrorIfExists, and there is a table.
        NotIndexedError: there is a Delta table that is not indexed.
        CommitConflictError: another writer's change cannot be combined with this one. Nothing is written.
    """
    _Write(spark, data, mode, WriteOptions.parse(options)).run()


def configuration(no_rows: DataFrame, options: Mapping[str, str]) -> dict[str, str]:
    """The configuration entries of a table that is indexed before it has rows.

    Args:
        no_rows: an empty frame of the table's columns. Without columns there are no entries, and the options are
            only looked at.
        options: those of a write, names in any case.

    Raises:
        InvalidInputError: an option or a column that cannot be used.
    """
    parsed = WriteOptions.parse(options)
    if not no_rows.columns:
        return {}
    check_names(no_rows.columns)
    revision = plan_new(RowsToWrite(no_rows, parsed, parsed.fractions({})), None).revision
    return configuration_entries(revision, {}) | parsed.new_table_properties(no_rows.sparkSession)


class _Write:
    """One write, tried as often as other writers come first."""

    def __init__(self, spark: SparkSession, data: DataFrame, mode: str, options: WriteOptions) -> None:
        self.spark = spark
        self.data = data
        self.mode = mode
        self.options = options
        self.hooks = named_hooks(spark, options.hooks)
        self.is_fresh = mode == "Overwrite" and not options.replaces_part

    def run(self) -> None:
        """Lays the rows out and commits. If another writer has changed the revisions, this starts again."""
        check_names(self.data.columns)
        rebuilds = 0 if self.options.holds_rows_read else number_of_retries(self.spark)
        with ExitStack() as afterwards:
            while True:
                transaction = bridge.Transaction(self.spark, self.options.path, self.options.delta)
                if self._is_superfluous(transaction):
                    return
                if self.options.replaces_matches and self.mode == "Overwrite":
                    # Delta evaluates the rows a second time to find matches. A source may give other rows each time, so
                    # they are kept.
                    afterwards.callback(transaction.forget_kept)
                    self.data = transaction.kept(self.data)
                if self._is_written(transaction, may_rebuild=rebuilds > 0):
                    return
                rebuilds -= 1

    def _is_written(self, transaction: bridge.Transaction, *, may_rebuild: bool) -> bool:
        """Returns False if the rows have to be laid out again; the files are deleted then."""
        try:
            plan = self._plan(transaction)
            self._write_files(transaction, plan)
        except Exception as error:
            # Delta compares the rows with the table that it finds now, of which this transaction knows no column.
            if not transaction.is_overtaken:
                raise
            self._check_may_rebuild(str(error), may_rebuild=may_rebuild)
            return False
        return self._commit(transaction, plan, may_rebuild=may_rebuild)

    def _is_superfluous(self, transaction: bridge.Transaction) -> bool:
        if transaction.is_done(self.data, self.mode, self.options.delta):
            return True
        if transaction.exists and self.mode == "ErrorIfExists":
            raise TableExistsError(
                f"there is a table at {self.options.path}; write with mode append or overwrite, or to another path"
            )
        return transaction.exists and self.mode == "Ignore"

    def _plan(self, transaction: bridge.Transaction) -> WritePlan:
        stored = stored_revisions(transaction, self.options.path, is_replaced=self.options.replaces_table)
        if not self.is_fresh:
            check_hashed_columns(transaction.columns, stored.latest)
        delta_options = self.options.delta | self._properties(transaction)
        rows, prunable = transaction.as_stored(self.data, self.mode, delta_options)
        options = self.options.in_table(transaction.configuration)
        to_write = RowsToWrite(rows, options, options.fractions(transaction.configuration))
        if self.is_fresh:
            return plan_new(to_write, stored.latest)
        if stored.latest:
            to_write = replace(to_write, data=bridge.named_as(rows, stored.latest.hashed_columns))
        return plan_append(to_write, transaction.log(), stored.latest, prunable)

    def _properties(self, transaction: bridge.Transaction) -> dict[str, str]:
        makes_table = not transaction.exists or self.options.replaces_table
        properties = self.options.new_table_properties(self.spark) if makes_table else {}
        return {
            name if name.startswith("delta.") else TABLE_PROPERTY + name: value
            for name, value in properties.items()
        }

    def _write_files(self, transaction: bridge.Transaction, plan: WritePlan) -> None:
        self._store(transaction, plan)
        delta_options = self.options.with_file_rows(self.spark, plan.revision.cube_size)
        delta_options |= self._properties(transaction)
        try:
            transaction.write(plan.frame, self.mode, delta_options, PAGE_ROWS)
            transaction.tag(plan.tags(transaction.written()))
        except BaseException:
            transaction.discard()
            raise

    def _store(self, transaction: bridge.Transaction, plan: WritePlan) -> None:
        kept = {} if self.is_fresh else transaction.configuration
        entries = configuration_entries(plan.revision, kept) if plan.is_new else {}
        entries = entries | self.options.restated_size(kept)
        if entries:
            transaction.store(entries, drops_revisions=self.is_fresh)

    def _commit(self, transaction: bridge.Transaction, plan: WritePlan, *, may_rebuild: bool) -> bool:
        """Returns False if the rows have to be laid out again; the files are deleted then."""
        try:
            for _ in range(_COMMITS):
                if transaction.commit(self.mode, hook_tags(transaction, self.hooks)):
                    return True
                newer = bridge.Transaction(self.spark, self.options.path, self.options.delta)
                if newer.is_done(self.data, self.mode, self.options.delta):
                    transaction.discard()
                    return True
                follows = self._rebased(plan, transaction, newer, may_rebuild=may_rebuild)
                if follows is None:
                    break
                plan = follows
                newer.adopt(transaction)
                newer.tag(plan.tags(transaction.written()))
                transaction = newer
        except BaseException:
            transaction.discard()
            raise
        transaction.discard()
        self._check_may_rebuild(transaction.conflict, may_rebuild=may_rebuild)
        return False

    def _check_may_rebuild(self, conflict: str, *, may_rebuild: bool) -> None:
        if not may_rebuild or self.mode == "Overwrite":
            raise CommitConflictError(
                f"another writer changed {self.options.path} and this write could not be combined with the change, so "
                f"nothing was written; run it again. Delta says: {conflict}"
            )

    def _rebased(
        self, plan: WritePlan, old: bridge.Transaction, newer: bridge.Transaction, *, may_rebuild: bool
    ) -> WritePlan | None:
        """The plan under which the written files can join a table that has changed; None where they cannot.

        The files stay valid as long as their revision keeps its meaning, the same rules hold for rows and files, no
        row was worked out from rows of the table, and none has a number that the other writer may have given out as
        well. If both writers made a revision, laying the rows out again may make the second revision needless. After
        enough such attempts the second revision gets the next number instead.
        """
        if (
            self.mode != "Append"
            or not old.exists
            or newer.schema != old.schema
            or newer.is_partitioned
            or self.options.changes_schema
            or old.has_given_numbers
            or old.has_read_table
            or _rules(newer) != _rules(old)
        ):
            return None
        revisions = revisions_from_configuration(newer.configuration)
        latest = revisions.latest
        if not plan.is_new:
            if revisions.revisions.get(plan.revision.id) != plan.revision:
                return None
        elif latest != revisions_from_configuration(old.configuration).latest:
            same_columns = latest is not None and latest.hashed_columns == plan.revision.hashed_columns
            if may_rebuild or not same_columns:
                return None
            plan = plan.renumbered(max(revisions.next_id, plan.revision.id))
        self._store(newer, plan)
        return plan


def _rules(transaction: bridge.Transaction) -> dict[str, str]:
    """What Delta holds rows and files to while it writes them, such as CHECK constraints."""
    return {key: value for key, value in transaction.configuration.items() if key.startswith("delta.")}
