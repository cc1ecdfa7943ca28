"""How many values of a column are null in a file, where the file's statistics can be believed."""

from __future__ import annotations

from collections.abc import Mapping

from pyqbeast.core.format.file_tags import is_of_spark


def null_count(
    told: object, tags: Mapping[str, str], *, rows: int | None, has_bounds: bool, holds_lists: bool
) -> int | None:
    """How many values of a column are null; None where statistics do not tell it, or may be wrong.

    Up to version 1.6.0 delta-rs counts the nulls inside a list or a map as nulls of a column that is called like the
    inside. Programs have any name for that: `element`, `key`, `value`, `l`.

    Args:
        told: what the statistics have for the column.
        tags: of the file.
        rows: stored in the file, deleted ones too; None where nobody knows.
        has_bounds: whether the statistics have a smallest or a largest value of the column. Then some value is no null.
        holds_lists: whether a column of the table, whichever, is of lists or maps.
    """
    if type(told) is not int or (has_bounds and told == rows):
        return None
    return None if holds_lists and not is_of_spark(tags) else told
