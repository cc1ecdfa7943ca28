"""Appends to one growing table: small ones, one after the other, and of a hundredth of its rows."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks import lab as peers
from benchmarks.data import UNIFORM
from benchmarks.lab import Lab
from benchmarks.measure import Case, Peer
from benchmarks.workloads.samples import COLUMNS

SMALL = 1_000


def cases(lab: Lab) -> Iterator[Case]:
    """Each table gets all of these appends, so the later ones meet a longer log."""
    half = max(1, lab.appends // 2)
    appenders = [_Appender(lab, name) for name in (peers.OURS, peers.PLAIN)]
    for name, rows, rounds in (
        (f"{SMALL:,} rows, the first {half}", SMALL, half),
        (f"{SMALL:,} rows, the next {half}", SMALL, half),
        ("1 %", lab.rows // 100, 5),
    ):
        of_rows = {each.peer: _peer(each, rows) for each in appenders}
        yield Case(name, of_rows, goal="≤ 1.3 × plain Delta", rounds=rounds)


def _peer(appender: _Appender, rows: int) -> Peer:
    return Peer(lambda number: appender.append(), lambda number: appender.prepare(rows))


class _Appender:
    """A peer's table, and the rows that come next: copies of its own, so that no range of a column grows."""

    def __init__(self, lab: Lab, peer: str) -> None:
        self.lab = lab
        self.peer = peer
        self.path = str(lab.folder / f"append-{peer}")
        self.is_made = False
        self.appended = 0
        self.batch: DataFrame | None = None

    def prepare(self, rows: int) -> None:
        """Makes the table before the first append, and puts the next rows into memory."""
        if not self.is_made:
            self.lab.write(self.peer, self.lab.source(UNIFORM), self.path, COLUMNS)
            self.is_made = True
        if self.batch is not None:
            self.batch.unpersist()
        first = self.appended % (self.lab.rows - rows + 1)
        self.batch = self.lab.source(UNIFORM).filter(F.col("id").between(first, first + rows - 1)).coalesce(1)
        self.batch.persist().count()
        self.appended += rows

    def append(self) -> None:
        """Appends the rows."""
        assert self.batch is not None
        name = "qbeast" if self.peer == peers.OURS else "delta"
        self.batch.write.format(name).mode("append").save(self.path)
