"""Samples read only what they need, and mean what Spark's own samples mean."""

from __future__ import annotations

import math

import pytest
from delta.tables import DeltaTable
from pyspark.sql import functions as F

from pyqbeast import InvalidInputError, QbeastTable
from pyqbeast.core.format.weight import weight_of
from tests.spark_session import under
from tests.table.help import count, ids, ids_of_jobs, jobs, load, opened, rows_2d, rows_written, save

ROWS = 40_000


@pytest.fixture(scope="module")
def path(spark, tmp_path_factory):
    place = str(tmp_path_factory.mktemp("sampling") / "table")
    save(rows_2d(spark, ROWS), place, cubeSize=2_000)
    return place


@pytest.fixture
def table(spark, path):
    return load(spark, path)


def expected_ids(spark, fraction, lower=0.0):
    weight = F.hash("a", "b")
    return ids(rows_2d(spark, ROWS).filter((weight < weight_of(fraction)) & (weight >= weight_of(lower))))


def test_a_sample_is_the_rows_of_lowest_weight(spark, table):
    assert ids(table.sample(0.1)) == expected_ids(spark, 0.1)
    assert ids(table.sample(fraction=0.1, seed=5)) == expected_ids(spark, 0.1)
    assert ids(table.sample(0.0)) == []
    assert ids(table.sample(1.0)) == list(range(ROWS))


def test_a_sample_opens_few_files_and_bytes(table):
    everything = opened(table.agg(F.sum("id")))
    one_percent = opened(table.sample(0.01).agg(F.sum("id")))
    tenth = opened(table.sample(0.1).agg(F.sum("id")))
    assert one_percent.files <= 2
    assert one_percent.bytes < 0.05 * everything.bytes
    assert tenth.bytes < 0.3 * everything.bytes
    assert tenth.rows < 0.25 * everything.rows


@pytest.mark.parametrize(
    ("equality", "range_"),
    [
        ("a = 3", "a >= 3 AND a < 4"),
        ("4 = a", "a > 3 AND a < 5"),
        ("a <=> 5", "a > 4 AND a < 6"),
        ("a IN (6)", "a > 5 AND a < 7"),
        ("a IS NULL", "coalesce(a, -1) < 0"),
        ("flag", "coalesce(cast(flag AS int), 0) > 0"),
        ("NOT flag", "coalesce(cast(flag AS int), 1) < 1"),
    ],
)
def test_a_filter_by_a_value_of_an_indexed_column_is_sampled_as_a_range_is(
    spark, tmp_path_factory, equality, range_
):
    """Spark puts the value into the hash, in the place of the column."""
    path = str(tmp_path_factory.getbasetemp() / "values")
    if not DeltaTable.isDeltaTable(spark, path):
        columns = ("if(id % 9 = 8, null, id % 9) AS a", "id * 7919 % 40000 AS b", "id % 2 = 0 AS flag", "id")
        rows = spark.range(ROWS).selectExpr(*columns)
        save(rows, path, columnsToIndex="a,b", weightColumns="flag", cubeSize=2_000)
    table = load(spark, path)
    some, of_range = table.filter(equality).sample(0.01), table.filter(range_).sample(0.01)
    assert ids(some) == ids(of_range) != []
    read, all_read = (opened(each.agg(F.sum("id"))).bytes for each in (some, table.filter(equality)))
    assert read < 0.2 * all_read


def test_a_write_to_another_source_reads_no_more_than_the_sample(spark, table):
    read, all_read = (bytes_read(spark, each) for each in (table.sample(0.01), table))
    assert 0 < read < 0.05 * all_read


def bytes_read(spark, frame):
    """Bytes that tasks read while rows are written to a sink of DataSource V2."""
    tracker, store = spark.sparkContext.statusTracker(), spark.sparkContext._jsc.sc().statusStore()
    numbers = ids_of_jobs(spark, lambda: rows_written(frame))
    stages = {stage for number in numbers for stage in tracker.getJobInfo(number).stageIds}
    return sum(store.lastStageAttempt(stage).inputBytes() for stage in stages)


def test_the_size_of_a_sample_is_binomial(table):
    # All pairs of indexed values differ, so each row is in with probability f. Five standard deviations
    # leave one false alarm in 1.7 million.
    for fraction in (0.01, 0.1, 0.3):
        spread = math.sqrt(ROWS * fraction * (1 - fraction))
        assert abs(count(table.sample(fraction)) - ROWS * fraction) < 5 * spread


def test_smaller_samples_lie_in_larger_ones(table):
    assert set(ids(table.sample(0.02))) < set(ids(table.sample(0.05)))


def test_sql_forms(spark, path, table):
    wanted = expected_ids(spark, 0.1)
    table.createOrReplaceTempView("flat")
    for source in (f"delta.`{path}`", f"qbeast.`{path}`", "flat"):
        query = spark.sql(f"SELECT id FROM {source} TABLESAMPLE (10 PERCENT)")
        assert ids(query) == wanted, source
        assert opened(query).rows < 0.25 * ROWS, source
    assert count(spark.sql("SELECT * FROM flat TABLESAMPLE (7 ROWS)")) == 7
    assert ids(spark.sql("SELECT id FROM flat TABLESAMPLE (BUCKET 1 OUT OF 10)")) == wanted
    repeatable = "SELECT id FROM flat TABLESAMPLE (10 PERCENT) REPEATABLE (3)"
    assert ids(spark.sql(repeatable)) == wanted


def test_filters_and_projections_around_a_sample(spark, table):
    wanted = [i for i in expected_ids(spark, 0.1) if i % 2]
    for query in (
        table.filter("id % 2 = 1").sample(0.1),
        table.sample(0.1).filter("id % 2 = 1"),
        table.select("id").filter("id % 2 = 1").sample(0.1),
        table.select((F.col("id") + 0).alias("id")).sample(0.1).filter("id % 2 = 1"),
    ):
        assert ids(query) == wanted
        assert opened(query).rows < 0.25 * ROWS


def test_filters_skip_files_without_a_sample(table):
    box = table.filter("a BETWEEN 100000 AND 150000 AND b BETWEEN 300 AND 350")
    assert opened(box).rows < 0.25 * ROWS
    assert count(box) == count(rows_2d(table.sparkSession, ROWS).filter(
        "a BETWEEN 100000 AND 150000 AND b BETWEEN 300 AND 350"))  # fmt: skip


def test_shapes_that_are_not_pushed_stay_correct(spark, table):
    assert abs(count(table.sample(withReplacement=True, fraction=0.5, seed=1)) - ROWS / 2) < 1_000
    left, right = table.randomSplit([0.3, 0.7], seed=7)
    assert ids(left.union(right)) == list(range(ROWS))
    nested = count(table.sample(0.5).sample(0.5, seed=3))
    assert abs(nested - ROWS / 4) < 1_000
    above = table.groupBy("name").count().sample(0.5, seed=4)
    assert count(above) < 100
    assert abs(count(table.filter("rand(3) < 0.5").sample(0.5, seed=9)) - ROWS / 4) < 1_000


def test_joined_samples(table):
    a, b = table.sample(0.1), table.sample(0.2)
    assert count(a.join(b, "id")) == count(a)


def test_the_switch(spark, path, table):
    with under(spark, {"spark.qbeast.sample.pushdown": "false"}):
        query = table.sample(0.1, seed=1)
        assert opened(query).rows == ROWS
        assert ids(query) != expected_ids(spark, 0.1)
    with under(spark, {"spark.qbeast.sample.pushdown": "yes"}):
        with pytest.raises(InvalidInputError, match="pushdown has to be true or false, not 'yes'"):
            count(table.sample(0.1))
        assert count(table) == ROWS


def test_a_sample_of_the_table_is_the_same_where_spark_draws_it(spark, path, table_path):
    """Of keys that are coarser than the fraction, and where samples are left to Spark."""
    rows = spark.range(ROWS).selectExpr("id", "id % 4 AS a")
    save(rows, table_path, columnsToIndex="a", cubeSize=2_000)
    coarse = QbeastTable.for_path(spark, table_path)
    assert coarse.metrics().key_granularity > 0.1
    first = ids(coarse.sample(0.1))
    assert ids(coarse.sample(0.1)) == first
    assert len(first) == pytest.approx(0.1 * ROWS, rel=0.1)
    assert ids(coarse.sample(0.1, seed=1)) != ids(coarse.sample(0.1, seed=2))
    with under(spark, {"spark.qbeast.sample.pushdown": "false"}):
        table = QbeastTable.for_path(spark, path)
        assert ids(table.sample(0.1)) == ids(table.sample(0.1)) != expected_ids(spark, 0.1)


def test_time_travel(spark, table_path):
    save(rows_2d(spark, 3_000), table_path)
    first = spark.sql(f"DESCRIBE HISTORY delta.`{table_path}`").first()["timestamp"]
    save(rows_2d(spark, 1_000, first=3_000), table_path, "overwrite", columnsToIndex="b,a")
    old = spark.read.format("qbeast").option("versionAsOf", 0).load(table_path)
    assert ids(old) == list(range(3_000))
    assert ids(old.sample(0.2)) == [i for i in expected_ids(spark, 0.2) if i < 3_000]
    by_time = spark.read.format("qbeast").option("timestampAsOf", str(first)).load(table_path)
    assert count(by_time) == 3_000
    assert count(spark.sql(f"SELECT * FROM delta.`{table_path}` VERSION AS OF 0")) == 3_000


def test_files_that_plain_delta_writers_add_are_sampled_too(spark, table_path):
    save(rows_2d(spark, 2_000), table_path)
    rows_2d(spark, 2_000, first=2_000).write.format("delta").mode("append").save(table_path)
    assert ids(load(spark, table_path).sample(0.2)) == [i for i in expected_ids(spark, 0.2) if i < 4_000]
    metrics = QbeastTable.for_path(spark, table_path).metrics()
    assert (metrics.unindexed_rows, metrics.element_count) == (2_000, 2_000)


def test_damaged_tags_make_a_file_unindexed_and_never_unread(spark, table_path):
    import json
    from pathlib import Path

    save(rows_2d(spark, 2_000), table_path, cubeSize=500)
    log = Path(table_path, "_delta_log", "00000000000000000000.json")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    adds = [line["add"] for line in lines if "add" in line]
    adds[0]["tags"]["blocks"] = "[{broken"
    adds[1]["tags"]["revision"] = "99"
    log.write_text("\n".join(map(json.dumps, lines)))
    log.with_name(".00000000000000000000.json.crc").unlink(missing_ok=True)
    log.with_name("00000000000000000000.crc").unlink(missing_ok=True)
    copy = table_path + "-copy"
    Path(table_path).rename(copy)
    assert ids(load(spark, copy).sample(0.2)) == [i for i in expected_ids(spark, 0.2) if i < 2_000]
    table = QbeastTable.for_path(spark, copy)
    assert table.metrics().unindexed_files == 2
    assert {problem.rule for problem in table.verify("log").problems} >= {"tags"}


def test_planning_a_sample_costs_no_job(spark, table):
    table.sample(0.01).count()
    assert jobs(spark, table.sample(0.01).select("id")) == 1


def test_fractions_out_of_range(spark, path):
    for fraction in (-0.1, 1.5):
        with pytest.raises(InvalidInputError, match="fraction"):
            QbeastTable.for_path(spark, path).sample(fraction)
