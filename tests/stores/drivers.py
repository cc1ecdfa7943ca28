"""Two drivers that append to a table at the same time; the second is this module in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from tests.spark_session import make_session
from tests.stores.life import told
from tests.table.help import holds, ids, load, rows_2d, save

#: Appends of each driver, and rows of one.
APPENDS, APPENDED = 5, 200
#: The first row of each driver.
HERE, THERE = 10**6, 2 * 10**6


def two_drivers(spark: SparkSession, path: str, settings: Mapping[str, str]) -> None:
    """This driver and another one append at once, and every row of both is there."""
    save(rows_2d(spark, APPENDED), path)
    with subprocess.Popen(
        [sys.executable, "-m", "tests.stores.drivers", path, json.dumps(settings)]
    ) as other:
        appends(spark, path, HERE)
        assert other.wait() == 0
    expected = [*range(APPENDED)]
    for first in (HERE, THERE):
        expected += range(first, first + APPENDS * APPENDED)
    assert ids(load(spark, path)) == expected
    holds(spark, path)
    told(f"two drivers made {2 * APPENDS} appends at once")


def appends(spark: SparkSession, path: str, first: int) -> None:
    """What one of the drivers does."""
    for number in range(APPENDS):
        save(rows_2d(spark, APPENDED, first + number * APPENDED), path)


def another_driver(path: str, settings: Mapping[str, str]) -> None:
    """What the second driver does."""
    with tempfile.TemporaryDirectory() as name:
        spark = make_session(Path(name), {**settings, "spark.driver.memory": "1g"})
        appends(spark, path, THERE)
        spark.stop()


if __name__ == "__main__":
    another_driver(sys.argv[1], json.loads(sys.argv[2]))
