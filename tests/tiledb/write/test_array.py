"""Writing sparse arrays: libtiledb reads, slices, aggregates, consolidates and vacuums them."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyqbeast import tiledb
from pyqbeast.core.errors import InvalidInputError, UnsupportedError
from pyqbeast.tiledb import (
    VAR_NUM,
    ArraySchema,
    Datatype,
    Layout,
    attribute,
    create_array,
    dimension,
    write_array,
    write_metadata,
)
from pyqbeast.tiledb.filters import (
    BitShuffle,
    ByteShuffle,
    Bzip2,
    Dictionary,
    Gzip,
    Lz4,
    Md5,
    Rle,
    Sha256,
    Zstd,
)
from tests.tiledb.arrays import (
    consolidate,
    evolving,
    mixed_schema,
    mixed_table,
    one_dimension,
    oracle,
    rows,
    same_as_oracle,
    small_array,
)
from tests.tiledb.encrypted import KEY

PIPELINES = {
    "none": ([], []),
    "shuffled zstd": ([ByteShuffle(), Zstd()], [Zstd()]),
    "bits and lz4": ([BitShuffle(), Lz4()], [Lz4()]),
    "gzip with md5": ([Gzip(), Md5()], [Gzip(), Md5()]),
    "bzip2 with sha256": ([Bzip2(), Sha256()], [Bzip2(), Sha256()]),
    "runs": ([Rle()], [Rle()]),
    "metadata through bzip2": ([BitShuffle(), Md5(), Bzip2()], [Dictionary(), Gzip()]),
}
ORDERS = list(itertools.product((Layout.ROW_MAJOR, Layout.COL_MAJOR), repeat=2))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "orders"), [*zip(PIPELINES, itertools.cycle(ORDERS), strict=False)], ids=lambda each: str(each)
)
def test_every_kind_of_column(tmp_path, name, orders):
    """Through every pipeline, and in every order; the one knows nothing of the other."""
    tile_order, cell_order = orders
    uri, table = str(tmp_path / "a"), mixed_table(1000)
    create_array(
        uri, mixed_schema(*PIPELINES[name], capacity=64, tile_order=tile_order, cell_order=cell_order)
    )
    write_array(uri, table, timestamp=10)
    assert same_as_oracle(uri, "x", "y") == rows(table, "x", "y")
    assert tiledb.verify(tiledb.open_array(uri)).ok


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "ends", "extent", "tile_order", "cell_order"),
    [
        *((Datatype.FLOAT64, (0.0, 100.0), 25.0, *orders) for orders in ORDERS),
        (Datatype.FLOAT32, (-100.0, 100.0), 10.0, *ORDERS[0]),
        (Datatype.FLOAT64, (0.0, 1.0), 0.1, *ORDERS[1]),
        (Datatype.FLOAT64, (-1e21, 1e21), 1e20, *ORDERS[2]),
        (Datatype.INT64, (-50, 49), 7, *ORDERS[3]),
        (Datatype.INT64, (-50, 49), 7, *ORDERS[0]),
    ],
)
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


def _corners(*ends):
    """Cells at some coordinates of two dimensions, each once, in no order."""
    x, y = zip(*itertools.product(ends, repeat=2), strict=True)
    mixed = np.random.default_rng(2).permutation(len(x))
    return np.array(x)[mixed], np.array(y)[mixed]


@pytest.mark.parametrize(
    ("domain", "extent"),
    [((-1.0, 1.0), None), ((-1.7e308, 1.7e308), None), ((-1e308, 1e308), 1.0), ((-1.0, 1e30), 1.0)],
)
def test_tiles_that_no_number_counts(tmp_path, domain, extent):
    """Without an extent the last coordinate is a tile of its own; what 64 bits do not count is the first tile."""
    uri = str(tmp_path / "a")
    axes = tuple(dimension(name, Datatype.FLOAT64, domain, extent) for name in "xy")
    create_array(uri, ArraySchema(axes, (attribute("v", Datatype.INT64),), capacity=3))
    x, y = _corners(*domain, 0.0, domain[1] / 2, domain[1] / 4)
    for at in (10, 20):
        write_array(uri, pa.table({"x": x, "y": y, "v": np.full(len(x), at)}), timestamp=at)
    with oracle.open(uri, "w", timestamp=30) as array:
        array[x, y] = np.full(len(x), 30)
    assert tiledb.verify(tiledb.open_array(uri)).problems == []
    assert same_as_oracle(uri, "x", "y", timestamp=20)["v"] == [20] * len(x)
    with evolving(uri) as change:
        change.add_attribute(oracle.Attr("w", dtype=np.int64))
    assert same_as_oracle(uri, "x", "y")["v"] == [30] * len(x)
    create_array(str(tmp_path / "b"), tiledb.open_array(uri).schema)


def test_verify_names_cells_in_another_order(tmp_path, monkeypatch):
    uri = str(tmp_path / "a")
    x = dimension("x", Datatype.FLOAT64, (0.0, 1.0), 0.1)
    create_array(uri, ArraySchema((x,), (attribute("v", Datatype.INT64),)))
    monkeypatch.setattr("pyqbeast.tiledb.write.array.global_order", lambda *_: None)
    write_array(uri, pa.table({"x": [0.5, 0.1], "v": [1, 2]}))
    assert [each.problem for each in tiledb.verify(tiledb.open_array(uri)).problems] == [
        "the cells are not in global order"
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "capacity", "levels"),
    [(1, 10, 1), (100, 10, 2), (1000, 1000, 1), (1130, 10, 4), (2_002, 2, 5)],
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


def test_hilbert_order_is_read_only(golden, tmp_path):
    schema = tiledb.open_array(str(golden("tiledb/sp_hilbert_mixed") / "array")).schema
    create_array(str(tmp_path / "a"), schema)
    with pytest.raises(
        UnsupportedError, match="Hilbert order is not supported; copy the cells into a new array"
    ):
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
    uri = str(tmp_path / "a")
    create_array(uri, mixed_schema([ByteShuffle(), Zstd()], [Zstd()], capacity=64), encryption_key=KEY)
    table = mixed_table(200)
    write_array(uri, table, encryption_key=KEY)
    assert rows(tiledb.open_array(uri, encryption_key=KEY).read(), "x", "y") == rows(table, "x", "y")
    config = {"sm.encryption_type": "AES_256_GCM", "sm.encryption_key": KEY}
    with oracle.open(uri, ctx=oracle.Ctx(config)) as array:
        assert sorted(array[:]["i"]) == sorted(table["i"].to_pylist())
    assert b"w\xc3\xb6rd" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    with pytest.raises(InvalidInputError, match="32 bytes"):
        create_array(str(tmp_path / "b"), mixed_schema(), encryption_key=KEY[:16])


def test_a_key_for_an_array_in_the_clear_is_refused(tmp_path):
    """Who gives a key expects cells that nobody else can read."""
    uri = str(tmp_path / "a")
    small_array(uri)
    for use in (
        lambda: write_array(uri, pa.table({"x": [1], "v": [2]}), encryption_key=KEY),
        lambda: write_metadata(uri, {"k": 1}, encryption_key=KEY),
        lambda: tiledb.open_array(uri, encryption_key=KEY),
    ):
        with pytest.raises(InvalidInputError, match="not encrypted"):
            use()
    array = tiledb.open_array(uri)
    assert (array.fragments, array.metadata) == ([], {})


def test_an_array_is_made_once(tmp_path):
    small_array(str(tmp_path / "a"))
    with pytest.raises(InvalidInputError, match="already"):
        small_array(str(tmp_path / "a"))
