"""Names of columns: two that differ in case are one column to Delta, and to Spark unless it is told otherwise."""

from __future__ import annotations

from collections.abc import Collection


def column_named(name: str, columns: Collection[str], *, case_sensitive: bool = False) -> str | None:
    """The one of some columns that a name means, None where there is none. One of exactly this name comes first."""
    if name in columns:
        return name
    if case_sensitive:
        return None
    return next((column for column in columns if column.lower() == name.lower()), None)
