"""All steps of an estimate are of one query: one time, one choice of files, and the same rows of whatever is joined."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import UnsupportedError
from tests.approximate.bounds import bytes_of
from tests.spark_session import under
from tests.table.help import load, save

ROWS = 40_000
FRACTIONS = "0.01,0.05,0.1,0.3"


@pytest.fixture(scope="module")
def path(spark, tmp_path_factory):
    place = str(tmp_path_factory.mktemp("steps") / "table")
    rows = spark.range(ROWS).selectExpr("id", "id % 3 AS third", "cast(id % 1000 AS double) AS value")
    save(rows, place, columnsToIndex="id", cubeSize=2_000, sampleFractions=FRACTIONS)
    return place


@pytest.fixture
def table(spark, path):
    return load(spark, path)


def test_the_current_time_is_the_same_in_each_step(table):
    """Spark fixes the time for each query that it runs, and each step is one."""
    table = table.where("id < 20000")
    of_column = (
        table.withColumn("asof", F.current_timestamp()).groupBy("asof").agg(F.avg("value").alias("mean"))
    )
    of_age = table.withColumn("age", F.expr("unix_micros(now()) - id % 2")).groupBy("age").count()
    of_text = table.groupBy(F.expr("cast('now' AS timestamp)").alias("asof")).count()
    of_parsed = table.groupBy(F.to_timestamp(F.lit("now")).alias("asof")).count()
    for query, groups in ((of_column, 1), (of_age, 2), (of_text, 1), (of_parsed, 1)):
        answer = pyqbeast.tolerance(query, error=1e-9)
        assert len(answer.steps) > 1
        assert answer.df.count() == groups


@pytest.mark.parametrize(
    ("text", "is_stored"),
    [
        ("FROM stamped |> WHERE id >= 0", False),
        ("FROM stamped |> WHERE id >= 0", True),
        ("WITH kept AS (TABLE stamped) SELECT * FROM kept", False),
        ("SELECT * FROM stamped WHERE id IN (SELECT third FROM {table})", False),
    ],
)
def test_cached_rows_that_are_joined_keep_their_time(spark, table, tmp_path, text, is_stored):
    kinds = spark.range(3)
    if is_stored:
        kinds.write.format("delta").save(str(tmp_path))
        kinds = spark.read.format("delta").load(str(tmp_path))
    kinds.withColumn("loaded", F.current_timestamp()).createOrReplaceTempView("stamped")
    kinds = spark.sql(text, table=table).cache()
    kinds.createOrReplaceTempView("kinds")
    named = (
        "WITH few AS (SELECT * FROM {table} WHERE id < 20000), seen AS (TABLE kinds) "
        "SELECT loaded, count(*) FROM few JOIN seen ON third = seen.id GROUP BY loaded"
    )
    try:
        loaded = kinds.first()["loaded"]
        query = table.join(kinds, table.third == kinds.id).groupBy("loaded").count()
        for exact in (False, True):
            answer = pyqbeast.tolerance(query, error=0.1, exact=exact)
            assert [row["loaded"] for row in answer.df.collect()] == [loaded]
        answer = pyqbeast.tolerance(spark.sql(named, table=table), exact=True)
        assert [row["loaded"] for row in answer.df.collect()] == [loaded]
    finally:
        kinds.unpersist()
        spark.catalog.dropTempView("kinds")


@pytest.mark.parametrize("loaded", ["1", "current_timestamp()"])
def test_cached_rows_that_a_hash_picks_are_not_joined(spark, table, loaded):
    """They may be those of the least weights: a sample would hold all of them, whatever columns they have besides."""
    picked = spark.range(ROWS).where("hash(id) < -1717986918").selectExpr("id", f"{loaded} AS loaded").cache()
    try:
        query = table.join(picked, "id").agg(F.count("*"), F.max("loaded"))
        with pytest.raises(UnsupportedError, match="picked or made by a hash"):
            pyqbeast.tolerance(query, error=0.1)
    finally:
        picked.unpersist()


def test_steps_read_files_of_a_version_that_is_cached(spark, table, tmp_path):
    """Spark answers a plan from its cache. A step reads files, also of a table of which the plan scans none then."""
    path = str(tmp_path / "other")
    rows = spark.range(ROWS).selectExpr("id", "id % 7 AS kind")
    save(rows, path, columnsToIndex="id", cubeSize=2_000, sampleFractions=FRACTIONS)
    cached = spark.read.format("qbeast").option("versionAsOf", 0).load(path)
    budget = bytes_of(path) // 5
    cached.cache()
    try:
        cached.count()
        joined = table.join(cached, "id", "left_anti").agg(F.count("*").alias("rest"))
        assert next(pyqbeast.refine(joined)).df.first()["rest"] == 0
        matched = table.join(cached, "id", "left").agg(F.count(cached.kind).alias("n"))
        assert pyqbeast.tolerance(matched, error=0.1).df.first()["n"] == pytest.approx(ROWS, rel=0.1)
        assert not pyqbeast.tolerance(cached.agg(F.avg("kind")), budget=budget).exact
    finally:
        cached.unpersist()


def test_a_budget_holds_where_data_skipping_is_off(spark, path, table):
    query = table.agg(F.avg("value").alias("mean"), F.max("id"))
    budget = bytes_of(path) // 5
    with under(spark, {"spark.databricks.delta.stats.skipping": "false"}):
        answer = pyqbeast.tolerance(query, budget=budget)
        assert not answer.exact
        assert 0 < answer.bytes_read <= budget
        assert answer.df.first()["mean"] == pytest.approx(499.5, rel=0.1)


@pytest.mark.parametrize("is_ansi", ["true", "false"])
def test_a_budget_holds_where_a_sum_is_beyond_its_type(spark, path, table, is_ansi):
    """The query would fail or wrap around, and costs more than the budget: the sum is null."""
    query = table.agg(F.sum(F.expr("4611686018427387904L + id")).alias("s"), F.avg("value").alias("mean"))
    budget = bytes_of(path) // 5
    with under(spark, {"spark.sql.ansi.enabled": is_ansi}):
        answer = pyqbeast.tolerance(query, budget=budget)
        row = answer.df.first()
    assert not answer.exact
    assert 0 < answer.bytes_read <= budget
    assert (row["s"], row["s_low"], row["s_high"]) == (None, None, None)
    assert answer.worth["s"].startswith("only the query in full tells it")
    assert row["mean_low"] <= 499.5 <= row["mean_high"]


def test_a_subquery_of_a_joined_table_is_of_one_version(spark, table, tmp_path):
    known = str(tmp_path / "known")
    spark.range(2).write.format("delta").save(known)
    names = spark.range(3).where(f"id IN (SELECT id FROM delta.`{known}`)").withColumnRenamed("id", "third")
    rows = table.where("id < 20000")  # which take fewer steps
    steps = pyqbeast.refine(rows.join(names, "third").groupBy().count())
    next(steps)
    spark.range(2, 3).write.format("delta").mode("append").save(known)
    assert list(steps)[-1].df.first()["count"] == rows.where("third < 2").count()


def test_a_table_that_is_named_twice_is_of_one_version(spark, table, tmp_path):
    """Others may commit in between. Here one of two logs of a table may be out of date, and the other is not."""
    known = str(tmp_path / "known")
    spark.range(2).write.format("delta").save(known)
    stale = spark.read.format("delta").option("fs.other.log", "1").load(known)
    spark.range(2, 3).write.format("delta").mode("append").save(known)
    fresh = spark.read.format("delta").load(known)
    matched = table.join(fresh, table.third == fresh.id, "left_semi")
    query = matched.join(stale, matched.third == stale.id, "left_anti").agg(F.count("*").alias("rest"))
    with under(spark, {"spark.databricks.delta.stalenessLimit": "1h"}):
        assert pyqbeast.tolerance(query, exact=True).df.first()["rest"] == 0


def test_a_table_that_is_named_twice_still_has_the_columns_of_each_place(spark, table, tmp_path):
    """A frame of before the table was written anew would find nulls in a column that is gone."""
    known = str(tmp_path / "known")
    spark.range(2).write.format("delta").save(known)
    old = spark.read.format("delta").load(known)
    others = spark.range(2).withColumnRenamed("id", "other").write.format("delta").mode("overwrite")
    others.option("overwriteSchema", "true").save(known)
    fresh = spark.read.format("delta").load(known)
    matched = table.join(fresh, table.third == fresh.other, "left_semi")
    query = matched.join(old, matched.third == old.id, "left_anti").agg(F.count("*").alias("rest"))
    with pytest.raises(Exception, match="DELTA_SCHEMA_CHANGE"):
        pyqbeast.tolerance(query, exact=True)


def test_a_joined_table_is_cut_in_an_order(spark, table):
    """Each step cuts it anew, and without an order Spark takes the rows that come first."""
    names = spark.range(3).selectExpr("id AS third", "concat('name ', id) AS name")
    sorted_below = names.orderBy("third").limit(3).groupBy("third").count().limit(2)
    for cut in (
        names.limit(2),
        names.offset(1),
        names.filter("name <> ''").limit(2).distinct(),
        names.where("third IN (SELECT id FROM range(9) LIMIT 2)"),
        sorted_below,
    ):
        with pytest.raises(UnsupportedError, match="cut by LIMIT or OFFSET without an order"):
            pyqbeast.tolerance(table.join(cut, "third").agg(F.avg("value")), error=0.1)
    for cut in (
        names.orderBy("third").limit(2),
        names.orderBy("third").select("third").offset(1),
        names.where("third < 2 AND EXISTS (SELECT 1 FROM range(9) LIMIT 1)"),
        names.where("third < (SELECT max(id) FROM range(3) LIMIT 1)"),
    ):
        answer = pyqbeast.tolerance(table.join(cut, "third").agg(F.count("*").alias("n")), error=0.1)
        assert answer.df.first()["n"] == pytest.approx(2 * ROWS / 3, rel=0.1)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT avg(IF(value > (SELECT avg(value) FROM {t}), 1.0D, 0.0D)) FROM {t}",
        "SELECT count(*) FILTER (WHERE value > (SELECT avg(value) FROM {t})) FROM {t}",
        "SELECT value > (SELECT avg(value) FROM {t}) AS above, count(*) FROM {t} GROUP BY 1",
    ],
)
def test_a_subquery_is_refused_wherever_it_stands(spark, table, query):
    """Each step would run it in full, and no budget counts its bytes."""
    with pytest.raises(UnsupportedError, match="holds a subquery"):
        pyqbeast.tolerance(spark.sql(query, t=table), error=0.1)
