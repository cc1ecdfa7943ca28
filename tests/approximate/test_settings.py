"""Estimates follow the settings of the session: where a query has an answer under them, so has its estimate."""

from __future__ import annotations

import math

import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import UnsupportedError
from tests.approximate.bounds import SURE, assert_holds, bytes_of
from tests.spark_session import under
from tests.table.help import load, save


@pytest.fixture(scope="module")
def path(spark, tmp_path_factory):
    place = str(tmp_path_factory.mktemp("settings") / "table")
    rows = spark.range(40_000).selectExpr(
        "id",
        "id % 3 AS third",
        "if(id % 3 = 0, 'none', cast(id % 50 AS string)) AS text",
        "exp(sin(cast(id AS double)) * cos(id * 0.37D)) AS value",
    )
    save(rows, place, columnsToIndex="id", cubeSize=2_000, sampleFractions="0.05,0.1,0.3")
    return place


@pytest.fixture
def table(spark, path):
    return load(spark, path)


@pytest.mark.parametrize("is_ansi", ["true", "false"])
def test_a_filter_keeps_an_aggregate_from_rows_that_it_fails_on(spark, table, is_ansi):
    """Also where aggregates of several filters, one of which may be null, are given the same."""
    aggregates = {
        "total": "sum(1 / third) FILTER (WHERE third <> 0)",
        "halves": "sum(1 / third) FILTER (WHERE nullif(third, 0) > 1)",
        "whole": "avg(cast(text AS int)) FILTER (WHERE text RLIKE '^[0-9]+$')",
        "n": "count(1 / third) FILTER (WHERE third = 1)",
    }
    with under(spark, {"spark.sql.ansi.enabled": is_ansi}):
        query = table.agg(*(F.expr(text).alias(name) for name, text in aggregates.items()))
        whole = pyqbeast.tolerance(query, exact=True)
        estimate = pyqbeast.tolerance(query, budget=whole.exact_bytes // 2)
        assert not estimate.exact
        found, truth = ({name: each.df.first()[name] for name in aggregates} for each in (estimate, whole))
        assert found == pytest.approx(truth, rel=0.1)


def test_what_one_aggregate_is_given_on_every_row_fails_as_in_the_query(table):
    query = table.agg(F.expr("sum(1 / third) FILTER (WHERE third <> 0)"), F.expr("sum(1 / third)"))
    for run in (query.collect, lambda: pyqbeast.tolerance(query, error=0.2)):
        with pytest.raises(ArithmeticException, match="by zero"):
            run()


def test_groups_of_a_session_that_leaves_them_out_of_results(spark, path, table):
    """A query shows its groups or not as it was made, and what an estimate groups by itself is not touched."""
    measures = [F.percentile_approx("value", 0.3).alias("p"), F.avg("value").alias("m")]
    query = table.groupBy("third").agg(*measures)
    with under(spark, {"spark.sql.retainGroupColumns": "false"}):
        estimate = pyqbeast.tolerance(query, budget=bytes_of(path) // 2, confidence=SURE)
        assert not estimate.exact
        assert assert_holds(estimate, query, ["third"]) == 6
        bare = pyqbeast.tolerance(table.groupBy("third").agg(*measures), error=0.3)
        assert bare.df.columns == ["p", "p_low", "p_high", "m", "m_low", "m_high"]
        assert bare.df.count() == 3


def test_aggregates_that_are_nan_of_a_single_row_are_refused(spark, table):
    """By default they are null there, as those of an estimate are."""
    setting = "spark.sql.legacy.statisticalAggregate"
    by_row = table.where("id < 9").groupBy("id")
    texts = ["variance(value)", "1 - stddev(value)", "corr(value, id)"]
    wanted = [F.expr(text).alias(text) for text in texts]
    with under(spark, {setting: "true"}):
        for each in wanted:
            with pytest.raises(UnsupportedError, match=setting):
                pyqbeast.tolerance(by_row.agg(each, F.var_pop("value")), error=0.1)
        query = by_row.agg(*wanted, F.var_pop("value").alias("v"))
        rows = pyqbeast.tolerance(query, exact=True).df.collect()
        assert all(math.isnan(row[text]) for row in rows for text in texts)
        assert {row["v"] for row in rows} == {0.0}
    rows = pyqbeast.tolerance(by_row.agg(*wanted), error=0.1).df.collect()
    assert {text: {row[text] for row in rows} for text in texts} == {text: {None} for text in texts}


def test_aggregates_of_all_rows_are_estimated_whatever_a_single_one_gives(spark, table):
    with under(spark, {"spark.sql.legacy.statisticalAggregate": "true"}):
        query = table.agg(F.var_pop("value"), F.stddev_pop("value"))
        assert_holds(pyqbeast.tolerance(query, error=0.2, confidence=SURE), query)
