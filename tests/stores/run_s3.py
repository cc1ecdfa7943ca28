"""Life of tables on S3: every operation, refusals, and the requests that a sample costs.

Run it with `make test-s3`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import pyqbeast
from tests.spark_session import make_session
from tests.stores.drivers import two_drivers
from tests.stores.life import life, taken_over, told
from tests.stores.lost_answer import LostAnswer
from tests.stores.s3 import BUCKET, KEY, S3, SECRET
from tests.table.help import ids, load, opened, rows_2d, save

#: Rows of the table whose requests are counted.
MANY = 200_000
#: The log stores of Delta for one driver, and of pyqbeast for several.
ONE_DRIVER, SEVERAL_DRIVERS = "io.delta.storage.S3SingleDriverLogStore", "io.pyqbeast.S3LogStore"
#: Bytes of a footer's first read, which go with every file that is opened.
_FOOTER = 64 * 1024


def main() -> None:
    """Exits with an error where anything does not hold."""
    with tempfile.TemporaryDirectory(prefix="pyqbeast-s3-") as name, S3(Path(name)) as s3:
        base = f"s3a://{BUCKET}/t"
        spark = make_session(Path(name), s3.settings())
        life(spark, f"{base}/life")
        taken_over(spark, base)
        save(rows_2d(spark, MANY), f"{base}/many", cubeSize=5_000)
        sample_requests(spark, s3, f"{base}/many")
        without_spark(s3, f"s3://{BUCKET}/t/many", ids(load(spark, f"{base}/many").sample(0.01)))
        refused(spark, f"s3a://{BUCKET}-of-nobody/t")
        spark.stop()
        several = {**s3.settings(), "spark.delta.logStore.s3a.impl": SEVERAL_DRIVERS}
        spark = make_session(Path(name), several)
        life(spark, f"{base}/several")
        two_commits(spark, f"{base}/commits")
        two_drivers(spark, f"{base}/two", several)
        spark.stop()
        with LostAnswer(s3.endpoint, "_delta_log/00000000000000000001.json") as relay:
            s3a = "spark.hadoop.fs.s3a"
            # Connections of the session before are not used again.
            through = {f"{s3a}.endpoint": relay.endpoint, f"{s3a}.impl.disable.cache": "true"}
            spark = make_session(Path(name), {**several, **through})
            an_answer_is_lost(spark, relay, f"{base}/lost")
            spark.stop()


def sample_requests(spark: SparkSession, s3: S3, path: str) -> None:
    """A sample lists nothing and reads its own files."""
    frame = load(spark, path)
    frame.sample(0.5).agg(F.sum("b")).collect()  # The first query reads the log.
    sizes = sizes_of(spark, path)
    before = len(s3.requests())
    totals = opened(frame.sample(0.01))
    asked = s3.requests()[before:]
    data = [each for each in asked if unquote(each.path).endswith(".parquet") and each.method == "GET"]
    names = {unquote(each.path).rpartition("/")[2] for each in data}
    log = [each for each in asked if "_delta_log" in each.path + unquote(each.query)]
    listed = [each for each in asked if each.is_listing and each not in log]
    read = sum(each.bytes for each in data)
    told(
        f"a sample of 1 % of {len(sizes)} files, {sum(sizes.values()):,} bytes: {len(data)} GETs of {len(names)} "
        f"files, {read:,} bytes; {len(listed)} listings of the table, {len(log)} requests to its log"
    )
    assert len(names) == totals.files < len(sizes) / 4
    assert not listed, listed
    assert read < sum(sizes[name] + _FOOTER for name in names)


def sizes_of(spark: SparkSession, path: str) -> dict[str, int]:
    """Bytes of each file of a table by its name."""
    files = spark.read.format("delta").load(path).select("_metadata.file_name", "_metadata.file_size")
    return {row["file_name"]: row["file_size"] for row in files.distinct().collect()}


def without_spark(s3: S3, uri: str, expected: list[int]) -> None:
    """`pyqbeast.scan` gives the same rows from the same bucket."""
    options = {"key": KEY, "secret": SECRET, "client_kwargs": {"endpoint_url": s3.endpoint}}
    scan = pyqbeast.scan(uri, storage_options=options).sample(0.01).select(["id"])
    assert sorted(scan.to_arrow()["id"].to_pylist()) == expected
    told("pyqbeast.scan reads the same sample without Spark")


def refused(spark: SparkSession, path: str) -> None:
    """A bucket that is not there ends in one error with its name."""
    with pytest.raises(Exception, match=f"{BUCKET}-of-nobody") as told_by:
        save(rows_2d(spark, 10), path)
    told(f"refused: {str(told_by.value).splitlines()[0][:300]}")


def two_commits(spark: SparkSession, folder: str) -> None:
    """A driver has found no file of a version, and writes it after another driver did: only S3 can tell it so."""
    jvm = spark._jvm
    assert jvm is not None
    hadoop = spark._jsc.hadoopConfiguration()
    for store, left in ((ONE_DRIVER, "late"), (SEVERAL_DRIVERS, "early")):
        path = jvm.org.apache.hadoop.fs.Path(f"{folder}/{store}/_delta_log/00000000000000000000.json")

        def early(path: Any = path) -> None:
            file = path.getFileSystem(hadoop).create(path, True)
            file.writeBytes("early")
            file.close()

        made = jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(store)
        (constructor,) = made.getConstructors()
        given = spark._sc._gateway.new_array(jvm.java.lang.Object, 1)
        given[0] = hadoop
        refusal = ""
        try:
            constructor.newInstance(given).write(path, OneLine("late", early), False, hadoop)
        except Exception as error:
            refusal = str(error)
        assert spark.read.text(path.toString()).first() == (left,)
        assert ("FileAlreadyExists" in refusal) == (left == "early"), refusal
    told(
        "two drivers that commit the same version: with S3LogStore the second is told, with Delta's it overwrites"
    )


class OneLine:
    """The line of a commit, which Java asks for; something happens before it is given."""

    def __init__(self, line: str, before: Callable[[], None]) -> None:
        self._line, self._before, self._is_given = line, before, False

    def hasNext(self) -> bool:  # noqa: N802
        return not self._is_given

    def next(self) -> str:
        self._before()
        self._is_given = True
        return self._line

    class Java:
        """What py4j reads."""

        implements = ("java.util.Iterator",)


def an_answer_is_lost(spark: SparkSession, relay: LostAnswer, path: str) -> None:
    """S3 made the file of a commit, the answer was lost, and the request that is sent again meets its own file."""
    rows_2d(spark, 100).write.format("delta").save(path)
    rows_2d(spark, 100, 100).write.format("delta").mode("append").save(path)
    assert relay.lost.is_set()
    assert ids(load(spark, path)) == list(range(200))
    assert spark.sql(f"DESCRIBE HISTORY delta.`{path}`").count() == 2
    told("a commit whose answer was lost is there once")


if __name__ == "__main__":
    os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")
    main()
