"""Estimates within a stated error: their bounds hold, they cost little, and they say what they are worth.

The data is the same in every run, so a test that passes once has no false alarms. Where many bounds are compared with
the truth they are those of a confidence of 0.999; how often bounds of 0.95 hold has a test of its own.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import InvalidInputError, UnsupportedError, bridge
from pyqbeast.bridge.aggregate_query import AggregateQuery
from tests.approximate.bounds import SURE, answers, assert_holds, bytes_of
from tests.spark_session import under
from tests.table.help import load, rows_2d, save

ROWS = 60_000
#: A skewed value (lognormal), a group, a date and a value that is null for one row in ten.
COLUMNS = {
    "skewed": "exp(2 * sin(cast(id as double)) * cos(id * 0.37D))",
    "third": "id % 3",
    "day": "date_add(date'2020-01-01', cast(id % 365 as int))",
    "holes": "if(id % 10 = 0, null, id % 100)",
}


@pytest.fixture(scope="module")
def path(spark, tmp_path_factory):
    place = str(tmp_path_factory.mktemp("tolerance") / "table")
    rows = rows_2d(spark, ROWS).withColumns({name: F.expr(text) for name, text in COLUMNS.items()})
    # Cuts at more fractions than a table of this size would have: a percentile reads its sample beside the whole.
    save(rows, place, cubeSize=4_000, sampleFractions="0.01,0.07,0.1,0.3")
    return place


@pytest.fixture
def table(spark, path):
    return load(spark, path)


def test_settings_are_those_of_the_session_of_the_query(spark, path):
    """Whichever session is the thread's: here the night of UTC is day, and a division by zero is null."""
    other = spark.newSession()
    other.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    other.conf.set("spark.sql.ansi.enabled", "false")
    moment = F.expr("timestamp_seconds(1700000000 + id % 20000)")
    query = load(other, path).groupBy().agg(F.avg(F.hour(moment)), F.sum(F.expr("id / (id % 2)")))
    exact = query.first()
    assert exact[0] > 9
    with ThreadPoolExecutor(1) as new_thread:
        estimates = [
            new_thread.submit(pyqbeast.tolerance, query, error=0.1).result(),
            pyqbeast.tolerance(query, error=0.1),
        ]
    for estimate in estimates:
        row = estimate.df.first()
        assert not estimate.exact
        assert row[0] == pytest.approx(exact[0], rel=0.1)
        assert row[3] == pytest.approx(exact[1], rel=0.1)


def test_a_sample_answers_where_it_suffices(table):
    query = table.agg(F.avg("b").alias("mean"), F.count("holes").alias("set"), F.sum("skewed").alias("total"))
    estimate = pyqbeast.tolerance(query, error=0.05)
    assert estimate.df.columns == [
        f"{name}{end}" for name in ("mean", "set", "total") for end in ("", "_low", "_high")
    ]
    assert assert_holds(estimate, query) == 3
    assert not estimate.exact
    assert 0 < estimate.fraction < 0.2
    assert estimate.bytes_read < 0.3 * estimate.exact_bytes
    row = estimate.df.first()
    for name in ("mean", "set", "total"):
        width = max(row[f"{name}_high"] - row[name], row[name] - row[f"{name}_low"])
        assert width <= 0.05 * row[name] / 1.05 + 1
    assert dict(estimate.df.dtypes)["set"] == "bigint"


def test_values_of_one_kind_are_believed_where_it_is_known_that_there_are_no_others(table):
    """Ten of the rows are rare. What the pilot saw of them tells nothing, and a constant needs no sample."""
    rare = F.sum(F.when(F.col("id") < 10, 1).otherwise(0)).alias("rare")
    answer = pyqbeast.tolerance(table.agg(rare), error=0.05)
    assert (answer.exact, answer.df.first()["rare"]) == (True, 10)
    ones = pyqbeast.tolerance(table.filter("b >= 0").agg(F.sum(F.lit(1)).alias("ones")), error=0.1)
    assert not ones.exact
    assert ones.df.first()["ones"] == pytest.approx(ROWS, rel=0.1)


def test_an_aggregate_shown_twice_has_the_type_of_each_column(table):
    query = table.filter("b >= 0").agg(F.count("a").alias("n"))
    query = query.select(
        "n", F.col("n").cast("double").alias("d"), F.col("n").cast("decimal(22,1)").alias("t")
    )
    shown = pyqbeast.tolerance(query.orderBy("n"), error=0.1).df
    assert [shown.schema[name].dataType for name in query.columns] == [each.dataType for each in query.schema]
    row = shown.first()
    assert row["n"] == pytest.approx(row["d"], abs=0.5)
    assert float(row["t"]) == pytest.approx(row["d"], abs=0.05)
    by_third = table.groupBy("third").agg(F.count("*").alias("n"))
    query = by_third.select(F.col("third").cast("double").alias("of"), "n")
    shown = pyqbeast.tolerance(query, error=0.1).df
    assert shown.schema["of"].dataType == query.schema["of"].dataType
    with pytest.raises(UnsupportedError, match="in another way"):
        pyqbeast.tolerance(table.agg(F.count("a").cast("decimal(3,0)")), error=0.1)


def test_it_reads_the_bytes_that_it_says(spark, table, monkeypatch):
    measured = []

    def watched(self, files, *arguments):
        frame = original(self, files, *arguments)
        measured.extend([frame] if files else [])  # without files only the schema is asked for
        return frame

    original = AggregateQuery.rows
    monkeypatch.setattr(AggregateQuery, "rows", watched)
    query = table.filter("a < 500000").agg(F.avg("skewed").alias("m"))
    estimate = pyqbeast.tolerance(query, error=0.05)
    opened = []
    for frame in measured:
        frame.collect()
        opened.append(bridge.scan_totals(frame).bytes)
    assert opened == [step.bytes for step in estimate.steps]
    query.collect()
    assert estimate.exact_bytes == bridge.scan_totals(query).bytes


def test_it_ends_in_the_exact_answer_and_within_the_budget(table):
    query = table.groupBy("third").agg(
        F.avg("b").alias("mean"), F.stddev("skewed").alias("spread"), F.max("day").alias("last")
    )
    estimate = pyqbeast.tolerance(query.orderBy(F.desc("third")), error=0.0001)
    assert estimate.exact
    assert estimate.fraction == 1.0
    assert estimate.bytes_read <= 1.1 * estimate.exact_bytes
    assert [row["third"] for row in estimate.df.collect()] == [2, 1, 0]
    truth, found = answers(query, ["third"]), answers(estimate.df, ["third"])
    for group, row in truth.items():
        for name in ("mean", "spread"):
            assert math.isclose(found[group][name], row[name], rel_tol=1e-12)
            assert found[group][name] == found[group][f"{name}_low"] == found[group][f"{name}_high"]
        assert found[group]["last"] == row["last"] == found[group]["last_high"]
    assert set(estimate.worth.values()) == {"exact"}


def test_groups_filters_and_renamed_columns(table):
    query = (
        table.withColumnRenamed("skewed", "value")
        .filter("b < 900 AND holes IS NOT NULL")
        .groupBy((F.col("third") == 1).alias("is_one"))
        .agg(
            F.count("*").alias("n"),
            F.avg("value").alias("mean"),
            F.count_if(F.col("value") > 1).alias("large"),
        )
        .orderBy(F.desc("n"))
        .select("large", F.col("is_one"), F.col("mean").alias("average"))
    )
    estimate = pyqbeast.tolerance(query, error=0.3, confidence=SURE)
    assert not estimate.exact
    assert assert_holds(estimate, query, ["is_one"]) == 4
    assert [row["is_one"] for row in estimate.df.collect()] == [False, True]
    assert [name for name in estimate.df.columns if not name.endswith(("_low", "_high"))] == query.columns
    assert not estimate.groups.complete
    assert any("by itself" in note for note in estimate.notes)


def test_sql_with_a_filter_on_the_aggregate(spark, table):
    table.createOrReplaceTempView("estimated")
    query = spark.sql(
        "WITH cut AS (SELECT * FROM estimated WHERE a > 1000) "
        "SELECT sum(skewed) FILTER (WHERE third = 1) AS s, count(*) FILTER (WHERE third = 1) AS n FROM cut"
    )
    estimate = pyqbeast.tolerance(query, error=0.3, confidence=SURE)
    assert not estimate.exact
    assert assert_holds(estimate, query) == 2


def test_the_best_answer_for_a_budget(path, table):
    query = table.agg(F.avg("b").alias("mean"), F.count("*").alias("n"))
    whole = bytes_of(path)
    estimate = pyqbeast.tolerance(query, confidence=SURE, budget=whole // 3)
    assert 0 < estimate.bytes_read <= whole // 3
    assert assert_holds(estimate, query) == 2
    assert pyqbeast.tolerance(query, budget="1000 s").exact


def test_arithmetic_over_aggregates(spark, table):
    """A share, a weighted mean and a difference, before and after the names that a query gives them."""
    weighted = F.sum(F.col("skewed") * F.col("b")) / F.sum("skewed")
    query = table.groupBy("third").agg(
        weighted.alias("weighted"), (100 * F.count_if(F.col("holes") < 50) / F.count("*")).alias("percent")
    )
    estimate = pyqbeast.tolerance(query, 0.1, SURE)
    assert estimate.fraction < 1
    assert assert_holds(estimate, query, ["third"]) == 6
    table.createOrReplaceTempView("rows_of_a_table")
    above = spark.sql(
        "WITH sums AS (SELECT avg(skewed) FILTER (WHERE third = 1) AS one, avg(skewed) AS every, count(*) AS n FROM "
        "rows_of_a_table) SELECT one - every AS apart, 1 - one / every AS relative FROM sums ORDER BY 2 * n"
    )
    assert assert_holds(pyqbeast.tolerance(above, 0.05, SURE, relative=False), above) == 2


def test_a_correlation_leaves_out_rows_without_one_of_its_values(table):
    """Whatever the other value is."""
    odd = F.when(F.col("holes").isNull(), float("nan")).otherwise(F.col("id") % 7 + F.col("holes"))
    query = table.agg(F.corr(odd, "holes").alias("r"), F.corr("holes", odd).alias("s"))
    first = next(iter(pyqbeast.refine(query, SURE)))
    assert not first.exact
    # The two are nearly alike, which a row in which they are not would upset, so that there are no bounds.
    shown, right = first.df.first(), query.first()
    assert [shown[name] for name in "rs"] == pytest.approx(list(right), abs=0.01)
    # What does not vary has no correlation.
    first = next(iter(pyqbeast.refine(table.agg(F.corr(odd, F.col("holes") * 0).alias("none")))))
    assert first.df.first()["none"] is None


def test_percentiles(table):
    """The scans' `test_tolerance` shows those of all rows, by the same steps."""
    grouped = table.groupBy("third").agg(F.percentile_approx("b", 0.3).alias("p"))
    estimate = pyqbeast.tolerance(grouped, error=0.3, confidence=SURE)
    assert not estimate.exact
    assert assert_holds(estimate, grouped, ["third"]) == 3
    exact = pyqbeast.tolerance(grouped, error=0.001)
    assert exact.exact
    assert exact.bytes_read <= 1.1 * exact.exact_bytes
    assert_holds(exact, grouped, ["third"])


def test_percentiles_by_times_without_a_zone(spark, table):
    """One o'clock comes twice where clocks are set back, and two o'clock never where they are set forward."""
    day = "if(id % 8 < 4, timestamp_ntz'2024-11-03 00:00:00', timestamp_ntz'2024-03-10 00:00:00')"
    hour = F.expr(f"{day} + make_dt_interval(0, cast(id % 4 as int))")
    query = table.groupBy(hour.alias("hour")).agg(F.percentile_approx("b", 0.5).alias("p"))
    with under(spark, {"spark.sql.session.timeZone": "America/New_York"}):
        estimate = pyqbeast.tolerance(query, error=0.3, confidence=SURE)
        assert not estimate.exact
        assert assert_holds(estimate, query, ["hour"]) == 8


def test_extremes_are_bounds_and_told_as_such(table):
    query = table.filter("third = 1").agg(F.min("day").alias("first"), F.max("b").alias("most"))
    estimate = pyqbeast.tolerance(query, error=0.1, confidence=SURE)
    assert not estimate.exact
    assert assert_holds(estimate, query) == 2
    assert set(estimate.worth.values()) == {"certain bounds"}


def test_types_of_the_query_are_kept(table):
    query = (
        table.withColumn("time", F.timestamp_seconds(F.col("id") * 86_400))
        .withColumn("price", F.col("b").cast("decimal(10,2)"))
        .groupBy((F.col("id") % 2 == 0).alias("is.even"), F.expr("cast(id % 2 as decimal(4,1)) AS half"))
        .agg(F.max("time").alias("last time"), F.sum("price").alias("sum"), F.avg("a").alias("mean"))
        .orderBy("half")
    )
    estimate = pyqbeast.tolerance(query, error=0.3)
    assert not estimate.exact
    types = dict(estimate.df.dtypes)
    assert {name: types[name] for name in query.columns} == dict(query.dtypes)
    rows = estimate.df.collect()
    assert [row["is.even"] for row in rows] == [True, False]
    # Nothing bounds the latest time of an expression from above.
    assert rows[0]["last time_high"] is None
    assert rows[0]["last time"] == rows[0]["last time_low"] <= query.first()["last time"]
    assert isinstance(rows[0]["sum"], Decimal)


def test_joins_with_small_tables(spark, table):
    names = spark.createDataFrame([(0, "zero"), (1, "one"), (1, "uno")], "third long, word string")
    for kind, key in (("left", "word"), ("left_anti", "third")):
        query = (
            table.join(names, "third", kind)
            .groupBy(key)
            .agg(F.avg("b").alias("mean"), F.count("*").alias("n"))
        )
        estimate = pyqbeast.tolerance(query, error=0.1, confidence=SURE)
        assert not estimate.exact, kind
        assert_holds(estimate, query, [key])
    with pytest.raises(UnsupportedError, match="FULL OUTER join"):
        pyqbeast.tolerance(table.join(names, "third", "full").groupBy().agg(F.avg("b")))


@pytest.fixture(scope="module")
def one_odd_row(spark, tmp_path_factory):
    """30,000 rows, of which one has a value of its own in two columns."""
    place = str(tmp_path_factory.mktemp("odd") / "table")
    values = ("if(id = 7, 100000000.0D, 1.0D) as money", "if(id = 7, double('NaN'), 1.0D) as x")
    save(spark.range(30_000).selectExpr("id", *values), place, columnsToIndex="id", cubeSize=1_000)
    return place


def test_rare_and_heavy_rows_push_on_to_the_exact_answer(spark, table, one_odd_row):
    rare = table.filter("id < 20").agg(F.avg("b").alias("m"), F.count("*").alias("n"))
    nothing = table.filter("skewed < -1").agg(F.avg("b").alias("m"), F.count("*").alias("n"))
    for query in (rare, nothing):
        estimate = pyqbeast.tolerance(query, error=0.1)
        assert estimate.exact
        assert estimate.bytes_read <= 1.1 * estimate.exact_bytes
        shown, right = estimate.df.first(), query.first()
        assert (shown["n"], shown["m"]) == (right["n"], pytest.approx(right["m"]))
    estimate = pyqbeast.tolerance(load(spark, one_odd_row).agg(F.sum("money").alias("s")), error=0.1)
    assert estimate.df.first()["s"] == pytest.approx(100_029_999, rel=0.1)


def test_a_nan_that_only_the_statistics_tell_of_is_in_the_answer(spark, one_odd_row):
    ends = (F.max("x").alias("high"), F.min("x").alias("low"))
    query = load(spark, one_odd_row).agg(F.avg("x").alias("m"), *ends)
    row = pyqbeast.tolerance(query, error=0.1).df.first()
    assert (math.isnan(row["m"]), math.isnan(row["high"]), row["low"]) == (True, True, 1.0)


def test_what_the_writer_recorded_makes_bounds_trusted(table):
    by_column = pyqbeast.tolerance(table.agg(F.avg("b").alias("m")), error=0.05)
    assert by_column.worth == {"m": "bounded"}
    by_expression = pyqbeast.tolerance(table.agg(F.avg(F.col("b") * 2).alias("m")), error=0.05)
    assert by_expression.worth == {"m": "sample only"}


def test_counts_from_the_log_read_nothing(table):
    estimate = pyqbeast.tolerance(table.agg(F.count("*").alias("n")))
    assert (estimate.exact, estimate.bytes_read, estimate.df.first()["n"]) == (True, 0, ROWS)


def test_refine_narrows_until_it_is_exact(table):
    query = table.agg(F.sum("skewed").alias("m"))
    estimates = list(pyqbeast.refine(query))
    rows = [estimate.df.first() for estimate in estimates]
    widths = [row["m_high"] - row["m_low"] for row in rows]
    assert len(widths) >= 3
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == 0
    # Added up from all steps: no row was left out or read twice.
    assert len(estimates[-1].steps) == len(estimates)
    assert math.isclose(rows[-1]["m"], query.first()["m"], rel_tol=1e-12)
    assert estimates[-1].exact
    assert estimates[-1].bytes_read <= 1.1 * estimates[-1].exact_bytes
    assert [e.fraction for e in estimates] == sorted(e.fraction for e in estimates)


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        (lambda t: t, "has to end in an aggregation"),
        (lambda t: t.agg(F.countDistinct("name")), "indexed by the counted columns alone"),
        (lambda t: t.agg(F.countDistinct("a")), "distinct"),
        (lambda t: t.agg(F.sum_distinct("a")), "distinct"),
        (lambda t: t.agg(F.sqrt(F.avg("b"))), "computes with the aggregates"),
        (lambda t: t.groupBy("third").agg(F.avg("b") + F.col("third")), "computes with the aggregates"),
        (lambda t: t.groupBy("third").agg(F.count("*") * F.col("third")), "computes with the aggregates"),
        (lambda t: t.agg(F.lit(1), F.avg("b")), "a constant stands beside the aggregates"),
        (lambda t: t.agg(F.max("name")), "type string"),
        (lambda t: t.agg(F.kurtosis("b")), "Kurtosis"),
        (lambda t: t.sample(0.1).agg(F.avg("b")), "Sample"),
        (lambda t: t.limit(10).agg(F.avg("b")), "Limit"),
        (lambda t: t.filter(F.rand() < 0.5).agg(F.avg("b")), "something else each time"),
        (lambda t: t.agg(F.percentile_approx("b", [0.1, 0.2])), "several percentiles"),
        (lambda t: t.sparkSession.range(10).agg(F.sum("id")), "no indexed table"),
        (
            lambda t: t.groupBy(F.expr("collate(substr('Aa', 1 + third % 2, 1), 'UTF8_LCASE')")).count(),
            "collation UTF8_LCASE takes for equal",
        ),
        (
            lambda t: t.groupBy(F.expr("date_add(date'12000-01-01', cast(third as int))")).count(),
            "group number 1 is none in Python",
        ),
    ],
)
def test_other_queries_are_refused_with_the_reason(table, shape, reason):
    with pytest.raises(UnsupportedError, match=reason) as refused:
        pyqbeast.tolerance(shape(table))
    assert "exact=True" in str(refused.value)


def test_exact_on_request_takes_any_query(table):
    query = table.groupBy("third").agg(F.sqrt(F.avg("b")).alias("root")).orderBy("third")
    estimate = pyqbeast.tolerance(query, exact=True)
    assert estimate.exact
    assert estimate.df.collect() == query.collect()
    lists = pyqbeast.tolerance(table.agg(F.collect_set("third").alias("all")), exact=True)
    assert sorted(lists.df.first()["all"]) == [0, 1, 2]
    for interval in ("interval '1' year", "make_interval(1, 2, 3)"):
        with pytest.raises(UnsupportedError, match="'i' has: make texts or numbers of them"):
            pyqbeast.tolerance(table.agg(F.expr(interval).alias("i")), exact=True)
    plain = pyqbeast.tolerance(table.agg(F.max("name").alias("m")), exact=True)
    assert plain.df.first().asDict() == {"m": "name 99", "m_low": "name 99", "m_high": "name 99"}


@pytest.mark.parametrize("arguments", [{"error": 0}, {"confidence": 1.0}])
def test_numbers_out_of_range_are_errors(table, arguments):
    with pytest.raises(InvalidInputError, match=f"{next(iter(arguments))} has to be"):
        pyqbeast.tolerance(table.agg(F.avg("b")), **arguments)
