"""Writing a DataFrame into an array: every task stages a fragment, and one commit shows them all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb.array import open_array
from pyqbeast.tiledb.spark_types import from_spark
from pyqbeast.tiledb.storage import open_store
from pyqbeast.tiledb.write import (
    abort_fragments,
    commit_fragments,
    refuse_duplicates,
    replace_cells,
    stage_fragment,
)

#: A task's rows are gathered up to this many before they become a fragment.
_FRAGMENT_ROWS = 5_000_000


@dataclass
class StagedFragments(WriterCommitMessage):
    """The fragments of one task."""

    names: list[str]


class ArrayWriter(DataSourceArrowWriter):
    """Writes into an array that exists.

    Args:
        uri: The array.
        encryption_key: Its key, if it is encrypted.
        timestamp: The time of all fragments, in ms since 1970 (UTC).
        replace: Whether the cells that are there already are deleted in the same step.
        created: Whether the array was made for this write, and is to go if the write fails.
    """

    def __init__(
        self,
        uri: str,
        encryption_key: str | None,
        timestamp: int,
        *,
        replace: bool = False,
        created: bool = False,
    ) -> None:
        self.uri, self.encryption_key, self.timestamp = uri, encryption_key, timestamp
        self.replace, self.created = replace, created

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StagedFragments:
        """Stage the rows of a task."""
        array = open_array(self.uri, encryption_key=self.encryption_key)
        staged: list[str] = []
        try:
            for table in _gathered(iterator):
                name = stage_fragment(array, table, self.timestamp)
                staged.append(name)
        except Exception:
            abort_fragments(array.store, staged)
            raise
        return StagedFragments(staged)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Make the fragments of all tasks visible in one step."""
        names = _names(messages)
        array = open_array(self.uri, encryption_key=self.encryption_key)
        try:
            if not array.schema.allows_duplicates:
                refuse_duplicates(array, names)
        except InvalidInputError:
            self.abort(messages)
            raise
        if self.replace:
            replace_cells(array, names, self.timestamp - 1)
        else:
            commit_fragments(array.store, names)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Delete what was staged."""
        store = open_store(self.uri)
        abort_fragments(store, _names(messages))
        if self.created:
            store.delete("")


def _names(messages: list[WriterCommitMessage | None]) -> list[str]:
    return [name for message in messages if isinstance(message, StagedFragments) for name in message.names]


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The batches of a task in tables of a good size for fragments."""
    held: list[pa.Table] = []
    for batch in batches:
        if batch.num_rows:
            held.append(from_spark(batch))
        if sum(table.num_rows for table in held) >= _FRAGMENT_ROWS:
            yield pa.concat_tables(held)
            held = []
    if held:
        yield pa.concat_tables(held)
