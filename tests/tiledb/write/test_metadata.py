"""Writing the metadata of an array, as libtiledb and tiledb-py read it."""

from __future__ import annotations

import fsspec
import numpy as np
import pytest

from pyqbeast import tiledb
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb import write_metadata
from pyqbeast.tiledb.format.metadata import shown_metadata
from tests.tiledb.arrays import oracle, small_array


def test_metadata(tmp_path):
    uri = str(tmp_path / "a")
    small_array(uri)
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


def test_libtiledb_has_a_folder_for_the_metadata_of_a_new_array(tmp_path):
    """On disks its versions 2.26 and 2.27 make none before they write there; newer ones do."""
    uri = tmp_path / "a"
    small_array(str(uri))
    assert list((uri / "__meta").iterdir()) == []
    with oracle.open(str(uri), "w", timestamp=10) as array:
        array.meta["text"] = "theirs"
    assert tiledb.open_array(str(uri)).metadata == {"text": "theirs"}
    small_array(f"memory://{tmp_path.name}/a")
    assert not fsspec.filesystem("memory").exists(f"/{tmp_path.name}/a/__meta")


def test_arrays_in_the_metadata_of_tiledb_py(tmp_path):
    """It keeps them, and their shapes, under names of its own."""
    uri = str(tmp_path / "a")
    small_array(uri)
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


def test_a_shape_that_no_array_has_is_a_single_row():
    """A file of 5 KB states 100,000 axes, and nothing shows tuples that deep."""
    deepest: object = 5
    for _ in range(64):
        deepest = (deepest,)
    for axes, shown in ((64, deepest), (65, (5,)), (100_000, (5,))):
        assert shown_metadata({"__np_flat_x": 5, "__np_shape_x": (1,) * axes}) == {"x": shown}
