"""Filters of Spark that the source takes over."""

from __future__ import annotations

import pyarrow as pa
import pyspark
import pytest

from pyqbeast import tiledb
from pyqbeast.bridge.spark_versions import minor
from pyqbeast.tiledb import Datatype, attribute, create_array, write_array
from pyqbeast.tiledb.spark.data_source import register
from pyqbeast.tiledb.spark.types import spark_schema
from tests.tiledb.arrays import one_dimension, sorted_array

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


def test_cells_that_hide_others_are_not_given_themselves(tmp_path):
    """No filter left to Spark drops them: of what they hold only the coordinates were read."""
    uri = str(tmp_path / "a")
    create_array(
        uri, one_dimension(attribute("f", Datatype.FLOAT64), attribute("v", Datatype.INT32), capacity=2)
    )
    for timestamp, f in ((1, [1.0, 2.0, 3.0, 4.0]), (2, [20.0, 30.0])):
        x = list(range(len(f)))
        rows = pa.table({"x": x, "f": f, "v": pa.array([10 * timestamp + i for i in x], pa.int32())})
        write_array(uri, rows, timestamp=timestamp)
    array = tiledb.open_array(uri)
    reader = FilteringArrayReader(array, spark_schema(array.schema))
    assert list(reader.pushFilters([LessThan(("f",), 5.0)]))
    batches = [batch for partition in reader.partitions() for batch in reader.read(partition)]
    assert [tuple(row.values()) for batch in batches for row in batch.to_pylist()] == [
        (2, 3.0, 12),
        (3, 4.0, 13),
    ]
