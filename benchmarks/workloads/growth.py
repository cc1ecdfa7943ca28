"""What a row costs as tables grow, and the driver's memory: a million rows, ten million, and as many as asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from benchmarks import lab as peers
from benchmarks.data import UNIFORM
from benchmarks.lab import Lab
from benchmarks.measure import Case, Peer, Reading
from benchmarks.processes import cpu_seconds
from benchmarks.workloads.samples import COLUMNS, all_columns
from pyqbeast import QbeastTable

SIZES = (100_000_000, 10_000_000, 1_000_000)
CUBES_OF_A_TABLE = 40
ROUNDS = 2

#: Works on a number of rows, and says what is to be timed.
Act = Callable[[Lab, int], Callable[[], object]]


def cases(lab: Lab) -> Iterator[Case]:
    """The peers are the sizes: where a row costs the same at each, their quotients are one."""
    sizes = [size for size in SIZES if size <= max(lab.rows, SIZES[1])]
    acts: tuple[tuple[str, Act], ...] = (
        ("write", _write),
        ("sample of 10 %, all columns", _sample),
        ("rewrite by optimize", _optimize),
    )
    for what, act in acts:
        yield Case(
            what,
            {f"{size // 10**6}M rows": _peer(lab, size, act) for size in sizes},
            goal="a row ≤ 1.2 × that of other sizes, heap flat",
            rounds=ROUNDS,
        )


def _peer(lab: Lab, rows: int, act: Act) -> Peer:
    def run(number: int) -> Reading:
        timed = act(lab, rows)
        peers.reset_heap_peak(lab.spark)
        wall, cpu = time.perf_counter(), cpu_seconds()
        timed()
        wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
        a_row = {"wall, ns a row": wall / rows * 1e9, "CPU, ns a row": cpu / rows * 1e9}
        memory = {"heap MB": peers.heap_peak(lab.spark), "Python MB": peers.python_peak()}
        return Reading(wall, cpu, {**a_row, **memory})

    return Peer(run)


def _write(lab: Lab, rows: int) -> Callable[[], object]:
    path = _path(lab, rows)
    peers.delete(path)
    source = lab.source(UNIFORM, rows)
    return lambda: lab.write(peers.OURS, source, path, COLUMNS, rows // CUBES_OF_A_TABLE)


def _sample(lab: Lab, rows: int) -> Callable[[], object]:
    table = lab.read(peers.OURS, _path(lab, rows))
    return table.sample(fraction=0.1).agg(*all_columns(table)).collect


def _optimize(lab: Lab, rows: int) -> Callable[[], object]:
    table = QbeastTable.for_path(lab.spark, _path(lab, rows))
    files = [row["file"] for row in table.blocks().select("file").distinct().collect()]
    return lambda: table.optimize(files=files)


def _path(lab: Lab, rows: int) -> str:
    return str(lab.folder / f"growth-{rows}")
