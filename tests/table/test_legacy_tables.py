"""Tables written before format 0.6 read right: the rows of replicated cubes appear once, however they are asked for."""

from __future__ import annotations

import json
import shutil

import pytest
from pyspark.sql import functions as F

from tests.table.help import count, opened

CASES = ["o1_linear2d", "o3_replicated", "o4_replicated_then_append", "o6_identity_nulls"]
#: Version 0.5.0 doubles rows of this table itself. It holds the rows of the other one.
TRUE_VALUES = {"o4_replicated_then_append": "o1_linear2d"}
REPLICATED = "o3_replicated"


def expected_of(golden, name):
    return json.loads((golden(f"qbeast_old/{TRUE_VALUES.get(name, name)}") / "expected.json").read_text())


@pytest.fixture
def legacy_table(golden, table_path):
    """A function that copies the old table of a name to where the test may change it, and gives the path."""

    def copy(name):
        shutil.copytree(golden(f"qbeast_old/{name}") / "table", table_path)
        return table_path

    return copy


def count_and_sum(frame):
    return tuple(frame.agg(F.count("*"), F.sum("id")).first())


def reads_right(spark, path, expected):
    """Rows, filters and samples are those that the writer's own reader found."""
    table = spark.read.format("qbeast").load(path)
    assert count_and_sum(table) == (expected["full"]["count"], expected["full"]["sum_id"])
    for query in expected["filters"]:
        assert count_and_sum(table.filter(query["sql"])) == (query["count"], query["sum_id"]), query["sql"]
    for sample in expected["samples"]:
        found = count_and_sum(table.sample(sample["fraction"]))
        assert found == (sample["count"], sample["sum_id"]), sample


@pytest.mark.parametrize("name", CASES)
def test_rows_filters_and_samples(spark, golden, name):
    reads_right(spark, str(golden(f"qbeast_old/{name}") / "table"), expected_of(golden, name))


def test_a_sample_opens_only_the_files_that_can_hold_it(spark, golden):
    path = str(golden("qbeast_old/o1_linear2d") / "table")
    table = spark.read.format("qbeast").load(path)
    assert opened(table.sample(0.01)).files < opened(table).files / 2


def test_every_way_to_ask_counts_rows_once(spark, golden):
    path = str(golden(f"qbeast_old/{REPLICATED}") / "table")
    for table in (spark.read.format("qbeast").load(path), spark.table(f"delta.`{path}`")):
        assert table.count() == count(table) == 30_000  # Delta answers such a count from its statistics
        assert table.select(F.countDistinct("id")).first()[0] == 30_000
        assert len(table.limit(29_999).collect()) == 29_999
        assert table.filter("rand() < 2").count() == 30_000
    counted = spark.sql(f"SELECT count(*) AS n, (SELECT count(*) FROM delta.`{path}`) AS m FROM delta.`{path}`")
    assert tuple(counted.first()) == (30_000, 30_000)
    assert spark.sql(f"SELECT max(id), count(*) FROM delta.`{path}`").first()[1] == 30_000


def test_a_catalog_table_counts_rows_once(spark, legacy_table):
    path = legacy_table(REPLICATED)
    for source in ("delta", "qbeast"):
        spark.sql(f"CREATE TABLE old_by_{source} USING {source} LOCATION '{path}'")
        try:
            assert spark.sql(f"SELECT count(*) FROM old_by_{source}").first()[0] == 30_000
            assert spark.table(f"old_by_{source}").filter("a < 500000 OR a >= 500000").count() == 30_000
        finally:
            spark.sql(f"DROP TABLE old_by_{source}")


def test_rows_count_once_without_deltas_data_skipping(spark, golden):
    path = str(golden(f"qbeast_old/{REPLICATED}") / "table")
    spark.conf.set("spark.databricks.delta.stats.skipping", "false")
    try:
        assert spark.table(f"delta.`{path}`").count() == 30_000
        assert spark.read.format("qbeast").load(path).sample(0.1).count() == 2_914
    finally:
        spark.conf.unset("spark.databricks.delta.stats.skipping")
