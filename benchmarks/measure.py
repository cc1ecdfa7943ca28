"""Timing in turn, and a session that says how much memory it took."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

import pyqbeast


def session(heap: str = "4g") -> SparkSession:
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("pyqbeast benchmark")
        .config("spark.driver.memory", heap)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
    )
    return pyqbeast.configure(builder).getOrCreate()


def seconds(body: Callable[[], object]) -> float:
    started = time.perf_counter()
    body()
    return time.perf_counter() - started


def in_turn(runs: int, *bodies: Callable[[], object]) -> list[list[float]]:
    """Seconds of each body, the bodies in turn, after one round that does not count."""
    times = [[seconds(body) for body in bodies] for _ in range(runs + 1)][1:]
    return [list(column) for column in zip(*times, strict=True)]


def ratio(a: list[float], b: list[float]) -> float:
    """The median of a / b, pair by pair."""
    return statistics.median(x / y for x, y in zip(a, b, strict=True))


def data_bytes(path: str) -> int:
    return sum(file.stat().st_size for file in Path(path).glob("*.parquet"))


def peak_python_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def peak_heap_megabytes(spark: SparkSession) -> float:
    """Sum of the peaks of the JVM's heap pools since `reset_heap`."""
    factory = spark._jvm.java.lang.management.ManagementFactory
    pools = [pool for pool in factory.getMemoryPoolMXBeans() if str(pool.getType()) == "Heap memory"]
    return sum(pool.getPeakUsage().getUsed() for pool in pools) / 2**20


def reset_heap(spark: SparkSession) -> None:
    spark._jvm.System.gc()
    for pool in spark._jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans():
        pool.resetPeakUsage()
