"""Tables written before format 0.6 read right: the rows of replicated cubes appear once, however they are asked for."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from tests.spark_session import under
from tests.table.help import opened
from tests.table.legacy import APPENDED, REPLICATED, SMALL, expected_of, reads_right, small_copy_of, stored

ROWS = SMALL[REPLICATED]


@pytest.fixture(scope="module")
def replicated(golden, tmp_path_factory):
    """A small table with replicated cubes, which tests only read."""
    return small_copy_of(golden, REPLICATED, str(tmp_path_factory.mktemp("replicated") / "table"))


@pytest.mark.parametrize("name", [APPENDED, "o6_identity_nulls"])
def test_rows_filters_and_samples_of_old_tables_are_right(spark, golden, name):
    """Of the whole tables, as their own writer's reader finds them. The first has copies of cubes, too."""
    reads_right(spark, stored(golden, name), expected_of(golden, name))


def test_a_sample_opens_only_the_files_that_can_hold_it(spark, golden):
    path = stored(golden, "o1_linear2d")
    table = spark.read.format("qbeast").load(path)
    assert opened(table.sample(0.01)).files < opened(table).files / 2


def test_every_way_to_ask_counts_rows_once(spark, replicated):
    path = replicated
    for table in (spark.read.format("qbeast").load(path), spark.table(f"delta.`{path}`")):
        assert table.count() == ROWS  # Delta answers such a count from its statistics
        assert table.agg(F.count("*"), F.countDistinct("id")).first()[:] == (ROWS, ROWS)
        assert len(table.limit(ROWS - 1).collect()) == ROWS - 1
        assert table.filter("rand() < 2").count() == ROWS
    counted = spark.sql(
        f"SELECT count(*) AS n, (SELECT count(*) FROM delta.`{path}`) AS m, max(id) FROM delta.`{path}`"
    )
    assert tuple(counted.first())[:2] == (ROWS, ROWS)


def test_a_catalog_table_counts_rows_once(spark, replicated):
    for source in ("delta", "qbeast"):
        spark.sql(f"CREATE TABLE old_by_{source} USING {source} LOCATION '{replicated}'")
        try:
            assert spark.sql(f"SELECT count(*) FROM old_by_{source}").first()[0] == ROWS
            assert spark.table(f"old_by_{source}").filter("a < 500000 OR a >= 500000").count() == ROWS
        finally:
            spark.sql(f"DROP TABLE old_by_{source}")


def test_rows_count_once_without_deltas_data_skipping(spark, replicated):
    with under(spark, {"spark.databricks.delta.stats.skipping": "false"}):
        assert spark.table(f"delta.`{replicated}`").count() == ROWS
        # The whole table has as many in its sample: both have the root of the tree.
        assert spark.read.format("qbeast").load(replicated).sample(0.1).count() == 2_914
