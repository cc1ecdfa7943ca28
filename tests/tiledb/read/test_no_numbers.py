"""Coordinates that are no numbers: libtiledb takes a NaN for one, and what it stores about the cells leaves it out.

Its rectangles and domains have NaN for their ends where the NaN comes first, and otherwise tell of other cells alone.
"""

from __future__ import annotations

import numpy as np
import pytest

from pyqbeast import tiledb
from pyqbeast.tiledb.read.fragment_metadata import FragmentMetadata
from pyqbeast.tiledb.read.prune import tiles_in_box
from pyqbeast.tiledb.read.split import read_part, split
from tests.tiledb.arrays import consolidate, oracle


def _array(uri, *writes, capacity=2, width=1e3):
    """One fragment a write, of the coordinates and the values of its cells."""
    x = oracle.Dim("x", domain=(-1e3, 1e3), tile=width, dtype=np.float64)
    value = oracle.Attr("v", dtype=np.int64)
    oracle.Array.create(uri, oracle.ArraySchema(oracle.Domain(x), [value], sparse=True, capacity=capacity))
    for timestamp, (points, values) in enumerate(writes, 1):
        with oracle.open(uri, "w", timestamp=timestamp) as array:
            array[np.array(points)] = {"v": np.array(values)}
    return tiledb.open_array(uri)


@pytest.mark.parametrize("second", [[1.0, 2.0, np.nan, 3.0, 4.0], [np.nan, 4.0, 3.0, 2.0, 1.0]])
def test_cells_are_overwritten_beside_a_coordinate_that_is_no_number(tmp_path, second):
    for number in range(4):
        # libtiledb's domain is sometimes NaN and sometimes not.
        array = _array(str(tmp_path / f"a{number}"), ([1.0, 2.0, 3.0, 4.0], [1] * 4), (second, [2] * 5))
        assert array.read(where=[("v", "==", 1)]).num_rows == 0
        assert array.read(box={"x": (1.0, 4.0)})["v"].to_pylist() == [2] * 4
        assert sorted(x for x in array.read()["x"].to_pylist() if x == x) == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("second", [[60.0, np.nan, 70.0], [60.0, 70.0, np.nan], [2.5, np.nan, 70.0]])
def test_the_newest_of_cells_that_are_no_number(tmp_path, second):
    """Fragments that are apart but for their NaN overwrite that one."""
    array = _array(str(tmp_path), ([1.0, np.nan, 50.0], [1] * 3), (second, [2] * 3), capacity=10, width=10.0)
    with oracle.open(str(tmp_path)) as opened:
        expected = opened[:]["v"].tolist()
    assert array.read()["v"].to_pylist() == expected
    assert sorted(expected) == [1, 1, 2, 2, 2]


def test_an_overwritten_cell_beside_tiles_that_do_not_match(tmp_path):
    """The tile that hides it lies apart as far as its rectangle tells."""
    writes = ([1.0, np.nan], [1, 100]), ([0.5, 2.5, 50.0, np.nan], [3, 4, 5, -1])
    array = _array(str(tmp_path), *writes, width=10.0)
    assert array.read()["v"].to_pylist() == [3, 1, 4, 5, -1]
    assert array.read(where=[("v", ">=", 100)]).num_rows == 0


def test_cells_beyond_the_domain_of_their_fragment(tmp_path):
    """After a tile of NaN libtiledb begins its domain anew, so that it leaves out numbers, too."""
    for number in range(4):
        # It depends on which tile a thread comes to first.
        uri = str(tmp_path / f"a{number}")
        _array(uri, ([1.0, np.nan, 5.0, 7.0], [1] * 4), ([2.0, np.nan, 5.0, 9.0], [2] * 4), width=10.0)
        consolidate(uri)
        array = tiledb.open_array(uri)
        assert array.read(box={"x": (6.0, 10.0)})["v"].to_pylist() == [1, 2]
        assert array.read(box={"x": (0.0, 3.0)})["v"].to_pylist() == [1, 2]


def test_parts_of_a_read_hold_cells_that_are_no_number(tmp_path):
    """They are ranges of the first dimension, in none of which a NaN lies."""
    for number, first in enumerate(([1.0, 2.0, 3.0, 4.0, np.nan, 50.0], [1.0, 2.0, 3.0, 4.0, 50.0, np.nan])):
        writes = (first, range(6)), ([5.0, 6.0, 60.0, 70.0], range(10, 14))
        array = _array(str(tmp_path / f"a{number}"), *writes, width=10.0)
        request = array.request(["x", "v"], None, None)
        found = [
            row
            for part in split(array, request)
            for t in read_part(array, request, part)
            for row in t.to_pylist()
        ]
        assert sorted(row["v"] for row in found) == [*range(6), *range(10, 14)]


@pytest.mark.parametrize("has_tile_sums", [False, True])
def test_coordinates_of_versions_that_lack_sums_are_taken_for_numbers(tmp_path, monkeypatch, has_tile_sums):
    """Version 10 has none, and 11 has those of tiles: what is ordinary is read in part all the same."""
    array = _array(str(tmp_path), ([1.0, 2.0, 3.0, 4.0], [1] * 4), ([5.0, 6.0], [2, 2]))
    monkeypatch.setattr(FragmentMetadata, "statistics", None)
    if not has_tile_sums:
        monkeypatch.setattr(FragmentMetadata, "tile_sums", lambda fragment, column: None)
    assert [len(group) for group in array.groups()] == [1, 1]
    (older, _) = array.fragments
    assert tiles_in_box(older, array.request(None, None, {"x": (3.0, 9.0)}).box).tolist() == [False, True]


def test_tiles_without_numbers_are_told_by_their_sums(tmp_path, monkeypatch):
    """Where the fragment has no sum, and where its sum tells that one of its tiles has a NaN."""
    array = _array(str(tmp_path), ([1.0, 2.0, 3.0, 4.0, 5.0, np.nan], [1] * 6), width=10.0)
    leaves = array.fragments[0].leaves
    assert list(zip(leaves.lows[0], leaves.highs[0], strict=True)) == [(1, 2), (3, 4), (-np.inf, np.inf)]
    monkeypatch.setattr(FragmentMetadata, "statistics", None)
    assert not array.fragments[0].has_numbers_alone(array.schema.dimension_fields[0])
