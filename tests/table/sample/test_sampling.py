"""Samples read only what they need, and mean what Spark's own samples mean."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest
from pyspark.sql import functions as F

from pyqbeast import InvalidInputError, QbeastTable, bridge
from tests.spark_session import under
from tests.table.help import (
    count,
    ids,
    ids_of_each,
    ids_of_jobs,
    jobs,
    load,
    opened,
    rows_2d,
    rows_written,
    save,
)
from tests.table.sample.conftest import LARGE, ROWS, lightest


@pytest.fixture
def table(spark, large):
    return load(spark, large)


def read(query):
    """The ids that a query finds, and what its scans opened."""
    found = sorted(row["id"] for row in query.collect())
    return found, bridge.scan_totals(query)


def test_a_sample_is_the_rows_of_lowest_weight(table, weights):
    samples = [table.sample(0.1), table.sample(fraction=0.1, seed=5), table.sample(0.0), table.sample(1.0)]
    assert ids_of_each(samples) == [*[lightest(weights, 0.1)] * 2, [], list(range(LARGE))]


def test_a_sample_opens_few_files_and_bytes(table):
    everything = opened(table.agg(F.sum("id")))
    one_percent = opened(table.sample(0.01).agg(F.sum("id")))
    tenth = opened(table.sample(0.1).agg(F.sum("id")))
    assert one_percent.files <= 2
    assert one_percent.bytes < 0.05 * everything.bytes
    assert tenth.bytes < 0.3 * everything.bytes
    assert tenth.rows < 0.25 * everything.rows


#: Filters by a value of an indexed column, and ranges that hold no other one.
EQUALITIES = {
    "a = 3": "a >= 3 AND a < 4",
    "4 = a": "a > 3 AND a < 5",
    "a <=> 5": "a > 4 AND a < 6",
    "a IN (6)": "a > 5 AND a < 7",
    "a IS NULL": "coalesce(a, -1) < 0",
    "flag": "coalesce(cast(flag AS int), 0) > 0",
    "NOT flag": "coalesce(cast(flag AS int), 1) < 1",
}


def test_a_filter_by_a_value_of_an_indexed_column_is_sampled_as_a_range_is(spark, table_path):
    """Spark puts the value into the hash, in the place of the column."""
    columns = ("if(id % 9 = 8, null, id % 9) AS a", "id * 7919 % 40000 AS b", "id % 2 = 0 AS flag", "id")
    rows = spark.range(ROWS).selectExpr(*columns)
    save(rows, table_path, columnsToIndex="a,b", weightColumns="flag", cubeSize=500)
    table = load(spark, table_path)
    of_values = {equality: table.filter(equality).sample(0.01) for equality in EQUALITIES}
    of_ranges = [table.filter(range_).sample(0.01) for range_ in EQUALITIES.values()]
    found = ids_of_each([*of_values.values(), *of_ranges])
    for place, (equality, some) in enumerate(of_values.items()):
        assert found[place] == found[place + len(EQUALITIES)] != [], equality
        assert bytes_planned(some) < 0.2 * bytes_planned(table.filter(equality)), equality


def bytes_planned(query):
    """Bytes of the files, or parts of files, that the scans of a query without an exchange will read."""
    leaves = query._jdf.queryExecution().executedPlan().collectLeaves()
    return sum(leaves.apply(i).relation().location().sizeInBytes() for i in range(leaves.size()))


def test_a_write_to_another_source_reads_no_more_than_the_sample(spark, table):
    read, all_read = (bytes_read(spark, each) for each in (table.sample(0.01), table))
    assert 0 < read < 0.05 * all_read


def bytes_read(spark, frame):
    """Bytes that tasks read while rows are written to a sink of DataSource V2."""
    tracker, store = spark.sparkContext.statusTracker(), spark.sparkContext._jsc.sc().statusStore()
    numbers = ids_of_jobs(spark, lambda: rows_written(frame))
    stages = {stage for number in numbers for stage in tracker.getJobInfo(number).stageIds}
    return sum(store.lastStageAttempt(stage).inputBytes() for stage in stages)


def test_the_size_of_a_sample_is_binomial(weights):
    # All pairs of indexed values differ, so each row is in with probability f. Five standard deviations
    # leave one false alarm in 1.7 million.
    for fraction in (0.01, 0.1, 0.3):
        spread = math.sqrt(LARGE * fraction * (1 - fraction))
        assert abs(len(lightest(weights, fraction)) - LARGE * fraction) < 5 * spread


def test_sql_forms(spark, large, table, weights):
    wanted = lightest(weights, 0.1)
    table.createOrReplaceTempView("flat")
    for source in (f"delta.`{large}`", f"qbeast.`{large}`", "flat"):
        found, totals = read(spark.sql(f"SELECT id FROM {source} TABLESAMPLE (10 PERCENT)"))
        assert found == wanted, source
        assert totals.rows < 0.25 * LARGE, source
    forms = ("(BUCKET 1 OUT OF 10)", "(10 PERCENT) REPEATABLE (3)", "(7 ROWS)")
    *found, seven = ids_of_each([spark.sql(f"SELECT id FROM flat TABLESAMPLE {form}") for form in forms])
    assert found == [wanted] * 2
    assert len(seven) == 7


def test_filters_and_projections_around_a_sample(table, weights):
    wanted = [i for i in lightest(weights, 0.1) if i % 2]
    for query in (
        table.filter("id % 2 = 1").sample(0.1),
        table.sample(0.1).filter("id % 2 = 1"),
        table.select("id").filter("id % 2 = 1").sample(0.1),
        table.select((F.col("id") + 0).alias("id")).sample(0.1).filter("id % 2 = 1"),
    ):
        found, totals = read(query)
        assert found == wanted
        assert totals.rows < 0.25 * LARGE


def test_filters_skip_files_without_a_sample(spark, table):
    box = "a BETWEEN 100000 AND 150000 AND b BETWEEN 300 AND 350"
    found, totals = read(table.filter(box))
    assert totals.rows < 0.25 * LARGE
    assert found == ids(rows_2d(spark, LARGE).filter(box))


def test_shapes_that_are_not_pushed_stay_correct(table):
    left, right = table.randomSplit([0.3, 0.7], seed=7)
    replaced, both, nested, filtered = ids_of_each(
        [
            table.sample(withReplacement=True, fraction=0.5, seed=1),
            left.union(right),
            table.sample(0.5).sample(0.5, seed=3),
            table.filter("rand(3) < 0.5").sample(0.5, seed=9),
        ]
    )
    # At least seven standard deviations of what Spark draws.
    assert abs(len(replaced) - LARGE / 2) < 700
    assert both == list(range(LARGE))
    assert abs(len(nested) - LARGE / 4) < 500
    assert abs(len(filtered) - LARGE / 4) < 500
    above = table.groupBy("name").count().sample(0.5, seed=4)
    assert count(above) < 100


def test_joined_samples(table):
    a, b = table.sample(0.1), table.sample(0.2)
    assert count(a.join(b, "id")) == count(a)


def test_the_switch(spark, table, weights):
    with under(spark, {"spark.qbeast.sample.pushdown": "false"}):
        found, totals = read(table.sample(0.1, seed=1))
        assert totals.rows == LARGE
        assert found != lightest(weights, 0.1)
    with under(spark, {"spark.qbeast.sample.pushdown": "yes"}):
        with pytest.raises(InvalidInputError, match="pushdown has to be true or false, not 'yes'"):
            count(table.sample(0.1))
        assert count(table) == LARGE


def test_a_sample_of_the_table_is_the_same_where_spark_draws_it(spark, large, table_path, weights):
    """Of keys that are coarser than the fraction, and where samples are left to Spark."""
    rows = spark.range(ROWS).selectExpr("id", "id % 4 AS a")
    save(rows, table_path, columnsToIndex="a", cubeSize=2_000)
    coarse = QbeastTable.for_path(spark, table_path)
    assert coarse.metrics().key_granularity > 0.1
    drawn = [coarse.sample(0.1), coarse.sample(0.1), *(coarse.sample(0.1, seed=seed) for seed in (1, 2))]
    first, again, one, two = ids_of_each(drawn)
    assert again == first
    assert len(first) == pytest.approx(0.1 * ROWS, rel=0.2)  # six standard deviations
    assert one != two
    with under(spark, {"spark.qbeast.sample.pushdown": "false"}):
        table = QbeastTable.for_path(spark, large)
        first, again = ids_of_each([table.sample(0.1), table.sample(0.1)])
        assert first == again != lightest(weights, 0.1)


def test_time_travel(spark, copied, weights):
    # As a text: Python would have the moment in a time zone of its own, which need not be that of the session.
    history = spark.sql(f"DESCRIBE HISTORY delta.`{copied}`").selectExpr("cast(timestamp AS string) AS at")
    first = history.first()["at"]
    save(rows_2d(spark, 1_000, first=ROWS), copied, "overwrite", columnsToIndex="b,a")
    old = spark.read.format("qbeast").option("versionAsOf", 0).load(copied)
    by_time = spark.read.format("qbeast").option("timestampAsOf", first).load(copied)
    by_sql = spark.sql(f"SELECT * FROM delta.`{copied}` VERSION AS OF 0")
    every = list(range(ROWS))
    assert ids_of_each([old, by_time, by_sql, old.sample(0.2)]) == [
        *[every] * 3,
        lightest(weights[:ROWS], 0.2),
    ]


def test_files_that_plain_delta_writers_add_are_sampled_too(spark, copied, weights):
    rows_2d(spark, 2_000, first=ROWS).write.format("delta").mode("append").save(copied)
    assert ids(load(spark, copied).sample(0.2)) == lightest(weights[: ROWS + 2_000], 0.2)
    metrics = QbeastTable.for_path(spark, copied).metrics()
    assert (metrics.unindexed_rows, metrics.element_count) == (2_000, ROWS)


def test_damaged_tags_make_a_file_unindexed_and_never_unread(spark, whole, table_path, weights):
    shutil.copytree(whole, table_path, ignore=shutil.ignore_patterns("*.crc"))
    log = Path(table_path, "_delta_log", "00000000000000000000.json")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    adds = [line["add"] for line in lines if "add" in line]
    adds[0]["tags"]["blocks"] = "[{broken"
    adds[1]["tags"]["revision"] = "99"
    log.write_text("\n".join(map(json.dumps, lines)))
    assert ids(load(spark, table_path).sample(0.2)) == lightest(weights[:ROWS], 0.2)
    table = QbeastTable.for_path(spark, table_path)
    assert table.metrics().unindexed_files == 2
    assert {problem.rule for problem in table.verify("log").problems} >= {"tags"}


def test_planning_a_sample_costs_no_job(spark, table):
    table.sample(0.01).count()
    assert jobs(spark, table.sample(0.01).select("id")) == 1


def test_fractions_out_of_range(spark, large):
    for fraction in (-0.1, 1.5):
        with pytest.raises(InvalidInputError, match="fraction"):
            QbeastTable.for_path(spark, large).sample(fraction)
