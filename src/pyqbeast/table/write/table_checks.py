"""Which tables can be written to."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from pyspark.sql.types import DataType, StructType

from pyqbeast import bridge
from pyqbeast.core.errors import InvalidInputError, NotIndexedError, UnsupportedError
from pyqbeast.core.format.names import column_named, is_reserved
from pyqbeast.core.format.types import format_type_or_none, unhashed_type
from pyqbeast.core.revisions.revision import Revision, RevisionSet, revisions_of_indexed


def stored_revisions(transaction: bridge.Transaction, path: str, *, is_replaced: bool = False) -> RevisionSet:
    """The revisions of a table that is to be written to; none where there is no table yet.

    Args:
        transaction: on the table.
        path: what errors call it.
        is_replaced: whether another table takes its place. That one needs no index of the old one.

    Raises:
        NotIndexedError: there is a Delta table that is not indexed.
        FormatError: there is one, and none of its revisions is the latest.
        UnsupportedError: the table was written before format 0.6.
    """
    if not transaction.exists:
        return RevisionSet({}, -1)
    try:
        stored = revisions_of_indexed(
            path, transaction.configuration, is_partitioned=transaction.is_partitioned
        )
    except NotIndexedError:
        if is_replaced:
            return RevisionSet({}, -1)
        raise
    stored.check_latest_is_known(path)
    if transaction.has_legacy_files:
        raise UnsupportedError(
            f"the table at {path} was written before format 0.6 and can only be read; to write to it, run first: "
            f"pyqbeast upgrade {shlex.quote(path)}"
        )
    return stored


def check_names(names: Iterable[str]) -> None:
    """Checks the names of all columns of a table. Raises InvalidInputError for one that no indexed table may have."""
    for name in names:
        if is_reserved(name):
            raise InvalidInputError(f"column name {name!r} is used by the index itself; rename the column")


def check_hashed_columns(columns: StructType, current: Revision | None, *, of_rows: bool = False) -> None:
    """Checks that the columns whose hash is the weight are there, of types that can be indexed and hashed.

    Args:
        columns: of the table, or of rows as the table will hold them.
        current: the table's latest revision.
        of_rows: which of the two.

    Raises:
        InvalidInputError: no rows can join. Another program has dropped or renamed one, so that no old row has its
            weight any more, or one has another type: Delta widens columns, and adds fields to structs.
    """
    if current is None:
        return
    present = columns.names
    for role, names, option in (
        ("is indexed by", current.columns, "columnsToIndex"),
        ("has the weightColumns", current.weight_columns, "weightColumns"),
    ):
        missing = [column for column in names if column_named(column, present) is None]
        if missing:
            raise InvalidInputError(
                f"the table {role} {', '.join(missing)} and has no such column any more: rename the column back, or "
                f"overwrite the table with other {option}"
            )
    whose = "which the rows bring" if of_rows else "which it has by now"
    remedy = "write rows of the table's own types, or overwrite" if of_rows else "overwrite"
    for column in current.columns:
        kind = _type_of(column, columns).simpleString()
        if format_type_or_none(kind) is None:
            raise InvalidInputError(
                f"the table is indexed by {column}, and no index takes values of type {kind}, {whose}: {remedy} the "
                "table with other columnsToIndex"
            )
    for column in current.weight_columns:
        unhashed = unhashed_type(_type_of(column, columns).jsonValue())
        if unhashed:
            raise InvalidInputError(
                f"the table has the weightColumns {column}, and a {unhashed}, {whose}, cannot be hashed: {remedy} the "
                "table with other weightColumns, or with columnsToIndex alone for none"
            )


def _type_of(column: str, columns: StructType) -> DataType:
    return columns[str(column_named(column, columns.names))].dataType
