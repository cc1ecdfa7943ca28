"""Reading every value of a table."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame

from benchmarks import lab as peers
from benchmarks.data import UNIFORM
from benchmarks.lab import Lab
from benchmarks.measure import Case, Peer
from benchmarks.workloads.samples import COLUMNS, all_columns


def cases(lab: Lab) -> Iterator[Case]:
    """The cube size of the suite, and a fifth of it."""
    for cube_size in (lab.cube_size, lab.cube_size // 5):
        yield Case(
            f"cubes of {cube_size:,} rows",
            {name: _scanner(lab, name, cube_size) for name in (peers.OURS, peers.PLAIN, peers.PARQUET)},
            goal="≤ 1.03 × plain Delta",
        )


def _scanner(lab: Lab, peer: str, cube_size: int) -> Peer:
    size = cube_size if peer == peers.OURS else None

    def run(number: int) -> DataFrame:
        table = lab.read(peer, lab.table(peer, UNIFORM, COLUMNS, size))
        return peers.collected(table.agg(*all_columns(table)))

    return Peer(run, lambda number: lab.table(peer, UNIFORM, COLUMNS, size), peers.opened)
