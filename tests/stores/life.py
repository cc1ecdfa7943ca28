"""What is done to tables in any place, checked row by row."""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

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
    left = changed_in_place(spark, path, left)
    before = version_of(spark, path)
    save(rows_2d(spark, 100), path, "overwrite")
    spark.sql(f"RESTORE TABLE delta.`{path}` TO VERSION AS OF {before}")
    assert ids(load(spark, path)) == left
    healed(spark, path)
    assert ids(load(spark, path)) == left
    table.clean(dry_run=False)
    samples_exactly(spark, path)
    told(
        "written, appended, grown, deleted from, optimized, updated, merged, overwritten, restored and repaired"
    )


def changed_in_place(spark: SparkSession, path: str, left: list[int]) -> list[int]:
    """UPDATE, MERGE, rows deleted by their place, a part replaced; returns the ids from then on."""
    first = left[-1] + 1
    spark.sql(f"UPDATE delta.`{path}` SET name = 'updated' WHERE id < 500")
    rows_2d(spark, 200, first - 100).withColumn("name", F.lit("merged")).createOrReplaceTempView("merged")
    spark.sql(
        f"MERGE INTO delta.`{path}` t USING merged ON t.id = merged.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    left = left + list(range(first, first + 100))
    frame = load(spark, path)
    named = {row["name"]: row["count"] for row in frame.groupBy("name").count().collect()}
    assert (named["updated"], named["merged"]) == (sum(each < 500 for each in left), 200)
    row = frame.select("id", "_metadata.file_path", "_metadata.row_index").orderBy("id").first()
    assert row is not None
    assert holds(spark, path).delete_rows(row["file_path"], [row["row_index"]]) == 1
    left.remove(row["id"])
    replaced = rows_2d(spark, 150, 1_000)
    save(replaced, path, "overwrite", cubeSize=None, replaceWhere="id >= 1000 AND id < 1200")
    left = sorted({*(each for each in left if not 1_000 <= each < 1_200), *range(1_000, 1_150)})
    assert ids(load(spark, path)) == left
    samples_exactly(spark, path)
    return left


def healed(spark: SparkSession, path: str) -> None:
    """A commit of another program tells wrong bounds of a file; `verify` finds it and `repair` heals it."""
    table = holds(spark, path)
    version = version_of(spark, path)
    lines = spark.read.text(f"{path}/_delta_log/{version:020}.json").collect()
    add = next(entry["add"] for entry in (json.loads(line["value"]) for line in lines) if "add" in entry)
    statistics = json.loads(add["stats"])
    statistics["minValues"]["id"] = statistics["maxValues"]["id"]
    add["stats"] = json.dumps(statistics)
    assert spark._jvm is not None
    commit = spark._jvm.org.apache.hadoop.fs.Path(f"{path}/_delta_log/{version + 1:020}.json")
    file = commit.getFileSystem(spark._jsc.hadoopConfiguration()).create(commit, False)
    file.write(json.dumps({"add": add}).encode())
    file.close()
    assert not table.verify().ok
    assert table.repair(dry_run=False).ok
    holds(spark, path)


def version_of(spark: SparkSession, path: str) -> int:
    """The latest version of a table."""
    row = spark.sql(f"DESCRIBE HISTORY delta.`{path}` LIMIT 1").first()
    assert row is not None
    return int(row["version"])


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
