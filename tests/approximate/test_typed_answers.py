"""Answers have the digits of their types, whatever else a query shows of the same aggregates."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import UnsupportedError
from pyqbeast.approximate.estimate.rounding import as_shown
from tests.deletion_vectors.tables import commit
from tests.table.help import load, save


@pytest.fixture(scope="module")
def books(spark, tmp_path_factory):
    """Debit and credit of the same sums; times of calls in milliseconds; means of groups that a FLOAT takes for one."""
    place = str(tmp_path_factory.mktemp("types") / "table")
    rows = spark.range(40_000).selectExpr(
        "id",
        "cast(id % 8 as int) as g",
        "cast(pmod(hash(id), 100000) / 100D as decimal(18,2)) as debit",
        "cast(pmod(hash(39999 - id), 100000) / 100D as decimal(18,2)) as credit",
        "1764000000000 + id as began",
        "1764000000000 + id + id % 100 as ended",
        "1D + (7 - id % 8) * 1e-9D as x",
        "if(id = 39999, 2147483647, cast(id % 100 as int)) as small",
    )
    save(rows, place, columnsToIndex="id", cubeSize=2_000, sampleFractions="0.05,0.1,0.3")
    load(spark, place).createOrReplaceTempView("books")


def test_one_term_of_two_types_is_rounded_for_each_by_itself(spark, books):
    query = spark.sql(
        "SELECT cast(sum(debit) AS DOUBLE) / count(*) AS d, sum(debit) / count(*) AS e, "
        "(sum(debit) - sum(credit)) * 100D AS h FROM books WHERE id BETWEEN 1 AND 39998"
    )
    answer = pyqbeast.tolerance(query, error=1e-12)
    assert answer.exact
    assert answer.steps[-1].start > 0, "sums of the steps tell it"
    (shown,), (right,) = answer.df.collect(), query.collect()
    assert [shown[name] for name in "deh"] == list(right)
    assert float(right["e"]) != right["d"]


def test_a_difference_of_large_sums_is_that_of_spark(spark, books):
    query = spark.sql("SELECT g, (sum(ended) - sum(began)) / count(*) AS took FROM books GROUP BY g")
    answer = pyqbeast.tolerance(query, error=1e-9)
    assert answer.exact
    assert answer.groups.complete
    assert {(row["g"], row["took"]) for row in answer.df.collect()} == set(map(tuple, query.collect()))


def test_a_condition_with_more_digits_than_a_double_has_keeps_the_groups_of_spark(spark, books):
    """Spark itself rounds a constant to 12 places beside a sum of 26 digits before the point."""
    spark.sql(
        "SELECT g, sum(debit) AS total, sum(-debit) AS owed, sum(if(g = 3, NULL, debit)) AS some "
        "FROM books GROUP BY g"
    ).createOrReplaceTempView("totals")
    totals = sorted(row.total for row in spark.table("totals").collect())
    below, above = f"{totals[4] - Decimal('0.01')}999999999", f"{totals[4]}000000001"
    for condition in (
        f"total > {below}",
        f"total BETWEEN {totals[1]}000000001 AND {below}",
        f"cast(total AS DECIMAL(38, 12)) >= {above}",
        f"-{below} > owed",
        f"NOT some = {above}",
        f"total = {totals[4]}000000000",
    ):
        query = spark.sql(f"SELECT * FROM totals WHERE {condition}")
        answer = pyqbeast.tolerance(query, error=1e-12)
        assert answer.exact
        assert answer.steps[-1].start > 0, "sums of the steps tell it"
        assert {row["g"] for row in answer.df.collect()} == {row["g"] for row in query.collect()}, condition


def test_groups_are_sorted_by_what_they_are_and_not_by_a_float_of_it(spark, books):
    means = "SELECT g, avg(x) AS mean FROM books GROUP BY g"
    ordered = f"SELECT g, mean, cast(mean AS FLOAT) AS m FROM ({means}) ORDER BY "
    answer = pyqbeast.tolerance(spark.sql(ordered + "mean"), budget=500_000)
    assert not answer.exact
    assert [row["g"] for row in answer.df.collect()] == list(range(7, -1, -1))
    answer = pyqbeast.tolerance(spark.sql(ordered + "m DESC, g"), budget=500_000)
    assert [row["g"] for row in answer.df.collect()] == list(range(8))
    large = "SELECT 16777216 + g AS k, count(*) AS n FROM books GROUP BY 16777216 + g"
    answer = pyqbeast.tolerance(
        spark.sql(f"SELECT k, n, cast(k AS FLOAT) AS m FROM ({large}) ORDER BY k DESC"), budget=500_000
    )
    assert [row["k"] - 16777216 for row in answer.df.collect()] == list(range(7, -1, -1))
    # All groups are equal there, and any three of them may be the exact answer's.
    answer = pyqbeast.tolerance(spark.sql(ordered + "m LIMIT 3"), budget=500_000)
    assert [row["sure"] for row in answer.df.collect()] == [False] * 3
    assert len(answer.choice.left_out) == 5


def test_a_rounded_estimate_has_bounds_that_are_rounded_alike(spark, books):
    rounded = (
        "SELECT g, round(avg(id + 0.5D), 2) AS mean, round(avg(debit), 1) AS debit, round(sum(id), -3) AS total, "
        "round(100 * sum(debit) / sum(credit), 3) AS share, count(*) AS n FROM books GROUP BY g"
    )
    plain = (
        "SELECT g, avg(id + 0.5D) AS mean, avg(debit) AS debit, sum(id) AS total, "
        "100 * sum(debit) / sum(credit) AS share FROM books GROUP BY g"
    )
    answer = pyqbeast.tolerance(spark.sql(rounded + " ORDER BY g"), budget=500_000)
    assert not answer.exact
    answered = answer.df
    assert [field.dataType for field in answered.select("mean", "debit", "total", "share").schema] == [
        field.dataType for field in spark.sql(rounded).select("mean", "debit", "total", "share").schema
    ]
    pairs = zip(
        answered.collect(),
        pyqbeast.tolerance(spark.sql(plain + " ORDER BY g"), budget=500_000).df.collect(),
        strict=True,
    )
    for row, whole in pairs:
        for name, places in {"mean": 2, "debit": 1, "total": -3, "share": 3}.items():
            for each in (name, f"{name}_low", f"{name}_high"):
                assert float(row[each]) == pytest.approx(round(float(whole[each]), places), abs=1e-9)
    exact = pyqbeast.tolerance(spark.sql(rounded), error=1e-12)
    assert exact.exact
    names = spark.sql(rounded).columns
    assert {tuple(row[name] for name in names) for row in exact.df.collect()} == set(
        map(tuple, spark.sql(rounded).collect())
    )


def test_a_rounded_bound_stays_in_its_type(spark, books):
    """The file's statistics have the largest INT, in a row that the query leaves out."""
    query = spark.sql("SELECT round(max(small), -1) AS top FROM books WHERE id < 39999")
    answer = pyqbeast.tolerance(query, budget=500_000)
    assert not answer.exact
    assert answer.df.first()["top_high"] == 2147483647


def test_groups_that_are_equal_once_rounded_share_their_place(spark, books):
    """The second key decides between them, and a limit among them is no sure choice."""
    ordered = "SELECT g, round(avg(x), {}) AS m FROM books GROUP BY g ORDER BY m DESC{} LIMIT 3"
    answer = pyqbeast.tolerance(spark.sql(ordered.format(10, "")), budget=500_000)
    assert [row["g"] for row in answer.df.collect()] == [0, 1, 2]
    answer = pyqbeast.tolerance(spark.sql(ordered.format(3, ", g DESC")), budget=500_000)
    assert [(row["g"], row["sure"]) for row in answer.df.collect()] == [(7, False), (6, False), (5, False)]
    other = "SELECT g, avg(x) AS m FROM books GROUP BY g ORDER BY round(m, 3), g DESC LIMIT 3"
    assert [row["g"] for row in pyqbeast.tolerance(spark.sql(other), budget=500_000).df.collect()] == [
        7,
        6,
        5,
    ]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT 2 * round(avg(x), 1) FROM books", "rounded to a FLOAT or to decimal places"),
        ("SELECT round(round(avg(x), 2), 1) FROM books", "rounded to a FLOAT or to decimal places"),
        (
            "SELECT g FROM books GROUP BY g HAVING round(avg(x), 1) > 1",
            "rounded to a FLOAT or to decimal places",
        ),
        (
            "SELECT round(d, -1), n FROM (SELECT id AS d, count(*) AS n FROM books GROUP BY id)",
            "it rounds a group",
        ),
        ("SELECT round(max(cast(x AS FLOAT)), 1) FROM books", "in another way than"),
    ],
)
def test_what_is_made_of_rounded_numbers_is_refused(spark, books, query, reason):
    with pytest.raises(UnsupportedError, match=reason):
        pyqbeast.tolerance(spark.sql(query))


def test_numbers_are_shown_as_spark_shows_them(spark):
    halves = [
        sign * n / 2 * 10.0**-places for n in range(1, 40, 2) for places in (0, 1, 2, 3) for sign in (1, -1)
    ]
    numbers = [
        *halves,
        0.285,
        1.005,
        -0.04,
        -0.0,
        1e300,
        -4.5e-320,
        2.0**60 + 256,
        math.inf,
        -math.inf,
        math.nan,
    ]
    shown = {each: f"double(round(x, {each}))" for each in (0, 1, 2, -2, 12)}
    shown |= {"float": "double(cast(x AS FLOAT))"}
    frame = spark.createDataFrame(list(enumerate(numbers)), "n int, x double").selectExpr(
        "n", *shown.values()
    )
    _, *columns = zip(*sorted(frame.collect()), strict=True)
    for rounding, right in zip(shown, columns, strict=True):
        ours = as_shown(np.array(numbers), rounding).tolist()
        assert list(map(repr, ours)) == list(map(repr, right)), rounding


def test_a_nan_that_no_statistics_tell_of_may_be_the_largest_value(spark, tmp_path):
    """delta-rs leaves NaN out of those of its files, and no tag tells who wrote a file without an index."""
    place = str(tmp_path / "table")
    rows = spark.range(40_000).selectExpr("id", "1 + (id % 8) as g", "1D + id % 1000 as x")
    save(rows, place, columnsToIndex="id", cubeSize=2_000)
    ends = (F.max("x").alias("high"), F.min("x").alias("low"), F.count("*").alias("n"))
    # Without a filter Delta answers from the statistics alone.
    query = load(spark, place).filter("id > -100").agg(*ends)
    row = pyqbeast.tolerance(query, error=0.2).df.first()
    assert (row["high_high"], row["low_low"]) == (1000.0, 1.0)
    odd = {"id": list(range(-10, 0)), "g": [3] * 10, "x": [math.nan, *([9.0] * 9)]}
    schema = pa.schema({"id": pa.int64(), "g": pa.int64(), "x": pa.float64()})
    file = Path(place, "odd.parquet")
    pq.write_table(pa.table(odd, schema), file)
    told = '{"numRecords":10,"minValues":{"x":9.0},"maxValues":{"x":9.0},"nullCount":{"x":0}}'
    add = {"path": file.name, "partitionValues": {}, "size": file.stat().st_size, "modificationTime": 0}
    commit(Path(place), 1, {"add": {**add, "dataChange": True, "stats": told}})
    query = load(spark, place).filter("id > -100").agg(*ends)
    answer = pyqbeast.tolerance(query, error=0.2)
    assert not answer.exact
    row = answer.df.first()
    assert (row["high_high"], row["low_low"]) == (None, 1.0)
    assert math.isnan(query.first()["high"])
    groups = load(spark, place).groupBy("g").agg(F.max("x").alias("high")).filter("high < 2000")
    assert not any(row["sure"] for row in pyqbeast.tolerance(groups, error=0.2).df.collect() if row["g"] == 3)
