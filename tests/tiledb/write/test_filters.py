"""Every filter on the way into an array: libtiledb reads what comes of it, and some of it is the same to the byte."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pyqbeast import tiledb
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb import (
    VAR_NUM,
    ArraySchema,
    Datatype,
    attribute,
    create_array,
    dimension,
    open_array,
    write_array,
)
from pyqbeast.tiledb.cursor import u32, u64
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
    NoOp,
    PositiveDelta,
    Rle,
    Sha256,
    Xor,
    Zstd,
)
from pyqbeast.tiledb.filters.base import ChunkContext
from pyqbeast.tiledb.filters.pipeline import FilterPipeline
from pyqbeast.tiledb.format.tile import encode_tile
from tests.tiledb.arrays import one_dimension, oracle, rows, same_as_oracle

OF_NUMPY = {np.int64: Datatype.INT64, np.int32: Datatype.INT32, np.float32: Datatype.FLOAT32}


@pytest.mark.parametrize(("kind", "ours", "theirs"), [
    (np.int64, [Delta(reinterpret=Datatype.UINT16), Rle()],
     [oracle.DeltaFilter(-1, reinterp_dtype=np.uint16), oracle.RleFilter()]),
    (np.int32, [Delta(reinterpret=Datatype.INT8), Xor(), Rle()],
     [oracle.DeltaFilter(-1, reinterp_dtype=np.int8), oracle.XORFilter(), oracle.RleFilter()]),
    (np.float32, [FloatScale(1.0, 0.0, 8), Rle()], [oracle.FloatScaleFilter(1.0, 0.0, 8), oracle.RleFilter()]),
    (np.int64, [BitShuffle(), Rle()], [oracle.BitShuffleFilter(), oracle.RleFilter()]),
    (np.int32, [PositiveDelta(16), Rle()], [oracle.PositiveDeltaFilter(16), oracle.RleFilter()]),
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


@pytest.mark.parametrize("count", [1, 7])
def test_runs_of_cells_of_several_values(tmp_path, count):
    """One array with a column per filter and kind of cells. What filters note is a multiple of 2, 4 and 8 bytes."""
    kinds = {(Datatype.INT8, 2): [3, 5], (Datatype.INT32, 2): [3, 5], (Datatype.CHAR, 8): b"abcdefgh"}
    befores = [ByteShuffle(), BitShuffle(), Xor(), Md5(), Sha256(), Delta()]
    fields, columns = [], {"x": range(count)}
    for ((kind, values), cell), before in itertools.product(kinds.items(), befores):
        name = f"{kind.name} {before.name}"
        fields.append(attribute(name, kind, cell_val_num=values, filters=[before, Rle()]))
        columns[name] = pa.array([cell] * count, fields[-1].arrow_type)
    create_array(str(tmp_path), one_dimension(*fields))
    table = pa.table(columns)
    write_array(str(tmp_path), table)
    assert tiledb.open_array(str(tmp_path)).read().to_pydict() == table.to_pydict()
    with oracle.open(str(tmp_path)) as array:
        assert {name: len(cells) for name, cells in array[:].items()} == dict.fromkeys(columns, count)


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


@pytest.mark.slow
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
    pairs = [(first, second) for first in (ByteShuffle(), Xor()) for second in (NoOp(), Md5(), Zstd())]
    fields = [
        attribute("-".join(step.name for step in steps), kind, cell_val_num=VAR_NUM, filters=steps)
        for steps in [[step] for step in filters] + [list(pair) for pair in pairs]
    ]
    uri, empty = str(tmp_path / "a"), "" if kind is Datatype.STRING_UTF8 else b""
    create_array(uri, one_dimension(*fields, capacity=3))
    table = pa.table({"x": range(7)} | {field.name: [empty] * 7 for field in fields})
    write_array(uri, table)
    assert tiledb.open_array(uri).read().to_pydict() == table.to_pydict()
    with oracle.open(uri) as array:
        assert all(len(cell) == 0 for field in fields for cell in array[:][field.name])
    # Some older libraries end the process at a tile without chunks: where it can be, there is an empty one.
    for filters in ((), (Zstd(),), (Lz4(), Md5())):
        context, no_bytes = ChunkContext(kind, VAR_NUM), np.zeros(0, np.uint8)
        tile = encode_tile(no_bytes, FilterPipeline(filters), context, np.zeros(3, np.int64))
        assert tile[:12] == u64(1) + u32(0)


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
    ("compressor", "windows"),
    [("LZ4Filter", [8, 9, 64]), ("RleFilter", [8, 9, 64]), ("ZstdFilter", [8, 9]), ("GzipFilter", [8])],
)
def test_differences_of_compressed_bytes_are_read(tmp_path, compressor, windows):
    """The library keeps the bytes of the last window as they are, if these are no whole values."""
    cells = np.array([2**63 - 3])
    domain = oracle.Domain(oracle.Dim("x", domain=(0, 9), tile=10, dtype=np.int64))
    for window in windows:
        uri = str(tmp_path / f"{window}")
        filters = oracle.FilterList([getattr(oracle, compressor)(), oracle.PositiveDeltaFilter(window)])
        attr = oracle.Attr("v", np.int64, filters=filters)
        oracle.Array.create(uri, oracle.ArraySchema(domain, [attr], sparse=True))
        with oracle.open(uri, "w") as array:
            array[np.arange(1)] = cells
        assert tiledb.open_array(uri).read()["v"].to_pylist() == cells.tolist()


NO_OP = oracle.FilterList([oracle.NoOpFilter()])
#: Dimensions that no filter changes, also not those of coordinates that the schema has.
UNFILTERED = {
    "whole numbers": (oracle.Dim("x", domain=(0, 999), tile=10, dtype=np.int32, filters=NO_OP), pa.int32()),
    "floats": (
        oracle.Dim("x", domain=(0.0, 999.0), tile=10.0, dtype=np.float64, filters=NO_OP),
        pa.float64(),
    ),
    "texts": (oracle.Dim("x", domain=(None, None), dtype="ascii", filters=NO_OP), pa.string()),
}


def _cells(kind, start):
    """50 cells with a text that may be null."""
    numbers = range(start, start + 50)
    x = [f"{i:03}" for i in numbers] if pa.types.is_string(kind) else numbers
    return pa.table({"x": pa.array(x, kind), "s": [None if i % 7 == 0 else f"s{i}" for i in numbers]})


@pytest.mark.parametrize(("axis", "kind"), UNFILTERED.values(), ids=UNFILTERED)
def test_a_dimension_with_the_filter_that_does_nothing(tmp_path, axis, kind):
    """It is stored as it is: filters that do nothing are filters, and those of coordinates do not apply."""
    uri, copy = str(tmp_path / "a"), str(tmp_path / "b")
    field = oracle.Attr("s", dtype="ascii", var=True, nullable=True, filters=NO_OP)
    schema = oracle.ArraySchema(
        oracle.Domain(axis), [field], sparse=True, offsets_filters=NO_OP, validity_filters=NO_OP
    )
    oracle.Array.create(uri, schema)
    x, theirs = _cells(kind, 0)["x"].to_pylist(), [f"t{i}" for i in range(50)]
    with oracle.open(uri, "w", timestamp=1) as array:
        array[np.array(x)] = {"s": pa.array(theirs, pa.large_string())}
    assert open_array(uri).read()["s"].to_pylist() == theirs
    ours = _cells(kind, 100)
    write_array(uri, ours, timestamp=2)
    assert same_as_oracle(uri, "x")["x"] == [*x, *ours["x"].to_pylist()]
    assert tiledb.verify(open_array(uri)).ok
    create_array(copy, open_array(uri).schema)
    assert oracle.ArraySchema.load(copy) == oracle.ArraySchema.load(uri)
    write_array(copy, ours)
    assert same_as_oracle(copy, "x") == rows(ours, "x")


@pytest.mark.parametrize(("datatype", "domain"), [(Datatype.INT32, (0, 999)), (Datatype.STRING_ASCII, None)])
def test_a_new_dimension_with_the_filter_that_does_nothing(tmp_path, datatype, domain):
    axis, field = dimension("x", datatype, domain, filters=[NoOp()]), attribute("v", Datatype.INT64)
    create_array(str(tmp_path), ArraySchema((axis,), (field,)))
    x = pa.array(range(50), pa.int32()) if domain else pa.array([f"{i:02}" for i in range(50)])
    table = pa.table({"x": x, "v": range(50)})
    write_array(str(tmp_path), table)
    assert same_as_oracle(str(tmp_path), "x") == rows(table, "x")
    data = next(tmp_path.glob(f"__fragments/*/{'d0' if domain else 'd0_var'}.tdb")).read_bytes()
    assert (np.arange(50, dtype=np.int32).tobytes() if domain else "".join(x.to_pylist()).encode()) in data


@pytest.mark.parametrize(
    ("kind", "count", "step"),
    [(Datatype.FLOAT64, 1, FloatScale(0.5, 0.0, 4)), (Datatype.INT8, 3, Rle()), (Datatype.INT8, 3, Md5())],
)
def test_what_is_the_first_filter_may_come_after_one_that_does_nothing(tmp_path, kind, count, step):
    column = attribute("v", kind, cell_val_num=count, nullable=True, filters=[NoOp(), step])
    cell = 1.5 if count == 1 else [1, 2, 3]
    table = pa.table({"x": range(9), "v": pa.array([cell] * 8 + [None], column.arrow_type)})
    create_array(str(tmp_path), one_dimension(column))
    write_array(str(tmp_path), table)
    assert open_array(str(tmp_path)).read().to_pydict() == table.to_pydict()
    with oracle.open(str(tmp_path)) as array:
        assert array.attr("v").filters[0] == oracle.NoOpFilter()
        assert np.array(array[:]["v"][:8].tolist()).tolist() == [cell] * 8


@pytest.mark.parametrize("step", [Rle(), Dictionary()])
def test_filters_that_know_text_come_before_one_that_does_nothing(tmp_path, step):
    """As libtiledb has it, which looks for them at the very beginning."""
    with pytest.raises(InvalidInputError, match=f"{step.name} must be the first one"):
        attribute("v", Datatype.STRING_ASCII, cell_val_num=VAR_NUM, filters=[NoOp(), step])
    create_array(
        str(tmp_path),
        one_dimension(attribute("v", Datatype.STRING_ASCII, cell_val_num=VAR_NUM, filters=[step, NoOp()])),
    )
    table = pa.table({"x": range(9), "v": ["a", "a", "b"] * 3})
    write_array(str(tmp_path), table)
    assert same_as_oracle(str(tmp_path), "x") == rows(table, "x")
