"""What a table's life costs: small appends to it, and optimize against plain Delta's OPTIMIZE; prints ratios.

python -m benchmarks.life [--rows 1000000 --appends 200 --append-rows 1000]
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

from benchmarks import measure
from pyqbeast import QbeastTable

BOUNDS = '{"x_min": 0, "x_max": 1000000, "y_min": 0, "y_max": 1000000}'


def rows(spark: SparkSession, first: int, n: int) -> DataFrame:
    columns = ("pmod(xxhash64(id, 7L), 1000000L) as x", "pmod(xxhash64(id, 9L), 1000000L) as y")
    return spark.range(first, first + n).selectExpr("id", *columns, "xxhash64(id, 1L) as key")


def seconds(started: float) -> float:
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--appends", type=int, default=10)
    parser.add_argument("--append-rows", type=int, default=1_000)
    parser.add_argument("--cube-size", type=int, default=50_000)
    given = parser.parse_args()
    spark = measure.session()
    report = Table("what", "goal", "measured", "")
    with tempfile.TemporaryDirectory() as folder:
        path, plain = str(Path(folder, "indexed")), str(Path(folder, "plain"))
        options = {"columnsToIndex": "x,y", "cubeSize": str(given.cube_size), "columnStats": BOUNDS}
        rows(spark, 0, given.rows).write.format("qbeast").options(**options).save(path)
        table = QbeastTable.for_path(spark, path)
        files = len(table.df().inputFiles())
        for i in range(given.appends):
            batch = rows(spark, given.rows + i * given.append_rows, given.append_rows)
            batch.write.format("qbeast").mode("append").save(path)
        added = (len(table.df().inputFiles()) - files) / given.appends
        report.add_row("files an append", "≤ 2", f"{added:.2f}", "")

        part = rows(spark, 10 * given.rows, given.rows // 100).persist()
        before = measure.data_bytes(path)
        part.write.format("qbeast").mode("append").save(path)
        alone = str(Path(folder, "alone"))
        part.coalesce(1).write.format("delta").save(alone)
        ratio = (measure.data_bytes(path) - before) / measure.data_bytes(alone)
        report.add_row("bytes of an append of 1 %", "≤ 1.3 × its own", f"{ratio:.2f}", "")

        shutil.copytree(path, plain)
        started = time.perf_counter()
        spark.sql(f"OPTIMIZE delta.`{plain}`")
        of_delta = seconds(started)
        started = time.perf_counter()
        result = table.optimize()
        ours = seconds(started)
        assert table.verify("data").ok
        note = f"{ours:.1f} s and {of_delta:.1f} s; {result}"
        report.add_row("optimize", "≤ 1.5 × Delta's OPTIMIZE", f"{ours / of_delta:.2f}", note)
    Console().print(report)
    spark.stop()


if __name__ == "__main__":
    main()
