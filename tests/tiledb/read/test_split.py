"""Parts of a read: each cell once, no more cells in one than were promised, and no end of parts."""

from __future__ import annotations

from math import prod

import numpy as np
import pyarrow as pa
import pytest

from pyqbeast import tiledb
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb import (
    ArraySchema,
    Datatype,
    attribute,
    create_array,
    dimension,
    write_array,
    write_dense,
)
from pyqbeast.tiledb.read import split as splitting
from pyqbeast.tiledb.read.split import read_part, split


def _dense(uri, *dimensions):
    create_array(uri, ArraySchema(dimensions, (attribute("v", Datatype.INT32),), dense=True))
    return tiledb.open_array(uri)


def _wide(uri, names="xy"):
    return _dense(uri, *(dimension(name, Datatype.INT64, (0, 99_999), 1000) for name in names))


@pytest.mark.parametrize("names", ["x", "xy", "xyz"])
def test_a_part_of_a_dense_array_is_a_few_tiles(tmp_path, names):
    array = _wide(str(tmp_path), names)
    box = {name: (500, 99_999 if len(names) < 3 else 9_999) for name in names}
    parts = [part.box for part in split(array, array.request(None, None, box))]
    # A tile is the least that is read.
    assert max(prod(part.shape) for part in parts) <= max(splitting._CELLS, 1000 ** len(names))
    assert sum(prod(part.shape) for part in parts) == prod(high - low + 1 for low, high in box.values())
    assert len(parts) >= splitting._FEWEST


@pytest.mark.parametrize("cells", [1, 20, 60, 200, 10**6])
@pytest.mark.parametrize("box", [None, {"i": (2, 9)}, {"j": (0, 0)}, {"i": (3, 3), "j": (-1, 11)}])
def test_parts_of_a_dense_array_hold_each_cell_once(tmp_path, monkeypatch, cells, box):
    monkeypatch.setattr(splitting, "_CELLS", cells)
    i, j = dimension("i", Datatype.INT32, (1, 10), 4), dimension("j", Datatype.INT32, (-3, 12), 5)
    array = _dense(str(tmp_path), i, j)
    write_dense(array.uri, pa.table({"v": np.arange(160, dtype=np.int32)}))
    array = tiledb.open_array(array.uri)
    request = array.request(None, None, box)
    parts = split(array, request)
    found = pa.concat_tables(table for part in parts for table in read_part(array, request, part))
    whole = array.read(box=box)
    assert found.sort_by([("i", "ascending"), ("j", "ascending")]).to_pydict() == whole.to_pydict()
    assert all(prod(part.box.shape) <= max(cells, 20) for part in parts)


@pytest.mark.parametrize("size", [2**40, 2**50, 2**61, 2**63])
def test_a_box_of_absurd_size(tmp_path, size):
    array = _dense(str(tmp_path), dimension("x", Datatype.UINT64, (0, 2**63), 1000))
    with pytest.raises(InvalidInputError, match=f"the {size + 1} cells of the box .* smaller"):
        split(array, array.request(None, None, {"x": (0, size)}))
    if size > 2**40:
        # A machine may believe that it has eight terabytes.
        with pytest.raises(InvalidInputError, match=f"the {size + 1} cells of the box .* in smaller boxes"):
            array.read(box={"x": (0, size)})


@pytest.mark.parametrize("first", [Datatype.STRING_ASCII, Datatype.INT8, Datatype.UINT64, Datatype.FLOAT32])
@pytest.mark.parametrize("ends", [None, (3, 90)])
def test_fragments_that_overlap_are_divided_along_their_first_dimension(tmp_path, first, ends):
    """Numbers and texts alike: also empty texts, those that others begin with, and the greatest numbers of a type."""
    uri = str(tmp_path)
    kind = pa.string() if first is Datatype.STRING_ASCII else pa.from_numpy_dtype(first.dtype)
    if first is Datatype.STRING_ASCII:
        keys = sorted(["", "\0", "a", "a\0", "a\0\0", "a\0b", *(f"k{i:03}" for i in range(94))])
        k = dimension("k", first)
    else:
        most = np.finfo(first.dtype).max if first.is_float else np.iinfo(first.dtype).max - 1
        keys = [*(first.dtype.type(i).item() for i in range(99)), first.dtype.type(most).item()]
        k = dimension("k", first, (keys[0], keys[-1]))
    x = dimension("x", Datatype.INT64, (0, 9), 1)
    create_array(uri, ArraySchema((k, x), (attribute("v", Datatype.INT64),), capacity=4))
    for timestamp, part in enumerate((keys, keys[::2], keys[20:60]), 1):
        rows = {"k": pa.array(part, kind), "x": [1] * len(part), "v": [timestamp] * len(part)}
        write_array(uri, pa.table(rows), timestamp=timestamp)
    array = tiledb.open_array(uri)
    box = None if ends is None else {"k": (keys[ends[0]], keys[ends[1]])}
    request = array.request(None, None, box)
    parts = split(array, request)
    assert len(parts) == splitting._FEWEST
    found = [pa.concat_tables(read_part(array, request, part)) for part in parts]
    assert max(table.num_rows for table in found) < 50
    order = [("k", "ascending"), ("x", "ascending")]
    assert pa.concat_tables(found).sort_by(order).to_pydict() == array.read(box=box).to_pydict()
