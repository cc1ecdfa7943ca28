"""The most rows that one key can have in files of several writes.

Each file records the rows of the most frequent key of its write. The same key may come in several writes, so these rows
add up. They do not where statistics tell that the writes have no key in common: those of one column lie apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, takewhile
from typing import Any, NamedTuple, TypeAlias

from pyqbeast.core.format.column_bounds import MOMENTS, column_bounds
from pyqbeast.core.format.hashed_layout import spark_schema
from pyqbeast.core.format.key_frequency import parse_key_frequency, rows_of_largest_keys
from pyqbeast.core.format.statistics_keys import NULL_COUNT
from pyqbeast.core.revisions.revision import Revision

#: Types whose bounds are told alike by all writers of statistics and checkpoints, those that are read fastest first.
#: Texts may be cut, decimals and floats rounded, and floats have NaN.
_TYPES = ("byte", "short", "integer", "long", "date", *MOMENTS)

#: The statistics and the tags of a file.
_Told: TypeAlias = tuple[Mapping[str, Any], Mapping[str, str]]


class KeyedFile(NamedTuple):
    """What the log tells of a file: its revision, its tags and its statistics, as Delta has them."""

    revision: int
    tags: Mapping[str, str]
    statistics: Mapping[str, Any]


def most_rows_of_a_key(files: Iterable[KeyedFile], weighed: Mapping[int, Revision]) -> int | None:
    """A bound of the rows of a key; None where a file does not tell.

    Args:
        files: those that hold the rows.
        weighed: the revisions whose weights are those that rows have today, by number. In other files several of the
            keys that were counted may be one.
    """
    of_writes: dict[str, list[_Told]] = defaultdict(list)
    told = []
    for file in files:
        key = parse_key_frequency(file.tags) if file.revision in weighed else None
        if key is None:
            return None
        told.append(key)
        of_writes[key.write].append((file.statistics, file.tags))
    rows = rows_of_largest_keys(told)
    least, most = max(rows.values(), default=0), sum(rows.values())
    for columns, kind in _ordered_columns(weighed.values()):
        # No column can tell of fewer. Statistics of many files take time to read.
        if most == least:
            break
        spans = [(_span(of_writes[write], columns, kind), count) for write, count in rows.items()]
        most = min(most, _most_at_a_value(spans))
    return most


def _ordered_columns(weighed: Iterable[Revision]) -> Iterator[tuple[Sequence[str], str]]:
    """The hashed columns whose values have an order here, with those hashed before them, and their types.

    Columns have the names that statistics call them by, in the order in which they are hashed: each is the last one of
    its list. None comes after an array or a struct, which adds to a hash as many values as it has without nulls.

    All these revisions hash the same columns, or their weights would not be those of today. Revisions of other writers
    record none.
    """
    recorded = next((each.hashed_as for each in weighed if each.hashed_as), None)
    fields = spark_schema(recorded)["fields"] if recorded else []
    flat = list(takewhile(lambda field: isinstance(field["type"], str), fields))
    names = [field["name"] for field in flat]
    for kind in _TYPES:
        yield from ((names[: at + 1], kind) for at, field in enumerate(flat) if field["type"] == kind)


def _span(files: Sequence[_Told], columns: Sequence[str], kind: str) -> tuple[float, float] | None:
    """The smallest and largest value of the last column in the files of a write; None where a key may have any.

    A null in it, or in a column hashed before it, makes that any value. Nulls leave a hash as it is, so the rows of
    (null, 1) have the weight of those of (1, null), and those of (20, 5, null) that of (null, 20, 5). Without them the
    place of a column in the hash is its own.
    """
    nulls = (statistics.get(NULL_COUNT, {}) for statistics, _ in files)
    if any(of_file.get(column) != 0 for of_file in nulls for column in columns):
        return None
    # The files of a write are those of an index, whose nulls Spark has counted.
    span = column_bounds(files, columns[-1], kind, has_floats=False, holds_lists=False)
    return span if span is not None and span[0] <= span[1] else None


def _most_at_a_value(spans: Iterable[tuple[tuple[float, float] | None, int]]) -> int:
    """The largest sum of the rows of writes whose spans have a value in common. None has each value."""
    anywhere = 0
    ends = []
    for span, rows in spans:
        if span is None:
            anywhere += rows
        else:
            # At one value spans begin before others end, as both have it.
            ends += [(span[0], 0, rows), (span[1], 1, -rows)]
    return anywhere + max(accumulate(rows for _, _, rows in sorted(ends)), default=0)
