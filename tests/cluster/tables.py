"""The sessions of the cluster's checks, the rows that they write, and what has to hold of a table."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast.core.format.weight import weight_of
from pyqbeast.delta_log.reader import read_snapshot
from tests.machine import HOST

ROWS = 200_000
#: Of the appends that are made again and again.
SMALLER = 40_000


@contextmanager
def session(master: str, folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """A driver in this process; jars go to the executors with `spark.jars`, which `configure` fills."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # executors are on this machine
    builder = (
        SparkSession.builder.master(master)
        .config("spark.driver.host", HOST)
        .config("spark.driver.bindAddress", HOST)
        .config("spark.driver.memory", "1g")
        .config("spark.executor.memory", "1g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.databricks.delta.snapshotPartitions", "2")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config(map=dict(settings or {}))
    )
    spark = pyqbeast.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()


def rows(spark: SparkSession, first: int, count: int = ROWS) -> DataFrame:
    return spark.range(first, first + count, 1, 8).selectExpr("id", "xxhash64(id) AS x", "hash(id, 1) AS y")


def save(frame: DataFrame, path: str) -> None:
    frame.write.format("qbeast").mode("append").options(columnsToIndex="x,y", cubeSize=5_000).save(path)


def optimize_all(spark: SparkSession, path: str) -> None:
    """Lays out all files of a table anew."""
    table = pyqbeast.QbeastTable.for_path(spark, path)
    table.optimize(files=sorted({row["file"] for row in table.blocks().collect()}))


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


def leaves_nothing(spark: SparkSession, path: str) -> None:
    """After `VACUUM` there is no data file left that the log does not name."""
    spark.sql("SET spark.databricks.delta.retentionDurationCheck.enabled = false")
    spark.sql(f"VACUUM delta.`{path}` RETAIN 0 HOURS")
    named = {file.path for file in read_snapshot(path).files}
    found = {
        str(file.relative_to(path))
        for file in Path(path).rglob("*.parquet")
        if "_delta_log" not in file.parts
    }
    assert found == named, found ^ named
