"""A first session with a write and a sample: `python -m benchmarks.first_session`, after `pyqbeast prepare`.

Prints the medians of three processes with the archive of Spark's classes and of three without, in turn: seconds by the
wall clock, and of CPU.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession

import pyqbeast
from benchmarks.processes import cpu_seconds
from pyqbeast.bridge.start.class_archive import archive
from pyqbeast.bridge.start.maven import cache_folder

PAIRS = 3
ROWS = 10_000


def use() -> None:
    """The session, in this process."""
    began = time.perf_counter()
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "1g")
    spark = pyqbeast.configure(builder.config("spark.ui.enabled", "false")).getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "table"))
        rows = spark.range(ROWS).selectExpr("id", "id % 7 AS kind")
        rows.write.format("qbeast").option("columnsToIndex", "id,kind").save(path)
        spark.read.format("qbeast").load(path).sample(0.1).count()
        print(time.perf_counter() - began, cpu_seconds())
        spark.stop()


def _figures(environment: dict[str, str]) -> tuple[float, float]:
    command = [sys.executable, "-m", "benchmarks.first_session", "use"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    wall, cpu = map(float, done.stdout.split()[-2:])
    return wall, cpu


def main() -> None:
    """Compares."""
    if sys.argv[1:] == ["use"]:
        use()
        return
    if archive() is None:
        sys.exit("there is no archive: run pyqbeast prepare")
    with tempfile.TemporaryDirectory() as folder:
        jars = Path(folder, "pyqbeast", "jars")
        jars.parent.mkdir()
        jars.symlink_to(cache_folder())
        environments = {"with the archive": {}, "without": {"XDG_CACHE_HOME": folder}}
        figures: dict[str, list[tuple[float, float]]] = {name: [] for name in environments}
        for _ in range(PAIRS):
            for name, more in environments.items():
                figures[name].append(_figures({**os.environ, **more}))
    for name, found in figures.items():
        wall, cpu = (statistics.median(each) for each in zip(*found, strict=True))
        print(f"{name}: {wall:.1f} s, {cpu:.1f} s of CPU")


if __name__ == "__main__":
    main()
