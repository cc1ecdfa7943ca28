"""What a user compares with: times of any kind and precision, and numbers of any type, decide exactly."""

from __future__ import annotations

import datetime as dt
import math
import operator
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyqbeast import tiledb
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb import VAR_NUM, ArraySchema, Datatype, attribute, create_array, dimension, write_array
from tests.tiledb.arrays import one_dimension

COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
#: Nanoseconds of the units of the columns.
UNITS = {"D": 86_400 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
MOMENTS = {
    "D": Datatype.DATETIME_DAY,
    "s": Datatype.DATETIME_SEC,
    "ms": Datatype.DATETIME_MS,
    "us": Datatype.DATETIME_US,
    "ns": Datatype.DATETIME_NS,
}
SPANS = {"s": Datatype.TIME_SEC, "ns": Datatype.TIME_NS}
CELLS = range(-2, 3)


@pytest.fixture(scope="module")
def arrays(tmp_path_factory):
    """For each unit an array with a dimension of moments, an attribute of them, and one of spans, all -2 to 2."""
    made = {}
    for unit, kind in MOMENTS.items():
        uri = str(tmp_path_factory.mktemp("times") / unit)
        span = attribute("span", SPANS.get(unit, Datatype.INT64))
        schema = ArraySchema((dimension("d", kind, (-10, 10), 1),), (attribute("a", kind), span), capacity=1)
        create_array(uri, schema)
        numbers = np.arange(-2, 3)
        moments = numbers.astype(f"datetime64[{unit}]")
        spans = numbers.astype(f"timedelta64[{unit}]") if unit in SPANS else numbers
        write_array(uri, pa.table({"d": moments, "a": moments, "span": spans}))
        made[unit] = tiledb.open_array(uri)
    return made


ZONE = dt.timezone(dt.timedelta(hours=-5))
EPOCH = dt.datetime(1970, 1, 1)


@st.composite
def _nanoseconds(draw, unit):
    """Near a number that a column of the unit stores, and often at it."""
    at = draw(st.integers(-3, 3)) * UNITS[unit]
    return at + draw(st.sampled_from([0, 0, 1, -1, UNITS[unit] // 2, 1_000, -1_000]))


def _moments(nanoseconds):
    """The same moment in all ways to say it."""
    yield np.datetime64(nanoseconds, "ns")
    yield pd.Timestamp(nanoseconds)
    yield pd.Timestamp(nanoseconds, tz="UTC").tz_convert("America/New_York")
    for unit, size in UNITS.items():
        if nanoseconds % size == 0:
            yield np.datetime64(nanoseconds // size, unit)
    if nanoseconds % 1_000 == 0:
        plain = EPOCH + dt.timedelta(microseconds=nanoseconds // 1_000)
        yield plain
        yield plain.replace(tzinfo=dt.timezone.utc).astimezone(ZONE)
        if plain.time() == dt.time():
            yield plain.date()


def _spans(nanoseconds):
    yield np.timedelta64(nanoseconds, "ns")
    yield pd.Timedelta(nanoseconds)
    if nanoseconds % 1_000 == 0:
        yield dt.timedelta(microseconds=nanoseconds // 1_000)


@pytest.mark.slow
@pytest.mark.parametrize("unit", MOMENTS)
@settings(max_examples=10)
@given(st.data(), st.sampled_from([*COMPARISONS]))
def test_times(arrays, unit, data, word):
    array, nanoseconds = arrays[unit], data.draw(_nanoseconds(unit))

    def found(**conditions):
        return (
            array.read(["d"], **conditions)["d"].to_numpy().astype(f"datetime64[{unit}]").astype(int)
        ).tolist()

    exact = Fraction(nanoseconds, UNITS[unit])
    expected = [cell for cell in CELLS if COMPARISONS[word](cell, exact)]
    at = [cell for cell in CELLS if cell == exact]
    for moment in _moments(nanoseconds):
        for column in ("d", "a"):
            assert found(where=[(column, word, moment)]) == expected, repr(moment)
            assert found(where=[(column, "in", [moment])]) == at, repr(moment)
        if not abs(exact) > 10:
            assert found(box={"d": (moment, None)}) == [cell for cell in CELLS if cell >= exact], repr(moment)
            assert found(box={"d": (None, moment)}) == [cell for cell in CELLS if cell <= exact], repr(moment)
    if unit in SPANS:
        for span in _spans(nanoseconds):
            assert found(where=[("span", word, span)]) == expected, repr(span)


@pytest.mark.parametrize("word", COMPARISONS)
def test_values_between_two_that_a_column_can_hold(tmp_path, word):
    """Whole numbers, seconds and days are compared with halves of them, and none equals one."""
    schema = one_dimension(
        attribute("a", Datatype.INT32),
        attribute("s", Datatype.DATETIME_SEC),
        attribute("d", Datatype.DATETIME_DAY),
        attribute("t", Datatype.TIME_SEC),
    )
    create_array(str(tmp_path), schema)
    cells = [0, 1, 2]
    begin = dt.datetime(1969, 12, 31, 23, 59, 59)
    first, second = dt.datetime(1969, 12, 31), dt.timedelta(seconds=1)
    # For each column what stands for a number, exactly or finer than the column is.
    columns = {
        "x": lambda n: n,
        "a": lambda n: n - 1,
        "s": lambda n: begin + n * second,
        "d": lambda n: first + dt.timedelta(days=n),
        "t": lambda n: (n - 1) * second,
    }
    table = pa.table({name: [of(cell) for cell in cells] for name, of in columns.items()})
    write_array(str(tmp_path), table.cast(tiledb.open_array(str(tmp_path)).arrow_schema))
    array = tiledb.open_array(str(tmp_path))
    for name, of in columns.items():
        for number in (-0.5, 0.5, 1.5, 2.5):
            value = of(number)
            kinds = {"s": np.datetime64, "d": np.datetime64, "t": np.timedelta64}
            for told in (value, kinds.get(name, np.float64)(value)):
                expected = [cell for cell in cells if COMPARISONS[word](cell, number)]
                found = array.read(["x"], where=[(name, word, told)])["x"].to_pylist()
                assert found == expected, (name, told)
                assert array.read(["x"], where=[(name, "in", [told, of(1)])])["x"].to_pylist() == [1]


@pytest.fixture(scope="module")
def whole_numbers(tmp_path_factory):
    """An array with a dimension and an attribute of whole numbers, -2 to 2."""
    uri = str(tmp_path_factory.mktemp("numbers"))
    schema = ArraySchema(
        (dimension("x", Datatype.INT64, (-9, 9)),), (attribute("i", Datatype.INT8),), capacity=1
    )
    create_array(uri, schema)
    write_array(uri, pa.table({"x": [*CELLS], "i": pa.array(CELLS, pa.int8())}))
    return tiledb.open_array(uri)


@pytest.mark.parametrize("column", ["x", "i"])
@pytest.mark.parametrize(
    "number", [Decimal("1.5"), Fraction(-3, 2), 10**30, -(10**30), 2**63, Decimal(1), 1.0, np.int8(1)]
)
def test_numbers_of_any_type(whole_numbers, number, column):
    for word, compare in COMPARISONS.items():
        expected = [cell for cell in CELLS if compare(cell, number)]
        assert whole_numbers.read(["x"], where=[(column, word, number)])["x"].to_pylist() == expected, word
    same = [cell for cell in CELLS if cell == number]
    assert whole_numbers.read(["x"], where=[(column, "in", [number])])["x"].to_pylist() == same


def test_what_is_no_such_value(arrays):
    beyond_numpy = np.datetime64(2**60, "Y")
    for value in ("noon", dt.time(12), dt.timedelta(1), True, beyond_numpy):
        with pytest.raises(InvalidInputError, match="a == "):
            arrays["s"].read(where=[("a", "==", value)])
    assert not arrays["s"].read(where=[("a", "in", [np.datetime64("NaT", "s"), pd.NaT, math.nan])]).num_rows


@pytest.mark.parametrize("word", [*COMPARISONS, "=", "in"])
def test_a_comparison_with_null_says_how_to_ask_for_nulls(tmp_path, word):
    """It would hold for no cell."""
    create_array(str(tmp_path), one_dimension(attribute("n", Datatype.INT32, nullable=True)))
    array = tiledb.open_array(str(tmp_path))
    with pytest.raises(InvalidInputError, match=r"n .* None.*\('n', 'is null'\).*\('n', 'is not null'\)"):
        array.read(where=[("n", word, None)])
    write_array(str(tmp_path), pa.table({"x": [1, 2], "n": pa.array([1, None], pa.int32())}))
    array = tiledb.open_array(str(tmp_path))
    assert array.read(["x"], where=[("n", "is null")])["x"].to_pylist() == [2]
    assert array.read(["x"], where=[("n", "is not null", None)])["x"].to_pylist() == [1]


@pytest.mark.parametrize(
    ("kind", "count", "cell", "value", "message"),
    [
        (Datatype.BOOL, 1, True, 1, "bool, and is compared with True or False"),
        (Datatype.BOOL, 1, True, "true", "bool, and is compared with True or False"),
        (Datatype.INT32, 1, 1, True, "int32, and is compared with numbers"),
        (Datatype.INT32, 1, 1, "5", "int32, and is compared with numbers"),
        (Datatype.DATETIME_MONTH, 1, 1, np.datetime64("2020-01"), "int64, .* a unit that Arrow lacks"),
        # Arrow takes these for the numbers that they store.
        (Datatype.INT64, 1, 1, np.datetime64(1, "ns"), "int64, and is compared with numbers"),
        (Datatype.DATETIME_PS, 1, 1, np.datetime64(1, "ns"), "int64, .* a unit that Arrow lacks"),
        (Datatype.TIME_HR, 1, 1, np.timedelta64(1, "ns"), "int64, .* a unit that Arrow lacks"),
        (
            Datatype.DATETIME_DAY,
            1,
            dt.date(1970, 1, 2),
            np.timedelta64(1, "ns"),
            r"date32\[day\], .* with times",
        ),
        (Datatype.FLOAT64, 1, 1, b"1", "double, and is compared with numbers"),
        (Datatype.STRING_UTF8, VAR_NUM, "a", 7, "large_string, .* with texts"),
        (Datatype.CHAR, 2, b"ab", 7, r"binary\[2\], .* with bytes, or with texts"),
        (Datatype.DATETIME_MS, 1, 1, dt.timedelta(1), r"timestamp\[ms\], .* numpy.datetime64"),
        (Datatype.TIME_SEC, 1, 1, np.timedelta64(1, "M"), r"duration\[s\], .* numpy.timedelta64"),
        (Datatype.INT32, 2, [1, 2], [1, 2], "lists are not compared: .* 'is null'"),
        (Datatype.INT32, VAR_NUM, [1], 1, "lists are not compared: .* 'is null'"),
    ],
)
def test_an_error_tells_what_a_column_is_compared_with(tmp_path, kind, count, cell, value, message):
    """And names the column, its type and the value."""
    column = attribute("v", kind, cell_val_num=count)
    create_array(str(tmp_path), one_dimension(column))
    write_array(str(tmp_path), pa.table({"x": [1], "v": pa.array([cell], column.arrow_type)}))
    array = tiledb.open_array(str(tmp_path))
    for word, asked in (("==", value), ("in", [value])):
        with pytest.raises(
            InvalidInputError, match=f"where v {word} .*the column holds .*{message}"
        ) as error:
            array.read(where=[("v", word, asked)])
        assert repr(value) in str(error.value)
        assert "kernel" not in str(error.value)


@pytest.mark.parametrize("kind", [Datatype.FLOAT32, Datatype.FLOAT64])
def test_one_of_some_floats_is_equal_to_one_of_them(tmp_path, kind):
    """Zeros of both signs are equal, and NaN is equal to nothing."""
    column = attribute("f", kind, nullable=True)
    create_array(str(tmp_path), one_dimension(column))
    cells = pa.array([0.0, -0.0, math.nan, 1.0, None], column.arrow_type)
    write_array(str(tmp_path), pa.table({"x": range(5), "f": cells}))
    array = tiledb.open_array(str(tmp_path))

    def found(word, value):
        return array.read(["x"], where=[("f", word, value)])["x"].to_pylist()

    for value in (0.0, -0.0, 0, np.float32(-0.0), math.nan, 1.0):
        assert found("in", [value]) == found("==", value), value
    assert found("in", [math.nan, -0.0, None, 1.0]) == [0, 1, 3]


@pytest.fixture(scope="module")
def floats(tmp_path_factory):
    """For each type of floats an array with a dimension and an attribute of the same ones; and these."""
    made = {}
    for kind in (Datatype.FLOAT32, Datatype.FLOAT64):
        uri = str(tmp_path_factory.mktemp("floats"))
        low, high = np.finfo(kind.dtype).min.item(), np.finfo(kind.dtype).max.item()
        cells = np.array([low, -(2.0**53), -1, 0.1, 1 / 3, 2**24, 5e8, 1e17, 1e30, high], kind.dtype)
        schema = ArraySchema((dimension("y", kind, (low, high)),), (attribute("f", kind),), capacity=2)
        create_array(uri, schema)
        write_array(uri, pa.table({"y": cells, "f": cells}))
        made[kind] = tiledb.open_array(uri), cells
    return made


@pytest.mark.parametrize(
    ("number", "nearest"),
    [
        (2**24 + 1, 2.0**24 + 1),
        (-(2**53) - 1, -(2.0**53)),
        (5 * 10**8, 5e8),
        (10**17, 1e17),
        (10**40, 1e40),
        (-(10**400), -math.inf),
        (int(sys.float_info.max) + 1, sys.float_info.max),
        (Fraction(10**17), 1e17),
        (Fraction(1, 3), 1 / 3),
        (Fraction(-(10**400)), -math.inf),
        (Decimal("0.1"), 0.1),
        (Decimal("1E+400"), math.inf),
        (Decimal("-Infinity"), -math.inf),
    ],
    ids=lambda value: str(value)[:20],
)
@pytest.mark.parametrize("kind", [Datatype.FLOAT32, Datatype.FLOAT64])
def test_floats_are_compared_with_the_nearest_float(floats, kind, number, nearest):
    """Of any number, also where it has no equal float, and by `where` and `box` alike."""
    array, cells = floats[kind]

    def found(**conditions):
        return array.read(["f"], **conditions)["f"].to_pylist()

    with np.errstate(over="ignore"):
        stored = kind.dtype.type(nearest)
    for word, compare in COMPARISONS.items():
        for column in "yf":
            assert found(where=[(column, word, number)]) == cells[compare(cells, stored)].tolist(), (
                column,
                word,
            )
    for column in "yf":
        assert found(where=[(column, "in", [number])]) == cells[cells == stored].tolist()
    assert found(box={"y": (number, None)}) == cells[cells >= stored].tolist()
    assert found(box={"y": (None, number)}) == cells[cells <= stored].tolist()


def test_an_enumerated_attribute_is_compared_with_places(tmp_path):
    column = attribute("c", Datatype.INT8, enumeration="colors")
    colors = {"colors": tiledb.Enumeration.of_values("colors", pa.array(["red", "green"]))}
    create_array(str(tmp_path), one_dimension(column), enumerations=colors)
    write_array(str(tmp_path), pa.table({"x": [1, 2], "c": pa.array([0, 1], pa.int8())}))
    array = tiledb.open_array(str(tmp_path))
    green = array.enumerations["colors"].values.to_pylist().index("green")
    assert array.read(where=[("c", "==", green)])["x"].to_pylist() == [2]
    for word, asked in (("==", "green"), ("in", ["red", "green"])):
        with pytest.raises(InvalidInputError, match=r"array\.enumerations\['colors'\]\.values"):
            array.read(where=[("c", word, asked)])
