"""An average within an error against the exact one: the first call of a new process, and warm ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial

from pyspark.sql import DataFrame

from benchmarks import lab as peers
from benchmarks.data import UNIFORM
from benchmarks.first_call import AVERAGED, ERROR, QUERIES, exact, within
from benchmarks.lab import Lab
from benchmarks.measure import Case, Peer, Reading
from benchmarks.workloads.samples import COLUMNS

ROUNDS_OF_FIRST_CALLS = 3
#: Relative. The last one takes the exact answer.
ERRORS = (ERROR, 0.001, 0.0001)


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
        for error in ERRORS:
            yield Case(
                f"warm, {what}, within {error}",
                {
                    "tolerance": _here(lab, partial(within, what=what, error=error)),
                    "exact": _here(lab, partial(exact, what=what)),
                },
                goal="≤ 0.15 s and the rows",
            )


def _here(lab: Lab, query: Callable[[DataFrame], None]) -> Peer:
    return Peer(
        lambda number: query(lab.read(peers.OURS, _table(lab))),
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
