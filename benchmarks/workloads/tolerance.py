"""An average within a hundredth against the exact one: the first call of a new process, and warm ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks import lab as peers
from benchmarks.data import UNIFORM
from benchmarks.first_call import AVERAGED, QUERIES
from benchmarks.lab import Lab
from benchmarks.measure import Case, Peer, Reading
from benchmarks.workloads.samples import COLUMNS

ROUNDS_OF_FIRST_CALLS = 3


def cases(lab: Lab) -> Iterator[Case]:
    """For an average of one column, and of an expression over all."""
    for what in AVERAGED:
        yield Case(
            f"first call of a process, {what}",
            {query: _new_process(lab, query, what) for query in QUERIES},
            goal="never slower than exact",
            rounds=ROUNDS_OF_FIRST_CALLS,
            has_first=False,
        )
        yield Case(
            f"warm, {what}",
            {query: _here(lab, query, what) for query in QUERIES},
            goal="≤ 0.15 s and the rows",
        )


def _here(lab: Lab, query: str, what: str) -> Peer:
    return Peer(
        lambda number: QUERIES[query](lab.read(peers.OURS, _table(lab)), what),
        lambda number: _table(lab),
    )


def _new_process(lab: Lab, query: str, what: str) -> Peer:
    def run(number: int) -> Reading:
        command = [sys.executable, "-m", "benchmarks.first_call", _table(lab), query, what]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        wall, cpu = map(float, told.splitlines()[-1].split())
        return Reading(wall, cpu)

    return Peer(run, lambda number: _table(lab))


def _table(lab: Lab) -> str:
    return lab.table(peers.OURS, UNIFORM, COLUMNS)
