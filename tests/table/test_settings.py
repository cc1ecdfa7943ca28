"""Settings of the session, and options that make a write safe to repeat."""

from __future__ import annotations

import contextlib

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import InvalidInputError, QbeastTable
from pyqbeast.core.otree import weight_bands
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from tests.spark_session import under
from tests.table.help import BOUNDS, count, holds, load, log_entries, rows_2d, save, save_copy
from tests.table.legacy import REPLICATED, small_copy_of


@contextlib.contextmanager
def settings(spark, **given):
    names = {f"spark.qbeast.index.{key.replace('_', '.')}": value for key, value in given.items()}
    with under(spark, names):
        yield


def indexed_columns(path):
    return IndexedSnapshot.read(path).revision().columns


def test_columns_are_chosen_where_the_session_asks_for_it(spark, table_path):
    rows = rows_2d(spark, 200, columns="array(1) as list")
    with settings(spark, columnsToIndex_auto="true"):
        save(rows, table_path, columnsToIndex=None)
    assert indexed_columns(table_path) == ["id", "a", "b"]
    with settings(spark, columnsToIndex_auto="true", columnsToIndex_auto_max="1"):
        save(rows_2d(spark, 5), table_path + "2", columnsToIndex=None)
    assert len(indexed_columns(table_path + "2")) == 1
    with (
        settings(spark, columnsToIndex_auto="perhaps"),
        pytest.raises(InvalidInputError, match="true or false"),
    ):
        save(rows, table_path + "3", columnsToIndex=None)


def test_a_write_that_was_done_is_not_done_again(spark, table_path):
    """Of writes with one number the first one counts, in whatever mode the others come."""
    given = {"txnAppId": "loader", "userMetadata": "nightly"}
    for mode, version in (("append", 1), ("append", 1), ("error", 1), ("append", 0), ("append", 2)):
        save(rows_2d(spark, 100), table_path, mode, txnVersion=version, **given)
    assert count(load(spark, table_path)) == 200
    infos = log_entries(table_path, "commitInfo")
    assert [(info["userMetadata"], info["operation"]) for info in infos] == [("nightly", "WRITE")] * 2
    assert [txn["version"] for txn in log_entries(table_path, "txn")] == [1, 2]


def test_each_write_has_a_number_of_its_own(spark, table_path):
    """As a setting of Delta's says: the number goes with its write, and the next write is not left out."""
    writes = "spark.databricks.delta.write.txn"
    auto = {f"{writes}Version.autoReset.enabled": "true", f"{writes}AppId": "loader"}
    with under(spark, {**auto, f"{writes}Version": "1"}):
        save(rows_2d(spark, 100), table_path)
        assert spark.conf.get(f"{writes}Version", None) is None
        with pytest.raises(Exception, match="DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS"):
            save(rows_2d(spark, 100), table_path)
        for number, count_of_rows in ((2, 200), (2, 200)):
            spark.conf.set(f"{writes}Version", number)
            save(rows_2d(spark, 100), table_path)
            assert count(load(spark, table_path)) == count_of_rows
            assert spark.conf.get(f"{writes}Version", None) is None
    with under(spark, {f"{writes}AppId": "loader", f"{writes}Version": "3"}):
        save(rows_2d(spark, 100), table_path)
        assert spark.conf.get(f"{writes}Version") == "3"


def test_a_small_append_shares_files(spark, table_path):
    save_copy(spark, table_path, cubeSize=100, columnStats=BOUNDS)
    save(rows_2d(spark, 60, first=1_000), table_path)
    _, appended = log_entries(table_path, "commitInfo")
    assert int(appended["operationMetrics"]["numFiles"]) <= 2
    holds(spark, table_path)


#: Spark leaves out of a result by groups the columns that it is grouped by.
WITHOUT_GROUPS = {"spark.sql.retainGroupColumns": "false"}


def test_verify_compares_files_where_groups_are_left_out_of_results(spark, table_path, monkeypatch):
    monkeypatch.setattr(weight_bands, "FEWEST_ROWS_OF_PART", 100)
    save(rows_2d(spark, 3_000), table_path, cubeSize=1_000)
    with under(spark, WITHOUT_GROUPS):
        holds(spark, table_path)
        assert load(spark, table_path).groupBy("name").agg({"id": "max"}).columns == ["max(id)"]


def test_an_upgrade_where_groups_are_left_out_of_results(spark, golden, table_path):
    path = small_copy_of(golden, REPLICATED, table_path)
    with under(spark, WITHOUT_GROUPS):
        (told,) = pyqbeast.upgrade(spark, path, dry_run=True).revisions
    assert (told.revision, told.files, told.replicated) == (1, 17, 3)


def test_quantiles_of_texts_where_groups_are_left_out_of_results(spark):
    texts = rows_2d(spark, 1_000).select("name")
    expected = pyqbeast.compute_quantiles_for_column(texts, "name", 5)
    with under(spark, WITHOUT_GROUPS):
        assert pyqbeast.compute_quantiles_for_column(texts, "name", 5) == expected


def test_the_session_that_is_active_stays_active(spark, table_path):
    """Pandas on Spark and others work in it, and ours pass over what they cannot read."""
    save_copy(spark, table_path)
    table = QbeastTable.for_path(spark, table_path)
    queried = load(spark, table_path).agg(
        F.avg("a").alias("mean"), F.percentile_approx("b", 0.5).alias("middle")
    )
    actions = {
        "verify": lambda: table.verify("data"),
        "repair": table.repair,
        "optimize": table.optimize,
        "estimate": lambda: pyqbeast.tolerance(queried, error=0.9).df.collect(),
        "exact answer": lambda: pyqbeast.tolerance(queried, exact=True).df.collect(),
        "append": lambda: save(rows_2d(spark, 100), table_path),
    }
    of_user = spark.newSession()
    of_user.createDataFrame([(1,)], "a int")
    try:
        for name, action in actions.items():
            action()
            assert SparkSession.getActiveSession() is of_user, name
            assert spark._jvm.SparkSession.getActiveSession().get().equals(of_user._jsparkSession), name
    finally:
        spark.createDataFrame([(1,)], "a int")
