"""Queries by groups: none is missing or it is said how large one may be, and which groups have to meet the error."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

import pyqbeast
from tests.table.help import load, save

ROWS = 60_000
SURE = 0.999
#: Eight kinds of 7,475 rows, and twenty of ten rows.
KIND = "cast(if(id < 59800, id % 8, 100 + id % 20) as int)"


@pytest.fixture(scope="module")
def path(spark, tmp_path_factory):
    place = str(tmp_path_factory.mktemp("groups") / "table")
    rows = spark.range(ROWS).selectExpr(
        "id",
        f"{KIND} as kind",
        f"concat('kind ', {KIND}) as label",
        "exp(sin(cast(id as double)) * cos(id * 0.37D)) as value",
    )
    save(rows, place, columnsToIndex="kind,id", cubeSize=2_000, sampleFractions="0.02,0.05,0.1,0.3")
    return place


@pytest.fixture
def table(spark, path):
    return load(spark, path)


def by(key, query):
    return {row[key]: row for row in query.collect()}


def test_rare_groups_are_read_where_they_lie(table):
    query = table.groupBy("kind").agg(F.count("*").alias("n"), F.sum("value").alias("total"))
    answer = pyqbeast.tolerance(query, error=0.2, confidence=SURE)
    assert answer.groups.complete
    assert not answer.exact
    assert answer.steps[-1].groups
    assert answer.bytes_read < 0.8 * answer.exact_bytes
    assert "The list of groups is complete." in answer.notes
    truth, found = by("kind", query), by("kind", answer.df)
    assert set(found) == set(truth)
    for kind, row in truth.items():
        shown = found[kind]
        assert shown["n_low"] <= row["n"] <= shown["n_high"]
        assert shown["total_low"] <= row["total"] * (1 + 1e-12)
        assert row["total"] <= shown["total_high"] * (1 + 1e-12)
        assert kind < 8 or shown["n_low"] == shown["n_high"] == 10


def test_conditions_tell_which_groups_there_can_be(table):
    query = table.filter("kind < 8 AND 0 <= kind").groupBy("kind").agg(F.avg("value").alias("mean"))
    answer = pyqbeast.tolerance(query, error=0.2)
    assert answer.groups.complete
    assert not any(step.groups for step in answer.steps)
    assert not answer.exact


def test_groups_below_a_size_need_not_meet_the_error(table):
    query = table.groupBy("label").agg(F.avg("value").alias("mean"))
    answer = pyqbeast.tolerance(query, error=0.2, smallest_group=4_000)
    assert answer.fraction < 0.4
    assert not answer.groups.complete
    assert answer.groups.most_rows <= 4_000
    assert f"none of more than {answer.groups.most_rows:,.0f} rows" in str(answer)
    found = by("label", answer.df)
    assert {f"kind {kind}" for kind in range(8)} <= set(found)
    for label, row in found.items():
        assert (row["mean_low"] is None) == (int(label[5:]) >= 100)
    every = pyqbeast.tolerance(query, error=0.2)
    assert every.exact
    assert every.bytes_read <= 1.1 * every.exact_bytes
