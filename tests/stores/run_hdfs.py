"""Life of tables on HDFS: every operation, two drivers at once, a data node that dies, permissions and quotas.

Run it with `make test-hdfs`.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import SparkSession

from tests.spark_session import make_session
from tests.stores.drivers import two_drivers
from tests.stores.hdfs import Hdfs
from tests.stores.life import life, taken_over, told, version_of
from tests.table.help import holds, ids, load, rows_2d, save

#: Drivers are not the superuser, so that permissions hold for them.
USER = "writer"
SETTINGS = {"spark.hadoop.dfs.replication": "2"}


def main() -> None:
    """Exits with an error where anything does not hold."""
    os.environ["HADOOP_USER_NAME"] = USER
    with tempfile.TemporaryDirectory(prefix="pyqbeast-hdfs-") as name, Hdfs(Path(name)) as hdfs:
        hdfs.tell("open /t")
        spark = make_session(Path(name), SETTINGS)
        base = f"{hdfs.uri}/t"
        life(spark, f"{base}/life")
        taken_over(spark, base)
        two_drivers(spark, f"{base}/two", SETTINGS)
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


def a_node_dies(spark: SparkSession, hdfs: Hdfs, path: str) -> None:
    """One of the two data nodes is stopped while a write makes its files."""
    rows = 400_000

    def kill() -> None:
        time.sleep(1)
        hdfs.tell("kill 0")

    with ThreadPoolExecutor(1) as pool:
        killed = pool.submit(kill)
        started = time.monotonic()
        save(rows_2d(spark, rows).repartition(8), path, cubeSize=5_000)
        assert time.monotonic() - started > 1, "the write was over before the data node died"
    killed.result()
    # Delta answers a count from the log.
    assert ids(load(spark, path)) == list(range(rows))
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


if __name__ == "__main__":
    main()
