"""Runs workloads and keeps what they measured: `python -m benchmarks.suite [--only boxes] [--rows 40000000]`.

`python -m benchmarks.report` draws the page from what is kept.
"""

from __future__ import annotations

import argparse
import importlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import results, setting
from benchmarks.lab import Lab
from benchmarks.measure import Case, Measured, Spread, measure, values
from benchmarks.results import Result
from benchmarks.tpch import CUBE_SIZE

#: Workloads, and whether they run where nobody names one. The others take long, or need more than is installed.
WORKLOADS = {
    "write": True,
    "samples": True,
    "boxes": True,
    "appends": True,
    "changes": True,
    "scan": True,
    "tolerance": True,
    "joins": True,
    "growth": True,
    "planning": True,
    "no_jvm": True,
    "maintain": True,
    "tiledb": False,
    "tpch": False,
}
#: A table of the default cube size has about so many full cubes.
CUBES_OF_A_TABLE = 40


def main() -> None:
    """Runs what the command line asks for."""
    given = _arguments()
    asked = [part.partition(":")[::2] for part in given.only]
    unknown = [workload for workload, _ in asked if workload not in WORKLOADS]
    if unknown:
        raise SystemExit(f"no workload {unknown[0]!r}; there are {', '.join(WORKLOADS)}")
    for workload in WORKLOADS:
        wanted = [case for name, case in asked if name == workload]
        if wanted or (not asked and WORKLOADS[workload]):
            _run(workload, wanted, given)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="CASE", help="boxes, or boxes:skewed, …")
    parser.add_argument("--rows", type=int, default=4_000_000, help="of each table")
    parser.add_argument("--cube-size", type=int, help=f"of ours; rows / {CUBES_OF_A_TABLE}")
    parser.add_argument("--runs", type=int, default=5, help="rounds after the first call")
    parser.add_argument("--questions", type=int, default=10, help="boxes of a class")
    parser.add_argument("--appends", type=int, default=40, help="small appends to one table")
    parser.add_argument("--scale", type=float, default=1.0, help="scale factor of TPC-H")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--heap", default="4g", help="memory of the driver")
    parser.add_argument("--folder", type=Path, help="where tables are made; a temporary one")
    parser.add_argument("--results", type=Path, default=results.KEPT)
    return parser.parse_args()


def _run(workload: str, wanted: list[str], given: argparse.Namespace) -> None:
    cube_size = given.cube_size or given.rows // CUBES_OF_A_TABLE
    synthetic = {
        "size": _millions(given.rows),
        "rows": given.rows,
        "cube size": cube_size,
        "boxes of a class": given.questions,
        "small appends": given.appends,
    }
    of_tpch = {"size": f"scale-{given.scale:g}", "cube size": CUBE_SIZE}
    options = {
        **(of_tpch if workload == "tpch" else synthetic),
        "rounds": given.runs,
        "heap": given.heap,
        **({"only": " ".join(wanted)} if any(wanted) else {}),
    }
    kept = {
        "day": setting.today(),
        "machine": setting.machine(),
        "versions": setting.versions(),
        "seed": given.seed,
        "options": options,
    }
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=given.folder, prefix=f"benchmark-{workload}-") as folder:
        lab = Lab(
            Path(folder),
            given.rows,
            cube_size,
            given.seed,
            given.questions,
            given.appends,
            given.scale,
            given.heap,
        )
        measured: list[Measured] = []
        for case in _chosen(workload, wanted, lab):
            measured.append(measure(case, given.runs))
            _tell(workload, measured[-1])
            # A run takes hours: one that fails late keeps what it measured.
            path = Result(workload, kept, measured).write(given.results)
    told = f"kept in {path}" if measured else "no such case"
    print(f"{workload}: {time.perf_counter() - begun:.0f} s, {told}", flush=True)


def _chosen(workload: str, wanted: list[str], lab: Lab) -> Iterator[Case]:
    for case in importlib.import_module(f"benchmarks.workloads.{workload}").cases(lab):
        if not any(wanted) or any(part and part in case.name for part in wanted):
            yield case


def _tell(workload: str, measured: Measured) -> None:
    """One line for whoever watches."""
    medians = (f"{peer} {Spread.of(values(measured, peer, 'wall')).median:.3g} s" for peer in measured.warm)
    print(f"{workload}: {measured.name}: {', '.join(medians)}", flush=True)


def _millions(rows: int) -> str:
    return f"{rows / 1e6:g}M"


if __name__ == "__main__":
    main()
