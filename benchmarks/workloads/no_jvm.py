"""Samples into Arrow in fresh processes without Spark, against full scans that sample themselves, and warm Spark."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from pyarrow import Table

from benchmarks import lab as peers
from benchmarks.data import UNIFORM
from benchmarks.fresh import COLUMNS, SAMPLERS
from benchmarks.lab import Lab
from benchmarks.measure import Case, Peer, Reading

SPARK = "warm Spark"
#: For each fraction what is wanted.
GOALS = {
    0.01: "≤ 0.15 s, ≥ 3 × faster than warm Spark, ≥ 10 × than full scans; Arrow holds ≤ 4 × the sample",
    0.1: "",
}


def cases(lab: Lab) -> Iterator[Case]:
    """Two columns of a sample."""
    for fraction, goal in GOALS.items():
        all_peers = {name: _fresh(lab, name, fraction) for name in SAMPLERS}
        yield Case(f"{fraction:.0%} of two columns", {**all_peers, SPARK: _spark(lab, fraction)}, goal=goal)


def _table(lab: Lab) -> str:
    """Without deletion vectors, as delta-rs hands no table that may have them to pyarrow."""
    path = lab.folder / "ours-without-vectors"
    if not path.exists():
        options = {
            "columnsToIndex": "a,b",
            "cubeSize": str(lab.cube_size),
            "delta.enableDeletionVectors": "false",
        }
        lab.source(UNIFORM).write.format("qbeast").options(**options).save(str(path))
    return str(path)


def _fresh(lab: Lab, name: str, fraction: float) -> Peer:
    def run(number: int) -> Reading:
        command = [sys.executable, "-m", "benchmarks.fresh", _table(lab), name, str(fraction)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        wall, cpu, held = map(float, done.stdout.split()[-3:])
        return Reading(wall, cpu, {"Arrow's peak by the answer": held})

    return Peer(run, lambda number: _table(lab))


def _spark(lab: Lab, fraction: float) -> Peer:
    def run(number: int) -> Table:
        return lab.read(peers.OURS, _table(lab)).sample(fraction).select(*COLUMNS).toArrow()

    return Peer(run, lambda number: _table(lab))
