"""All steps of an estimate are of one query: one time, one choice of files, and the same rows of whatever is joined."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

import pyqbeast
from tests.table.help import load, save

ROWS = 100_000
FRACTIONS = "0.01,0.05,0.1,0.3"


@pytest.fixture(scope="module")
def path(spark, tmp_path_factory):
    place = str(tmp_path_factory.mktemp("steps") / "table")
    rows = spark.range(ROWS).selectExpr("id", "id % 3 AS third", "cast(id % 1000 AS double) AS value")
    save(rows, place, columnsToIndex="id", cubeSize=4_000, sampleFractions=FRACTIONS)
    return place


@pytest.fixture
def table(spark, path):
    return load(spark, path)


def test_the_current_time_is_the_same_in_each_step(table):
    """Spark fixes the time for each query that it runs, and each step is one."""
    of_column = (
        table.withColumn("asof", F.current_timestamp()).groupBy("asof").agg(F.avg("value").alias("mean"))
    )
    of_age = table.withColumn("age", F.expr("unix_micros(now()) - id % 2")).groupBy("age").count()
    for query, groups in ((of_column, 1), (of_age, 2)):
        answers = list(pyqbeast.refine(query))
        assert len(answers[-1].steps) > 1
        assert [answer.df.count() for answer in answers] == [groups] * len(answers)


def test_cached_rows_that_are_joined_keep_their_time(spark, table):
    kinds = spark.range(3).withColumn("loaded", F.current_timestamp()).cache()
    try:
        loaded = kinds.first()["loaded"]
        query = table.join(kinds, table.third == kinds.id).groupBy("loaded").count()
        assert [row["loaded"] for row in pyqbeast.tolerance(query, error=0.1).df.collect()] == [loaded]
    finally:
        kinds.unpersist()
