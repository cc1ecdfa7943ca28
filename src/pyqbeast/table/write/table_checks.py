"""Which tables can be written to."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from pyqbeast import bridge
from pyqbeast.core.errors import InvalidInputError, NotIndexedError, UnsupportedError
from pyqbeast.core.format.names import column_named, is_reserved
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


def check_hashed_columns(transaction: bridge.Transaction, current: Revision | None) -> None:
    """Checks that the table still has the columns whose hash is the weight. Otherwise no rows can join it.

    Raises:
        InvalidInputError: another program has dropped or renamed one, so that no old row has its weight any more.
    """
    if current is None:
        return
    present = transaction.columns
    for role, columns, option in (
        ("is indexed by", current.columns, "columnsToIndex"),
        ("has the weightColumns", current.weight_columns, "weightColumns"),
    ):
        missing = [column for column in columns if column_named(column, present) is None]
        if missing:
            raise InvalidInputError(
                f"the table {role} {', '.join(missing)} and has no such column any more: rename the column back, or "
                f"overwrite the table with other {option}"
            )
