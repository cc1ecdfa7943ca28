"""Names that Java takes for one name in two cases, and Spark and Delta for two columns."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from tests.table.help import ids, load, samples_exactly, save


@pytest.mark.parametrize(("other", "indexed"), [("ad\u0131", "adi"), ("\u017f", "s"), ("\u03c2", "\u03c3")])
def test_the_indexed_column_is_the_one_that_is_hashed(spark, table_path, other, indexed):
    rows = spark.range(4_000).selectExpr("id", f"id * 7 AS `{other}`", f"id AS `{indexed}`")
    save(rows, table_path, columnsToIndex=indexed, cubeSize=200)
    samples_exactly(spark, table_path, 0.15)
    light = F.hash(F.col(f"`{other}`")) < -(2**30)
    assert ids(load(spark, table_path).where(light)) == ids(rows.where(light))
