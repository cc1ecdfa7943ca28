"""Planning a sample of a table with 20,000 files, against Delta planning a filter: `python -m benchmarks.planning`.

The log is made up from that of a small table, and no file of it is ever opened.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks import measure

FILES = 20_000
RUNS = 9


def make_table(spark: SparkSession, path: str) -> None:
    """An indexed table whose log tells of `FILES` files."""
    frame = spark.range(40_000).selectExpr("id", "hash(id) as a", "id % 1000 as b")
    frame.write.format("qbeast").option("columnsToIndex", "a,b").option("cubeSize", "1000").save(path)
    log = Path(path, "_delta_log", "00000000000000000000.json")
    lines = log.read_text().splitlines()
    adds = [json.loads(line) for line in lines if '"add"' in line]
    rest = [line for line in lines if '"add"' not in line]
    copies = []
    for i in range(FILES):
        add = json.loads(json.dumps(adds[i % len(adds)]))
        add["add"]["path"] = f"copy-{i:05d}.parquet"
        copies.append(json.dumps(add))
    for old in log.parent.glob("*.*"):
        old.unlink()
    log.write_text("\n".join([*rest, *copies]) + "\n")


def main() -> None:
    spark = measure.session("3g")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/table"
        make_table(spark, f"{folder}/first")
        Path(folder, "first").rename(path)
        indexed = spark.read.format("qbeast").load(path)
        plain = spark.read.format("delta").load(path)
        cold = measure.seconds(lambda: indexed.sample(fraction=0.01).inputFiles())
        ours, deltas = measure.in_turn(
            RUNS,
            lambda: indexed.sample(fraction=0.01).inputFiles(),
            lambda: plain.filter("b < 10").inputFiles(),
        )
        filtered, deltas_filtered = measure.in_turn(
            RUNS,
            lambda: indexed.filter("b < 10").sample(fraction=0.01).inputFiles(),
            lambda: plain.filter("b < 10").inputFiles(),
        )
        files = len(indexed.sample(fraction=0.01).inputFiles())
        print(f"{FILES:,} files, {files:,} of them hold rows of a 1 % sample; goal: ≤ 1.2 × Delta's planning")
        print(f"first plan, which reads the log: {cold:.2f} s")
        print(f"sample: {measure.ratio(ours, deltas):.2f} × ({min(ours):.2f} s and {min(deltas):.2f} s)")
        print(f"filter and sample: {measure.ratio(filtered, deltas_filtered):.2f} ×")
    spark.stop()


if __name__ == "__main__":
    main()
