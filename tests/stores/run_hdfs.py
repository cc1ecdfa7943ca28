"""Life of tables on HDFS: every operation, two drivers at once, a data node that dies, permissions and quotas.

Run it with `make test-hdfs`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from tests.spark_session import make_session
from tests.stores.hdfs import Hdfs
from tests.stores.life import life, taken_over, told
from tests.table.help import count, holds, ids, load, rows_2d, save

#: Drivers are not the superuser, so that permissions hold for them.
USER = "writer"
#: Appends of each of two drivers, and rows of one.
APPENDS, APPENDED = 5, 200


def main() -> None:
    """Exits with an error where anything does not hold."""
    os.environ["HADOOP_USER_NAME"] = USER
    with tempfile.TemporaryDirectory(prefix="pyqbeast-hdfs-") as name, Hdfs(Path(name)) as hdfs:
        hdfs.tell("open /t")
        spark = make_session(Path(name), {"spark.hadoop.dfs.replication": "2"})
        base = f"{hdfs.uri}/t"
        life(spark, f"{base}/life")
        taken_over(spark, base)
        two_drivers(spark, f"{base}/two")
        told(f"two drivers made {2 * APPENDS} appends at once")
        a_node_dies(spark, hdfs, f"{base}/node")
        told("a data node died during a write, and no row is missing")
        refused(spark, f"{base}/life", lambda: hdfs.tell("close /t/life"), "ermission")
        hdfs.tell("open /t/life")
        refused(spark, f"{base}/life", lambda: hdfs.tell("quota /t/life 1000"), "quota")
        hdfs.tell("quota /t/life 1000000000000")
        save(rows_2d(spark, 100, 10**6), f"{base}/life")
        holds(spark, f"{base}/life")
        told("permissions and quotas end in one error, and the table stays as it was")
        spark.stop()


def two_drivers(spark: SparkSession, path: str) -> None:
    """This driver and another one append at the same time; Delta's commits are renames, of which HDFS lets one win."""
    save(rows_2d(spark, APPENDED), path)
    other = subprocess.Popen([sys.executable, "-m", "tests.stores.run_hdfs", path])
    appends(spark, path, first=10**6)
    assert other.wait() == 0
    expected = [*range(APPENDED)]
    for first in (10**6, 2 * 10**6):
        expected += range(first, first + APPENDS * APPENDED)
    assert ids(load(spark, path)) == expected
    holds(spark, path)


def appends(spark: SparkSession, path: str, first: int) -> None:
    """What one of several drivers does."""
    for number in range(APPENDS):
        save(rows_2d(spark, APPENDED, first + number * APPENDED), path)


def a_node_dies(spark: SparkSession, hdfs: Hdfs, path: str) -> None:
    """One of the two data nodes is stopped while a write makes its files."""
    rows = 400_000
    killed = threading.Timer(1, lambda: hdfs.tell("kill 0"))
    killed.start()
    started = time.monotonic()
    save(rows_2d(spark, rows).repartition(8), path, cubeSize=5_000)
    assert time.monotonic() - started > 1, "the write was over before the data node died"
    killed.join()
    assert count(load(spark, path)) == rows
    hdfs.tell("revive")
    holds(spark, path)


def refused(spark: SparkSession, path: str, forbid: Callable[[], None], reason: str) -> None:
    """An append that the file system does not take ends in one error with path and reason, and changes nothing."""
    before, version = ids(load(spark, path)), version_of(spark, path)
    forbid()
    try:
        save(rows_2d(spark, 500, 5 * 10**6), path)
    except Exception as error:
        text = str(error)
        assert reason in text, text
        assert path.rpartition("/t/")[2] in text, text
        told(f"refused: {text.splitlines()[0][:300]}")
    else:
        raise AssertionError(f"the append was not refused ({reason})")
    assert (ids(load(spark, path)), version_of(spark, path)) == (before, version)


def version_of(spark: SparkSession, path: str) -> int:
    """The latest version of a table."""
    row = spark.sql(f"DESCRIBE HISTORY delta.`{path}` LIMIT 1").first()
    assert row is not None
    return int(row["version"])


def another_driver(path: str) -> None:
    """What the second driver does, in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        spark = make_session(Path(name), {"spark.hadoop.dfs.replication": "2", "spark.driver.memory": "1g"})
        appends(spark, path, first=2 * 10**6)
        spark.stop()


if __name__ == "__main__":
    if sys.argv[1:]:
        another_driver(sys.argv[1])
    else:
        main()
