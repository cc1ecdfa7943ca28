"""How many values of a column are null in a file, where the file's statistics can be believed."""

from __future__ import annotations

from collections.abc import Mapping

from pyqbeast.core.format.file_tags import is_of_spark

#: What Parquet calls the values inside maps and lists.
_INSIDE = frozenset({"key", "value", "item", "element"})


def null_count(
    told: object,
    column: str,
    tags: Mapping[str, str],
    *,
    rows: int | None,
    has_bounds: bool,
    is_nested: bool = False,
) -> int | None:
    """How many values of a column are null; None where statistics do not tell it, or may be wrong.

    Up to version 1.6.0 delta-rs counts the nulls inside a list as those of the list, and those inside a map as nulls of
    columns that are called `key` and `value`.

    Args:
        told: what the statistics have.
        column: the name that they have for the column.
        tags: of the file.
        rows: stored in the file, deleted ones too; None where nobody knows.
        has_bounds: whether the statistics have a smallest or a largest value of the column. Then some value is no null.
        is_nested: whether the column's values hold others, as lists and maps do.
    """
    if type(told) is not int or (has_bounds and told == rows):
        return None
    is_doubtful = is_nested or column in _INSIDE
    return None if is_doubtful and not is_of_spark(tags) else told
