"""Writing sparse arrays: libtiledb reads, slices, aggregates, consolidates and vacuums them."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyqbeast import tiledb
from pyqbeast.core.errors import InvalidInputError, StorageError, UnsupportedError
from pyqbeast.tiledb import (
    VAR_NUM,
    ArraySchema,
    Datatype,
    Layout,
    attribute,
    commit_fragments,
    create_array,
    dimension,
    stage_fragment,
    write_array,
    write_metadata,
)
from pyqbeast.tiledb.filters import (
    BitShuffle,
    BitWidthReduction,
    ByteShuffle,
    Bzip2,
    Delta,
    Dictionary,
    DoubleDelta,
    FloatScale,
    Gzip,
    Lz4,
    Md5,
    PositiveDelta,
    Rle,
    Sha256,
    Xor,
    Zstd,
)
from pyqbeast.tiledb.format.build import attribute_from_arrow
from pyqbeast.tiledb.write.commit import abort_fragments, refuse_duplicates, replace_cells
from tests.tiledb.arrays import (
    consolidate,
    mixed_schema,
    mixed_table,
    one_dimension,
    oracle,
    oracle_table,
    rows,
    same_as_oracle,
)
from tests.tiledb.failing import FailingFileSystem

PIPELINES = {
    "none": ([], []),
    "shuffled zstd": ([ByteShuffle(), Zstd()], [Zstd()]),
    "bits and lz4": ([BitShuffle(), Lz4()], [Lz4()]),
    "gzip with md5": ([Gzip(), Md5()], [Gzip(), Md5()]),
    "bzip2 with sha256": ([Bzip2(), Sha256()], [Bzip2(), Sha256()]),
    "runs": ([Rle()], [Rle()]),
    "metadata through bzip2": ([BitShuffle(), Md5(), Bzip2()], [Dictionary(), Gzip()]),
}
OF_NUMPY = {np.int64: Datatype.INT64, np.int32: Datatype.INT32, np.float32: Datatype.FLOAT32}
ORDERS = list(itertools.product((Layout.ROW_MAJOR, Layout.COL_MAJOR), repeat=2))


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize(("tile_order", "cell_order"), ORDERS)
def test_every_kind_of_column_in_every_order(tmp_path, name, tile_order, cell_order):
    uri, table = str(tmp_path / "a"), mixed_table(1000)
    create_array(
        uri, mixed_schema(*PIPELINES[name], capacity=64, tile_order=tile_order, cell_order=cell_order)
    )
    write_array(uri, table, timestamp=10)
    assert same_as_oracle(uri, "x", "y") == rows(table, "x", "y")
    assert tiledb.verify(tiledb.open_array(uri)).ok


@pytest.mark.parametrize(("tile_order", "cell_order"), ORDERS)
@pytest.mark.parametrize(("kind", "ends", "extent"), [
    (Datatype.FLOAT64, (0.0, 100.0), 25.0), (Datatype.FLOAT32, (-100.0, 100.0), 10.0),
    (Datatype.FLOAT64, (0.0, 1.0), 0.1), (Datatype.FLOAT64, (-1e21, 1e21), 1e20), (Datatype.INT64, (-50, 49), 7),
])  # fmt: skip
def test_tiles_of_space_come_one_after_another(tmp_path, kind, ends, extent, tile_order, cell_order):
    """Libraries that merge fragments lose cells, or bring old ones back, where the order is another."""
    uri, rng = str(tmp_path / "a"), np.random.default_rng(1)
    dimensions = tuple(dimension(name, kind, ends, extent) for name in "xy")
    v = attribute("v", Datatype.INT64)
    create_array(uri, ArraySchema(dimensions, (v,), tile_order=tile_order, cell_order=cell_order, capacity=7))
    pool = [np.unique(rng.uniform(*ends, 300).astype(kind.dtype))[:50] for _ in "xy"]
    expected = {}
    for at in range(3):
        x, y = (each[rng.integers(0, len(each), 60)] for each in pool)
        found = dict.fromkeys(zip(x.tolist(), y.tolist(), strict=True), at)
        expected |= found
        x, y = (np.array(each, kind.dtype) for each in zip(*found, strict=True))
        write_array(uri, pa.table({"x": x, "y": y, "v": np.full(len(x), at)}), timestamp=10 + at)
        assert tiledb.verify(tiledb.open_array(uri)).problems == []
    x, y = zip(*expected, strict=True)
    rows_expected = rows(pa.table({"v": list(expected.values()), "x": x, "y": y}), "x", "y")
    assert rows(tiledb.open_array(uri).read(), "x", "y") == rows_expected
    assert same_as_oracle(uri, "x", "y") == rows_expected
    consolidate(uri)
    assert same_as_oracle(uri, "x", "y") == rows_expected
    assert tiledb.verify(tiledb.open_array(uri)).problems == []


def test_verify_names_cells_in_another_order(tmp_path, monkeypatch):
    uri = str(tmp_path / "a")
    x = dimension("x", Datatype.FLOAT64, (0.0, 1.0), 0.1)
    create_array(uri, ArraySchema((x,), (attribute("v", Datatype.INT64),)))
    monkeypatch.setattr("pyqbeast.tiledb.write.array.global_order", lambda *_: None)
    write_array(uri, pa.table({"x": [0.5, 0.1], "v": [1, 2]}))
    assert [each.problem for each in tiledb.verify(tiledb.open_array(uri)).problems] == [
        "the cells are not in global order"
    ]


@pytest.mark.parametrize(("kind", "ours", "theirs"), [
    (np.int64, [Delta(reinterpret=Datatype.UINT16), Rle()],
     [oracle.DeltaFilter(-1, reinterp_dtype=np.uint16), oracle.RleFilter()]),
    (np.int32, [Delta(reinterpret=Datatype.INT8), Xor(), Rle()],
     [oracle.DeltaFilter(-1, reinterp_dtype=np.int8), oracle.XORFilter(), oracle.RleFilter()]),
    (np.float32, [FloatScale(1.0, 0.0, 2), Rle()], [oracle.FloatScaleFilter(1.0, 0.0, 2), oracle.RleFilter()]),
])  # fmt: skip
def test_runs_are_of_the_columns_own_cells(tmp_path, kind, ours, theirs):
    """Whatever filters before have made of their values."""
    values = (np.arange(500) // 50).astype(kind)
    x = oracle.Dim("x", domain=(0, 999), tile=100, dtype=np.int64)
    v = oracle.Attr("v", dtype=kind, filters=oracle.FilterList(theirs))
    mine, others = str(tmp_path / "mine"), str(tmp_path / "others")
    oracle.Array.create(others, oracle.ArraySchema(oracle.Domain(x), [v], sparse=True))
    with oracle.open(others, "w") as array:
        array[np.arange(500)] = values
    create_array(mine, one_dimension(attribute("v", OF_NUMPY[kind], filters=ours)))
    write_array(mine, pa.table({"x": np.arange(500), "v": values}))
    for uri in (mine, others):
        assert tiledb.open_array(uri).read()["v"].to_numpy().tolist() == values.tolist()
        with oracle.open(uri) as array:
            assert array[:]["v"].tolist() == values.tolist()


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


INTEGER_FILTERS = {
    "double delta": [DoubleDelta()],
    "delta": [Delta()],
    "bit width": [BitWidthReduction()],
    "wide bit width": [BitWidthReduction(1000)],
    "positive delta": [PositiveDelta()],
    "xor": [Xor()],
    "double delta, gzip": [DoubleDelta(), Gzip()],
    "positive delta, bit width, zstd": [PositiveDelta(), BitWidthReduction(), Zstd()],
    "checked on both sides": [BitWidthReduction(), Md5(), Gzip(), Sha256()],
    "delta, runs, lz4": [Delta(), Rle(), Lz4()],
    "windows over bytes": [BitShuffle(), Zstd(), BitWidthReduction()],
}


INTEGERS = [
    Datatype.INT8, Datatype.UINT8, Datatype.INT16, Datatype.UINT16,
    Datatype.INT32, Datatype.UINT32, Datatype.INT64, Datatype.UINT64,
]  # fmt: skip


@pytest.mark.parametrize("kind", INTEGERS)
def test_integer_filters(tmp_path, kind):
    """One array with a column per pipeline and kind of numbers: also in equal steps, and at both ends of the type."""
    rng, n, bounds = np.random.default_rng(3), 300, np.iinfo(kind.dtype)
    ends = [bounds.min, bounds.max, 0, bounds.min + 1, bounds.max - 1, bounds.max // 2, bounds.min // 2]
    numbers = {
        "rising": np.sort(rng.integers(0, 100, n)).astype(kind.dtype),
        "rising far": np.array([bounds.min, *[0] * (n - 2), bounds.max], kind.dtype),
        "least": np.full(n, bounds.min, kind.dtype),
        "greatest": np.full(n, bounds.max, kind.dtype),
        "steps": (np.arange(n) % 100).astype(kind.dtype),
        "ends": np.array([ends[i] for i in rng.integers(0, len(ends), n)], kind.dtype),
        "any": rng.integers(bounds.min, bounds.max, n, dtype=kind.dtype, endpoint=True),
    }
    columns, fields = {"x": np.arange(n)}, []
    for name, filters in INTEGER_FILTERS.items():
        for label, values in numbers.items():
            if not name.startswith("positive") or label in ("rising", "rising far", "least", "greatest"):
                fields.append(attribute(f"{name}, {label}", kind, filters=filters))
                columns[fields[-1].name] = values
    uri = str(tmp_path / "a")
    create_array(uri, one_dimension(*fields))
    write_array(uri, pa.table(columns))
    assert same_as_oracle(uri, "x") == rows(pa.table(columns), "x")


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Datatype.BOOL, [False] * 20 + [True] * 20),
        (Datatype.INT8, list(range(-128, 128))),
        (Datatype.UINT64, [0, 1, 2**63, 2**64 - 1]),
        (Datatype.DATETIME_MS, [-(2**62), 0, 5, 2**62]),
    ],
)
def test_positive_delta_of_libtiledb(tmp_path, kind, values):
    """What it writes is what we read, and the other way round."""
    uri, copy = str(tmp_path / "a"), str(tmp_path / "b")
    column = np.array(values, "M8[ms]" if kind is Datatype.DATETIME_MS else kind.name.lower())
    domain = oracle.Domain(oracle.Dim("x", domain=(0, 999), tile=10, dtype=np.int64))
    field = oracle.Attr("v", dtype=column.dtype, filters=[oracle.PositiveDeltaFilter(64)])
    oracle.Array.create(uri, oracle.ArraySchema(domain, [field], sparse=True))
    with oracle.open(uri, "w") as array:
        array[np.arange(len(values))] = column
    read = tiledb.open_array(uri).read()
    assert read["v"].to_numpy().tolist() == column.tolist()
    create_array(copy, tiledb.open_array(uri).schema)
    write_array(copy, read)
    with oracle.open(copy) as array:
        assert array[:]["v"].tolist() == column.tolist()


@pytest.mark.parametrize("kind", [Datatype.STRING_UTF8, Datatype.BLOB, Datatype.CHAR])
def test_tiles_of_empty_cells(tmp_path, kind):
    """Not one byte to be filtered in a tile: libtiledb fails at what some of its own filters make of that."""
    filters = [Zstd(), Gzip(), Lz4(), Bzip2(), Rle(), Delta(), DoubleDelta(), Xor(), BitShuffle(), Md5()]
    fields = [attribute(step.name, kind, cell_val_num=VAR_NUM, filters=[step]) for step in filters]
    uri, empty = str(tmp_path / "a"), "" if kind is Datatype.STRING_UTF8 else b""
    create_array(uri, one_dimension(*fields, capacity=3))
    table = pa.table({"x": range(7)} | {field.name: [empty] * 7 for field in fields})
    write_array(uri, table)
    assert tiledb.open_array(uri).read().to_pydict() == table.to_pydict()
    with oracle.open(uri) as array:
        assert all(len(cell) == 0 for field in fields for cell in array[:][field.name])


@pytest.mark.parametrize("kind", [Datatype.STRING_ASCII, Datatype.STRING_UTF8])
def test_text_filters(tmp_path, kind):
    """Runs, a mix, only empty texts and only different ones, through the filters that know text."""
    words = ["", "a", "bb", "ccc", "a" * 300] + (["zé"] if kind is Datatype.STRING_UTF8 else [])
    texts = {
        "runs": sorted(words[i % len(words)] for i in range(500)),
        "mix": [words[i * 7 % len(words)] for i in range(500)],
        "empty": [""] * 500,
        "different": [f"k{i:04}" for i in range(500)],
    }
    pipelines = [[], [Zstd()], [Rle()], [Dictionary()], [Rle(), Zstd()], [Dictionary(), Gzip(), Md5()]]
    fields, columns = [], {"x": np.arange(500)}
    for i, (filters, (label, values)) in enumerate(itertools.product(pipelines, texts.items())):
        fields.append(attribute(f"{i} {label}", kind, cell_val_num=VAR_NUM, filters=filters))
        columns[fields[-1].name] = values
    uri = str(tmp_path / "a")
    create_array(uri, one_dimension(*fields))
    write_array(uri, pa.table(columns))
    assert same_as_oracle(uri, "x") == rows(pa.table(columns), "x")


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_scaled_floats_are_those_of_libtiledb(tmp_path, kind, width):
    """To the byte: halves, values that are no multiple of the scale, and the least integer of the width."""
    rng, scale, offset, ends = np.random.default_rng(0), 0.3, 1.7, 2.0 ** (8 * width - 1)
    values = np.concatenate([rng.normal(size=200), np.arange(-20, 20) / 2]) * min(ends, 1e6) / 20
    values = np.append(values * scale + offset, -ends * scale + offset).astype(kind)
    if np.trunc((values[-1] - kind(offset)) / kind(scale)) < -ends:
        values[-1] = kind(-ends / 2 * scale + offset)  # the least integer is no value of these floats
    domain = oracle.Domain(oracle.Dim("x", domain=(0, 999), tile=1000, dtype=np.int64))
    filters = [oracle.FloatScaleFilter(factor=scale, offset=offset, bytewidth=width)]
    schema = oracle.ArraySchema(domain, [oracle.Attr("v", dtype=kind, filters=filters)], sparse=True)
    theirs, ours = str(tmp_path / "a"), str(tmp_path / "b")
    oracle.Array.create(theirs, schema)
    with oracle.open(theirs, "w") as array:
        array[np.arange(values.size)] = values
    create_array(ours, tiledb.open_array(theirs).schema)
    write_array(ours, pa.table({"x": range(values.size), "v": values}))
    assert same_as_oracle(ours, "x") == same_as_oracle(theirs, "x")
    data = [next(Path(uri).glob("__fragments/*/a0.tdb")).read_bytes() for uri in (theirs, ours)]
    assert data[0] == data[1]


def test_scaled_floats_at_their_ends(tmp_path):
    """The least integer fits, one more on either side does not, nor does a NaN; what is under a null is no matter."""
    for width in (1, 2, 4):
        uri, end = str(tmp_path / f"{width}"), 2.0 ** (8 * width - 1)
        field = attribute(
            "v", Datatype.FLOAT64, nullable=True, filters=[FloatScale(1.0, 1e12, width), Zstd()]
        )
        create_array(uri, one_dimension(field))
        for bad in (-end - 1, end, float("nan"), float("inf")):
            with pytest.raises(InvalidInputError, match=f"'v'.*does not fit into {width} bytes"):
                write_array(uri, pa.table({"x": [1], "v": [bad + 1e12]}))
        values = [-end + 1e12, end - 1 + 1e12, None, 1e12]
        write_array(uri, pa.table({"x": range(4), "v": values}))
        assert tiledb.open_array(uri).read()["v"].to_pylist() == values
        with oracle.open(uri) as array:
            assert array[:]["v"].data.tolist()[:2] == values[:2]


@pytest.mark.parametrize(
    ("count", "capacity", "levels"),
    [(1, 10, 1), (100, 10, 2), (1000, 1000, 1), (1130, 10, 4), (10_010, 10, 5)],
)
def test_statistics_and_r_tree_are_what_libtiledb_uses(tmp_path, count, capacity, levels):
    """Aggregates come from our statistics; slices and conditions go through our R-tree."""
    rng, uri = np.random.default_rng(count), str(tmp_path / "a")
    create_array(
        uri,
        one_dimension(
            attribute("v", Datatype.INT32, filters=[Zstd()]),
            attribute("n", Datatype.FLOAT64, nullable=True),
            attribute("s", Datatype.STRING_ASCII, cell_val_num=VAR_NUM),
            capacity=capacity,
        ),
    )
    v, null = rng.integers(-1000, 1000, count).astype(np.int32), rng.random(count) < 0.3
    x = rng.permutation(100_000)[:count]
    table = pa.table(
        {"x": x, "v": v, "n": pa.array(rng.normal(size=count), mask=null), "s": [f"w{i}" for i in v]}
    )
    write_array(uri, table)
    assert same_as_oracle(uri, "x") == rows(table, "x")
    fragment = tiledb.open_array(uri).fragments[0]
    assert len(fragment.rtree.levels) == levels
    info = oracle.array_fragments(uri, include_mbrs=True)
    assert len(info.mbrs[0]) == fragment.tile_count
    assert info.cell_num[0] == count
    low, high = sorted(x)[count // 4], sorted(x)[count // 2]
    with oracle.open(uri) as array:
        found = array.query(attrs=["v", "n"]).agg(
            {"v": ["min", "max", "sum"], "n": ["min", "max", "sum", "null_count"]}
        )[:]
        assert found["v"] == {"min": v.min(), "max": v.max(), "sum": v.sum()}
        assert found["n"]["null_count"] == null.sum()
        if not null.all():
            assert found["n"]["min"] == pc.min(table["n"]).as_py()
            assert found["n"]["max"] == pc.max(table["n"]).as_py()
            assert found["n"]["sum"] == pytest.approx(pc.sum(table["n"]).as_py())
        assert sorted(array[low : high + 1]["x"]) == sorted(x[(x >= low) & (x <= high)])
        assert len(array.query(cond="v > 100 and v < 500")[:]["v"]) == ((v > 100) & (v < 500)).sum()
        assert len(array.query(cond=f"s == 'w{v[0]}'")[:]["v"]) == (v == v[0]).sum()


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


def test_text_dimensions(tmp_path):
    schema = ArraySchema(
        (dimension("k", Datatype.STRING_ASCII, filters=[Rle()]), dimension("x", Datatype.INT32, (0, 100))),
        (attribute("v", Datatype.INT32),),
        capacity=8,
    )
    uri = str(tmp_path / "a")
    create_array(uri, schema)
    keys = ["", "a", "ab", "b", "zz"]
    table = pa.table({"k": [keys[i % 5] for i in range(60)], "x": range(60), "v": range(60)})
    write_array(uri, table)
    assert same_as_oracle(uri, "k", "x") == rows(table, "k", "x")
    found = tiledb.open_array(uri).read(box={"k": ("a", "b"), "x": (10, 30)})
    assert sorted(found["x"].to_pylist()) == [i for i in range(10, 31) if i % 5 in (1, 2, 3)]


def _part(k):
    """Forty cells from 20 k on, so that neighbours overlap."""
    return pa.table({"x": range(20 * k, 20 * k + 40), "v": np.full(40, k, np.int32)})


def _small(uri, timestamp=None, **options):
    schema = one_dimension(attribute("v", Datatype.INT32, filters=[Zstd()]), capacity=16, **options)
    create_array(uri, schema, timestamp=timestamp)


def test_later_writes_win_whoever_writes(tmp_path):
    uri = str(tmp_path / "a")
    _small(uri)
    write_array(uri, _part(0), timestamp=10)
    with oracle.open(uri, "w", timestamp=20) as array:
        array[np.arange(20, 60)] = {"v": np.full(40, 1, np.int32)}
    write_array(uri, _part(2), timestamp=30)
    assert same_as_oracle(uri, "x")["v"] == [0] * 20 + [1] * 20 + [2] * 40
    assert same_as_oracle(uri, "x", timestamp=25)["v"] == [0] * 20 + [1] * 40
    before = same_as_oracle(uri, "x")
    consolidate(uri)
    assert same_as_oracle(uri, "x") == before
    oracle.vacuum(uri)
    array = tiledb.open_array(uri)
    assert len(array.fragments) == 1
    assert array.fragments[0].footer.has_timestamps
    assert same_as_oracle(uri, "x") == before
    assert same_as_oracle(uri, "x", timestamp=15)["v"] == [0] * 40


def test_many_fragments_are_committed_at_once(tmp_path):
    """Before the commit nothing is seen (as after a crash), then everything, by both readers."""
    uri = str(tmp_path / "a")
    _small(uri)
    array = tiledb.open_array(uri)
    names = [stage_fragment(array, _part(3 * k), 10 + k) for k in range(3)]
    assert tiledb.open_array(uri).read().num_rows == oracle_table(uri).num_rows == 0
    lost = stage_fragment(array, _part(20))
    abort_fragments(array.store, [lost])
    commit_fragments(array.store, names)
    assert len(same_as_oracle(uri, "x")["x"]) == 120
    consolidate(uri)
    oracle.vacuum(uri)
    assert len(same_as_oracle(uri, "x")["x"]) == 120


def test_only_staged_fragments_are_taken_back_or_committed(tmp_path):
    """Names of anything else are refused, whatever folder they would lead to; nothing is deleted then."""
    uri = str(tmp_path / "a")
    _small(uri)
    committed = write_array(uri, _part(0), timestamp=10)
    array = tiledb.open_array(uri)
    staged = stage_fragment(array, _part(2))
    for name in (committed, "", ".", "..", f"../{staged}", "a/b", None):
        with pytest.raises(InvalidInputError, match=r"committed|no fragment"):
            abort_fragments(array.store, [staged, name])
    for job in ("../..", "F", "0" * 17):
        with pytest.raises(InvalidInputError, match="a job is up to 16 hexadecimal digits"):
            stage_fragment(array, _part(2), job=job)
    for name in ("", "..", staged[:-1] + "9", None):
        with pytest.raises(InvalidInputError, match="fragment"):
            commit_fragments(array.store, [staged, name])
    with pytest.raises(InvalidInputError, match="not deleted"):
        array.store.delete("")
    assert same_as_oracle(uri, "x")["v"] == [0] * 40
    commit_fragments(array.store, [staged])
    assert same_as_oracle(uri, "x")["v"] == [0] * 40 + [2] * 40


def test_a_write_that_fails_leaves_nothing(tmp_path):
    """At the last file of the fragment, and at the commit: something that is no folder is in the way."""
    uri = str(tmp_path / "a")
    _small(uri)
    (tmp_path / "a" / "__commits").write_text("not a folder")
    with pytest.raises(OSError, match="__commits"):
        write_array(uri, _part(0))
    assert not list((tmp_path / "a" / "__fragments").iterdir())
    memory = f"failing://{tmp_path.name}"
    _small(memory)
    for number in (1, 2, 3, 4):
        FailingFileSystem.arm(number)
        with pytest.raises(StorageError, match=r"TimeoutError: no answer about .*; the array is as it was"):
            write_array(memory, _part(0))
        assert not FailingFileSystem().find(f"{memory}/__fragments")
    FailingFileSystem.arm(4, lands=True)
    write_array(memory, _part(0))
    assert tiledb.open_array(memory).read().num_rows == 40


@pytest.mark.parametrize("timestamp", [-1, 2**64, 1.5, True])
def test_times_that_the_format_lacks_are_refused(tmp_path, timestamp):
    """Readers pass over names that are no names: such cells would never be seen."""
    uri = str(tmp_path / "a")
    _small(uri)
    for write in (
        lambda: write_array(uri, _part(0), timestamp=timestamp),
        lambda: write_metadata(uri, {"k": 1}, timestamp=timestamp),
        lambda: _small(str(tmp_path / "b"), timestamp=timestamp),
    ):
        with pytest.raises(InvalidInputError, match="timestamp"):
            write()


def test_cells_are_replaced_in_one_commit(tmp_path):
    uri = str(tmp_path / "a")
    _small(uri)
    write_array(uri, _part(0), timestamp=10)
    array = tiledb.open_array(uri)
    replace_cells(array, [stage_fragment(array, _part(5), 30)], 29)
    assert same_as_oracle(uri, "x")["v"] == [5] * 40
    assert same_as_oracle(uri, "x", timestamp=20)["v"] == [0] * 40


def test_duplicates_are_refused_or_kept(tmp_path):
    twice = pa.concat_tables([_part(0), _part(1)])
    _small(str(tmp_path / "unique"))
    with pytest.raises(InvalidInputError, match="same coordinates"):
        write_array(str(tmp_path / "unique"), twice)
    _small(str(tmp_path / "all"), allows_duplicates=True)
    write_array(str(tmp_path / "all"), twice)
    assert len(same_as_oracle(str(tmp_path / "all"), "x", "v")["x"]) == 80
    array = tiledb.open_array(str(tmp_path / "unique"))
    names = [stage_fragment(array, _part(k), 10) for k in (0, 1)]
    with pytest.raises(InvalidInputError, match="two tasks"):
        refuse_duplicates(array, names)
    refuse_duplicates(array, [names[0], stage_fragment(array, _part(2), 10)])


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
    _small(str(tmp_path / "a"))
    with pytest.raises(InvalidInputError):
        write_array(str(tmp_path / "a"), pa.table(columns))
    assert not tiledb.open_array(str(tmp_path / "a")).fragments


def test_what_is_no_table_is_refused(tmp_path):
    uri = str(tmp_path / "a")
    _small(uri)
    with pytest.raises(InvalidInputError, match=r"pyarrow\.Table, not dict"):
        write_array(uri, {"x": [1], "v": [1]})
    with pytest.raises(InvalidInputError, match="'v' is there twice"):
        write_array(uri, pa.table([[1], [1], [1]], names=["x", "v", "v"]))


def test_hilbert_order_is_read_only(golden, tmp_path):
    schema = tiledb.open_array(str(golden("tiledb/sp_hilbert_mixed") / "array")).schema
    create_array(str(tmp_path / "a"), schema)
    with pytest.raises(UnsupportedError, match="Hilbert"):
        write_array(str(tmp_path / "a"), pa.table({"s": ["a"], "f": pa.array([0.5], pa.float32()), "a": [1]}))


def test_an_older_array_is_written_in_its_own_version(golden, tmp_path):
    """libtiledb appends to arrays of earlier releases in their version, and so do we."""
    import shutil

    shutil.copytree(golden("tiledb_old/lib2_12") / "st", tmp_path / "a")
    uri = str(tmp_path / "a")
    array = tiledb.open_array(uri)
    before = array.read()
    name = write_array(uri, pa.table({"s": ["zzz"], "v": [0.25]}), timestamp=10**6)
    assert name.endswith(f"_{array.schema.version}")
    assert same_as_oracle(uri, "s")["v"][-1] == 0.25
    assert len(same_as_oracle(uri, "s")["v"]) == before.num_rows + 1


def test_an_encrypted_array(tmp_path):
    uri, key = str(tmp_path / "a"), "0123456789abcdeF0123456789abcdeF"
    create_array(uri, mixed_schema([ByteShuffle(), Zstd()], [Zstd()], capacity=64), encryption_key=key)
    table = mixed_table(200)
    write_array(uri, table, encryption_key=key)
    assert rows(tiledb.open_array(uri, encryption_key=key).read(), "x", "y") == rows(table, "x", "y")
    config = {"sm.encryption_type": "AES_256_GCM", "sm.encryption_key": key}
    with oracle.open(uri, ctx=oracle.Ctx(config)) as array:
        assert sorted(array[:]["i"]) == sorted(table["i"].to_pylist())
    assert b"w\xc3\xb6rd" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    with pytest.raises(InvalidInputError, match="32 bytes"):
        create_array(str(tmp_path / "b"), mixed_schema(), encryption_key=key[:16])


def test_a_key_for_an_array_in_the_clear_is_refused(tmp_path):
    """Who gives a key expects cells that nobody else can read."""
    uri, key = str(tmp_path / "a"), "0123456789abcdeF0123456789abcdeF"
    _small(uri)
    for use in (
        lambda: write_array(uri, pa.table({"x": [1], "v": [2]}), encryption_key=key),
        lambda: write_metadata(uri, {"k": 1}, encryption_key=key),
        lambda: tiledb.open_array(uri, encryption_key=key),
    ):
        with pytest.raises(InvalidInputError, match="not encrypted"):
            use()
    array = tiledb.open_array(uri)
    assert (array.fragments, array.metadata) == ([], {})


def test_metadata(tmp_path):
    uri = str(tmp_path / "a")
    _small(uri)
    values = {"text": "héllo", "bytes": b"\0\xff", "one": 6, "some": (1.5, 2.5), "gone": 1, "large": 2**63}
    write_metadata(uri, values, timestamp=10)
    write_metadata(uri, {"gone": None}, timestamp=20)
    expected = {key: value for key, value in values.items() if key != "gone"}
    assert tiledb.open_array(uri).metadata == expected
    assert tiledb.open_array(uri, 15).metadata == values
    write_metadata(uri, {"bytes": memoryview(b"\0\xff")}, timestamp=30)
    with oracle.open(uri) as array:
        assert {key: array.meta[key] for key in array.meta} == expected
    for wrong in ({}, 2**64, ["a", "b"], object(), [[1, 2], [3]], np.zeros((2, 2))):
        with pytest.raises(InvalidInputError, match="text, bytes, a number"):
            write_metadata(uri, {"k": wrong})
    with pytest.raises(InvalidInputError, match="9223372036854775809 cannot be stored beside"):
        write_metadata(uri, {"k": [2**63 + 1, -1]})
    for text in ({"\ud800": 1}, {"k": "\ud800"}):
        with pytest.raises(InvalidInputError, match="UTF-8"):
            write_metadata(uri, text)
    for other in ({5: 1}, [("k", 1)]):
        with pytest.raises(InvalidInputError, match="key"):
            write_metadata(uri, other)
    assert tiledb.open_array(uri).metadata == expected


def test_arrays_in_the_metadata_of_tiledb_py(tmp_path):
    """It keeps them, and their shapes, under names of its own."""
    uri = str(tmp_path / "a")
    _small(uri)
    kept = {
        "flat": np.array([1.5]),
        "shaped": np.arange(6).reshape(2, 3),
        "none": np.zeros((2, 0)),
        "point": 5,
    }
    with oracle.open(uri, "w", timestamp=10) as array:
        for key, value in (kept | {"other": np.arange(4).reshape(2, 1, 2)}).items():
            array.meta[key] = value
    shown = {
        "flat": (1.5,),
        "shaped": ((0, 1, 2), (3, 4, 5)),
        "none": (),
        "point": 5,
        "other": (((0, 1),), ((2, 3),)),
    }
    assert tiledb.open_array(uri).metadata == shown
    changes = {"shaped": None, "flat": "text", "point": (1, 2)}
    write_metadata(uri, changes, timestamp=20)
    with oracle.open(uri) as array:
        found = {key: array.meta[key] for key in array.meta}
    assert sorted(found) == ["flat", "none", "other", "point"]
    assert (found["flat"], found["point"]) == ("text", (1, 2))
    assert tiledb.open_array(uri).metadata == {
        key: value for key, value in (shown | changes).items() if value is not None
    }


def test_an_array_that_is_vacuumed_while_it_is_listed(tmp_path, monkeypatch):
    """A vacuum takes its own list away last."""
    uri = str(tmp_path / "a")
    _small(uri)
    for k in range(2):
        write_array(uri, _part(k), timestamp=k + 1)
    before = tiledb.open_array(uri).read()
    consolidate(uri)
    read = tiledb.storage.stores.Store.read

    def late(store, path, *span):
        if path.endswith(".vac"):
            monkeypatch.undo()
            oracle.vacuum(uri)
        return read(store, path, *span)

    monkeypatch.setattr(tiledb.storage.stores.Store, "read", late)
    assert tiledb.open_array(uri).read() == before


def test_an_array_is_made_once(tmp_path):
    _small(str(tmp_path / "a"))
    with pytest.raises(InvalidInputError, match="already"):
        _small(str(tmp_path / "a"))
