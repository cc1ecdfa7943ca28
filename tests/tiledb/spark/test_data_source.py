"""The Spark source: the DataFrame is the array, filters skip tiles, and writes land in full or not at all."""

from __future__ import annotations

import datetime
import decimal
import re
from collections import Counter
from functools import reduce

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
)

from pyqbeast import tiledb
from pyqbeast.cli.tiledb import commands
from pyqbeast.core.errors import InvalidInputError, TableNotFoundError, UnsupportedError
from pyqbeast.tiledb import Datatype, attribute, create_array, write_array
from pyqbeast.tiledb.spark.data_source import TileDBDataSource, register
from pyqbeast.tiledb.spark.reader import ArrayReader
from pyqbeast.tiledb.spark.types import spark_schema
from tests.tiledb.arrays import one_dimension, oracle, sorted_array
from tests.tiledb.pushed import found_by

CASES = [
    "sp2d_i32_nofilter", "sp_deletes", "sp_multifrag", "sp_varattrs", "sp_nullable", "sp_consolidated_del",
    "sp_dups", "sp_strdim", "sp_alltypes", "sp_datetime", "de_2d_row_col", "de_subarray",
]  # fmt: skip


@pytest.fixture(scope="module")
def source(spark):
    register(spark)
    return spark


def load(spark, uri, **options):
    return spark.read.format("tiledb").options(**options).load(str(uri))


def _plain(value):
    """A value as both Spark and Arrow give it."""
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, float):
        return "nan" if value != value else value
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return int(value) if type(value).__name__ == "Decimal" else value


def _cells(table, schema):
    """The rows of an Arrow table as Spark would show them."""
    columns = []
    for name in schema.names:
        column = table[name]
        if pa.types.is_timestamp(column.type):
            as_long = schema[name].dataType == LongType()
            column = column.cast(pa.int64()) if as_long else column.cast(pa.timestamp("us"))
        columns.append(column.to_pylist())
    return _sorted(zip(*columns, strict=True))


def _sorted(rows):
    return sorted(repr([_plain(v) for v in row]) for row in rows)


def _parts(reader):
    """For each task of a read what it gives to Spark."""
    return [pa.Table.from_batches(reader.read(part), reader.target) for part in reader.partitions()]


def _given(uri, **options):
    """All that the source gives to Spark."""
    source = TileDBDataSource({"path": str(uri), **options})
    return pa.concat_tables(_parts(source.reader(source.schema())))


@pytest.mark.parametrize("case", CASES)
def test_tasks_give_each_cell_once(golden, case):
    array = tiledb.open_array(str(golden(f"tiledb/{case}") / "array"))
    schema = spark_schema(array.schema)
    parts = _parts(ArrayReader(array, schema))
    assert _cells(pa.concat_tables(parts), schema) == _cells(array.read(), schema)
    assert len(parts) > 1 or array.fragments[0].tile_count == 1


@pytest.mark.parametrize("case", ["sp_alltypes", "sp_datetime", "sp_nullable"])
def test_the_data_frame_is_the_array(source, golden, case):
    """Values of each type, and nulls, of several tasks. What tasks give of others is seen above without Spark."""
    uri = golden(f"tiledb/{case}") / "array"
    frame, array = load(source, uri), tiledb.open_array(str(uri))
    *found, parts = zip(*frame.withColumn("part", F.spark_partition_id()).collect(), strict=True)
    assert _sorted(zip(*found, strict=True)) == _cells(array.read(), frame.schema)
    assert len({*parts}) > 1


TEN = tiledb.dimension("x", Datatype.INT64, (0, 9), 5)


def test_an_array_that_nobody_wrote_into(tmp_path):
    """The cells of a dense one have their fill values; a sparse one has none."""
    v = attribute("v", Datatype.INT32, fill=np.int32(7).tobytes())
    for name, dense, expected in (("dense", True, [7] * 10), ("sparse", False, [])):
        create_array(str(tmp_path / name), tiledb.ArraySchema((TEN,), (v,), dense=dense))
        assert tiledb.open_array(tmp_path / name).read(["v"])["v"].to_pylist() == expected
        assert _given(tmp_path / name)["v"].to_pylist() == expected


@pytest.mark.parametrize("kind", [k for k in Datatype if pa.types.is_temporal(k.arrow())])
def test_what_is_no_time_is_null(tmp_path, kind):
    uri = str(tmp_path)
    create_array(uri, one_dimension(attribute("t", kind), attribute("l", kind, cell_val_num=2)))
    nothing = pa.array([None], kind.arrow())
    with oracle.open(uri, "w") as array:
        none = np.array([-(2**63)], np.int64)
        array[[1]] = {
            "t": none.view(array.attr("t").dtype),
            "l": np.repeat(none, 2).view(array.attr("l").dtype),
        }
    assert tiledb.open_array(uri).read(["t"])["t"].combine_chunks() == nothing
    assert _given(uri).select(["t", "l"]).to_pylist() == [{"t": None, "l": [None, None]}]


@pytest.mark.parametrize(
    "kind", [Datatype.DATETIME_SEC, Datatype.DATETIME_MS, Datatype.TIME_SEC, Datatype.TIME_MS]
)
def test_times_beyond_those_of_spark_are_named(tmp_path, kind):
    create_array(str(tmp_path), one_dimension(attribute("t", kind)))
    write_array(str(tmp_path), pa.table({"x": [1], "t": pa.array([2**62]).view(kind.arrow())}))
    with pytest.raises(tiledb.ArrayFormatError, match="t: a time is beyond those of Spark"):
        _given(tmp_path)


def test_time_travel(golden):
    uri = golden("tiledb/sp_multifrag") / "array"
    assert _given(uri, timestamp="10").num_rows == 40
    assert _given(uri).num_rows == 90
    with pytest.raises(InvalidInputError, match="option timestamp: 'yesterday' is no whole number"):
        _given(uri, timestamp="yesterday")


def test_tiles_are_skipped(tmp_path):
    sorted_array(str(tmp_path / "a"), tiles=20)
    array = tiledb.open_array(str(tmp_path / "a"))
    schema = spark_schema(array.schema)
    given = ArrayReader(array, schema, [("v", "==", -30_000)], {"x": (0, 30_000)})
    for reader, most in ((ArrayReader(array, schema), 20), (given, 1)):
        assert sum(p.part.tiles.size for p in reader.partitions()) == most


def test_a_data_frame_that_is_used_twice(source, golden):
    """Each scan has filters of its own, though Spark 4.2.0 would keep them with the DataFrame."""
    uri = golden("tiledb/sp2d_i32_nofilter") / "array"
    frame, few = load(source, uri), tiledb.open_array(str(uri)).read(where=[("x", ">", 500)]).num_rows
    assert 0 < few < 200
    scans = {"large": frame.where("x > 500"), "small": frame.where("x <= 500"), "all": frame}
    told = reduce(DataFrame.union, [scan.select(F.lit(name)) for name, scan in scans.items()]).collect()
    assert Counter(name for (name,) in told) == {"large": few, "small": 200 - few, "all": 200}
    assert source.conf.get("spark.sql.python.filterPushdown.enabled", "false") == "false"


def test_cells_are_left_out_by_options(golden):
    uri = golden("tiledb/sp2d_i32_nofilter") / "array"
    found = _given(uri, where='[["a", ">", 0], ["b", "<", 1.0]]', box='{"x": [100, 500]}')
    expected = tiledb.open_array(str(uri)).read(where=[("a", ">", 0), ("b", "<", 1.0)], box={"x": (100, 500)})
    assert sorted(found["x"].to_pylist()) == sorted(expected["x"].to_pylist())


@pytest.mark.parametrize(
    ("option", "text", "words"),
    [("where", "a > 0", "'a > 0' is no JSON"), ("where", "{}", "'{}' is no JSON array"),
     ("box", "[]", "'[]' is no JSON object")],
)  # fmt: skip
def test_options_that_leave_out_no_cells(golden, option, text, words):
    source = TileDBDataSource({"path": str(golden("tiledb/sp_multifrag") / "array"), option: text})
    with pytest.raises(InvalidInputError, match=re.escape(f"option {option}: {words}")):
        source.reader(source.schema())


def test_what_filters_mean_to_spark(source, tmp_path):
    """NaN is above all and equal to itself, and null is neither: Spark's rules, not Arrow's."""
    uri = str(tmp_path / "a")
    fields = attribute("f", Datatype.FLOAT64, nullable=True), attribute("i", Datatype.INT32, nullable=True)
    create_array(uri, one_dimension(*fields, capacity=3))
    floats = [1.0, float("nan"), None, 5.0, -3.0, float("inf"), 0.0, -0.0] * 3
    table = pa.table({"x": range(24), "f": pa.array(floats), "i": [None, 1, 2, 3, 4, 5, 6, 7] * 3})
    write_array(uri, table)
    conditions = [
        "f > 2", "f = double('nan')", "f is null and i <=> 2", "i in (1, 7, 99)", "not (i = 3)", "f >= 0 or i = 4",
        "f < double('nan')", "f <= double('nan')", "f > double('nan')", "f in (1, double('nan'))",
    ]  # fmt: skip
    plain = source.createDataFrame([tuple(r.values()) for r in table.to_pylist()], "x long, f double, i int")
    expected = plain.selectExpr("x", *(f"{each} AS `{each}`" for each in conditions)).collect()
    for condition, found in found_by(load(source, uri), conditions).items():
        assert found == [row.x for row in expected if row[condition]], condition


def test_a_schema_that_names_few_columns_reads_few(source, golden):
    uri = golden("tiledb/sp2d_i32_nofilter") / "array"
    frame = source.read.format("tiledb").schema("a int").load(str(uri))
    assert frame.columns == ["a"]
    assert frame.agg(F.sum("a")).first()[0] == sum(tiledb.open_array(str(uri)).read(["a"])["a"].to_pylist())
    reader = ArrayReader(tiledb.open_array(str(uri)), StructType([StructField("x", LongType())]))
    assert [f.name for f in reader.request.columns] == ["x"]


def test_a_schema_without_columns(tmp_path):
    """Spark counts rows by the columns of a batch: it would count none."""
    create_array(str(tmp_path), one_dimension(attribute("i", Datatype.INT64)))
    with pytest.raises(InvalidInputError, match="the schema names no column: name one or more of"):
        TileDBDataSource({"path": str(tmp_path)}).reader(StructType([]))


def _typed(uri, name, kind, nullable=True):
    reader = ArrayReader(tiledb.open_array(uri), StructType([StructField(name, kind, nullable)]))
    return pa.concat_tables(_parts(reader))[name].to_pylist()


def test_a_schema_of_other_types(tmp_path):
    """Values are cast where each of them has a counterpart; what does not fit is named, and so are both types."""
    uri = str(tmp_path / "a")
    text = attribute("s", Datatype.STRING_UTF8, cell_val_num=tiledb.VAR_NUM)
    create_array(
        uri, one_dimension(attribute("i", Datatype.INT64), attribute("t", Datatype.DATETIME_SEC), text)
    )
    moments = pa.array([0, 2**50], pa.int64()).view(pa.timestamp("s"))
    write_array(uri, pa.table({"x": [1, 2], "i": [7, 5_000_000_000], "t": moments, "s": ["1", "two"]}))
    assert _typed(uri, "x", IntegerType()) == [1, 2]
    assert _typed(uri, "i", StringType()) == ["7", "5000000000"]
    for name, kind, own in (("i", IntegerType(), "bigint"), ("s", LongType(), "string")):
        message = f"column '{name}' is {own} .* type {kind.simpleString()} .*: ask for {own}"
        with pytest.raises(InvalidInputError, match=message):
            _typed(uri, name, kind)
    with pytest.raises(tiledb.ArrayFormatError, match="t: a time is beyond those of Spark"):
        _typed(uri, "t", TimestampType())


def test_nulls_where_the_schema_says_that_there_are_none(tmp_path):
    """Spark reads what lies in the place of such a null: 0, or the year -290308."""
    uri = str(tmp_path / "a")
    number, moments = attribute("a", Datatype.INT64, nullable=True), Datatype.DATETIME_US
    pair = attribute("l", moments, cell_val_num=2)
    create_array(uri, one_dimension(number, attribute("t", moments), pair))
    moment, nothing = datetime.datetime(2020, 1, 1), np.datetime64("NaT", "us")
    with oracle.open(uri, "w") as array:
        array[[1, 2]] = {
            "a": pa.array([7, None]),
            "t": np.array([moment, nothing], "datetime64[us]"),
            "l": np.array([(moment, moment), (moment, nothing)], array.attr("l").dtype),
        }
    for name, kind in (("a", LongType()), ("a", StringType()), ("t", TimestampType())):
        assert _typed(uri, name, kind)[1] is None
        with pytest.raises(
            InvalidInputError, match=f"'{name}' has nulls, and the schema says that it has none"
        ):
            _typed(uri, name, kind, nullable=False)
    assert _typed(uri, "l", ArrayType(TimestampType()))[1][1] is None
    with pytest.raises(InvalidInputError, match="'l' has nulls, and the schema says that it has none"):
        _typed(uri, "l", ArrayType(TimestampType(), containsNull=False))
    assert _typed(uri, "x", LongType(), nullable=False) == [1, 2]


@pytest.mark.parametrize(
    ("stored", "kind"),
    [
        (Datatype.INT64, StructType([StructField("q", LongType())])),
        (Datatype.INT64, YearMonthIntervalType()),
        # Whole numbers do not say of what unit they are, and Arrow takes them for microseconds.
        (Datatype.INT64, TimestampType()),
        (Datatype.DATETIME_HR, TimestampType()),
        (Datatype.DATETIME_WEEK, TimestampNTZType()),
        (Datatype.TIME_HR, DayTimeIntervalType()),
    ],
)
def test_a_schema_of_types_that_no_cast_leads_to(tmp_path, stored, kind):
    """It is refused when the read is planned."""
    uri = str(tmp_path / "a")
    create_array(uri, one_dimension(attribute("i", stored), attribute("l", stored, cell_val_num=2)))
    for name, own, asked in (("i", "bigint", kind), ("l", "array<bigint>", ArrayType(kind))):
        with pytest.raises(InvalidInputError, match=f"'{name}' is {own} in the array and is not cast to"):
            ArrayReader(tiledb.open_array(uri), StructType([StructField(name, asked)]))


def test_spans_have_seconds(tmp_path):
    """An array's minute and a half is no whole number of minutes, and Spark would take it for one."""
    uri = str(tmp_path / "a")
    create_array(uri, one_dimension(attribute("t", Datatype.TIME_SEC)))
    with oracle.open(uri, "w") as array:
        array[[1]] = {"t": np.array([90], "timedelta64[s]")}
    assert _typed(uri, "t", DayTimeIntervalType(2, 3)) == [datetime.timedelta(seconds=90)]
    for kind in (DayTimeIntervalType(0, 0), ArrayType(DayTimeIntervalType(0, 2))):
        with pytest.raises(
            InvalidInputError, match="'t' is interval day to second in the array and is not cast to"
        ):
            ArrayReader(tiledb.open_array(uri), StructType([StructField("t", kind)]))


@pytest.mark.parametrize(
    ("stored", "value", "kind", "expected"),
    [
        (Datatype.UINT8, 1, BooleanType(), True),
        (Datatype.UINT8, 5, BooleanType(), None),
        (Datatype.FLOAT64, 1e300, FloatType(), None),
        (Datatype.FLOAT64, float("-inf"), FloatType(), float("-inf")),
        (Datatype.FLOAT64, 0.1, FloatType(), np.float32(0.1).item()),
        (Datatype.FLOAT64, 1.5, DecimalType(3, 0), None),
        (Datatype.FLOAT64, 2.55, DecimalType(38, 1), None),
        # Arrow makes the float beside it of this decimal, which is the right one.
        (Datatype.FLOAT64, 2.55, DecimalType(10, 2), decimal.Decimal("2.55")),
        (Datatype.FLOAT64, -2.0, DecimalType(3, 0), decimal.Decimal(-2)),
        (Datatype.FLOAT64, 0.1, DecimalType(38, 20), decimal.Decimal("0.10000000000000000000")),
        (Datatype.FLOAT32, 1.04, DecimalType(10, 2), decimal.Decimal("1.04")),
        (Datatype.FLOAT32, 123456792.0, DecimalType(20, 0), decimal.Decimal(123456792)),
        (Datatype.FLOAT64, 2.0**63, DecimalType(20, 0), decimal.Decimal(9223372036854776000)),
        (Datatype.DATETIME_SEC, 8 * 10**18, DateType(), None),
        (Datatype.DATETIME_MS, 8 * 10**18, DateType(), None),
        (Datatype.DATETIME_MS, -1, DateType(), datetime.date(1969, 12, 31)),
        (Datatype.DATETIME_NS, 1 - 2**63, DateType(), datetime.date(1677, 9, 21)),
        (Datatype.DATETIME_DAY, 1, TimestampNTZType(), datetime.datetime(1970, 1, 2)),
        (Datatype.DATETIME_MS, 8 * 10**18, StringType(), None),
        (Datatype.DATETIME_DAY, 2 * 10**9, StringType(), None),
        (Datatype.DATETIME_MS, 1, StringType(), "1970-01-01 00:00:00.001"),
    ],
)
def test_no_cast_changes_a_value_without_a_word(tmp_path, stored, value, kind, expected):
    """What Arrow's casts do: infinity, the next decimal, a day that is counted on from the last one, a sentence."""
    uri = str(tmp_path / "a")
    create_array(uri, one_dimension(attribute("v", stored), attribute("l", stored, cell_val_num=2)))
    cells = np.array([value], stored.dtype)
    with oracle.open(uri, "w") as array:
        array[[1]] = {
            "v": cells.view(array.attr("v").dtype),
            "l": np.repeat(cells, 2).view(array.attr("l").dtype),
        }
    if expected is not None:
        assert _typed(uri, "v", kind) == [expected]
        assert _typed(uri, "l", ArrayType(kind)) == [[expected, expected]]
        return
    for name, asked in (("v", kind), ("l", ArrayType(kind))):
        message = f"not every value of it is of the type {asked.simpleString()} that the schema asks for"
        with pytest.raises(InvalidInputError, match=re.escape(message)):
            _typed(uri, name, asked)


def _frame(spark, rows, start=0):
    return (
        spark.range(start, start + rows)
        .withColumn("name", F.concat(F.lit("é"), F.col("id")))
        .withColumn("at", F.expr("timestamp_micros(id * 1000003)"))
        .withColumn("day", F.expr("date_add(date'2020-01-01', cast(id % 1000 as int))"))
        .withColumn("value", F.expr("if(id % 7 = 0, null, id / 3)"))
        .withColumn("flags", F.expr("array(id % 2 = 0, true)"))
    )


def _texts(frame):
    """The rows of a DataFrame, each value as Spark's text."""
    return sorted(map(repr, frame.select([F.col(name).cast("string") for name in frame.columns]).collect()))


def test_write_read_and_libtiledb(source, tmp_path):
    uri, frame = tmp_path / "a", _frame(source, 300)
    frame.repartition(3).write.format("tiledb").mode("append").option("dimensions", "id").save(str(uri))
    back = load(source, uri)
    assert back.columns == frame.columns
    assert _texts(back) == _texts(frame)
    assert [p.suffix for p in (uri / "__commits").iterdir()] == [".con"]
    with oracle.open(str(uri)) as array:
        assert sorted(array[:]["id"]) == list(range(300))
    found = back.where("at >= timestamp'1970-01-01 00:02:00' and id < 280 and day > date'2020-06-30'")
    assert sorted(row.id for row in found.collect()) == list(range(182, 280))
    _frame(source, 10, 300).write.format("tiledb").mode("append").save(str(uri))
    assert load(source, uri).count() == 310
    # Each query opens the array anew, whether it has filters or not; Spark would keep what the first one has opened.
    assert back.count() == back.where("id >= 0").count() == 310


def test_overwrite_is_one_step_and_keeps_the_past(source, tmp_path):
    uri = tmp_path / "a"
    _frame(source, 100).write.format("tiledb").mode("overwrite").option("dimensions", "id").save(str(uri))
    before = tiledb.open_array(str(uri)).fragments[-1].name.end
    _frame(source, 7, 50).write.format("tiledb").mode("overwrite").save(str(uri))
    assert sorted(r.id for r in load(source, uri).collect()) == list(range(50, 57))
    assert load(source, uri, timestamp=before).count() == 100
    with oracle.open(str(uri)) as array:
        assert len(array[:]["id"]) == 7


@pytest.mark.parametrize(
    ("options", "message"),
    [({}, "dimensions"), ({"dimensions": "nope"}, "nope"), ({"dimensions": "flags"}, "flags"),
     ({"dimensions": "id", "duplicates": "maybe"}, "duplicates"), ({"dimensions": "id", "capacity": "x"}, "capacity"),
     ({"dimensions": "id", "capacity": "0"}, "1 cell or more, not 0")],
)  # fmt: skip
def test_options_that_make_no_sense(tmp_path, options, message):
    schema = StructType([StructField("id", LongType()), StructField("flags", ArrayType(BooleanType()))])
    with pytest.raises(InvalidInputError, match=message):
        TileDBDataSource({"path": str(tmp_path / "a"), **options}).writer(schema, overwrite=False)


def test_what_spark_hands_on(source, tmp_path):
    """Options and filters to the source, and to the user the errors of its planning, its tasks and its commit."""
    uri, new = str(tmp_path / "a"), str(tmp_path / "new")
    v = attribute("v", Datatype.INT32, fill=np.int32(7).tobytes())
    create_array(uri, tiledb.ArraySchema((TEN,), (v,), dense=True))
    frame = load(source, uri, where='[["x", "<", 6]]', box='{"x": [2, 9]}')
    found = {"v = 7 and x > 3": [4, 5], "x > 20": []}
    assert found_by(frame, found) == found
    with pytest.raises(PySparkException, match="option timestamp: 'yesterday' is no whole number"):
        load(source, uri, timestamp="yesterday")
    with pytest.raises(PySparkException, match=r"column 'v' is int .*, and not every value of it is of"):
        source.read.format("tiledb").schema("v boolean").load(uri).collect()
    # Each of two tasks has each key once.
    twice = source.range(0, 6, 1, 2).selectExpr("id % 3 AS x").write.format("tiledb").mode("append")
    with pytest.raises(PySparkException, match="two tasks wrote the same coordinates"):
        twice.options(dimensions="x", duplicates="false").save(new)
    assert not (tmp_path / "new").exists()


def test_spark_tells_of_an_option_that_makes_no_sense(source, tmp_path):
    with pytest.raises(PySparkException, match="no array yet; the option dimensions says what its key is"):
        source.range(3).write.format("tiledb").mode("append").save(str(tmp_path / "a"))


@pytest.mark.parametrize(
    ("kind", "name"),
    [(YearMonthIntervalType(), "interval year to month"), (DecimalType(10, 2), "decimal(10,2)"),
     (ArrayType(StringType()), "array<string>"), (MapType(StringType(), LongType()), "map<string,bigint>")],
)  # fmt: skip
def test_columns_that_an_array_cannot_hold(tmp_path, kind, name):
    schema = StructType([StructField("key", LongType()), StructField("of a kind", kind)])
    source = TileDBDataSource({"path": str(tmp_path / "a"), "dimensions": "key"})
    with pytest.raises(
        UnsupportedError, match=re.escape(f"column 'of a kind' of type {name} has no counterpart")
    ):
        source.writer(schema, overwrite=False)


def test_reading_what_is_not_there(tmp_path):
    with pytest.raises(TableNotFoundError, match="no array"):
        _given(tmp_path / "nothing")
    assert TileDBDataSource.name() == "tiledb"


def test_an_array_becomes_an_indexed_table_and_back(source, tmp_path):
    uri, table, again = (str(tmp_path / name) for name in ("a", "t", "b"))
    create_array(uri, one_dimension(attribute("v", Datatype.INT32), attribute("at", Datatype.DATETIME_US)))
    moments = pa.array([datetime.datetime(2020, 1, 1, 0, 0, i % 60) for i in range(500)], pa.timestamp("us"))
    write_array(uri, pa.table({"x": range(500), "v": np.arange(500, dtype=np.int32), "at": moments}))
    assert commands.export(source, uri, table, "x,v")["rows"] == 500
    found = commands.import_(source, table, again, "x")
    assert (found["rows"], found["cells"]) == (500, 500)
    columns = ["x", "v", "at"]
    assert (
        tiledb.open_array(again).read(columns).to_pydict() == tiledb.open_array(uri).read(columns).to_pydict()
    )
