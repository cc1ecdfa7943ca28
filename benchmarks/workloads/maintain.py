"""Optimize after small appends against Delta's own, and the upgrade of a log written before format 0.6."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyqbeast
from benchmarks import lab as peers
from benchmarks.data import UNIFORM
from benchmarks.lab import Lab
from benchmarks.measure import Case, Peer
from benchmarks.workloads.planning import FILES, put_log, small_log
from benchmarks.workloads.samples import COLUMNS
from pyqbeast import QbeastTable

ROUNDS = 2
APPENDS = 10
#: One file in so many is of a replicated cube.
REPLICATED = 20


def cases(lab: Lab) -> Iterator[Case]:
    """Every round works on tables of its own."""
    yield Case(
        f"optimize after {APPENDS} appends of 1 %",
        {name: _optimizer(lab, name) for name in (peers.OURS, peers.PLAIN)},
        goal="≤ 1.5 × Delta's OPTIMIZE",
        rounds=ROUNDS,
    )
    yield Case(
        f"upgrade of {FILES:,} files",
        {"all kept": _upgrader(lab, drop=False), "replicated ones dropped": _upgrader(lab, drop=True)},
        goal="≤ 60 s on two cores",
        rounds=ROUNDS,
    )


def _optimizer(lab: Lab, peer: str) -> Peer:
    def path(number: int) -> str:
        return str(lab.folder / f"optimize-{peer}-{number}")

    def before(number: int) -> None:
        """The same table for both: one that is scattered."""
        peers.delete(path(number - 1))
        lab.write(peers.OURS, lab.source(UNIFORM), path(number), COLUMNS)
        part = lab.source(UNIFORM).filter(f"id < {lab.rows // 100}")
        for _ in range(APPENDS):
            part.write.format("qbeast").mode("append").save(path(number))

    def run(number: int) -> None:
        if peer == peers.OURS:
            QbeastTable.for_path(lab.spark, path(number)).optimize()
        else:
            lab.spark.sql(f"OPTIMIZE delta.`{path(number)}`")

    return Peer(run, before)


def _upgrader(lab: Lab, *, drop: bool) -> Peer:
    def path(number: int) -> str:
        return str(lab.folder / f"upgrade-{drop}-{number}")

    def before(number: int) -> None:
        peers.delete(path(number - 1))
        make_legacy_table(lab, path(number))
        peers.reset_heap_peak(lab.spark)

    def counts(_: object) -> dict[str, float]:
        return {"heap MB": peers.heap_peak(lab.spark), "Python MB": peers.python_peak()}

    return Peer(
        lambda number: pyqbeast.upgrade(lab.spark, path(number), drop_replicated=drop), before, counts
    )


def make_legacy_table(lab: Lab, path: str) -> None:
    """A table of before format 0.6 whose log tells of `FILES` files."""
    rest, adds = small_log(lab.spark, path, FILES)
    for action in rest:
        if "metaData" in action:
            action["metaData"]["configuration"]["qbeast.replicatedSet.1"] = '[""]'
    put_log(path, rest, (json.dumps({"add": _legacy(adds[i % len(adds)], i)}) for i in range(FILES)))


def _legacy(add: dict[str, Any], number: int) -> dict[str, Any]:
    """The log's entry of a file as version 0.5.0 of the Scala project wrote it."""
    tags = {
        "state": "FLOODED" if number % REPLICATED else "REPLICATED",
        "cube": "wgQ",
        "revision": "1",
        "minWeight": str(-2147483648 + number),
        "maxWeight": str(number),
        "elementCount": "1000",
    }
    return {**add, "path": f"file-{number:06d}.parquet", "tags": tags}
