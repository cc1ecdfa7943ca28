"""Filters of Spark that the source takes over."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pyspark
import pytest

from pyqbeast import tiledb
from pyqbeast.spark_versions import minor
from pyqbeast.tiledb import VAR_NUM, Datatype, attribute, create_array, write_array
from pyqbeast.tiledb.spark.data_source import register
from pyqbeast.tiledb.spark.types import spark_schema
from tests.spark_session import under
from tests.tiledb.arrays import one_dimension, oracle, sorted_array
from tests.tiledb.pushed import found_by

if minor(pyspark.__version__) == "4.0":
    pytest.skip("Spark 4.0 gives no filters to data sources of Python", allow_module_level=True)

from pyspark.sql.datasource import EqualTo, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual
from pyspark.sql.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    StringType,
    StructField,
    StructType,
)

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


@pytest.mark.parametrize(
    ("writes", "has_nan"),
    [
        ([[1.0, 7.0, np.nan, 50.0]], True),
        ([[1.0, 7.0, 50.0]], False),
        ([[1.0, 7.0], [7.0, np.nan, 50.0]], True),
    ],
)
def test_a_coordinate_that_is_no_number_is_above_all_others(tmp_path, writes, has_nan):
    """To Spark; a box, which leaves it out, is used where no coordinate is one or nothing above is asked for."""
    uri = str(tmp_path / "a")
    x = oracle.Dim("x", domain=(-100.0, 100.0), tile=10.0, dtype=np.float64)
    value = oracle.Attr("v", dtype=np.int64)
    oracle.Array.create(uri, oracle.ArraySchema(oracle.Domain(x), [value], sparse=True, capacity=2))
    for timestamp, points in enumerate(writes, 1):
        with oracle.open(uri, "w", timestamp=timestamp) as array:
            array[np.array(points)] = {"v": np.arange(len(points))}
    array = tiledb.open_array(uri)

    def read(*filters):
        reader = FilteringArrayReader(array, spark_schema(array.schema))
        assert list(reader.pushFilters(list(filters))) == [*filters]
        batches = [batch for partition in reader.partitions() for batch in reader.read(partition)]
        return reader.request.box, [x for batch in batches for x in batch["x"].to_pylist()]

    for kind in (GreaterThan, GreaterThanOrEqual):
        box, found = read(kind(("x",), 5.0))
        assert {7.0, 50.0} <= set(found)
        assert any(x != x for x in found) == has_nan
        assert (box is None) == has_nan
    box, found = read(LessThan(("x",), 5.0))
    assert box is not None
    assert found == [1.0]


@pytest.mark.parametrize("java_8", ["false", "true"])
def test_values_that_python_lacks_are_left_to_spark(spark, tmp_path, java_8):
    """Python has the years 1 to 9999 of UTC, and a filter has no bytes that are no UTF-8."""
    register(spark)
    uri = str(tmp_path / "a")
    attributes = (
        attribute("t", Datatype.DATETIME_MS), attribute("d", Datatype.DATETIME_DAY),
        attribute("s", Datatype.STRING_UTF8, cell_val_num=VAR_NUM),
    )  # fmt: skip
    create_array(uri, one_dimension(*attributes))
    days = pa.array([18262, 18263], pa.int32()).cast(pa.date32())
    write_array(uri, pa.table({"x": [0, 1], "t": days.cast(pa.timestamp("ms")), "d": days, "s": ["a", "😀"]}))
    frame = spark.read.format("tiledb").load(uri)
    zone = {"spark.sql.session.timeZone": "America/Los_Angeles"}
    with under(spark, {**zone, "spark.sql.datetime.java8API.enabled": java_8}):
        found = found_by(frame, [
            "t <= timestamp'9999-12-31 23:59:59'", "t >= timestamp'-0001-01-01 00:00:00'",
            "t < timestamp'+12000-01-01 00:00:00'", "d < date'+12000-01-01'", "d > date'0000-01-01'",
            "d <= date'9999-12-31' and d in (date'2020-01-01', date'2020-01-02', date'+12000-01-01')",
            "s < cast(X'ff' as string)", "not s = cast(X'ff' as string) and x >= 0 and d >= date'0001-01-01'",
        ])  # fmt: skip
    assert found == {condition: [0, 1] for condition in found}


@pytest.mark.parametrize("java_8", ["false", "true"])
def test_days_that_the_julian_calendar_skips(spark, tmp_path, java_8):
    """Spark tells a source of them by `java.sql`, which has no such days, and fails at times before the first of it."""
    register(spark)
    uri = str(tmp_path / "a")
    attributes = (attribute("d", Datatype.DATETIME_DAY), attribute("t", Datatype.DATETIME_MS))
    create_array(uri, one_dimension(*attributes, capacity=1))
    days = [datetime.date(1582, 10, 10), datetime.date(2000, 1, 1)]
    noons = pa.array(
        [datetime.datetime(day.year, day.month, day.day, 12) for day in days], pa.timestamp("ms")
    )
    write_array(uri, pa.table({"x": [0, 1], "d": pa.array(days), "t": noons}))
    frame = spark.read.format("tiledb").load(uri)
    expected = {
        "d = DATE'1582-10-10'": [0],
        "d >= DATE'1582-10-08'": [0, 1],
        "d IN (DATE'1582-10-10', DATE'1582-10-11')": [0],
        "d < DATE'1582-10-15'": [0],
        "d > date_from_unix_date(-2147483648)": [0, 1],
        "t = TIMESTAMP_NTZ'1582-10-10 12:00:00'": [0],
        "cast(t AS timestamp) = TIMESTAMP'1582-10-10 12:00:00'": [0],
        "t >= TIMESTAMP'1582-10-06 00:00:00'": [0, 1],
        "t > timestamp_micros(-9223372036854775807L)": [0, 1],
    }
    with under(spark, {"spark.sql.datetime.java8API.enabled": java_8}):
        assert found_by(frame, expected) == expected


NEW_YEAR = datetime.date(2020, 1, 1)


@pytest.mark.parametrize(
    ("column", "kind", "item", "expected"),
    [
        ("t", DateType(), EqualTo, NEW_YEAR),
        ("t", DateType(), LessThanOrEqual, NEW_YEAR),
        ("when", DateType(), EqualTo, NEW_YEAR),
        ("f", FloatType(), EqualTo, np.float32(1.04).item()),
        ("f", FloatType(), GreaterThanOrEqual, np.float32(1.04).item()),
        ("f", DecimalType(10, 2), EqualTo, decimal.Decimal("1.04")),
        ("u", BooleanType(), EqualTo, True),
        ("i", StringType(), EqualTo, "1"),
        ("i", DoubleType(), EqualTo, 1.0),
        ("b", IntegerType(), EqualTo, 1),
    ],
)
def test_a_filter_on_a_column_of_another_type_is_left_to_spark(tmp_path, column, kind, item, expected):
    """It compares what the values are cast to, which may be equal where the stored values are not."""
    uri = str(tmp_path / "a")
    attributes = (
        attribute("t", Datatype.DATETIME_MS), attribute("f", Datatype.FLOAT64), attribute("u", Datatype.UINT8),
        attribute("i", Datatype.INT64), attribute("b", Datatype.BOOL),
    )  # fmt: skip
    when = tiledb.dimension("when", Datatype.DATETIME_MS, (0, 2**50))
    create_array(uri, tiledb.ArraySchema((when,), attributes, capacity=1))
    noon = pa.array([datetime.datetime(2020, 1, day, 12) for day in (1, 2)], pa.timestamp("ms"))
    columns = {"when": noon, "t": noon, "f": [1.04, 0.7], "u": pa.array([1, 0], pa.uint8()), "i": [1, 2]}
    write_array(uri, pa.table(columns | {"b": [True, False]}))
    reader = FilteringArrayReader(tiledb.open_array(uri), StructType([StructField(column, kind)]))
    condition = item((column,), expected)
    assert list(reader.pushFilters([condition])) == [condition]
    found = [
        value for part in reader.partitions() for batch in reader.read(part) for value in batch[0].to_pylist()
    ]
    assert expected in found
    assert len(found) == 2
