"""Writes, appends, samples and optimizes on a cluster, and kills executors and Python workers meanwhile.

Run it with `make test-cluster`.
"""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast.core.format.weight import weight_of
from tests.cluster.daemons import Cluster
from tests.cluster.losses import dying_workers, each_stage
from tests.machine import HOST

ROWS = 200_000
#: Of the appends that are made again and again.
SMALLER = 40_000


def main() -> None:
    """Exits with an error where anything does not hold."""
    with tempfile.TemporaryDirectory(prefix="pyqbeast-cluster-") as name:
        folder = Path(name)
        with Cluster(folder, workers=2) as cluster:
            spark = session(cluster, folder)
            try:
                check(spark, cluster, folder / "table")
            finally:
                spark.stop()
    print("the cluster lost nothing and doubled nothing")


def session(cluster: Cluster, folder: Path) -> SparkSession:
    """A driver in this process; jars go to the executors with `spark.jars`, which `configure` fills."""
    builder = (
        SparkSession.builder.master(cluster.master)
        .config("spark.driver.host", HOST)
        .config("spark.driver.bindAddress", HOST)
        .config("spark.driver.memory", "1g")
        .config("spark.executor.memory", "1g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.databricks.delta.snapshotPartitions", "2")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    )
    spark = pyqbeast.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def check(spark: SparkSession, cluster: Cluster, place: Path) -> None:
    path = str(place)
    save(rows(spark, 0), path)
    holds(spark, path, ROWS)
    print("written on two workers")

    killer = Killer(cluster, place)
    killer.start()
    save(rows(spark, ROWS), path)
    killer.written.set()
    killer.join()
    assert killer.killed, "no executor was killed while the write ran"
    holds(spark, path, 2 * ROWS)
    print("appended, and one executor killed meanwhile")

    rows(spark, 2 * ROWS, 1_000).write.format("delta").mode("append").save(path)
    assert pyqbeast.QbeastTable.for_path(spark, path).optimize(0).changed
    holds(spark, path, 2 * ROWS + 1_000)
    print("optimized")

    lose_in_each_stage(spark, cluster, place.with_name("losses"))


def lose_in_each_stage(spark: SparkSession, cluster: Cluster, place: Path) -> None:
    """An executor is lost in each stage of an append and of an optimize, and Python workers in those of an append."""
    path, there = str(place), SMALLER
    save(rows(spark, 0, there), path)

    def append(frame: DataFrame | None = None) -> None:
        nonlocal there
        save(rows(spark, there, SMALLER) if frame is None else frame, path)
        there += SMALLER

    def optimize() -> None:
        table = pyqbeast.QbeastTable.for_path(spark, path)
        table.optimize(files=sorted({row["file"] for row in table.blocks().collect()}))

    for name, change in (("append", append), ("optimize", optimize)):
        killed = each_stage(spark, cluster, change, lambda: has_each_once(spark, path, there))
        holds(spark, path, there)
        assert sum("tasks" in stage for stage in killed) >= 2, killed
        print(f"executor killed in the stages of {name}: {'; '.join(killed)}", flush=True)
    append(dying_workers(rows(spark, there, SMALLER)))
    holds(spark, path, there)
    print("appended rows whose Python workers died in each stage")


def rows(spark: SparkSession, first: int, count: int = ROWS) -> DataFrame:
    return spark.range(first, first + count, 1, 8).selectExpr("id", "xxhash64(id) AS x", "hash(id, 1) AS y")


def save(frame: DataFrame, path: str) -> None:
    frame.write.format("qbeast").mode("append").options(columnsToIndex="x,y", cubeSize=5_000).save(path)


def has_each_once(spark: SparkSession, path: str, count: int) -> DataFrame:
    """Every row is there once; returns the table."""
    table = spark.read.format("qbeast").load(path)
    found = table.agg(F.count("*"), F.count_distinct("id"), F.sum("id")).first()
    assert found is not None
    assert tuple(found) == (count, count, count * (count - 1) // 2), found
    return table


def holds(spark: SparkSession, path: str, count: int) -> None:
    """Every row is there once, a sample is the rows of lowest weight, and the index says the truth."""
    table = has_each_once(spark, path, count)
    by_hash = table.filter((F.hash("x", "y") + F.lit(0)) < weight_of(0.1))
    sampled = [frame.agg(F.count("*"), F.sum("id")).first() for frame in (table.sample(0.1), by_hash)]
    assert sampled[0] == sampled[1], sampled
    report = pyqbeast.QbeastTable.for_path(spark, path).verify()
    assert report.ok, str(report)


class Killer(threading.Thread):
    """Kills an executor as soon as the write makes its first file."""

    def __init__(self, cluster: Cluster, place: Path) -> None:
        super().__init__(daemon=True)
        self.written = threading.Event()
        self.killed = False
        self._cluster = cluster
        self._place = place
        self._before = self._files()

    def run(self) -> None:
        while not self.written.is_set():
            if self._files() - self._before:
                self._cluster.kill_an_executor()
                self.killed = not self.written.is_set()
                return
            time.sleep(0.005)

    def _files(self) -> set[Path]:
        return set(self._place.rglob("*.parquet"))


if __name__ == "__main__":
    main()
