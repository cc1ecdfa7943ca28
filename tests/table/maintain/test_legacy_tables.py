"""Tables written before format 0.6 read right: the rows of replicated cubes appear once, however they are asked for."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from tests.spark_session import under
from tests.table.help import count, opened
from tests.table.legacy import CASES, REPLICATED, copy_of, expected_of, reads_right, stored


@pytest.mark.parametrize("name", CASES)
def test_rows_filters_and_samples_of_old_tables_are_right(spark, golden, name):
    reads_right(spark, stored(golden, name), expected_of(golden, name))


def test_a_sample_opens_only_the_files_that_can_hold_it(spark, golden):
    path = stored(golden, "o1_linear2d")
    table = spark.read.format("qbeast").load(path)
    assert opened(table.sample(0.01)).files < opened(table).files / 2


def test_every_way_to_ask_counts_rows_once(spark, golden):
    path = stored(golden, REPLICATED)
    for table in (spark.read.format("qbeast").load(path), spark.table(f"delta.`{path}`")):
        assert table.count() == count(table) == 30_000  # Delta answers such a count from its statistics
        assert table.select(F.countDistinct("id")).first()[0] == 30_000
        assert len(table.limit(29_999).collect()) == 29_999
        assert table.filter("rand() < 2").count() == 30_000
    counted = spark.sql(
        f"SELECT count(*) AS n, (SELECT count(*) FROM delta.`{path}`) AS m FROM delta.`{path}`"
    )
    assert tuple(counted.first()) == (30_000, 30_000)
    assert spark.sql(f"SELECT max(id), count(*) FROM delta.`{path}`").first()[1] == 30_000


def test_a_catalog_table_counts_rows_once(spark, golden, table_path):
    path = copy_of(golden, REPLICATED, table_path)
    for source in ("delta", "qbeast"):
        spark.sql(f"CREATE TABLE old_by_{source} USING {source} LOCATION '{path}'")
        try:
            assert spark.sql(f"SELECT count(*) FROM old_by_{source}").first()[0] == 30_000
            assert spark.table(f"old_by_{source}").filter("a < 500000 OR a >= 500000").count() == 30_000
        finally:
            spark.sql(f"DROP TABLE old_by_{source}")


def test_rows_count_once_without_deltas_data_skipping(spark, golden):
    path = stored(golden, REPLICATED)
    with under(spark, {"spark.databricks.delta.stats.skipping": "false"}):
        assert spark.table(f"delta.`{path}`").count() == 30_000
        assert spark.read.format("qbeast").load(path).sample(0.1).count() == 2_914
