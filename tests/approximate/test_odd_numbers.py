"""Estimates of numbers and moments near the ends of their types, or beyond what a double holds."""

from __future__ import annotations

import shutil

import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import UnsupportedError
from tests.approximate.bounds import SURE, assert_holds
from tests.spark_session import under
from tests.table.help import load, save

ROWS = 20_000
COLUMNS = {
    "x": "cast(571.046875D + id AS float)",
    "whole": "9007199254740993L + id * 1000000007L",
    "price": "cast(12345678901234567.89BD + id AS decimal(20, 2))",
    "ends": "CASE id WHEN 6 THEN 9223372036854775807L WHEN 8 THEN -9223372036854775808L ELSE id END",
    "huge": "cast(123456789012345678901234567890BD + id AS decimal(38, 0))",
    "largest": f"{'9' * 38}BD - id",
    "half": "id + 0.5D",
    "below": "-(id + 0.5D)",
    "beyond": "id + 16777217",
    "late": "timestamp_micros(10413792000000001 + id * 1000003)",
    "last": "timestamp'9999-12-31 23:59:59.999999' - make_interval(0, 0, 0, 0, 0, 0, id)",
    "many": "id * 1000000000000L",
    "large": "cast(concat('99999999999999', id % 10, '.125') AS decimal(20,3))",
    "product": "cast(id AS decimal(38,10)) * cast('12345678901.1234567' AS decimal(20,7))",
    "overflowing": "99999999999999999999999999999.999999999BD * (id % 3)",
    "small": "0.1 * (id % 7)",
    "same": "0",
}


@pytest.fixture(scope="module")
def path(spark, tmp_path_factory):
    place = str(tmp_path_factory.mktemp("odd") / "table")
    rows = spark.range(ROWS).withColumns({name: F.expr(text) for name, text in COLUMNS.items()})
    widening = {"delta.enableTypeWidening": "true"}
    save(rows, place, columnsToIndex="id", cubeSize=2_000, **widening)
    return place


@pytest.fixture
def odd(spark, path):
    """20,000 rows of these values."""
    return load(spark, path)


@pytest.mark.parametrize("is_widened", [False, True])
def test_bounds_of_floats(spark, path, tmp_path, is_widened):
    """The shortest text of a float is another double: statistics tell 571.0469 for 571.046875."""
    place = path
    if is_widened:
        place = shutil.copytree(path, str(tmp_path / "table"))
        spark.sql(f"ALTER TABLE delta.`{place}` ALTER COLUMN x TYPE double")
    query = load(spark, place).filter("id % 2 = 0").agg(F.expr("min(double(x))").alias("least"))
    estimate = pyqbeast.tolerance(query, error=0.5, confidence=SURE)
    assert estimate.worth == {"least": "certain bounds"}
    assert assert_holds(estimate, query) == 1
    scan = pyqbeast.scan(place)
    estimate = scan.where("id > -1").tolerance({"least": ("x", "min")}, error=0.5)
    assert not estimate.exact
    assert estimate.table["least_low"][0].as_py() <= 571.046875
    assert scan.where("x <= 571.04688").to_arrow()["x"].to_pylist() == [571.046875]
    assert not scan.where("x < 571.04").to_arrow().num_rows


def test_whole_numbers_that_no_double_holds(odd):
    """2^53 + 1 is the first of them. Bounds hold them, and exact answers are those of the query itself."""
    table = odd.filter("id % 2 = 0")
    extremes = table.agg(
        *(f(x).alias(f"{f.__name__} {x}") for f in (F.min, F.max) for x in ("whole", "price", "ends", "huge"))
    )
    estimate = pyqbeast.tolerance(extremes, error=0.5)
    assert set(estimate.worth.values()) == {"certain bounds"}
    assert assert_holds(estimate, extremes) == 8
    exact = [F.min("whole"), F.max("price"), F.sum("price")]
    for wanted, right in zip(exact, table.agg(*exact).first(), strict=True):
        answer = pyqbeast.tolerance(table.agg(wanted.alias("wanted"), F.avg("id").alias("mean")), error=1e-9)
        assert answer.exact
        assert answer.df.first()["wanted"] == right, wanted


def test_extremes_of_what_a_column_is_made_of(odd):
    """Statistics bound the values of the column, not those that a cast makes of them."""
    table = odd.filter("id > -1")
    casts = (
        "min(int(half))",
        "max(int(below))",
        "min(int(half)) + 1",
        "min(cast(half AS bigint))",
        "min(float(beyond))",
    )
    query = table.agg(*(F.expr(text).alias(text) for text in casts))
    # What a sample tells of those without bounds: more steps would answer exactly.
    found = next(iter(pyqbeast.refine(query)))
    assert not found.exact
    shown, truths = found.df.first(), query.first()
    for text in casts:
        low, high = shown[f"{text}_low"], shown[f"{text}_high"]
        assert low is None or low <= truths[text], text
        assert high is None or truths[text] <= high, text
    kept = table.agg(F.expr("max(double(id))").alias("last"))
    found = pyqbeast.tolerance(kept, error=0.5)
    assert found.worth == {"last": "certain bounds"}
    assert found.df.first()["last_high"] == ROWS - 1


def test_moments_that_no_double_holds(odd):
    """The last moment of the year 9999 is a common one, and Python has no later one."""
    query = odd.filter("id > 3").agg(F.min("late").alias("first"), F.max("late"), F.max("last").alias("last"))
    assert assert_holds(pyqbeast.tolerance(query, error=0.5), query) == 3
    *_, whole = pyqbeast.refine(query)
    shown = whole.df.first()
    assert [shown[name] for name in query.columns] == list(query.first())


def test_decimals_up_to_the_last(odd):
    query = odd.filter("id % 2 = 0").agg(F.max("largest").alias("most"))
    assert assert_holds(pyqbeast.tolerance(query, error=0.5), query) == 1


def test_what_refines_to_an_answer_of_spark_alone(odd):
    """Averages of decimals have more digits than doubles, and what does not vary has no correlation."""
    table = odd.filter("id < 8000")

    def last_of(text):
        *_, last = pyqbeast.refine(table.agg(F.expr(text).alias("wanted")))
        assert last.exact
        return last.df.first()["wanted"]

    averages = ("avg(large)", "avg(product)", "avg(small)", "avg(small) * 2")
    for text, right in zip(averages, table.agg(*map(F.expr, averages)).first(), strict=True):
        assert last_of(text) == right, text
    for text, told in {"avg(overflowing)": "overflow", "corr(same, id)": "by zero"}.items():
        with pytest.raises(ArithmeticException, match=told):
            last_of(text)


#: What 64 bits do not hold, or divides by zero, with a text of the error that Spark raises for it.
OF_NO_NUMBER = {
    "sum(many)": "overflow",
    "sum(many) / 2": "overflow",
    "-sum(id) * 1000000000000L": "overflow",
    "sum(id) * 1000000000000L / 1e9D": "overflow",
    "sum(id) / (count(*) - count(*))": "by zero",
    "avg(id) / 0": "by zero",
}


@pytest.mark.parametrize("text", OF_NO_NUMBER)
def test_what_no_number_stands_for_is_the_error_of_spark(odd, text):
    """And no estimate beside its bounds."""
    query = odd.filter("id % 2 = 0 AND id < 8000").agg(F.expr(text).alias("wanted"))
    with pytest.raises(ArithmeticException, match=OF_NO_NUMBER[text]):
        pyqbeast.tolerance(query, error=0.1).df.collect()


def test_what_no_number_stands_for_is_what_spark_makes_of_it_by_older_rules(spark, odd):
    """A sum that has wrapped around, and null."""
    with under(spark, {"spark.sql.ansi.enabled": "false"}):
        query = odd.filter("id % 2 = 0").agg(*(F.expr(text).alias(text) for text in OF_NO_NUMBER))
        answer = pyqbeast.tolerance(query, error=0.1)
        assert answer.exact
        shown = answer.df.first()
        assert [shown[text] for text in OF_NO_NUMBER] == list(query.first())


@pytest.mark.parametrize(
    ("guarded", "plain"),
    [
        ("sum(id) / nullif(count(*), 0)", "try_divide(sum(id), count(*))"),
        ("100 * sum(half) / nullif(count(same), 0.0)", "try_divide(100 * sum(half), count(same))"),
        ("sum(small) / nullif(count(same), 0L)", "try_divide(sum(small), count(same))"),
        ("sum(small) / nullifzero(count(same))", "try_divide(sum(small), count(same))"),
    ],
)
def test_a_divisor_that_is_null_at_zero_is_one_that_is_tried(odd, guarded, plain):
    of_both = [
        pyqbeast.tolerance(odd.agg(F.expr(text).alias("wanted")), error=0.5) for text in (guarded, plain)
    ]
    assert not of_both[0].exact
    assert of_both[0].df.first() == of_both[1].df.first()


def test_where_it_is_zero_the_answer_is_null(odd):
    rows = odd.filter("id < 8000").groupBy((F.col("id") % 2).alias("odd"))
    query = rows.agg(F.expr("sum(id) / nullif(sum(id % 2), 0)").alias("wanted"))
    answer = pyqbeast.tolerance(query, error=0.1)
    assert answer.exact
    assert sorted(answer.df.select("odd", "wanted").collect()) == sorted(query.collect())
    assert [row.wanted for row in query.sort("odd").collect()] == [None, 4000]


@pytest.mark.parametrize(
    "text",
    [
        "sum(id) / nullif(count(*), 1)",
        "nullif(count(*), 0)",
        "nullifzero(count(*))",
        "1 / nullif(1, avg(id))",
    ],
)
def test_another_number_made_null_is_no_arithmetic(odd, text):
    with pytest.raises(UnsupportedError, match=r"another way than by \+ - \* /: nullif"):
        pyqbeast.tolerance(odd.agg(F.expr(text).alias("wanted")), error=0.1)


@pytest.mark.parametrize("is_ansi", ["true", "false"])
def test_a_sum_that_64_bits_hold_and_no_double_is_that_of_spark(spark, odd, is_ansi):
    with under(spark, {"spark.sql.ansi.enabled": is_ansi}):
        query = odd.filter("id % 2 = 0 AND id < 2000").agg((F.sum("many") + 1).alias("wanted"))
        assert pyqbeast.tolerance(query, error=1e-9).df.first()["wanted"] == 999_000 * 10**12 + 1
