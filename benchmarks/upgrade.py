"""Upgrading a log of 100,000 files written before format 0.6: `python -m benchmarks.upgrade [FILES]`.

The log is made up from that of a small table, and no file of it is ever opened.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import pyqbeast
from benchmarks import measure

FILES = 100_000
#: One file in so many is of a replicated cube.
REPLICATED = 20


def make_table(spark: SparkSession, path: str, files: int) -> None:
    """A table of before format 0.6 whose log tells of so many files."""
    frame = spark.range(40_000).selectExpr("id", "hash(id) as a", "id % 1000 as b")
    frame.write.format("qbeast").option("columnsToIndex", "a,b").option("cubeSize", "1000").save(path)
    log = Path(path, "_delta_log", "00000000000000000000.json")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    adds = [line["add"] for line in lines if "add" in line]
    for old in log.parent.glob("*.*"):
        old.unlink()
    with log.open("w") as out:
        for line in lines:
            if "metaData" in line:
                line["metaData"]["configuration"]["qbeast.replicatedSet.1"] = '[""]'
            if "add" not in line:
                out.write(json.dumps(line) + "\n")
        for i in range(files):
            out.write(json.dumps({"add": legacy(adds[i % len(adds)], i)}) + "\n")


def legacy(add: dict[str, object], number: int) -> dict[str, object]:
    """The log entry of a file as version 0.5.0 of the Scala project wrote it."""
    tags = {
        "state": "FLOODED" if number % REPLICATED else "REPLICATED",
        "cube": "wgQ",
        "revision": "1",
        "minWeight": str(-2147483648 + number),
        "maxWeight": str(number),
        "elementCount": "1000",
    }
    return {**add, "path": f"file-{number:06d}.parquet", "tags": tags}


def run(spark: SparkSession, path: str, files: int, *, drop: bool) -> None:
    measure.reset_heap(spark)
    took = measure.seconds(lambda: pyqbeast.upgrade(spark, path, drop_replicated=drop))
    heap, python = measure.peak_heap_megabytes(spark), measure.peak_python_megabytes()
    again = measure.seconds(lambda: pyqbeast.upgrade(spark, path))
    size = Path(path, "_delta_log", "00000000000000000001.json").stat().st_size / 2**20
    how = "replicated ones dropped" if drop else "all kept"
    print(f"{files:,} files upgraded, {how}: {took:.1f} s; goal on two cores: under 60 s for 100,000")
    print(f"  a commit of {size:.0f} MB; peak of the heap {heap:.0f} of 1,024 MB, of Python {python:.0f} MB")
    print(f"  once more, with nothing to do: {again:.1f} s")


def main() -> None:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    spark = measure.session("1g")
    for drop in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            make_table(spark, f"{folder}/first", files)
            # Delta remembers a log by its path; from another one it reads the log anew.
            Path(folder, "first").rename(f"{folder}/table")
            run(spark, f"{folder}/table", files, drop=drop)


if __name__ == "__main__":
    main()
