"""Pruning: a tile that is skipped holds no row that was asked for."""

from __future__ import annotations

import itertools
import random
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyqbeast import tiledb
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb import VAR_NUM, Datatype, attribute, create_array, write_array
from pyqbeast.tiledb.filters import FloatScale
from pyqbeast.tiledb.read.predicate import Predicate
from pyqbeast.tiledb.read.prune import tiles_matching
from tests.tiledb.arrays import evolving, golden_arrays, one_dimension, oracle, sorted_array

OPERATORS = ["<", "<=", ">", ">=", "==", "!=", "in", "is null", "is not null"]


#: The names of sparse arrays begin with an s.
SPARSE = [name for name in golden_arrays() if re.match(r"tiledb/sp|tiledb_old/.*/s", name)] or ["tiledb/none"]


def _comparable(kind):
    return not (pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


@pytest.mark.slow
@pytest.mark.parametrize("name", SPARSE)
def test_pruned_reads_equal_filtered_full_reads(golden, name):
    """Predicates on columns of every golden array by the operators in turn, alone and in pairs, at two times."""
    uri, rng = golden(name), random.Random(name)
    seen = []
    for timestamp in (None, 10):
        array = tiledb.open_array(uri, timestamp)
        parts = [*(fragment.name for fragment in array.fragments), *array.deletions]
        if parts in seen:
            continue
        seen.append(parts)
        full = array.read()
        columns = [name for name in full.column_names if _comparable(full[name].type)]
        asked = itertools.cycle(rng.sample(columns, len(columns)))
        operators = {name: itertools.cycle(rng.sample(OPERATORS, len(OPERATORS))) for name in columns}
        for number in range(6):
            names = [next(asked) for _ in range(1 + number % 2)]
            where = [_predicate(rng, full, name, next(operators[name])) for name in names]
            expected = full
            for predicate in where:
                keep = Predicate(*predicate).mask(expected[predicate[0]])
                expected = expected.filter(pa.array(keep))
            found = array.read(where=where)
            assert _encoded(found) == _encoded(expected), where


def _predicate(rng, table, column, operator):
    cells = [cell for cell in table[column].to_pylist() if cell is not None] or [0 if column != "s" else ""]
    value = rng.choice(cells)
    if isinstance(value, float) and rng.random() < 0.3:
        value *= 1.001
    if operator == "in":
        value = [value, rng.choice(cells)]
    return (column, operator, None if operator.startswith("is") else value)


def _encoded(table):
    return [str(column.to_pylist()) for column in table.columns]


@pytest.mark.slow
def test_sorted_data_is_read_from_a_tenth_of_its_tiles(tmp_path):
    """All tiles but those of the rows are skipped, by coordinates, numbers, floats and text."""
    table = sorted_array(str(tmp_path / "a"))
    array = tiledb.open_array(str(tmp_path / "a"))
    fragment = array.fragments[0]
    text = table["s"][50_500].as_py()
    for where in (
        [("x", ">=", 3 * 50_000), ("x", "<", 3 * 50_900)],
        [("v", "==", -3 * 50_500)],
        [("f", ">", 75_000.0), ("f", "<=", 76_000.0)],
        [("s", "==", text)],
        [("v", "in", [-3, -6, -9])],
    ):
        kept = tiles_matching(fragment, [Predicate(*w) for w in where], array.schema).sum()
        assert 1 <= kept <= 10, where
        expected = table
        for predicate in where:
            expected = expected.filter(pa.array(Predicate(*predicate).mask(expected[predicate[0]])))
        assert array.read(["x"], where=where)["x"].to_pylist() == expected["x"].to_pylist()


def test_a_skipped_newer_cell_still_hides_the_older_one(tmp_path):
    """The newer cell does not match and its tile could be skipped, but the older one must not show."""
    uri = str(tmp_path / "a")
    create_array(uri, one_dimension(attribute("v", Datatype.INT32), capacity=10))
    x = np.arange(100)
    write_array(uri, pa.table({"x": x, "v": np.zeros(100, np.int32)}), timestamp=10)
    write_array(uri, pa.table({"x": x[40:60], "v": np.ones(20, np.int32)}), timestamp=20)
    array = tiledb.open_array(uri)
    assert array.read(["x"], where=[("v", "==", 0)])["x"].to_pylist() == [*range(40), *range(60, 100)]
    assert array.read(["x"], where=[("v", "==", 0)], box={"x": (35, 45)})["x"].to_pylist() == [*range(35, 40)]
    assert array.read(where=[("v", ">", 5)]).num_rows == 0


@pytest.mark.parametrize(
    ("column", "values", "where"),
    [
        # libtiledb's rule: a NaN before it makes a least value too great.
        (attribute("v", Datatype.FLOAT64), [1.0, np.nan, 5.0, 2.0] * 5, ("v", "==", 1.0)),
        (
            attribute("v", Datatype.FLOAT64, filters=[FloatScale(0.5, 0.0, 4)]),
            [2.2, 7.9] * 10,
            ("v", ">=", 8.0),
        ),
        (
            attribute("v", Datatype.STRING_ASCII, cell_val_num=VAR_NUM),
            ["\0b1", "\0b3"] * 10,
            ("v", "==", "\0b3"),
        ),
        (attribute("v", Datatype.CHAR, cell_val_num=3), [b"\0b1", b"\0b3"] * 10, ("v", "==", b"\0b3")),
        (attribute("v", Datatype.INT32, nullable=True), [None] * 10 + [3] * 10, ("v", "==", 3)),
        (attribute("v", Datatype.UINT64), [2**64 - 1, 0] * 10, ("v", ">", 2**63)),
        (attribute("v", Datatype.INT64), [2**53 + 1, -(2**63)] * 10, ("v", ">=", 2**53 + 1)),
    ],
)
def test_hard_cases_lose_nothing(tmp_path, column, values, where):
    uri = str(tmp_path / "a")
    create_array(uri, one_dimension(column, capacity=4))
    write_array(uri, pa.table({"x": range(20), "v": pa.array(values, column.arrow_type)}))
    array = tiledb.open_array(uri)
    full = array.read()
    expected = full.filter(pa.array(Predicate(*where).mask(full["v"])))
    assert expected.num_rows
    assert array.read(where=[where])["x"].equals(expected["x"])


def test_values_under_former_nulls_are_found(tmp_path):
    """A column that takes no nulls any more shows what is stored under them, which its least values leave out."""
    uri = str(tmp_path / "a")
    x = oracle.Dim("x", domain=(0, 99), tile=10, dtype=np.int64)
    columns = [
        oracle.Attr("n", dtype=np.int64, nullable=True),
        oracle.Attr("t", dtype="ascii", var=True, nullable=True),
        oracle.Attr("a", dtype=np.int64),
    ]
    oracle.Array.create(uri, oracle.ArraySchema(oracle.Domain(x), columns, sparse=True))
    made = tiledb.open_array(uri).folder.schemas[-1].end
    with oracle.open(uri, "w", timestamp=made) as array:
        cells = {"n": pd.array([5, None, 7, None], dtype="Int64"), "a": np.arange(4)}
        array[np.arange(4)] = cells | {"t": pd.array(["m", None, "n", None], dtype="string")}
    changes = [
        lambda change: change.drop_attribute("n") or change.drop_attribute("t"),
        lambda change: (
            change.add_attribute(oracle.Attr("n", dtype=np.int64))
            or change.add_attribute(oracle.Attr("t", dtype="ascii", var=True))
        ),
    ]
    for timestamp, change in enumerate(changes, made + 1):
        with evolving(uri) as evolution:
            change(evolution)
            evolution.timestamp(timestamp)
    array = tiledb.open_array(uri, made + 2)
    for name in ("n", "t"):
        column = array.read()[name]
        assert column.null_count == 0
        for value in set(column.to_pylist()):
            found = array.read(where=[(name, "==", value)]).num_rows
            assert found == column.to_pylist().count(value), (name, value)


def test_box_and_where_agree(tmp_path):
    sorted_array(str(tmp_path / "a"), tiles=10)
    array = tiledb.open_array(str(tmp_path / "a"))
    by_box = array.read(box={"x": (100, 5_000.5)})
    assert by_box.equals(array.read(where=[("x", ">=", 100), ("x", "<=", 5_000.5)]))
    assert pc.min_max(by_box["x"]).as_py() == {"min": 102, "max": 4998}
    assert array.read(box={"x": (None, 5)})["x"].to_pylist() == [0, 3]
    assert array.read(box={"x": (7, 8)}).num_rows == array.read(box={"x": (7.2, 7.8)}).num_rows == 0


@pytest.mark.parametrize(
    "arguments",
    [
        {"columns": ["nope"]},
        {"where": [("nope", "==", 1)]},
        {"where": [("v", "~", 1)]},
        {"where": ["v > 1"]},
        {"where": [("v", "<", "text")]},
        {"where": [("v", "in", 5)]},
        {"box": {"v": (1, 2)}},
        {"box": {"x": 5}},
        {"box": {"x": ("a", "b")}},
        {"order": "random"},
    ],
)
def test_arguments_that_make_no_sense_are_refused(tmp_path, arguments):
    sorted_array(str(tmp_path / "a"), tiles=1)
    with pytest.raises(InvalidInputError):
        tiledb.open_array(str(tmp_path / "a")).read(**arguments)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_a_box_whose_ends_are_turned_is_refused(tmp_path, kind):
    """As libtiledb refuses it: it would be an empty answer to a question that nobody asks."""
    uri = str(tmp_path / "a")
    x = oracle.Dim("x", domain=(0, 99), tile=10, dtype=kind)
    oracle.Array.create(
        uri, oracle.ArraySchema(oracle.Domain(x), [oracle.Attr("v", dtype=np.int32)], sparse=True)
    )
    with oracle.open(uri) as array, pytest.raises(oracle.TileDBError, match="cannot be larger"):
        array.multi_index[10:0]
    for pair in ((10, 0), (kind(10), 9.5)):
        with pytest.raises(InvalidInputError, match="the low end is above the high one"):
            tiledb.open_array(uri).read(box={"x": pair})


def test_rounded_coordinates(tmp_path):
    """A float scale moves cells out of the ranges that were stored for them: what is read decides."""
    uri = str(tmp_path / "a")
    scaled = [oracle.FloatScaleFilter(factor=0.5, offset=0.0, bytewidth=4)]
    x = oracle.Dim("x", domain=(0.0, 1000.0), tile=10.0, dtype=np.float64, filters=scaled)
    schema = oracle.ArraySchema(oracle.Domain(x), [oracle.Attr("v", dtype=np.int32)], sparse=True, capacity=2)
    oracle.Array.create(uri, schema)
    for timestamp, places in ((1, [0.1, 0.37, 0.9, 5.2]), (2, [0.8, 300.2])):
        with oracle.open(uri, "w", timestamp=timestamp) as array:
            array[np.array(places)] = {"v": np.arange(len(places), dtype=np.int32) + 10 * timestamp}
    array = tiledb.open_array(uri)
    whole = array.read().to_pylist()
    assert [(c["x"], c["v"]) for c in whole] == [(0.0, 10), (0.5, 11), (1.0, 20), (5.0, 13), (300.0, 21)]
    for low, high in ((0.0, 0.05), (0.45, 0.55), (0.95, 1.0), (5.0, 300.0)):
        expected = [cell for cell in whole if low <= cell["x"] <= high]
        assert array.read(box={"x": (low, high)}).to_pylist() == expected
        assert array.read(where=[("x", ">=", low), ("x", "<=", high)]).to_pylist() == expected
    assert tiledb.verify(array).ok
