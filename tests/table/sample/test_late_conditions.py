"""Conditions that reach a scan only once Spark has made joins of EXISTS and IN, after its optimizer's other rules."""

from __future__ import annotations

import pytest

from pyqbeast import explain
from tests.spark_session import COMPILED, under
from tests.table.help import ids, ids_of_each, load, save

ROWS = 1_000


@pytest.fixture(scope="module")
def views(spark, tmp_path_factory):
    """The views `late_rows`, whose only zero is -0.0 and whose only early day is a skipped one, `late_keys` and
    `late_days`, which hold these."""
    folder = tmp_path_factory.mktemp("late")
    rows = spark.range(ROWS).selectExpr(
        "id",
        "if(id % 2 = 0, -0.0D, 5.0D) AS x",
        "if(id % 2 = 0, DATE'1582-10-10', DATE'2000-01-01') AS day",
        "if(id % 2 = 0, TIMESTAMP'1582-10-10 12:00:00', TIMESTAMP'2000-01-01 00:00:00') AS at",
    )
    save(rows, str(folder / "rows"), columnsToIndex="id", cubeSize=250)
    spark.range(ROWS).selectExpr("id AS k", "0.0D AS y").write.parquet(str(folder / "keys"))
    load(spark, str(folder / "rows")).createOrReplaceTempView("late_rows")
    load(spark, str(folder / "rows")).where("id IN (0, 2)").createOrReplaceTempView("late_days")
    spark.read.parquet(str(folder / "keys")).createOrReplaceTempView("late_keys")


EVEN = range(0, ROWS, 2)
ODD = range(1, ROWS, 2)


def assert_found(spark, wanted):
    """Each condition finds its rows: one query for all, in which each has a join or a subquery of its own."""
    found = ids_of_each([spark.table("late_rows").where(condition) for condition in wanted])
    wrong = {
        condition: f"{len(mine)} rows instead of {len(rows)}"
        for mine, (condition, rows) in zip(found, wanted.items(), strict=True)
        if mine != list(rows)
    }
    assert not wrong


def test_zeros_and_skipped_days_are_found(spark, views):
    conditions = [
        "EXISTS (SELECT 1 FROM late_keys WHERE k = id AND x = 0.0D)",
        "id IN (SELECT k FROM late_keys WHERE x <= 0.0D)",
        "EXISTS (SELECT 1 FROM late_keys WHERE k = id AND x IN (0.0D, 1.0D))",
        "EXISTS (SELECT 1 FROM late_keys WHERE k = id AND day = DATE'1582-10-10')",
        "EXISTS (SELECT 1 FROM late_keys WHERE k = id AND at = TIMESTAMP'1582-10-10 12:00:00')",
        "x IN (SELECT y FROM late_keys WHERE y = 0.0D)",
    ]
    assert_found(spark, dict.fromkeys(conditions, EVEN))


def test_other_conditions_reach_the_scan_as_they_are(spark, views):
    query = spark.table("late_rows").where(
        "x = 5.0D AND day > DATE'1999-01-01' AND id IN (1, 3) AND (id < 2 OR id > 2)"
    )
    plan = query._jdf.queryExecution().sparkPlan().toString()
    assert "EqualTo(x,5.0)" in plan
    assert "GreaterThan(day,1999-01-01)" in plan
    assert "Or(" in plan
    assert ids(query) == [1, 3]
    assert [condition.text for condition in explain(query).scans[0].conditions]


def test_zeros_are_found_where_a_subquery_says_zero(spark, views):
    """Spark hands the value to Parquet when the scan runs."""
    conditions = [
        "x = (SELECT min(y) FROM late_keys)",
        "(SELECT min(y) FROM late_keys) = x",
        "x <= (SELECT min(y) FROM late_keys)",
        "(SELECT min(y) FROM late_keys) >= x",
        "x <=> (SELECT min(y) FROM late_keys)",
        "x BETWEEN (SELECT min(y) FROM late_keys) AND 1",
        "x IN ((SELECT min(y) FROM late_keys), 0.5D)",
        "NOT (x > (SELECT min(y) FROM late_keys))",
    ]
    assert_found(spark, dict.fromkeys(conditions, EVEN))


def test_other_values_of_subqueries(spark, views):
    wanted = {
        "x > (SELECT min(y) FROM late_keys)": ODD,
        "x >= (SELECT min(y) FROM late_keys)": range(ROWS),
        "x = (SELECT min(y) + 5 FROM late_keys)": ODD,
        "NOT (x = (SELECT min(y) FROM late_keys))": ODD,
        "x = (SELECT min(y) FROM late_keys WHERE k < 0)": [],
    }
    assert_found(spark, wanted)


def test_skipped_days_are_found_where_a_subquery_says_one(spark, views):
    """Spark hands it to Parquet as the day after those that the Julian calendar skips."""
    wanted = {
        "day = (SELECT min(day) FROM late_days)": EVEN,
        "(SELECT min(day) FROM late_days) >= day": EVEN,
        "day <=> (SELECT min(day) FROM late_days)": EVEN,
        "day < (SELECT date_add(max(day), 1) FROM late_days)": EVEN,
        "day > (SELECT DATE'1582-10-09' FROM late_days LIMIT 1)": range(ROWS),
        "day IN ((SELECT min(day) FROM late_days), DATE'1999-01-01')": EVEN,
        "NOT (day = (SELECT min(day) FROM late_days))": ODD,
        "day > (SELECT min(day) FROM late_days)": ODD,
        "at = (SELECT min(at) FROM late_days)": EVEN,
        "at >= (SELECT min(at) FROM late_days)": range(ROWS),
        "at <= (SELECT min(at) FROM late_days) AND day = (SELECT min(day) FROM late_days)": EVEN,
    }
    assert_found(spark, wanted)


def test_row_groups_are_left_out_by_values_of_subqueries(spark, views, tmp_path):
    rows = spark.range(4_000).selectExpr(
        "id", "id * 1.5D AS x", "date_add(DATE'2000-01-01', cast(id AS int)) AS day"
    )
    save(rows, str(tmp_path), columnsToIndex="id", cubeSize=500)
    for condition in (
        "x >= (SELECT max(y) + 5900 FROM late_keys)",
        "day >= (SELECT date_add(DATE'2000-01-01', cast(max(y) + 3934 AS int)) FROM late_keys)",
    ):
        query = load(spark, str(tmp_path)).where(condition)
        assert ids(query) == [*range(3_934, 4_000)]
        read = next(scan.ran.rows for scan in explain(query, run=True).scans if str(tmp_path) in scan.table)
        assert read < 4_000


def test_compiled_code_finds_the_same_rows(spark, views):
    """Sessions of users compile conditions, that of the tests does not."""
    conditions = [
        "x IN ((SELECT min(y) FROM late_keys), 0.5D)",
        "day <= (SELECT min(day) FROM late_days) AND at = (SELECT min(at) FROM late_days)",
        "EXISTS (SELECT 1 FROM late_keys WHERE k = id AND x IN (0.0D, 1.0D) AND day = DATE'1582-10-10')",
    ]
    with under(spark, COMPILED):
        assert_found(spark, dict.fromkeys(conditions, EVEN))
