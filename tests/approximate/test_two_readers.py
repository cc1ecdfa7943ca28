"""Spark and a scan read the same sums of the same rows, so they give one answer.

How often bounds hold is seen in `estimate`, by thousands of repetitions of what both have in common.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast.approximate import tolerance as of_spark
from pyqbeast.approximate.estimate import Step
from pyqbeast.core.format.constants import WEIGHT_MIN
from pyqbeast.scanning import tolerance as of_scan
from tests.table.help import load, save

X = "if(id % 11 = 0, null, 10 - ln((pmod(xxhash64(id, 1), 1000000) + 0.5D) / 1000000) + 0.1D * copy)"
CONDITION = "n < 95 AND NOT third = 'c'"
#: For each estimate how it is asked of Spark and of a scan.
ASKED = {
    "rows": ("count(*)", ("*", "count")),
    "set": ("count(x)", ("x", "count")),
    "keys": ("count(DISTINCT id)", ("id", "count_distinct")),
    "total": ("sum(n)", ("n", "sum")),
    "mean": ("avg(x)", ("x", "avg")),
    "spread": ("stddev(x)", ("x", "stddev")),
    "together": ("corr(x, y)", (("x", "y"), "corr")),
    "least": ("min(x)", ("x", "min")),
    "last": ("max(day)", ("day", "max")),
    "half": ("percentile_approx(x, 0.5)", ("x", "percentile_approx", 0.5)),
    # Spreads that are far smaller than the numbers, none at all, and numbers without one.
    "far spread": ("stddev(far)", ("far", "stddev")),
    "far together": ("corr(far, y)", (("far", "y"), "corr")),
    "still": ("var_pop(still)", ("still", "var_pop")),
    "odd spread": ("stddev(odd)", ("odd", "stddev")),
    "odd mean": ("avg(odd)", ("odd", "avg")),
}


@pytest.fixture(scope="module")
def path(spark, tmp_path_factory):
    """A table of 5,000 keys with up to six rows each: two revisions, and rows that are deleted."""
    place = str(tmp_path_factory.mktemp("readers") / "table")
    rows = (
        spark.range(5_000)
        .selectExpr("id", "explode(sequence(1L, 1 + pmod(hash(id), 6))) AS copy")
        .selectExpr("id", f"{X} AS x", "cast(pmod(hash(copy, id), 100) AS int) AS n", "id % 7 AS fifth")
        .selectExpr("*", "element_at(array('a', 'b', 'c'), cast(1 + id % 3 AS int)) AS third")
        .selectExpr("*", "x + n / 50 AS y", "date_add(DATE'2024-01-01', n) AS day")
        .selectExpr("*", "x + 1e10D AS far", "7.3D + id % 3 AS still")
        .selectExpr("*", "if(fifth = 2, if(third = 'a', double('NaN'), double('Infinity')), x) AS odd")
    )
    for part in ("id < 3800", "id >= 3800"):
        save(rows.filter(part), place, columnsToIndex="id", cubeSize=500)
    spark.sql(f"DELETE FROM qbeast.`{place}` WHERE n % 10 = 3")
    return place


def two_steps(progress, _goal, _limit, confidence):
    """Instead of as many as a goal takes: a tenth of the rows, and then up to half of them."""
    fractions = (0.1, 0.5)
    stops = [WEIGHT_MIN, *map(progress.reader.scale.threshold, fractions)]
    for (start, stop), fraction in zip(pairwise(stops), fractions, strict=True):
        progress.read(Step(start, stop, progress.reader.files.cost(start, stop), fraction))
    return progress.estimates(confidence)


@pytest.mark.parametrize("groups", [[], ["third", "fifth"]], ids=["all rows", "groups"])
def test_an_answer_is_the_same_on_spark_and_without_it(spark, path, monkeypatch, groups):
    for reader in (of_spark, of_scan):
        monkeypatch.setattr(reader, "read_until", two_steps)
    rows = load(spark, path).filter(CONDITION)
    query = rows.groupBy(*groups).agg(*(F.expr(text).alias(name) for name, (text, _) in ASKED.items()))
    told = pyqbeast.tolerance(query)
    scan = pyqbeast.scan(path).where(CONDITION)
    found = scan.tolerance({name: asked for name, (_, asked) in ASKED.items()}, by=groups)
    assert (found.steps, found.worth, found.groups) == (told.steps, told.worth, told.groups)
    order = [*groups, "rows"]
    wanted = told.df.orderBy(*order).toArrow()
    answer = found.table.sort_by([(name, "ascending") for name in order])
    assert answer.column_names == wanted.column_names
    assert answer.num_rows == (14 if groups else 1)
    assert_equal(answer, wanted)


def assert_equal(answer, wanted):
    for name in wanted.column_names:
        for mine, theirs in zip(answer[name].to_pylist(), wanted[name].to_pylist(), strict=True):
            if isinstance(theirs, float):
                # The spread of `far` has as many digits less as its numbers have before it.
                theirs = pytest.approx(theirs, rel=1e-6 if "far" in name else 1e-9, nan_ok=True)
            assert mine == theirs, name


@pytest.mark.parametrize("groups", [[], ["third", "fifth"]], ids=["all rows", "groups"])
def test_the_exact_answer_is_that_of_the_query(spark, path, groups):
    """However far from 0 the numbers lie, and whatever NaN and infinities are among them."""
    # Spark's percentile is not exact.
    asked = {name: each for name, each in ASKED.items() if name != "half"}
    query = load(spark, path).groupBy(*groups)
    query = query.agg(*(F.expr(text).alias(name) for name, (text, _) in asked.items()))
    found = pyqbeast.scan(path).tolerance(
        {name: of for name, (_, of) in asked.items()}, exact=True, by=groups
    )
    order = [*groups, "rows"]
    answer = found.table.sort_by([(name, "ascending") for name in order])
    assert found.exact
    assert_equal(answer, query.orderBy(*order).toArrow())
