"""What each process of the soak has done, written down so that the end can be computed: one file a process.

A row has the id `writer * 10**9 + batch * 100 + place`, so a batch is told by its ids, and what becomes of its rows by
their places: the deleter takes some, the merger changes others, the rest stays.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

#: Rows of a batch, and those places of it that the deleter takes and that the merger marks.
ROWS = 40
DELETED = frozenset(range(0, ROWS, 4))
MERGED = frozenset(range(1, ROWS, 4))
#: The writers, and the one whose batches the merger inserts.
WRITERS = (1, 2, 3, 4)
MERGER = 9


def first_id(writer: int, batch: int) -> int:
    """The id of a batch's first row."""
    return writer * 10**9 + batch * 100


def batch_of(row: int) -> tuple[int, int]:
    """The writer and the batch of the row with an id."""
    return row // 10**9, row % 10**9 // 100


def ids(writer: int, batch: int) -> range:
    """The ids of a batch."""
    return range(first_id(writer, batch), first_id(writer, batch) + ROWS)


class Journal:
    """The file of one process. A line is `[kind, writer, batch, outcome]`; outcome "begun" comes before every other."""

    def __init__(self, folder: Path, name: str) -> None:
        self._file = (folder / f"{name}.journal").open("a", encoding="utf-8")

    def say(self, kind: str, writer: int, batch: int, outcome: str) -> None:
        """Writes a line that is there when this returns."""
        self._file.write(json.dumps([kind, writer, batch, outcome]) + "\n")
        self._file.flush()


def entries(folder: Path) -> Iterator[tuple[str, int, int, str]]:
    """All lines of all processes."""
    for file in sorted(folder.glob("*.journal")):
        for line in file.read_text(encoding="utf-8").splitlines():
            kind, writer, batch, outcome = json.loads(line)
            yield kind, writer, batch, outcome


def done(folder: Path, kind: str) -> set[tuple[int, int]]:
    """The batches to which something was certainly done."""
    return {(w, b) for each, w, b, outcome in entries(folder) if (each, outcome) == (kind, "done")}


def told(folder: Path) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """The batches that are certainly there by now, and those of them that rows are certainly deleted of."""
    return done(folder, "append") | done(folder, "insert"), done(folder, "delete")


def expected(folder: Path) -> dict[int, int]:
    """Each id that the table has to hold, and how often the merger has marked it."""
    written, deleted = told(folder)
    rows = {row: 0 for batch in written for row in ids(*batch)}
    for writer, batch in done(folder, "merge"):
        for place in MERGED:
            rows[first_id(writer, batch) + place] += 1
    for writer, batch in deleted:
        for place in DELETED:
            del rows[first_id(writer, batch) + place]
    return rows
