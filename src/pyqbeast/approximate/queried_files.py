"""The files that an estimated query reads, and what the log tells of their rows without reading."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import types as T

from pyqbeast.approximate.estimate import FileCosts, GroupKind, GroupSpans, value_span
from pyqbeast.approximate.estimate.value_spans import ValueSpan
from pyqbeast.bridge.aggregate_query import (
    AggregateQuery,
    GroupColumn,
    QueriedFile,
    QueriedTable,
    TableColumn,
)
from pyqbeast.core.errors import UnsupportedError
from pyqbeast.core.format.column_bounds import column_bounds
from pyqbeast.core.format.constants import WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.file_tags import has_copies, of_any_revision, parse_tags, weight_bounds
from pyqbeast.core.format.logged_file import counted_rows
from pyqbeast.core.format.statistics_keys import NUM_RECORDS
from pyqbeast.core.revisions.revision import Revision, revisions_from_configuration
from pyqbeast.core.sampling.rows_of_a_key import KeyedFile, most_rows_of_a_key

_KINDS = {
    T.IntegralType: GroupKind.INTEGER,
    T.DateType: GroupKind.DATE,
    T.StringType: GroupKind.TEXT,
    T.BooleanType: GroupKind.BOOLEAN,
}


@dataclass(frozen=True)
class QueriedFiles:
    """The files of one query.

    Attributes:
        files: all of them.
        costs: their bytes and weights, in the same order. Two kinds of files may hold every weight, so that
            each step reads them: files without an index, and files of revisions whose weights no longer hold.
        rows: the most keys that the query's rows can have: the rows of the table that has the fewest, among those that
            hold every key; deleted ones included, as far as the log tells.
        key_rows: how many rows of the query at the most have the same weight; None where it is not recorded. In a
            join each row of a key meets each row of that key in the other table.
        hold_lists: for each table whether it has a column of lists or maps.
    """

    files: list[QueriedFile]
    costs: FileCosts
    rows: int
    key_rows: int | None
    hold_lists: Sequence[bool]

    @classmethod
    def of(cls, query: AggregateQuery) -> QueriedFiles:
        """Reads what the log tells of the query's files. One Spark job."""
        files = query.files()
        lows, highs = [], []
        keyed: list[list[KeyedFile]] = [[] for _ in query.tables]
        rows = [0] * len(query.tables)
        weighed = [_weighed_revisions(table) for table in query.tables]
        dimensions = [{number: each.dimensions for number, each in of.items()} for of in weighed]
        for file in files:
            parsed = parse_tags(file.tags, dimensions[file.table].get)
            revision, blocks, _ = parsed
            keyed[file.table].append(KeyedFile(revision, file.tags, file.statistics))
            if has_copies(blocks):
                raise UnsupportedError(
                    "this query cannot be estimated: the table holds rows twice, as old versions of the format do; "
                    "call pyqbeast.upgrade on it, or pass exact=True"
                )
            low, high = weight_bounds(file.tags, blocks) if blocks else (WEIGHT_MIN, WEIGHT_MAX)
            lows.append(low)
            highs.append(high)
            # Blocks count rows also where their weights are not those of today.
            counting = of_any_revision(parsed, file.tags).blocks
            rows[file.table] += counted_rows(file.statistics.get(NUM_RECORDS), counting) or 0
        costs = FileCosts([file.size for file in files], lows, highs)
        of_tables = [most_rows_of_a_key(keyed[table], weighed[table]) for table in query.multiplied]
        key_rows = _key_rows(of_tables, is_full=query.is_full)
        hold_lists = [table.holds_lists for table in query.tables]
        return cls(files, costs, min(rows[table] for table in query.keyed), key_rows, hold_lists)

    def bounds(self, column: TableColumn) -> tuple[float, float] | None:
        """Smallest and largest value of a column, as `column_bounds` gives them; None where a file does not tell."""
        of_table = ((file.statistics, file.tags) for file in self.files if file.table == column.table)
        return column_bounds(
            of_table,
            column.name,
            column.kind,
            has_floats=column.has_floats,
            holds_lists=self.hold_lists[column.table],
        )

    def group_spans(self, columns: Sequence[GroupColumn | None], types: Sequence[T.DataType]) -> GroupSpans:
        """Which groups each file can hold, by the columns of the groups and their types."""
        kinds = [
            next((kind for of, kind in _KINDS.items() if column and isinstance(data_type, of)), None)
            for column, data_type in zip(columns, types, strict=True)
        ]
        spans = [
            tuple(
                _span(file, column, kind, holds_lists=self.hold_lists[file.table])
                for column, kind in zip(columns, kinds, strict=True)
            )
            for file in self.files
        ]
        is_join = any(file.table for file in self.files)
        rows = [None if is_join else file.statistics.get(NUM_RECORDS) for file in self.files]
        return GroupSpans(kinds, spans, rows)


def _span(
    file: QueriedFile, column: GroupColumn | None, kind: GroupKind | None, *, holds_lists: bool
) -> ValueSpan | None:
    """The values of a group's column in a file that the query's conditions leave."""
    if column is None:
        return None
    span = value_span(file.statistics, file.tags, column.name, kind, holds_lists=holds_lists)
    return span.within(column.low, column.high) if span and column.is_compared else span


def _weighed_revisions(table: QueriedTable) -> Mapping[int, Revision]:
    """The revisions whose tags tell the weights that rows have today."""
    revisions = revisions_from_configuration(table.configuration).revisions
    return {
        number: revision for number, revision in revisions.items() if str(number) in table.prunable_revisions
    }


def _key_rows(of_tables: Sequence[int | None], *, is_full: bool) -> int | None:
    known = [max(1, rows) for rows in of_tables if rows is not None]
    return math.prod(known) + is_full if len(known) == len(of_tables) else None
