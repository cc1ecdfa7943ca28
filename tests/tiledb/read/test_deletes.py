"""Delete conditions mean what libtiledb shows of an array after them."""

from __future__ import annotations

import numpy as np
import pytest

from pyqbeast import tiledb
from tests.tiledb.arrays import consolidate, evolving, oracle


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "cells", "conditions"),
    [
        (1, [b"A", b"B", b"\xc3", b"\xff", b"\x01", b"a"], ["a < 'A'", "a > 'A'", "a <= 'Ã'", "a == 'AB'"]),
        (
            2,
            [b"AA", b"AB", b"BA", b"A", b"\xc3A", b"\xc3\xff", b"\x01A"],
            ["a < 'AB'", "a <= 'AB'", "a > 'AB'", "a >= 'BA'", "a == 'AB'", "a != 'A'", "a < 'Ã'"],
        ),
        (2, [b"AA", b"AB", b"BA", b"\xc3A"], ["a in ['AB', 'BA']", "a not in ['AB', 'BA']"]),
    ],
)
@pytest.mark.parametrize("nullable", [False, True])
def test_deletes_compare_the_first_character(tmp_path, width, cells, conditions, nullable):
    """With a sign, of a fixed number of them. `in` takes whole cells, and so does all of `where`."""
    domain = oracle.Domain(oracle.Dim("x", domain=(0, 99), tile=10, dtype=np.int64))
    attr = oracle.Attr("a", dtype=f"S{width}", nullable=nullable)
    for i, condition in enumerate(conditions):
        uri = str(tmp_path / f"{i}")
        oracle.Array.create(uri, oracle.ArraySchema(domain, [attr], sparse=True))
        with oracle.open(uri, "w", timestamp=10) as array:
            array[np.arange(len(cells))] = np.array(cells, f"S{width}")
        with oracle.open(uri, "d", timestamp=20) as array:
            array.query(cond=condition).submit()
        found = tiledb.open_array(uri).read(["x"])["x"].to_pylist()
        with oracle.open(uri) as array:
            assert found == array.query(attrs=[])[:]["x"].tolist(), condition
        consolidate(uri)
        oracle.vacuum(uri)
        assert tiledb.open_array(uri).read(["x"])["x"].to_pylist() == found
        whole = cells.index(b"B" if width == 1 else b"AB")
        where = [("a", "==", cells[whole])]
        assert tiledb.open_array(uri, 15).read(["x"], where=where)["x"].to_pylist() == [whole]


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        ("e in ['blue']", [0, 1, 2]),
        ("e not in ['blue']", []),
        ("e in ['blue'] or e == 'red'", [1]),
        ("e in ['blue', 'red']", [1]),
    ],
)
def test_deletes_of_values_that_the_enumeration_lacks(tmp_path, condition, shown):
    """The condition is stored without them. libtiledb itself refuses one without any value from then on."""
    uri = str(tmp_path / "a")
    domain = oracle.Domain(oracle.Dim("x", domain=(0, 9), tile=10, dtype=np.int64))
    attrs, enums = (
        [oracle.Attr("e", np.int8, enum_label="E")],
        [oracle.Enumeration("E", False, ["red", "green"])],
    )
    oracle.Array.create(uri, oracle.ArraySchema(domain, attrs, enums=enums, sparse=True))
    with oracle.open(uri, "w") as array:
        array[np.arange(3)] = {"e": np.array([0, 1, 0], np.int8)}
    with oracle.open(uri, "d") as array:
        array.query(cond=condition).submit()
    assert tiledb.open_array(uri).read(["x"])["x"].to_pylist() == shown


@pytest.mark.parametrize(
    "condition",
    [
        "n < 5",
        "n < 5 and v < 4",
        "v < 4 and n < 5",
        "v < 4 and n < 5 and x > 2",
        "n < 5 or v < 4",
        "x > 6 and (v < 4 or n != 5)",
        "(n in [5] and v < 4) or x > 6",
        "(x > 6 or n < 5) and (v < 4 or n < 5)",
    ],
)
def test_deletes_by_a_column_that_a_fragment_lacks(tmp_path, condition):
    """Of alternatives, the library forgets those that it has judged before it meets such a column."""
    uri = str(tmp_path / "a")
    domain = oracle.Domain(oracle.Dim("x", domain=(0, 99), tile=10, dtype=np.int64))
    oracle.Array.create(uri, oracle.ArraySchema(domain, [oracle.Attr("v", dtype=np.int64)], sparse=True))
    with oracle.open(uri, "w") as array:
        array[np.arange(10)] = np.arange(10)
    with evolving(uri) as change:
        change.add_attribute(oracle.Attr("n", dtype=np.int64))
    with oracle.open(uri, "d") as array:
        array.query(cond=condition).submit()
    with oracle.open(uri) as array:
        expected = array.query(attrs=[])[:]["x"].tolist()
    assert tiledb.open_array(uri).read(["x"])["x"].to_pylist() == expected
