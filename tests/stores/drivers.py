"""Two drivers that append to a table at the same time; the second is this module in a process of its own."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from tests.spark_session import make_session
from tests.stores.life import told
from tests.table.help import holds, ids, load, rows_2d, save

#: Appends of each driver in a round, and rows of one.
APPENDS, APPENDED = 5, 200
#: The first row of each driver.
HERE, THERE = 10**6, 2 * 10**6
#: So many rounds at most until both have committed in turns. In the first one the other driver is still slow.
ROUNDS = 4
#: What the other driver says before each round.
READY = "ready"


def two_drivers(spark: SparkSession, path: str, settings: Mapping[str, str]) -> None:
    """This driver and another one append at once, and every row of both is there."""
    save(rows_2d(spark, APPENDED), path)
    with subprocess.Popen(
        [sys.executable, "-m", "tests.stores.drivers", path, json.dumps(settings)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        _wait_for(other)
        for done in range(ROUNDS):
            assert other.stdin is not None
            print(done, file=other.stdin, flush=True)
            appends(spark, path, HERE, done)
            _wait_for(other)
            if are_at_once(writers(spark, path)):
                break
        else:
            raise AssertionError(f"the drivers never appended at once: {writers(spark, path)}")
        other.stdin.close()
        assert other.wait() == 0
    each = (done + 1) * APPENDS
    expected = [*range(APPENDED)]
    for first in (HERE, THERE):
        expected += range(first, first + each * APPENDED)
    assert ids(load(spark, path)) == expected
    holds(spark, path)
    told(f"two drivers made {2 * each} appends at once")


def appends(spark: SparkSession, path: str, first: int, done: int) -> None:
    """What one of the drivers does in a round, when some are done."""
    for number in range(done * APPENDS, (done + 1) * APPENDS):
        save(rows_2d(spark, APPENDED, first + number * APPENDED), path, userMetadata=str(first))


def writers(spark: SparkSession, path: str) -> list[str]:
    """Which driver made each version after the first, the oldest first."""
    history = spark.sql(f"DESCRIBE HISTORY delta.`{path}`").select("version", "userMetadata").collect()
    return [row["userMetadata"] for row in sorted(history)[1:]]


def are_at_once(writers: Sequence[str]) -> bool:
    """Whether a driver committed both before and after a commit of the other one in the last round."""
    last = writers[-2 * APPENDS :]
    return sum(one != then for one, then in itertools.pairwise(last)) > 1


def another_driver(path: str, settings: Mapping[str, str]) -> None:
    """What the second driver does: a round for each line that it is told."""
    with tempfile.TemporaryDirectory() as name:
        spark = make_session(Path(name), {**settings, "spark.driver.memory": "1g"})
        print(READY, flush=True)
        for line in sys.stdin:
            appends(spark, path, THERE, int(line))
            print(READY, flush=True)
        spark.stop()


def _wait_for(other: subprocess.Popen[str]) -> None:
    """Returns when the other driver is ready; what Spark prints before is passed on."""
    assert other.stdout is not None
    for line in other.stdout:
        if line.strip() == READY:
            return
        print(line, end="", flush=True)
    raise AssertionError(f"the other driver ended with {other.wait()}")


if __name__ == "__main__":
    another_driver(sys.argv[1], json.loads(sys.argv[2]))
