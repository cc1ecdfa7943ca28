"""Samples of one column that is not indexed, and of all columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from benchmarks import lab as peers
from benchmarks.data import INDEXED, UNIFORM
from benchmarks.lab import Lab
from benchmarks.measure import Case, Peer

COLUMNS = INDEXED[:3]
#: For each fraction how many times faster than plain Delta: for one column, and for all.
GOALS = {0.001: (15, 40), 0.01: (12, 30), 0.1: (5, 8), 0.3: (2, 2.8), 0.5: (1.3, 1.6)}


def cases(lab: Lab) -> Iterator[Case]:
    """Each fraction, for one column and for all."""
    for fraction, goals in GOALS.items():
        for what, columns, goal in (
            ("one column", _one_column, goals[0]),
            ("all columns", all_columns, goals[1]),
        ):
            yield Case(
                f"{fraction:.1%}, {what}",
                {
                    name: _sampler(lab, name, fraction, columns)
                    for name in (peers.OURS, peers.PLAIN, peers.PARQUET)
                },
                goal=f"≥ {goal:g} × faster than plain Delta, bytes ≤ {1.2 * fraction:g} of all and one file",
            )


def _one_column(table: DataFrame) -> list[Column]:
    return [F.avg("value")]


def all_columns(table: DataFrame) -> list[Column]:
    """Sums that no reader can answer without every value."""
    return [F.sum(F.hash(name)) for name in table.columns]


def _sampler(lab: Lab, peer: str, fraction: float, columns: Callable[[DataFrame], list[Column]]) -> Peer:
    def run(number: int) -> DataFrame:
        table = lab.read(peer, lab.table(peer, UNIFORM, COLUMNS))
        return peers.collected(table.sample(fraction=fraction).agg(*columns(table)))

    return Peer(run, lambda number: lab.table(peer, UNIFORM, COLUMNS), peers.opened)
