"""Names of columns. To Delta two names that differ only in case are one column, and so they are to Spark by default."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from pyqbeast.core.format.constants import HELPER_CUBE, HELPER_FILE, HELPER_WEIGHT

_RESERVED = {name.lower() for name in (HELPER_WEIGHT, HELPER_CUBE, HELPER_FILE)}


def column_named(name: str, columns: Collection[str], *, case_sensitive: bool = False) -> str | None:
    """The column that a name means among some columns, None if there is none.

    A column of exactly this name comes first.
    """
    if name in columns:
        return name
    if case_sensitive:
        return None
    return next((column for column in columns if column.lower() == name.lower()), None)


def repeated_name(names: Iterable[str]) -> str | None:
    """The first name that means the same column as one before it, None if each means another."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            return name
        seen.add(name.lower())
    return None


def is_reserved(name: str) -> bool:
    """Whether the Scala project adds a column of this name, in any case, to the rows while it writes."""
    return name.lower() in _RESERVED


def quoted_name(name: str) -> str:
    """A name between backticks, as SQL takes it whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def did_you_mean(name: str, known: Collection[str]) -> str:
    """The end of a message about a name that is not known: the known one that looks most like it; empty without one."""
    by_lower = {each.lower(): each for each in known}
    close = get_close_matches(str(name).lower(), by_lower, n=1)
    return f"; did you mean {by_lower[close[0]]!r}?" if close else ""
