"""Values that an array stores as another type: they stay what they are, or the write is refused."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyqbeast import tiledb
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb import VAR_NUM, ArraySchema, Datatype, attribute, create_array, dimension, write_array
from pyqbeast.tiledb.format.build import attribute_from_arrow
from tests.tiledb.arrays import one_dimension, oracle, small_array


@pytest.mark.parametrize(("kind", "values", "message"), [
    (Datatype.DATETIME_HR, pa.array([0], pa.timestamp("us")), "whole numbers of that unit"),
    (Datatype.DATETIME_DAY, pa.array([43_200], pa.timestamp("s")), r"no equal in date32\[day\]"),
    (Datatype.DATETIME_DAY, pa.array([86_400 * 2**32], pa.timestamp("s")), "no equal"),
    (Datatype.DATETIME_DAY, pa.array([43_200], pa.timestamp("s")).dictionary_encode(), "no equal"),
    (Datatype.FLOAT32, pa.array(["1e40"]), "beyond those of float"),
    (Datatype.FLOAT32, pa.array([Decimal(10) ** 60]), "beyond those of float"),
    (Datatype.FLOAT32, pa.array([1e300]).dictionary_encode(), "beyond those of float"),
    (Datatype.INT32, pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([None], pa.int32())), "has nulls"),
    (Datatype.INT32, pc.run_end_encode(pa.array([None], pa.int32())), "has nulls"),
    (Datatype.BOOL, pa.array([5]), "neither 0 nor 1"),
    (Datatype.BOOL, pa.ExtensionArray.from_storage(pa.opaque(pa.int64(), "", ""), pa.array([5])), "neither 0 nor 1"),
    (Datatype.FLOAT32, pa.array([1e300]), "beyond those of float"),
    (Datatype.INT32, pa.array([1.5]), "does not convert"),
])  # fmt: skip
def test_values_that_would_become_others_are_refused(tmp_path, kind, values, message):
    uri = str(tmp_path / "a")
    create_array(uri, one_dimension(attribute("v", kind)))
    with pytest.raises(InvalidInputError, match=message):
        write_array(uri, pa.table({"x": [1], "v": values}))


@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_values_that_stay_are_converted(tmp_path, zone):
    uri = str(tmp_path / "a")
    day, is_set = attribute("day", Datatype.DATETIME_DAY), attribute("is_set", Datatype.BOOL)
    create_array(uri, one_dimension(day, is_set, attribute("hour", Datatype.DATETIME_HR)))
    given = {
        "day": pa.array([-86_400], pa.timestamp("s", zone)),
        "is_set": pa.array([1]),
        "hour": pa.array([7]),
    }
    write_array(uri, pa.table({"x": [1], **given}))
    (row,) = tiledb.open_array(uri).read().to_pylist()
    assert (str(row["day"]), row["is_set"], row["hour"]) == ("1969-12-31", True, 7), "times are UTC"


def test_texts_decimals_and_odd_floats_are_converted(tmp_path):
    uri = str(tmp_path / "a")
    create_array(
        uri,
        one_dimension(
            attribute("of_decimal", Datatype.FLOAT64),
            attribute("of_text", Datatype.BOOL),
            attribute("odd", Datatype.FLOAT32),
        ),
    )
    decimals = pa.array([Decimal("1.5"), Decimal(-2)], pa.decimal128(5, 1))
    odd = pa.array([math.nan, math.inf])
    given = {"of_decimal": decimals, "of_text": ["true", "false"], "odd": odd}
    write_array(uri, pa.table({"x": [1, 2], **given}))
    first, second = tiledb.open_array(uri).read().to_pylist()
    assert (first["of_decimal"], first["of_text"], math.isnan(first["odd"])) == (1.5, True, True)
    assert (second["of_decimal"], second["of_text"], second["odd"]) == (-2.0, False, math.inf)


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view()])
def test_views_of_texts_are_written_in_any_form(tmp_path, kind):
    """So Polars hands its texts on, and its categories. Arrow decodes no dictionary of views."""
    uri, bare = str(tmp_path / "a"), pa.array(["1", "2"]).cast(kind)
    forms = {
        "bare": bare,
        "dictionary": pa.DictionaryArray.from_arrays(pa.array([1, 0]), bare),
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), bare)[1:],
        "lists": pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), bare),
    }
    numbers = [
        attribute(f"{form}_{stored.name}", stored, cell_val_num=VAR_NUM if form == "lists" else 1)
        for form in forms
        for stored in (Datatype.FLOAT64, Datatype.INT8)
    ]
    texts = [attribute(form, Datatype.STRING_UTF8, cell_val_num=VAR_NUM) for form in forms if form != "lists"]
    create_array(uri, one_dimension(*numbers, *texts))
    columns = {each.name: forms[each.name.split("_")[0]] for each in (*numbers, *texts)}
    write_array(uri, pa.table({"x": [1, 2], **columns}))
    (row, _) = tiledb.open_array(uri).read().to_pylist()
    expected = {"bare": 1, "dictionary": 2, "runs": 2, "lists": [1]}
    assert {name: row[name] for name in columns} == {
        name: value if "_" in name else str(value)
        for name in columns
        for value in [expected[name.split("_")[0]]]
    }


def test_a_decimal_is_the_float_of_its_text(tmp_path):
    """Arrow makes the one beside it, and a cell would not replace that of the same number."""
    uri, eight = str(tmp_path / "a"), Decimal("8.54")
    number = dimension("x", Datatype.FLOAT64, (0.0, 10.0), 1.0)
    create_array(uri, ArraySchema((number,), (attribute("v", Datatype.FLOAT64, cell_val_num=2),)))
    write_array(uri, pa.table({"x": [8.54], "v": [[1.0, 1.0]]}))
    write_array(uri, pa.table({"x": pa.array([eight]), "v": pa.array([[eight, eight]])}))
    assert tiledb.open_array(uri).read().to_pylist() == [{"x": 8.54, "v": [8.54, 8.54]}]


def test_bytes_that_are_no_text_are_refused(tmp_path):
    """Arrow takes any bytes for a text; nobody could read the column again."""
    not_utf8 = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xff\xfe")]
    )
    accent = pa.array(["é".encode()], pa.binary(2))
    for number, (kind, width, values, message) in enumerate([
        (Datatype.STRING_UTF8, VAR_NUM, not_utf8, "not UTF-8"),
        (Datatype.GEOM_WKT, VAR_NUM, not_utf8, "not UTF-8"),
        (Datatype.STRING_ASCII, 2, accent, "ASCII"),
        (Datatype.STRING_UTF16, VAR_NUM, pa.array([b"abc"]), "multiple of 2 bytes"),
        (Datatype.STRING_UCS4, VAR_NUM, pa.array([b"abc"]), "multiple of 4 bytes"),
        (Datatype.STRING_UCS2, VAR_NUM, pa.array(["abcd"]), "give bytes in that encoding"),
    ]):  # fmt: skip
        uri = str(tmp_path / str(number))
        create_array(uri, one_dimension(attribute("v", kind, cell_val_num=width)))
        with pytest.raises(InvalidInputError, match=message):
            write_array(uri, pa.table({"x": [1], "v": values}))


def test_wide_text_comes_back_as_bytes(tmp_path):
    uri, texts = str(tmp_path / "a"), ["héllo".encode("utf-16-le"), None, b""]
    wide = attribute("v", Datatype.STRING_UTF16, cell_val_num=VAR_NUM, nullable=True)
    create_array(uri, one_dimension(wide))
    write_array(uri, pa.table({"x": [1, 2, 3], "v": texts}))
    assert tiledb.open_array(uri).read()["v"].to_pylist() == texts


def test_a_list_view_is_refused(tmp_path):
    uri = str(tmp_path / "a")
    create_array(uri, one_dimension(attribute("v", Datatype.INT32, cell_val_num=tiledb.VAR_NUM)))
    views = pa.array([[1, 2]], pa.list_view(pa.int32()))
    with pytest.raises(InvalidInputError, match="list view"):
        write_array(uri, pa.table({"x": [1], "v": views}))


def test_every_type_comes_back(tmp_path):
    n = 40
    columns = {
        f"c{i}": pa.array(range(n)).cast(t)
        for i, t in enumerate([pa.int8(), pa.uint8(), pa.uint64(), pa.float32()])
    }
    columns |= {
        "flag": pa.array([i % 3 == 0 for i in range(n)]),
        "day": pa.array(range(n), pa.int32()).cast(pa.date32()),
        "second": pa.array(range(n), pa.timestamp("s")),
        "nano": pa.array(range(n), pa.timestamp("ns")),
        "span": pa.array(range(n), pa.duration("ms")),
        "bytes": pa.array([bytes([i, 255 - i]) * (i % 3) for i in range(n)]),
        "list": pa.array([list(range(i % 4)) for i in range(n)], pa.list_(pa.int32())),
        "null": pa.array([None if i % 2 else float(i) for i in range(n)]),
    }
    fields = [
        attribute_from_arrow(pa.field(name, c.type, nullable=name == "null")) for name, c in columns.items()
    ]
    fields.append(attribute("pair", Datatype.INT16, cell_val_num=2))
    fields.append(attribute("fixed", Datatype.CHAR, cell_val_num=3))
    columns["pair"] = pa.array([[i, -i] for i in range(n)], pa.list_(pa.int16(), 2))
    columns["fixed"] = pa.array([b"%03d" % i for i in range(n)], pa.binary(3))
    uri, table = str(tmp_path / "a"), pa.table({"x": range(n)} | columns)
    create_array(uri, one_dimension(*fields, capacity=7))
    write_array(uri, table)
    array = tiledb.open_array(uri)
    assert array.read().to_pydict() == table.to_pydict()
    assert tiledb.verify(array).ok
    with oracle.open(uri) as read:
        got = read[:]
    assert got["second"].astype(np.int64).tolist() == list(range(n))
    assert [cell.tolist() for cell in got["list"]] == columns["list"].to_pylist()
    assert got["fixed"].tolist() == columns["fixed"].to_pylist()
    assert got["flag"].tolist() == columns["flag"].to_pylist()


@pytest.mark.parametrize(
    "columns",
    [
        {"x": [1]},
        {"x": [1], "v": [1], "w": [1]},
        {"x": [None], "v": [1]},
        {"x": [1], "v": [None]},
        {"x": [2_000_000], "v": [1]},
        {"x": [1], "v": [2**40]},
        {"x": [1], "v": ["text"]},
        {"x": [], "v": []},
    ],
)
def test_cells_that_do_not_fit_are_refused(tmp_path, columns):
    small_array(str(tmp_path / "a"))
    with pytest.raises(InvalidInputError):
        write_array(str(tmp_path / "a"), pa.table(columns))
    assert not tiledb.open_array(str(tmp_path / "a")).fragments


def test_what_is_no_table_is_refused(tmp_path):
    uri = str(tmp_path / "a")
    small_array(uri)
    with pytest.raises(InvalidInputError, match=r"pyarrow\.Table, not dict"):
        write_array(uri, {"x": [1], "v": [1]})
    with pytest.raises(InvalidInputError, match="'v' is there twice"):
        write_array(uri, pa.table([[1], [1], [1]], names=["x", "v", "v"]))


@pytest.mark.parametrize(
    "kind", [Datatype.DATETIME_DAY, Datatype.DATETIME_MS, Datatype.TIME_NS], ids=lambda k: k.name
)
@pytest.mark.parametrize("count", [2, VAR_NUM])
@pytest.mark.parametrize("nullable", [False, True])
def test_no_times_inside_cells_are_written_as_they_are_read(tmp_path, kind, count, nullable):
    """They are read as null. A null inside a cell of other values is refused."""
    uri = str(tmp_path / "a")
    fields = [
        attribute("v", kind, cell_val_num=count, nullable=nullable),
        attribute("i", Datatype.INT64, cell_val_num=count, nullable=nullable),
    ]
    create_array(uri, one_dimension(*fields))
    cells = pa.array([[1, None], [None, None], [3, 4], None if nullable else [5, 6]], fields[1].arrow_type)
    whole = pa.array([[1, 2], [3, 4], [5, 6], [7, 8]], fields[1].arrow_type)
    inner = pa.int32() if kind is Datatype.DATETIME_DAY else pa.int64()
    listed = pa.list_(inner) if count == VAR_NUM else pa.list_(inner, 2)
    table = pa.table({"x": range(4), "v": cells.cast(listed).cast(fields[0].arrow_type), "i": whole})
    write_array(uri, table)
    assert tiledb.open_array(uri).read()["v"].to_pylist() == table["v"].to_pylist()
    with pytest.raises(InvalidInputError, match="'i' has a null inside a cell"):
        write_array(uri, table.set_column(2, "i", cells))


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([[0, 0], None, [1, 2], None, [3, 4]], pa.list_(pa.int32(), 2)),
        pa.ListArray.from_arrays(
            pa.array([0, 2, 4, 6, 8, 10]),
            pa.array(range(10)),
            mask=pa.array([False, True, False, True, False]),
        ),
    ],
    ids=["fixed", "any"],
)
def test_what_lies_under_null_cells_is_not_written(tmp_path, cells):
    """Also of a part of a column."""
    uri = str(tmp_path / "a")
    create_array(uri, one_dimension(attribute("v", Datatype.INT32, cell_val_num=VAR_NUM, nullable=True)))
    write_array(uri, pa.table({"x": range(4), "v": cells[1:]}))
    assert tiledb.open_array(uri).read()["v"].to_pylist() == cells[1:].to_pylist()
    (tile,) = (tmp_path / "a").rglob("a0_var.tdb")
    assert tile.stat().st_size == 8 + 12 + 4 * 4  # the number of chunks, the sizes of one, and four values
