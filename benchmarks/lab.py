"""The session, and the same rows in the table of each peer."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import pyqbeast
from benchmarks.data import INDEXED, Data
from benchmarks.measure import Counts
from pyqbeast import bridge

OURS, PLAIN, Z_ORDER, LIQUID, PARQUET = "ours", "plain Delta", "Z-order", "liquid", "Parquet"
_FORMATS = {OURS: "qbeast", PARQUET: "parquet"}
_FILE_SIZE = "spark.databricks.delta.optimize.maxFileSize"


@dataclass
class Lab:
    """What workloads work with.

    Attributes:
        folder: where tables are made. It is empty before, and its owner deletes it.
        rows: of a table.
        cube_size: of ours.
        seed: of all random numbers.
        questions: how many boxes a class has.
        appends: how many appends a table gets.
        scale: scale factor of TPC-H.
        heap: memory of the driver.
    """

    folder: Path
    rows: int
    cube_size: int
    seed: int
    questions: int
    appends: int
    scale: float
    heap: str = "4g"
    _made: set[str] = field(default_factory=set)

    @cached_property
    def spark(self) -> SparkSession:
        """The session, started when it is first asked for."""
        return session(self.heap)

    def source(self, data: Data, rows: int | None = None) -> DataFrame:
        """The rows as Parquet files that every peer's table is made from."""
        count = self.rows if rows is None else rows
        path = str(self.folder / f"source-{data.name}-{count}")
        if path not in self._made:
            self._made.add(path)
            made = self.spark.range(count).selectExpr(*data.expressions(self.seed, count))
            made.write.parquet(path)
        return self.spark.read.parquet(path)

    def table(
        self, peer: str, data: Data, columns: Sequence[str] = INDEXED, cube_size: int | None = None
    ) -> str:
        """The path of a peer's table of `data`, made where it is missing.

        Z-order and liquid clustering aim at files of the mean size of ours.
        """
        size = cube_size or self.cube_size
        path = str(self.folder / f"{peer}-{data.name}-{len(columns)}-{size}")
        if path not in self._made:
            if peer in (Z_ORDER, LIQUID):
                self.aim_at_files_of(self.table(OURS, data, columns, size))
            self.write(peer, self.source(data), path, columns, size)
            self._made.add(path)
        return path

    def write(
        self, peer: str, rows: DataFrame, path: str, columns: Sequence[str], cube_size: int | None = None
    ) -> None:
        """Makes a peer's table, with all that its users have to run for a good layout."""
        names = ", ".join(columns)
        if peer == OURS:
            options = {"columnsToIndex": ",".join(columns), "cubeSize": str(cube_size or self.cube_size)}
            rows.write.format("qbeast").options(**options).save(path)
        elif peer == LIQUID:
            types = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in rows.schema.fields)
            self.spark.sql(f"CREATE TABLE delta.`{path}` ({types}) USING delta CLUSTER BY ({names})")
            rows.write.format("delta").mode("append").save(path)
            self.spark.sql(f"OPTIMIZE delta.`{path}`")
        else:
            rows.write.format("parquet" if peer == PARQUET else "delta").save(path)
            if peer == Z_ORDER:
                self.spark.sql(f"OPTIMIZE delta.`{path}` ZORDER BY ({names})")

    def aim_at_files_of(self, path: str) -> None:
        """Lets `OPTIMIZE` make files of the mean size of those of a table."""
        files, size = self.size(path)
        self.spark.conf.set(_FILE_SIZE, str(size // files))

    def size(self, path: str) -> tuple[int, int]:
        """Files of a Delta table, and their bytes."""
        detail = self.spark.sql(f"DESCRIBE DETAIL delta.`{path}`").first()
        assert detail is not None
        return int(detail["numFiles"]), int(detail["sizeInBytes"])

    def read(self, peer: str, path: str) -> DataFrame:
        """A peer's table."""
        return self.spark.read.format(_FORMATS.get(peer, "delta")).load(path)


def session(heap: str) -> SparkSession:
    """A local session on two cores."""
    builder: Any = (
        SparkSession.builder.master("local[2]")
        .appName("pyqbeast benchmark")
        .config("spark.driver.memory", heap)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        # As our own files have it: else those of peers take four bytes more for each, and tell no bounds of them.
        .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    )
    return pyqbeast.configure(builder).getOrCreate()


def collected(query: DataFrame) -> DataFrame:
    """Runs a query and returns it, for what it opened to be counted."""
    query.collect()
    return query


def opened(query: DataFrame) -> Counts:
    """What the scans of a query that has run opened and handed on, by Spark's own metrics."""
    totals = bridge.scan_totals(query)
    return {"rows": totals.rows, "files": totals.files, "MB": totals.bytes / 1e6}


def delete(path: str) -> None:
    """Deletes a table that a round made before."""
    shutil.rmtree(path, ignore_errors=True)


def heap_peak(spark: SparkSession) -> float:
    """MB: the sum of the peaks of the heap's pools since `reset_heap_peak`."""
    return sum(float(pool.getPeakUsage().getUsed()) for pool in _heap_pools(spark)) / 1e6


def python_peak() -> float:
    """MB: the most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def reset_heap_peak(spark: SparkSession) -> None:
    """Collects garbage and forgets the peaks so far."""
    jvm: Any = spark._jvm
    jvm.System.gc()
    for pool in _heap_pools(spark):
        pool.resetPeakUsage()


def _heap_pools(spark: SparkSession) -> list[Any]:
    jvm: Any = spark._jvm
    pools = jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    return [pool for pool in pools if str(pool.getType()) == "Heap memory"]
