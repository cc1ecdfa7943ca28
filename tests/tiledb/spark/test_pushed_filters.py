"""Filters of Spark that the source takes over."""

from __future__ import annotations

import pyspark
import pytest

from pyqbeast import tiledb
from pyqbeast.bridge.spark_versions import minor
from pyqbeast.tiledb.spark.data_source import register
from pyqbeast.tiledb.spark.types import spark_schema
from tests.tiledb.arrays import sorted_array

if minor(pyspark.__version__) == "4.0":
    pytest.skip("Spark 4.0 gives no filters to data sources of Python", allow_module_level=True)

from pyspark.sql.datasource import GreaterThanOrEqual, LessThan

from pyqbeast.tiledb.spark.filtering_reader import FilteringArrayReader


def test_filters_are_pushed(spark, tmp_path):
    """What is exact is taken over, floats are left to Spark as well; both skip tiles."""
    register(spark)
    table = sorted_array(str(tmp_path / "a"), tiles=20)
    condition = "x >= 3000 and x < 4500 and f < 2000.0 and s > '0'"
    narrow = spark.read.format("tiledb").load(str(tmp_path / "a")).where(condition)
    assert narrow.count() == sum(3000 <= x < 4500 and x / 2 < 2000 for x in table["x"].to_pylist())
    plan = narrow._jdf.queryExecution().executedPlan().toString()
    assert "2000.0" in plan
    assert "4500" not in plan


def test_tiles_are_skipped(tmp_path):
    sorted_array(str(tmp_path / "a"), tiles=20)
    array = tiledb.open_array(str(tmp_path / "a"))
    filters = [GreaterThanOrEqual(("x",), 3000), LessThan(("x",), 4500), LessThan(("f",), 1999.0)]
    reader = FilteringArrayReader(array, spark_schema(array.schema))
    assert list(reader.pushFilters(filters)) == [filters[2]]
    assert sum(p.part.tiles.size for p in reader.partitions()) == 1
