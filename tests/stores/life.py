"""What is done to tables in any place, checked row by row."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import pyqbeast
from tests.conftest import GOLDEN_ROOTS
from tests.table.help import holds, ids, load, rows_2d, samples_exactly, save

ROWS = 3_000


def told(what: str) -> None:
    """Says what holds by now."""
    print(what, flush=True)


def life(spark: SparkSession, path: str) -> None:
    """Every kind of change, checked row by row."""
    save(rows_2d(spark, ROWS), path)
    save(rows_2d(spark, ROWS, ROWS), path)
    save(rows_2d(spark, ROWS, 2 * ROWS).selectExpr("id", "a * 3 as a", "b", "name"), path)
    table = holds(spark, path)
    assert table.latest_revision.id == 3
    table.delete("id % 10 = 0")
    left = [each for each in range(3 * ROWS) if each % 10]
    assert ids(load(spark, path)) == left
    assert ids(load(spark, path).filter("a < 200000")) == ids(load(spark, path).filter("a + 0 < 200000"))
    samples_exactly(spark, path)
    rows_2d(spark, 100, 3 * ROWS).write.format("delta").mode("append").save(path)
    assert table.optimize(0).changed
    left += range(3 * ROWS, 3 * ROWS + 100)
    assert ids(load(spark, path)) == left
    samples_exactly(spark, path)
    save(rows_2d(spark, 100), path, "overwrite")
    spark.sql(f"RESTORE TABLE delta.`{path}` TO VERSION AS OF 5")
    assert ids(load(spark, path)) == left
    holds(spark, path)
    told("written, appended, grown, deleted from, optimized, overwritten and restored")


def taken_over(spark: SparkSession, base: str) -> None:
    """A plain table is converted, and one of before format 0.6 is upgraded."""
    rows_2d(spark, ROWS).write.format("delta").save(f"{base}/plain")
    pyqbeast.convert(spark, f"delta.`{base}/plain`", columns_to_index=["a", "b"])
    save(rows_2d(spark, ROWS, ROWS), f"{base}/plain")
    assert ids(load(spark, f"{base}/plain")) == list(range(2 * ROWS))
    told("converted")
    olds = [root / "qbeast_old" / "o3_replicated" / "table" for root in GOLDEN_ROOTS]
    old = next((each for each in olds if each.exists()), None)
    if old is None:
        told("not upgraded: the golden table of before format 0.6 is not part of this clone")
        return
    before = sorted(map(repr, load(spark, str(old)).collect()))
    copy(spark, old, f"{base}/old")
    pyqbeast.upgrade(spark, f"{base}/old")
    assert sorted(map(repr, load(spark, f"{base}/old").collect())) == before
    told("upgraded")


def copy(spark: SparkSession, folder: Path, path: str) -> None:
    """Copies a local folder."""
    jvm = spark._jvm
    assert jvm is not None
    target = jvm.org.apache.hadoop.fs.Path(path)
    files = target.getFileSystem(spark._jsc.hadoopConfiguration())
    files.copyFromLocalFile(jvm.org.apache.hadoop.fs.Path(str(folder)), target)
