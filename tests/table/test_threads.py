"""Threads that have run no query yet, and sessions with other settings: each call is its own session's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import QbeastTable
from tests.spark_session import under
from tests.table.help import count, ids, load, rows_2d, save, save_copy
from tests.table.legacy import small_copy_of


def in_a_new_thread(call):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()


@pytest.fixture(scope="module")
def other(spark):
    """A session with many other settings."""
    session = spark.newSession()
    for key, value in {
        "spark.sql.caseSensitive": "true",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "Asia/Tokyo",
        "spark.sql.shuffle.partitions": "3",
    }.items():
        session.conf.set(key, value)
    return pyqbeast.attach(session)


def test_every_call_from_a_thread_of_its_own(spark, other, table_path):
    def table():
        return QbeastTable.for_path(other, table_path)

    def verify():
        assert held.verify("data").problems == ()

    in_a_new_thread(lambda: save(rows_2d(other, 800), table_path, cubeSize=300))
    in_a_new_thread(lambda: save(rows_2d(other, 100, first=800), table_path))
    held = table()
    file = held.blocks().first()["file"]
    (revision, *_) = [each.id for each in held.revisions() if each.id]
    query = load(other, table_path).groupBy().agg(F.avg("b"))
    for call in (
        lambda: (held.columns_to_index, held.cube_size, held.latest_revision, repr(held)),
        held.metrics,
        lambda: held.blocks().count(),
        lambda: held.sample(0.1).count(),
        lambda: held.delete_rows(file, [0]),
        lambda: held.delete("id = 7"),
        verify,
        lambda: held.optimize(files=[held.blocks().first()["file"]]),
        lambda: held.add_pre_commit_hook("none", lambda actions: None),
        lambda: pyqbeast.tolerance(query, error=0.5),
        lambda: list(pyqbeast.refine(query)),
        lambda: pyqbeast.compute_quantiles_for_column(load(other, table_path), "b", 3),
        lambda: other.sql(f"SELECT * FROM qbeast_metrics('{table_path}')").collect(),
        lambda: other.sql(f"CALL spark_catalog.system.qbeast_optimize('{table_path}', {revision})").collect(),
    ):
        in_a_new_thread(call)
    assert in_a_new_thread(lambda: count(table().df())) == 898


def test_vectors_are_verified_by_the_keys_of_the_session(spark, tmp_path):
    """Here a mount, which the session alone knows that the table belongs to."""
    uncached = {"fs.viewfs.impl.disable.cache": "true"}
    session = spark.newSession()
    for key, value in {"fs.viewfs.mounttable.mine.link./data": f"file://{tmp_path}", **uncached}.items():
        session.conf.set(key, value)
    save(rows_2d(session, 300), "viewfs://mine/data/table")
    table = QbeastTable.for_path(session, "viewfs://mine/data/table")
    assert table.delete_rows(table.blocks().first()["file"], [3, 4]) == 2
    with under(spark, uncached):
        assert table.verify("data").problems == ()


def test_convert_and_upgrade_from_a_thread_of_their_own(other, golden, tmp_path):
    (tmp_path / "plain").mkdir()
    pq.write_table(pa.table({"a": range(100)}), tmp_path / "plain" / "0.parquet")
    in_a_new_thread(lambda: pyqbeast.convert(other, f"parquet.`{tmp_path}/plain`", columns_to_index=["a"]))
    path = small_copy_of(golden, "o1_linear2d", str(tmp_path / "old"))
    assert in_a_new_thread(lambda: pyqbeast.upgrade(other, path)).is_needed


def test_two_sessions_at_once(spark, other, tmp_path):
    """Each session writes and reads a table of its own and a shared one, and its settings stay as they were."""
    shared = str(tmp_path / "shared")
    save_copy(spark, shared, cubeSize=300)

    def settings(session):
        own = "spark.databricks.delta.lastCommitVersionInSession"  # Delta's note of its last commit
        return {key: value for key, value in session.conf.getAll.items() if key != own}

    def work(session, number):
        path = str(tmp_path / f"own{number}")
        session.sql("SELECT 1")  # Delta makes settings of its own with a session's first query
        before = settings(session)
        first = 10_000 * (number + 1)
        save(rows_2d(session, 400, first=first), path, cubeSize=300)
        save(rows_2d(session, 200, first=first), shared, cubeSize=300)
        table = QbeastTable.for_path(session, shared)
        assert table.blocks().sparkSession is session
        assert table.verify("log").ok
        assert settings(session) == before
        return ids(load(session, path))

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(work, (spark, other), range(2)))
    assert [rows[0] for rows in found] == [10_000, 20_000]
    assert [len(rows) for rows in found] == [400, 400]
    assert count(load(spark, shared)) == 1_000 + 400


def test_a_call_leaves_the_active_session_alone(spark, other, table_path):
    def look():
        spark.createDataFrame([(1,)], "x int")  # makes its session the thread's
        save(rows_2d(other, 100), table_path)
        QbeastTable.for_path(other, table_path).metrics()
        pyqbeast.attach(other)
        return SparkSession.getActiveSession().conf.get("spark.sql.session.timeZone")

    assert in_a_new_thread(look) == "UTC"


def test_frames_of_rdds_stay_in_the_users_session(spark, table_path):
    """PySpark makes them in the session that Python got last, and in that of `verify` damaged files are passed over."""
    rdd = spark.sparkContext.parallelize([(1,)])
    before = rdd.toDF("id int").sparkSession
    save(rows_2d(spark, 100), table_path)
    assert rdd.toDF("id int").sparkSession is before
    assert QbeastTable.for_path(spark, table_path).verify("data").ok
    assert rdd.toDF("id int").sparkSession is before
