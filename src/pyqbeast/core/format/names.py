"""Names of columns. To Delta two names that differ only in case are one column, and so they are to Spark by default."""

from __future__ import annotations

from collections.abc import Collection


def column_named(name: str, columns: Collection[str], *, case_sensitive: bool = False) -> str | None:
    """The column that a name means among some columns, None if there is none.

    A column of exactly this name comes first.
    """
    if name in columns:
        return name
    if case_sensitive:
        return None
    return next((column for column in columns if column.lower() == name.lower()), None)
