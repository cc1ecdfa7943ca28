"""Writes, appends, samples and optimizes on a cluster, and kills executors, Python workers and drivers meanwhile.

Run it with `make test-cluster`.
"""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import pyqbeast
from tests.cluster.daemons import Cluster
from tests.cluster.drivers import kill_driver
from tests.cluster.losses import dying_workers, each_stage, slow_workers
from tests.cluster.restless import RESTLESS, copied_stages, executors, wait_until
from tests.cluster.tables import (
    ROWS,
    SMALLER,
    has_each_once,
    holds,
    leaves_nothing,
    optimize_all,
    rows,
    save,
    session,
)

#: Each runs one task at a time.
WORKERS = 2
#: What Spark calls the stage that writes files.
WRITING = "writeFiles"
#: Stages of an append that read its rows: one looks at them, one sends them to their files.
READING = 2


def main() -> None:
    """Exits with an error where anything does not hold."""
    with tempfile.TemporaryDirectory(prefix="pyqbeast-cluster-") as name:
        folder = Path(name)
        with Cluster(folder, workers=WORKERS) as cluster:
            with session(cluster.master, folder) as spark:
                check(spark, cluster, folder / "table")
                lose_in_each_stage(spark, cluster, folder / "losses")
            with session(cluster.master, folder, RESTLESS) as spark:
                come_and_go(spark, folder / "restless")
            lose_drivers(cluster, folder)
    print("the cluster lost nothing and doubled nothing")


def check(spark: SparkSession, cluster: Cluster, place: Path) -> None:
    path = str(place)
    save(rows(spark, 0), path)
    holds(spark, path, ROWS)
    print("written on two workers")

    # Behind a shuffle rows come in another order when they are computed once more, and are the same rows.
    killer = Killer(cluster, place)
    killer.start()
    save(rows(spark, ROWS).repartition(8, "id"), path)
    killer.written.set()
    killer.join()
    assert killer.killed, "no executor was killed while the write ran"
    holds(spark, path, 2 * ROWS)
    print("appended, and one executor killed behind the first file")

    rows(spark, 2 * ROWS, 1_000).write.format("delta").mode("append").save(path)
    assert pyqbeast.QbeastTable.for_path(spark, path).optimize(0).changed
    holds(spark, path, 2 * ROWS + 1_000)
    print("optimized")
    leaves_nothing(spark, path)


def lose_in_each_stage(spark: SparkSession, cluster: Cluster, place: Path) -> None:
    """An executor is lost in most stages of an append and of an optimize, and Python workers in those of an append."""
    path, there = str(place), SMALLER
    save(rows(spark, 0, there), path)

    def append(frame: DataFrame | None = None) -> None:
        nonlocal there
        save(rows(spark, there, SMALLER) if frame is None else frame, path)
        there += SMALLER

    for name, change in (("append", append), ("optimize", lambda: optimize_all(spark, path))):
        killed = each_stage(spark, cluster, change, lambda: has_each_once(spark, path, there))
        holds(spark, path, there)
        assert 2 * sum("tasks" in stage for stage in killed) > len(killed), killed
        assert any(stage.startswith(WRITING) for stage in killed), killed
        print(f"executor killed in the stages of {name}: {'; '.join(killed)}", flush=True)
    deaths = place.with_name("deaths")
    deaths.mkdir()
    append(dying_workers(rows(spark, there, SMALLER), deaths))
    died = len([*deaths.iterdir()])
    assert died >= READING, died
    holds(spark, path, there)
    print(f"appended rows whose Python workers died in {died} stages")
    leaves_nothing(spark, path)


def come_and_go(spark: SparkSession, place: Path) -> None:
    """Executors come with the work and go after it, and tasks that last have a copy beside them."""
    path = str(place)
    save(slow_workers(rows(spark, 0, SMALLER)), path)
    wait_until(lambda: executors(spark) == 0, "the executors are gone")
    save(slow_workers(rows(spark, SMALLER, SMALLER)), path)
    optimize_all(spark, path)
    holds(spark, path, 2 * SMALLER)
    # A task that writes files has a copy by luck only, as it lasts no longer than the others.
    copied = copied_stages(spark)
    assert len(copied) >= 3, copied
    print(
        f"executors came and went, and tasks had copies in {len(copied)} stages: {', '.join(sorted({*copied}))}"
    )
    leaves_nothing(spark, path)


def lose_drivers(cluster: Cluster, folder: Path) -> None:
    """Drivers are killed amid an append, as soon as there is a file of it and a little later."""
    place = folder / "drivers"
    path = str(place)
    with session(cluster.master, folder) as spark:
        save(rows(spark, 0, SMALLER), path)
    for later in (0.0, 0.1, 0.3):
        kill_driver(cluster.master, place, SMALLER, later)
    with session(cluster.master, folder) as spark:
        holds(spark, path, SMALLER)
        leaves_nothing(spark, path)
        save(rows(spark, SMALLER, SMALLER), path)
        holds(spark, path, 2 * SMALLER)
    print("three drivers killed while they appended, and the rows of none were there")


class Killer(threading.Thread):
    """Kills an executor as soon as a file of the write is whole: there is one more than workers."""

    def __init__(self, cluster: Cluster, place: Path) -> None:
        super().__init__(daemon=True)
        self.written = threading.Event()
        self.killed = False
        self._cluster = cluster
        self._place = place
        self._before = self._files()

    def run(self) -> None:
        while not self.written.is_set():
            if len(self._files() - self._before) > WORKERS:
                self._cluster.kill_an_executor()
                self.killed = not self.written.is_set()
                return
            time.sleep(0.005)

    def _files(self) -> set[Path]:
        return set(self._place.rglob("*.parquet"))


if __name__ == "__main__":
    main()
