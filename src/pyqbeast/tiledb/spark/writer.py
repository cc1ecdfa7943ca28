"""Writing a DataFrame into an array: every task stages a fragment, and one commit shows them all.

The steps run in different processes, which share nothing but the pickled writer. So the names of all fragments
of a job begin alike, and a step that cleans up finds them by their names. Nothing else is deleted. A new array
is made by the commit. Until then nobody can add to it, and a job that fails leaves no array behind.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from pyqbeast.tiledb.errors import telling
from pyqbeast.tiledb.read.array import Array
from pyqbeast.tiledb.storage.folder import FRAGMENTS
from pyqbeast.tiledb.storage.names import JOB_DIGITS
from pyqbeast.tiledb.write.array import stage_fragment
from pyqbeast.tiledb.write.commit import (
    commit_fragments,
    drop_uncommitted,
    refuse_conflicts,
    replace_cells,
)
from pyqbeast.tiledb.write.create import store_schema
from pyqbeast.tiledb.write.duplicates import refuse_duplicates

#: A task's rows are gathered up to this many before they become a fragment.
_FRAGMENT_ROWS = 5_000_000


@dataclass
class StagedFragments(WriterCommitMessage):
    """The fragments of one task."""

    names: list[str]


class ArrayWriter(DataSourceArrowWriter):
    """One write into an array.

    Args:
        array: the array as it is when the write begins, or as `plan_array` gives it.
        timestamp: the time of all fragments, in ms since 1970 (UTC).
        replace: whether the cells that are there already are deleted in the same step.
        create: whether the array is still to be made.
    """

    def __init__(self, array: Array, timestamp: int, *, replace: bool = False, create: bool = False) -> None:
        self.array, self.timestamp, self.replace, self.create = array, timestamp, replace, create
        self.job = uuid.uuid4().hex[:JOB_DIGITS]
        # The folders that staging will make; the inner one first, as they are deleted.
        self.made_folders = array.store.missing_folders([FRAGMENTS, ""])

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StagedFragments:
        """Stage the rows of a task. If the task fails, its fragments are deleted at the end of the job."""
        tables = _gathered(iterator)
        return StagedFragments(
            [stage_fragment(self.array, table, self.timestamp, job=self.job) for table in tables]
        )

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Make the fragments of all tasks visible in one step.

        Raises:
            InvalidInputError: two tasks wrote the same coordinates, and the array allows no duplicates.
            CommitConflictError: another writer changed the array so that cells would be lost.
            StorageError: the storage failed; no cell is visible.
            UncertainWriteError: the storage does not say whether the fragments are visible.
        """
        array = self.array
        with telling("there is no array, as before" if self.create else "the array is as it was"):
            names = self._checked(messages)
            if self.create:
                store_schema(array)
        with telling("there is an array now, without cells" if self.create else "the array is as it was"):
            if self.replace:
                replace_cells(array, names, self.timestamp - 1)
            else:
                commit_fragments(array.store, names)
        # The write has landed. Fragments that a lost or slower copy of a task left are deleted, and it is no
        # error if that fails.
        with contextlib.suppress(Exception):
            drop_uncommitted(array.store, self.job, names)

    def _checked(self, messages: list[WriterCommitMessage | None]) -> list[str]:
        """The staged fragments, which nobody stands in the way of."""
        array = self.array
        names = [n for message in messages if isinstance(message, StagedFragments) for n in message.names]
        if not array.schema.allows_duplicates:
            refuse_duplicates(array, names)
        refuse_conflicts(array, self.timestamp, replaces=self.replace)
        return names

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Delete what was staged, unless the commit has landed (its process may have died just then)."""
        store = self.array.store
        drop_uncommitted(store, self.job)
        for folder in self.made_folders:
            store.delete_if_empty(folder)


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The batches of a task in tables of a good size for fragments."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
        if sum(each.num_rows for each in held) >= _FRAGMENT_ROWS:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)
