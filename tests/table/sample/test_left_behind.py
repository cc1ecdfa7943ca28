"""Plain Delta overwrites an indexed table by partitions and keeps its properties, which still tell of an index."""

from __future__ import annotations

import shutil

import pytest
from pyspark.sql import functions as F

from pyqbeast import NotIndexedError, QbeastTable, UnsupportedError, convert, scan, tolerance
from pyqbeast.verification.without_spark import verify_log
from tests.table.help import ids, ids_of_each, load, save


@pytest.fixture(scope="module")
def rows(spark):
    return spark.range(1_000).selectExpr("id", "cast(id % 5 AS int) AS p", "id * 2 AS x")


@pytest.fixture(scope="module")
def overwritten(spark, tmp_path_factory, rows):
    path = str(tmp_path_factory.mktemp("behind") / "table")
    save(rows, path, columnsToIndex="id", cubeSize=200)
    writer = rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    writer.partitionBy("p").save(path)
    return path


def test_conditions_on_partitions_hold(spark, overwritten):
    """Spark leaves them to the files that are chosen, and some reach the scan only after the choice."""
    spark.range(0, 1_000, 2).toDF("k").createOrReplaceTempView("even")
    # The conditions, and the partitions whose even ids they leave.
    conditions = {
        "EXISTS (SELECT 1 FROM even WHERE k = id AND p = 3)": {3},
        "EXISTS (SELECT 1 FROM even WHERE k = id AND p IN (1, 3))": {1, 3},
        "id IN (SELECT k FROM even WHERE p > 3)": {4},
        "p = 1 AND id IN (SELECT k FROM even)": {1},
    }
    table = load(spark, overwritten)
    found = ids_of_each([table.where(each) for each in conditions])
    for mine, (condition, left) in zip(found, conditions.items(), strict=True):
        assert mine == [each for each in range(0, 1_000, 2) if each % 5 in left], condition


def test_nobody_opens_it_as_indexed(spark, overwritten, rows):
    for ask in (
        lambda: QbeastTable.for_path(spark, overwritten),
        lambda: verify_log(overwritten),
        lambda: scan(overwritten),
        lambda: save(rows, overwritten, mode="append"),
    ):
        with pytest.raises(NotIndexedError, match=r"is partitioned.* write its rows to a new table"):
            ask()
    with pytest.raises(UnsupportedError, match="is partitioned"):
        convert(spark, f"delta.`{overwritten}`", columns_to_index=["id"])


def test_the_table_is_one_of_deltas(spark, overwritten, table_path):
    shutil.copytree(overwritten, table_path)
    table = f"delta.`{table_path}`"
    spark.sql(f"INSERT INTO {table} VALUES (1000, 0, 0)")
    assert ids(load(spark, table_path)) == list(range(1_001))
    assert "Sample" in load(spark, table_path).sample(0.5)._jdf.queryExecution().optimizedPlan().toString()
    spark.sql(f"DELETE FROM {table} WHERE id = 1000")
    assert load(spark, table_path).count() == 1_000
    with pytest.raises(UnsupportedError, match="reads no indexed table"):
        tolerance(load(spark, table_path).agg(F.avg("x")), error=0.1)
