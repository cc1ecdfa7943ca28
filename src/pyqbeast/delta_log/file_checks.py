"""Rules that hold for what Delta's log says of a data file, checked without opening it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import permutations
from typing import Any

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.constants import LONG_MAX
from pyqbeast.core.format.statistics_keys import MAX_VALUES, MIN_VALUES, NULL_COUNT, NUM_RECORDS, TIGHT_BOUNDS
from pyqbeast.core.format.stored_text import read_json, shown
from pyqbeast.core.problems import EXISTS, LIVE_ONCE, SIZE, STATISTICS_TEXT, Problem


def check_statistics(file: str, text: str | None, *, has_vector: bool) -> list[Problem]:
    """The statistics of a file can be read, and do not contradict themselves.

    Args:
        file: its path, for the report.
        text: the statistics. None or an empty text, which versions 0.2 to 0.5 of the Scala project write, where the log
            has none: that is in order but for a file with a deletion vector.
        has_vector: whether it has one.
    """
    if not text:
        lacks = "it has a deletion vector, and no statistics that count its rows"
        return [Problem(STATISTICS_TEXT, file, "", lacks)] if has_vector else []
    try:
        stored = read_json(text, "its statistics")
    except FormatError as error:
        return [Problem(STATISTICS_TEXT, file, "", str(error))]
    return [Problem(STATISTICS_TEXT, file, "", why) for why in _contradictions(stored, has_vector=has_vector)]


def bounded_columns(text: str | None) -> set[tuple[str, ...]]:
    """The paths of the columns whose least or largest value the statistics of a file tell. They have been checked."""
    stored = read_json(text, "statistics") if text else {}
    return {path for name in (MIN_VALUES, MAX_VALUES) for path in _leaves(stored.get(name))}


def usable_statistics(text: str | None) -> dict[str, Any]:
    """What the statistics of a file tell, as far as the text has the form that Delta gives it."""
    try:
        stored = read_json(text or "{}", "statistics")
    except FormatError:
        return {}
    statistics = stored if isinstance(stored, dict) else {}
    return {name: value for name, value in statistics.items() if _is_usable(name, value)}


def surely_stored(rows: int | None, deleted: int, statistics: str | None) -> int | None:
    """How many rows a file stores, deleted ones too; None where the log does not surely tell.

    Delta loosens the bounds of a file whose rows it deletes. Old versions of Trino compute statistics anew where a file
    has none, and then count the rows that are left.

    Args:
        rows: those that its statistics count.
        deleted: how many of them its deletion vector hides.
        statistics: their text.
    """
    are_stored = not deleted or usable_statistics(statistics).get(TIGHT_BOUNDS) is False
    return rows if are_stored else None


def _is_usable(name: str, value: Any) -> bool:  # noqa: ANN401 (any JSON value)
    if name in (MIN_VALUES, MAX_VALUES, NULL_COUNT):
        return isinstance(value, dict)
    if name == TIGHT_BOUNDS:
        return isinstance(value, bool)
    return type(value) is int and 0 <= value <= LONG_MAX


def check_on_disk(file: str, size: int, on_disk: int | None) -> list[Problem]:
    """A file is where the log says, and as large.

    Args:
        file: its path, for the report.
        size: its bytes by the log.
        on_disk: its bytes by storage, None where it is missing.
    """
    if on_disk is None:
        return [Problem(EXISTS, file, "", "the log names this file, and it is missing")]
    if on_disk != size:
        return [
            Problem(SIZE, file, "", f"it has {on_disk} bytes, the log says {size}", truth=str(on_disk)),
        ]
    return []


def check_live_once(locations: Iterable[tuple[str, str]]) -> list[Problem]:
    """No file is in the table twice, which would double its rows. Takes paths and whole locations."""
    files = list(locations)
    if len({location for _, location in files}) == len(files):
        return []
    paths: dict[str, list[str]] = defaultdict(list)
    for path, location in files:
        paths[location].append(path)
    return [
        Problem(LIVE_ONCE, one, "", f"{_twice(one, other)}, so its rows are in the table twice")
        for of_file in paths.values()
        for one, other in permutations(of_file, 2)
    ]


def _twice(path: str, other: str) -> str:
    # Deletion vectors tell the entries of one path apart.
    return "another entry has the same path" if path == other else f"it is the same file as {other}"


def _contradictions(stored: Any, *, has_vector: bool) -> list[str]:  # noqa: ANN401 (what JSON holds)
    if not isinstance(stored, dict):
        return [f"its statistics are {shown(stored)}, no object"]
    rows = stored.get(NUM_RECORDS)
    if rows is None and not has_vector:
        rows = float("inf")
    elif type(rows) is not int or rows < 0:
        return [f"its {NUM_RECORDS} is {shown(rows)}, no number of rows"]
    parts: dict[str, Mapping[tuple[str, ...], Any]] = {
        name: _leaves(stored.get(name)) for name in (MIN_VALUES, MAX_VALUES, NULL_COUNT)
    }
    found = [
        f"its {NULL_COUNT} of {'.'.join(path)} is {shown(nulls)}, of {rows} rows"
        for path, nulls in parts[NULL_COUNT].items()
        if type(nulls) is not int or not 0 <= nulls <= rows
    ]
    bounded = {**parts[MAX_VALUES], **parts[MIN_VALUES]}
    found += [
        f"its {NULL_COUNT} of {'.'.join(path)} is {nulls}, of {rows} rows, and a value lies at {shown(bounded[path])}"
        for path, nulls in parts[NULL_COUNT].items()
        if nulls == rows and path in bounded
    ]
    for path, low in parts[MIN_VALUES].items():
        high = parts[MAX_VALUES].get(path)
        if type(low) in (int, float) and type(high) in (int, float) and low > high:
            found.append(f"its values of {'.'.join(path)} lie between {low} and {high}")
    return found


def _leaves(values: Any) -> dict[tuple[str, ...], Any]:  # noqa: ANN401 (what JSON holds)
    """The values in `minValues`, `maxValues` or `nullCount`, by the path of their column; nulls are left out."""
    if not isinstance(values, dict):
        return {}
    found = {}
    for name, value in values.items():
        if isinstance(value, dict):
            found.update({(name, *path): leaf for path, leaf in _leaves(value).items()})
        elif value is not None:
            found[(name,)] = value
    return found
