"""Planning a sample of ten million blocks: `python -m benchmarks.large_log`, in two minutes and with 8 GB of heap.

The log is made up from that of a small table, with a checkpoint, and no file of it is ever opened. It prints what
docs/scale.md tells of such a table.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import pyqbeast
from benchmarks import lab
from benchmarks.workloads.planning import put_log, small_log

FILES, BLOCKS, HEAP = 833_333, 12, "8g"


def make_log(spark: SparkSession, path: str) -> None:
    """An indexed table of `FILES` files of `BLOCKS` blocks each, by its log."""
    rest, adds = small_log(spark, path, FILES)
    name = "@"
    lines = []
    for add in adds:
        blocks = json.loads(add["tags"]["blocks"])
        tags = {**add["tags"], "blocks": json.dumps((blocks * BLOCKS)[:BLOCKS], separators=(",", ":"))}
        lines.append(json.dumps({"add": {**add, "path": name, "tags": tags}}))
    put_log(
        path,
        rest,
        (lines[i % len(lines)].replace(f'"{name}"', f'"copy-{i:07d}.parquet"', 1) for i in range(FILES)),
    )
    logs_of(spark).forTable(spark._jsparkSession, path).checkpoint()
    logs_of(spark).clearCache()


def logs_of(spark: SparkSession) -> Any:  # noqa: ANN401 (an object of Java)
    """Delta's logs."""
    jvm: Any = spark._jvm
    return jvm.org.apache.spark.sql.delta.DeltaLog


def files_of(spark: SparkSession, path: str) -> int:
    """How many files Delta counts, for which it reads the whole log and keeps it."""
    return int(logs_of(spark).forTable(spark._jsparkSession, path).unsafeVolatileSnapshot().numOfFiles())


def used(spark: SparkSession) -> float:
    """MB of the heap that are in use after a garbage collection. Caches that it may still take are among them."""
    lab.reset_heap_peak(spark)
    return lab.heap_peak(spark)


def planned(query: DataFrame) -> None:
    """Plans a query and does not run it."""
    query._jdf.queryExecution().executedPlan()


def told(spark: SparkSession, what: str, work: Callable[[], object]) -> None:
    """Prints how long some work takes and how much memory it keeps."""
    before = used(spark)
    began = time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    print(f"{what}: {seconds:.1f} s, {used(spark) - before:+,.0f} MB", flush=True)


def scanned(path: str) -> None:
    """Prints how long a scan without Spark takes to plan samples, and how much memory Python takes for that."""
    before = lab.python_peak()
    began = time.perf_counter()
    scan = pyqbeast.scan(path)
    print(f"a scan reads the log: {time.perf_counter() - began:.1f} s", flush=True)
    for call in ("first", "second"):
        began = time.perf_counter()
        files = scan.sample(0.01).files()
        print(f"the {call} sample of a scan: {time.perf_counter() - began:.1f} s", flush=True)
        if not any(file.skipped for file in files):
            raise AssertionError("the sample opens every file: nothing was left out")
    print(f"Python's peak: {lab.python_peak() - before:+,.0f} MB", flush=True)


def append(spark: SparkSession, path: str) -> None:
    """Appends a thousand rows of which the table has the like."""
    rows = spark.range(1_000).selectExpr("id", "hash(id) as a", "id % 1000 as b")
    rows.write.format("qbeast").mode("append").save(path)


def main() -> None:
    """Makes the log and prints the figures."""
    folder = tempfile.mkdtemp()
    spark = lab.session(HEAP)
    path, read = f"{folder}/table", spark.read.format
    try:
        make_log(spark, path)
        told(spark, "Delta reads the log", lambda: files_of(spark, path))
        for call in ("first", "second"):
            told(
                spark, f"the {call} sample", lambda: planned(read("qbeast").load(path).sample(fraction=0.01))
            )
        told(spark, "a filter", lambda: planned(read("qbeast").load(path).filter("b < 10")))
        for call in ("first", "second"):
            told(spark, f"the {call} append", lambda: append(spark, path))
        scanned(path)
    finally:
        spark.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
