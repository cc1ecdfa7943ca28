"""Sparse arrays whose current domain was made after cells outside of it: libtiledb shows none of them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyqbeast import tiledb
from pyqbeast.tiledb import ArraySchema, Datatype, attribute, create_array, dimension, write_array
from pyqbeast.tiledb.read.split import read_part, split
from tests.tiledb.arrays import consolidate, evolving, one_dimension, oracle, same_as_oracle

V = attribute("v", Datatype.INT64)


def _use(uri, low, high, timestamp):
    """Has libtiledb set the current domain of an array of one dimension."""
    context = oracle.default_ctx()
    with oracle.open(uri) as array:
        corners = oracle.NDRectangle(context, array.schema.domain)
    corners.set_range(0, low, high)
    current = oracle.CurrentDomain(context)
    current.set_ndrectangle(corners)
    with evolving(uri) as change:
        change.expand_current_domain(current)
        change.timestamp(timestamp)


@pytest.mark.parametrize("duplicates", [False, True])
def test_cells_outside_the_current_domain_are_not_shown(tmp_path, duplicates):
    uri = str(tmp_path / "a")
    create_array(
        uri, one_dimension(V, capacity=2, domain=(-10, 1999), allows_duplicates=duplicates), timestamp=1
    )
    for timestamp, x in ((2, [-8, -3, 2, 8]), (3, [3, 7])):
        write_array(uri, pa.table({"x": x, "v": [10 * timestamp + i for i in x]}), timestamp=timestamp)
    _use(uri, -5, 6, timestamp=4)
    assert same_as_oracle(uri, "x") == {"x": [-3, 2, 3], "v": [17, 22, 33]}
    array = tiledb.open_array(uri)
    assert array.read(["v"])["v"].to_pylist() == [17, 22, 33]
    assert array.read([]).num_rows == 3
    assert array.read(box={"x": (None, 2)})["x"].to_pylist() == [-3, 2]
    assert array.read(where=[("x", ">", 6)]).num_rows == array.read(box={"x": (7, 8)}).num_rows == 0
    request = array.request(["x", "v"], None, None)
    parts = [pa.concat_tables(read_part(array, request, part)) for part in split(array, request)]
    assert pa.concat_tables(parts).sort_by("x").to_pydict() == array.read().to_pydict()
    # The schema of the time counts: at first there is no current domain, and later it grows.
    assert len(same_as_oracle(uri, "x", timestamp=3)["x"]) == 6
    _use(uri, -9, 6, timestamp=5)
    assert same_as_oracle(uri, "x") == {"x": [-8, -3, 2, 3], "v": [12, 17, 22, 33]}
    assert len(same_as_oracle(uri, "x", timestamp=4)["x"]) == 3
    consolidate(uri)
    assert same_as_oracle(uri, "x") == {"x": [-8, -3, 2, 3], "v": [12, 17, 22, 33]}


def test_texts_outside_the_current_domain_are_not_shown(tmp_path):
    uri = str(tmp_path / "a")
    create_array(uri, ArraySchema((dimension("k", Datatype.STRING_ASCII),), (V,)), timestamp=1)
    write_array(uri, pa.table({"k": ["a", "m", "z"], "v": range(3)}), timestamp=2)
    _use(uri, "b", "n", timestamp=3)
    assert tiledb.open_array(uri).read().to_pydict() == {"k": ["m"], "v": [1]}
    with oracle.open(uri) as array:
        assert array[:]["v"].tolist() == [1]


def test_cells_that_lie_inside_cost_nothing(tmp_path):
    """Nothing is compared with a current domain that no fragment leaves."""
    uri = str(tmp_path / "a")
    create_array(uri, one_dimension(V), timestamp=1)
    write_array(uri, pa.table({"x": [0, 5], "v": [1, 2]}), timestamp=2)
    _use(uri, 0, 5, timestamp=3)
    array = tiledb.open_array(uri)
    assert array.schema.current_domain is not None
    assert array.request(None, None, None).box is None
    assert array.read()["v"].to_pylist() == [1, 2]
