"""Dense arrays: boxes written by us are what libtiledb reads, overlays, aggregates and consolidates."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

from pyqbeast import tiledb
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb import (
    VAR_NUM,
    ArraySchema,
    Datatype,
    Layout,
    attribute,
    create_array,
    dimension,
    write_dense,
)
from pyqbeast.tiledb.filters import ByteShuffle, FloatScale, Zstd
from tests.tiledb.arrays import consolidate, oracle

ORDERS = list(itertools.product((Layout.ROW_MAJOR, Layout.COL_MAJOR), repeat=2))


def _schema(tile_order=Layout.ROW_MAJOR, cell_order=Layout.ROW_MAJOR):
    return ArraySchema(
        (dimension("i", Datatype.INT32, (1, 10), 4), dimension("j", Datatype.INT32, (-3, 12), 5)),
        (
            attribute("a", Datatype.INT32, filters=[ByteShuffle(), Zstd()], fill=np.int32(-5).tobytes()),
            attribute("f", Datatype.FLOAT64, nullable=True),
            attribute("s", Datatype.STRING_UTF8, cell_val_num=VAR_NUM, filters=[Zstd()]),
        ),
        dense=True,
        tile_order=tile_order,
        cell_order=cell_order,
    )


def _cells(count, seed=0):
    r = np.random.default_rng(seed)
    columns = {
        "a": r.integers(0, 100, count).astype(np.int32),
        "s": [f"ü{i}" * (i % 3) for i in range(count)],
    }
    return pa.table(columns | {"f": pa.array(r.normal(size=count), mask=r.random(count) < 0.3)})


def _same(uri, timestamp=None):
    ours = tiledb.open_array(uri, timestamp).read(["i", "j", "a", "f", "s"])
    with oracle.open(uri, timestamp=timestamp) as array:
        theirs = array.query(coords=True, return_arrow=True).df[1:10, -3:12]
    # Text that nobody wrote is one NUL to libtiledb's Arrow readers, and nothing to its NumPy ones and to us.
    assert ours.to_pydict() == {
        name: ["" if cell == "\0" else cell for cell in theirs[name].to_pylist()]
        for name in ours.column_names
    }
    return ours


@pytest.mark.parametrize(("tile_order", "cell_order"), ORDERS)
def test_boxes_over_each_other(tmp_path, tile_order, cell_order):
    uri = str(tmp_path / "a")
    create_array(uri, _schema(tile_order, cell_order))
    write_dense(uri, _cells(54), {"i": (2, 7), "j": (0, 8)}, timestamp=10)
    assert _same(uri)["a"].to_pylist().count(-5) == 160 - 54
    assert tiledb.verify(tiledb.open_array(uri)).ok
    with oracle.open(uri) as array:
        found = array.query(attrs=["a"]).agg({"a": ["min", "max", "sum"]})[2:8, 0:9]
    a = _cells(54)["a"].to_numpy()
    assert found == {"min": a.min(), "max": a.max(), "sum": a.sum()}
    write_dense(uri, _cells(160, 1), timestamp=20)
    write_dense(uri, _cells(9, 2), {"i": (5, 5), "j": (4, 12)}, timestamp=30)
    last = _same(uri)
    assert _same(uri, 10)["a"].to_pylist().count(-5) == 160 - 54
    consolidate(uri)
    oracle.vacuum(uri)
    assert _same(uri).equals(last)


def test_conditions_on_dimensions_narrow_the_box(tmp_path):
    uri = str(tmp_path / "a")
    create_array(uri, _schema())
    write_dense(uri, _cells(160))
    array = tiledb.open_array(uri)
    table = array.read(where=[("i", ">=", 3), ("j", "<", 2), ("a", ">", 50)], box={"i": (2, 5)})
    full = array.read().to_pylist()
    assert table.to_pylist() == [r for r in full if 3 <= r["i"] <= 5 and r["j"] < 2 and r["a"] > 50]
    assert array.read(box={"i": (20, 30)}).num_rows == 0


def test_only_tiles_that_show_are_read(tmp_path):
    """A fragment that is overwritten in full is not even opened."""
    uri = str(tmp_path / "a")
    create_array(uri, _schema())
    write_dense(uri, _cells(160), timestamp=10)
    write_dense(uri, _cells(160, 1), timestamp=20)
    for path in (tmp_path / "a" / "__fragments").glob("__10_*/a*.tdb"):
        path.unlink()
    assert tiledb.open_array(uri).read(["a"])["a"].to_pylist() == _cells(160, 1)["a"].to_pylist()


def test_boxes_that_do_not_fit_are_refused(tmp_path):
    uri = str(tmp_path / "a")
    create_array(uri, _schema())
    for table, box in (
        (_cells(10), None),
        (_cells(4), {"i": (9, 12), "j": (0, 0)}),
        (_cells(4), {"k": (1, 2)}),
    ):
        with pytest.raises(InvalidInputError):
            write_dense(uri, table, box)
    with pytest.raises(InvalidInputError, match="write_dense"):
        tiledb.write_array(uri, _cells(10))


@pytest.mark.parametrize(
    "dimensions",
    [
        (dimension("i", Datatype.INT32, (1, 10), 4), dimension("j", Datatype.INT64, (1, 10), 4)),
        (dimension("i", Datatype.INT32, (1, 10)),),
        (dimension("i", Datatype.FLOAT64, (0.0, 1.0), 0.5),),
    ],
)
def test_dimensions_that_dense_arrays_cannot_have(dimensions):
    with pytest.raises(InvalidInputError, match="dense"):
        ArraySchema(dimensions, (attribute("v", Datatype.INT8),), dense=True)


@pytest.mark.parametrize("nullable", [False, True])
def test_scaled_floats_in_tiles_that_are_not_full(tmp_path, nullable):
    """The fill value, no number, does not go through the filter; it is nobody's cell."""
    uri = str(tmp_path / "a")
    schema = ArraySchema(
        (dimension("i", Datatype.INT32, (0, 19), 8),),
        (attribute("v", Datatype.FLOAT32, nullable=nullable, filters=[FloatScale(0.5, 100.0, 1)]),),
        dense=True,
    )
    create_array(uri, schema)
    write_dense(uri, pa.table({"v": np.arange(5, dtype=np.float32) + 100}), {"i": (6, 10)})
    cells = tiledb.open_array(uri).read(box={"i": (5, 11)})["v"].to_pylist()
    assert cells[1:6] == [100.0, 101.0, 102.0, 103.0, 104.0]
    with oracle.open(uri) as array:
        read = array[6:11]["v"]
        assert (read.data if nullable else read).tolist() == cells[1:6]
