"""Verify: silent on golden arrays, and it finds what is wrong in broken ones."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pyarrow as pa
import pytest

import tiledb as oracle
from pyqbeast import tiledb
from pyqbeast.tiledb import (
    VAR_NUM,
    ArraySchema,
    Datatype,
    attribute,
    create_array,
    dimension,
    stage_fragment,
    verify,
)
from pyqbeast.tiledb.filters import Md5
from pyqbeast.tiledb.read.fragment import Fragment
from pyqbeast.tiledb.write.commit import commit_fragments
from tests.tiledb.arrays import consolidate, golden_arrays, one_dimension
from tests.tiledb.encrypted import ENCRYPTED, KEY


@pytest.mark.slow
@pytest.mark.parametrize("name", golden_arrays())
def test_golden_arrays_are_in_order(golden, name):
    report = verify(tiledb.open_array(golden(name), encryption_key=KEY if ENCRYPTED in name else None))
    assert report.problems == []


@pytest.fixture
def written(tmp_path):
    uri = str(tmp_path / "a")
    create_array(
        uri,
        one_dimension(
            attribute("v", Datatype.INT32, filters=[Md5()]), attribute("w", Datatype.FLOAT64), capacity=10
        ),
    )
    tiledb.write_array(uri, pa.table({"x": range(35), "v": range(35), "w": np.arange(35.0)}))
    return uri


def _problems(uri):
    report = verify(tiledb.open_array(uri))
    assert report.ok == (not report.problems)
    return [f"{p.file}: {p.problem}" for p in report.problems]


def test_counts(written):
    report = verify(tiledb.open_array(written))
    assert (report.fragments, report.tiles, report.cells, report.ok) == (1, 4, 35, True)
    assert report.to_dict()["bytes"] == report.bytes > 0


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        ("a0.tdb", lambda data: data[:-1] + b"\x77", "checksum"),
        ("a0.tdb", lambda data: data + b"more", "where the footer says"),
        ("a0.tdb", lambda data: data[:-9], "where the footer says"),
        ("a0.tdb", None, "is missing"),
        # Without a checksum a changed cell shows in the statistics, and a changed coordinate in the R-tree.
        ("a1.tdb", lambda data: data[:-1] + b"\x77", "greatest value of tile 3"),
        ("__fragment_metadata.tdb", lambda data: data[:300], "__fragment_metadata.tdb: "),
    ],
)
def test_broken_files(written, tmp_path, name, change, expected):
    file = next((tmp_path / "a").rglob(name))
    if change is None:
        file.unlink()
    else:
        file.write_bytes(change(file.read_bytes()))
    assert any(expected in problem for problem in _problems(written))


def test_coordinates_outside_their_r_tree(written, monkeypatch):
    """A fragment whose tree was built from other cells."""
    from pyqbeast.tiledb.write import array as write

    original = write.leaves_of

    def shifted(tiles, dimensions):
        leaves = original(tiles, dimensions)
        return tiledb.MBRs(tuple(low + 1 for low in leaves.lows), leaves.highs)

    monkeypatch.setattr(write, "leaves_of", shifted)
    array = tiledb.open_array(written)
    name = stage_fragment(array, pa.table({"x": range(100, 120), "v": range(20), "w": np.arange(20.0)}))
    commit_fragments(array.store, [name])
    assert any("R-tree" in problem for problem in _problems(written))


@pytest.mark.parametrize(
    ("kind", "value", "other"),
    [
        (Datatype.STRING_UTF8, b"wxyz", b"w\xffyz"),
        (Datatype.DATETIME_DAY, b"\x07" + bytes(7), bytes(7) + b"\x07"),
    ],
)
def test_what_no_reader_could_show(tmp_path, kind, value, other):
    uri = str(tmp_path / "a")
    count = VAR_NUM if kind.is_text else 1
    create_array(uri, one_dimension(attribute("v", kind, cell_val_num=count)))
    cells = pa.array([value.decode()]) if kind.is_text else pa.array([7], pa.int32()).cast(pa.date32())
    tiledb.write_array(uri, pa.table({"x": [1], "v": cells}))
    file = next((tmp_path / "a").rglob("a0_var.tdb" if kind.is_text else "a0.tdb"))
    assert value in file.read_bytes()
    file.write_bytes(file.read_bytes().replace(value, other))
    with pytest.raises(tiledb.ArrayFormatError) as error:
        tiledb.open_array(uri).read()
    assert any(error.value.problem in problem for problem in _problems(uri))


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ([5, 5], "two cells have the same coordinates"),
        ([5, 2000], "a coordinate of x is not in its domain"),
        ([-1, 5], "a coordinate of x is not in its domain"),
    ],
)
def test_coordinates_that_cannot_be(tmp_path, monkeypatch, cells, problem):
    from pyqbeast.tiledb.write import array as write

    uri = str(tmp_path / "a")
    create_array(uri, one_dimension(attribute("v", Datatype.INT32), domain=(0, 1999)))
    monkeypatch.setattr(write, "global_order", lambda *_: None)
    tiledb.write_array(uri, pa.table({"x": cells, "v": [1, 2]}))
    assert [problem in found for found in _problems(uri)] == [True]


def _count_nulls(monkeypatch, number):
    """Lets each fragment of one tile state so many nulls."""
    counted = Fragment.tile_null_counts
    monkeypatch.setattr(
        Fragment,
        "tile_null_counts",
        lambda self, column: dataclasses.replace(counted(self, column), values=np.array([number], np.uint64)),
    )


@pytest.mark.parametrize("kind", [Datatype.STRING_UTF8, Datatype.STRING_UTF16], ids=lambda kind: kind.name)
def test_nulls_of_texts_of_a_fixed_size_are_not_counted(tmp_path, monkeypatch, kind):
    """The library stores 0 for them."""
    uri = str(tmp_path / "a")
    create_array(uri, one_dimension(attribute("t", kind, nullable=True)))
    cells = [b"a"[: kind.size] * kind.size, None]
    tiledb.write_array(uri, pa.table({"x": [1, 2], "t": pa.array(cells, pa.binary(kind.size))}))
    _count_nulls(monkeypatch, 0)
    assert verify(tiledb.open_array(uri)).ok


@pytest.mark.parametrize(
    ("kind", "count", "dense", "is_trusted"),
    [
        (Datatype.UINT8, 2, True, False),
        (Datatype.UINT8, 1, True, True),
        (Datatype.UINT8, 2, False, True),
        (Datatype.BLOB, 1, True, False),
        (Datatype.GEOM_WKT, 1, True, False),
        (Datatype.BLOB, 1, False, True),
        (Datatype.STRING_ASCII, 2, True, True),
    ],
)
def test_nulls_of_dense_cells_without_bounds_are_not_counted(
    tmp_path, monkeypatch, kind, count, dense, is_trusted
):
    """The library counts 32 of them in a tile of 12 cells that is written in part: of several values, and of bytes."""
    uri = str(tmp_path / "a")
    field = attribute("v", kind, cell_val_num=count, nullable=True)
    axes = dimension("x", Datatype.INT64, (0, 5), 6), dimension("y", Datatype.INT64, (0, 3), 2)
    create_array(uri, ArraySchema(axes, (field,), dense=dense))
    cell = ([1, 2] if count > 1 else 1) if kind is Datatype.UINT8 else b"a" * count
    cells = pa.table({"v": pa.array([cell, None], field.arrow_type)})
    if dense:
        tiledb.write_dense(uri, cells, {"x": (2, 3), "y": (1, 1)})
    else:
        tiledb.write_array(
            uri, cells.append_column("x", pa.array([2, 3])).append_column("y", pa.array([1, 1]))
        )
    assert verify(tiledb.open_array(uri)).ok
    _count_nulls(monkeypatch, 32)
    assert verify(tiledb.open_array(uri)).ok is not is_trusted


def test_a_file_that_belongs_to_no_column(written, tmp_path):
    (next((tmp_path / "a" / "__fragments").iterdir()) / "a9.tdb").write_bytes(b"")
    assert any("a9.tdb belongs to no column" in problem for problem in _problems(written))


@pytest.mark.parametrize(
    ("dtype", "writes"),
    [
        # A consolidated fragment counts the cells around what was written, and a fresh one does not.
        (np.int32, [(1, [1, 2, 3, 4, 5, 6]), (2, [50, 60])]),
        (np.float64, [(1, [1, 2, 3, 4, 5, 6]), (2, [50, 60])]),
        # The least of infinities alone is the largest number.
        (np.float64, [(1, [math.inf, 1, 2, math.inf, math.inf, math.inf]), (2, [-math.inf] * 5)]),
        # Sums leave their range on the way.
        (np.int64, [(0, [2**63 - 1, 5, -(2**62), -(2**62), 2**62, 2**62, 2**62, -(2**62)])]),
        (np.float64, [(0, [1.7e308, 1.7e308, -1.7e308, 1, 1.7e308, 1, 1, 1])]),
    ],
)
def test_arrays_of_the_library_are_in_order(tmp_path, dtype, writes):
    uri = str(tmp_path / "a")
    x = oracle.Dim("x", domain=(0, 9), tile=4, dtype=np.int64)
    schema = oracle.ArraySchema(oracle.Domain(x), [oracle.Attr("a", dtype=dtype)], sparse=False)
    oracle.Array.create(uri, schema)
    for start, values in writes:
        with oracle.open(uri, "w") as array:
            array[start : start + len(values)] = np.array(values, dtype)
        assert _problems(uri) == []
    consolidate(uri)
    oracle.vacuum(uri)
    assert _problems(uri) == []


def test_a_dense_cell_that_statistics_do_not_know(tmp_path):
    uri = str(tmp_path / "a")
    x = oracle.Dim("x", domain=(0, 9), tile=4, dtype=np.int64)
    schema = oracle.ArraySchema(
        oracle.Domain(x), [oracle.Attr("a", dtype=np.int32, filters=oracle.FilterList())], sparse=False
    )
    oracle.Array.create(uri, schema)
    with oracle.open(uri, "w") as array:
        array[1:7] = np.arange(6, dtype=np.int32)
    file = next((tmp_path / "a").rglob("a0.tdb"))
    data = bytearray(file.read_bytes())
    at = data.rindex((4).to_bytes(4, "little"))
    data[at : at + 4] = (77).to_bytes(4, "little")
    file.write_bytes(bytes(data))
    assert any("greatest value of tile 1" in problem for problem in _problems(uri))
