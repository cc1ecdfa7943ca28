"""Rows that tell the time of their write: each has the one that it was laid out by, and so an index."""

from __future__ import annotations

import logging

from pyspark.sql import functions as F

from pyqbeast import QbeastTable
from pyqbeast.table.write.profile import profile as look_at
from tests.table.help import holds, ids, load, save

TIMES = {
    "t": "current_timestamp()",
    "now": "now()",
    "local": "cast(localtimestamp() AS timestamp)",
    "micros": "unix_micros(current_timestamp())",
    "written": "cast('now' AS timestamp)",
    "parsed": "to_timestamp('now')",
    "tried": "try_to_timestamp(' Now ')",
    "zoned": "to_timestamp_ltz('now')",
    "unzoned": "cast(to_timestamp_ntz('now') AS timestamp)",
    "asked": "cast((SELECT max(cast(' Now ' AS timestamp_ntz)) FROM range(3)) AS timestamp)",
}


def timed(spark, first):
    told = (f"{time} AS {name}" for name, time in TIMES.items())
    return spark.range(first, first + 200).selectExpr("id", *told)


def is_indexed(spark, path):
    """Whether each file is: the write itself finds out whether the rows in a file are those that it laid out."""
    return QbeastTable.for_path(spark, path).metrics().unindexed_files == 0


def numbers_of_values(spark, path, *columns):
    rows = load(spark, path).select(*columns).toArrow()
    return {name: len(rows[name].unique()) for name in columns}


def test_rows_lie_where_their_time_is(spark, table_path):
    """However they tell it."""
    for first in (0, 200):
        save(timed(spark, first), table_path, columnsToIndex=",".join(["id", *TIMES]), cubeSize=100)
    holds(spark, table_path)
    assert is_indexed(spark, table_path)
    assert numbers_of_values(spark, table_path, *TIMES) == dict.fromkeys(TIMES, 2)


def test_texts_that_are_parsed_to_no_current_time_stay(spark, table_path):
    told = (
        "to_timestamp('2024-02-29 12:00:00')",
        "to_timestamp('29.02.2024', 'dd.MM.yyyy')",
        "to_date('epoch')",
    )
    rows = spark.range(500).selectExpr("id", *(f"{time} AS t{n}" for n, time in enumerate(told)))
    save(rows, table_path, columnsToIndex="id,t0,t1", cubeSize=200)
    assert is_indexed(spark, table_path)
    assert sorted(load(spark, table_path).collect()) == rows.collect()


def test_times_of_a_subquery_and_of_the_catalog(spark, table_path):
    spark.sql(
        f"""CREATE TABLE timed (id BIGINT, t TIMESTAMP DEFAULT current_timestamp()) USING qbeast
            OPTIONS (columnsToIndex = 't,id', cubeSize = 100) LOCATION '{table_path}'
            TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"""
    )
    spark.sql("INSERT INTO timed (id) SELECT id FROM range(200)")
    save(spark.range(400, 600), table_path, columnsToIndex=None, cubeSize=None)
    of_subquery = spark.sql("SELECT id, (SELECT max(now()) FROM range(3)) AS t FROM range(200, 400)")
    save(of_subquery, table_path, columnsToIndex=None, cubeSize=None)
    assert is_indexed(spark, table_path)
    assert numbers_of_values(spark, table_path, "t") == {"t": 3}
    spark.sql("DROP TABLE timed")


def test_cached_rows_keep_their_time_and_are_not_computed_again(spark, table_path):
    seen = spark.sparkContext.accumulator(0)
    counted = F.udf(lambda n: seen.add(1) or n, "bigint")
    rows = timed(spark, 0).select(counted("id").alias("id"), "t").cache()
    before = rows.select("t").distinct().collect()
    save(rows.withColumn("other", F.current_date()), table_path, columnsToIndex="id,t", cubeSize=200)
    assert seen.value == 200
    assert load(spark, table_path).select("t").distinct().collect() == before
    assert is_indexed(spark, table_path)
    rows.unpersist()


def test_a_file_of_rows_outside_the_space_is_told(spark, table_path, monkeypatch, caplog):
    """Such as those of a source that gives others each time."""

    def of_others(data, *arguments):
        return look_at(data.withColumn("t", F.col("t") + 10_000), *arguments)

    monkeypatch.setattr("pyqbeast.table.write.plan.profile", of_others)
    with caplog.at_level(logging.WARNING):
        save(spark.range(500).selectExpr("id", "id * 3 AS t"), table_path, columnsToIndex="id,t")
    assert "500 of its 500 rows lie outside the space of revision 1, it stays unindexed" in caplog.text
    table = QbeastTable.for_path(spark, table_path)
    assert (table.metrics().unindexed_files, len(ids(table.df()))) == (1, 500)
