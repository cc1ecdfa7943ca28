"""Opened arrays: time, deletes, evolution, enumerations, and what they say of themselves."""

from __future__ import annotations

import datetime as dt
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyqbeast import tiledb
from pyqbeast.core.errors import QbeastError, UnsupportedError
from pyqbeast.tiledb import (
    ArraySchema,
    Datatype,
    attribute,
    create_array,
    dimension,
    write_array,
    write_dense,
)
from tests.tiledb.arrays import consolidate, evolving, one_dimension, oracle, same_as_oracle


@pytest.fixture
def golden_array(golden):
    return lambda case, timestamp=None: tiledb.open_array(str(golden(f"tiledb/{case}") / "array"), timestamp)


def test_what_an_array_says_of_itself(golden_array):
    array = golden_array("sp_multifrag")
    assert [f.name.start for f in array.fragments] == sorted(f.name.start for f in array.fragments)
    assert array.schema.fields.keys() == {"x", "y", "a", "s"}
    assert array.arrow_schema.names == ["x", "y", "a", "s"]
    assert array.non_empty_domain.ranges[0].low <= array.non_empty_domain.ranges[0].high
    assert "sparse" in repr(array)
    assert golden_array("sp_empty").non_empty_domain is None
    assert golden_array("sp_empty").read().num_rows == 0


@pytest.mark.parametrize("name", ["sp_multifrag", "de_2d_row_row"])
def test_no_columns_are_counted(golden, name):
    array = tiledb.open_array(golden(f"tiledb/{name}") / "array")
    rows = array.read([])
    assert (rows.num_columns, rows.num_rows) == (0, array.read().num_rows)
    name = array.schema.dimensions[0].name
    where = [(name, "==", array.read([name])[name][0].as_py())]
    assert 0 < array.read([], where=where).num_rows == array.read(where=where).num_rows < rows.num_rows


def test_a_span_of_time(golden_array):
    """Only what was written inside it counts, even of a fragment that lies partly inside."""
    assert golden_array("sp_multifrag", (15, 35)).read().num_rows == 62
    whole, part = golden_array("sp_consolidated_vac"), golden_array("sp_consolidated_vac", 10)
    assert len(part.fragments) == 1
    assert part.read().num_rows < whole.read().num_rows


def test_deletes_also_hit_null_cells(golden):
    """libtiledb keeps what satisfies the negated condition, and a null satisfies nothing."""
    table = tiledb.open_array(str(golden("tiledb_quirks/eq_delete_null_rows"))).read()
    assert table["x"].to_pylist() == [0, 4]


def test_a_delete_of_nulls_is_read(golden):
    """libtiledb cannot read this array any more; the three cells that are left can be read here."""
    assert tiledb.open_array(str(golden("tiledb_quirks/null_delete"))).read()["n"].to_pylist() == [1, 2, 3]


@pytest.mark.parametrize("sparse", [True, False])
def test_a_day_that_is_no_time_is_null(tmp_path, sparse):
    """Dense arrays are full of them: no other value is what nobody wrote."""
    domain = oracle.Domain(oracle.Dim("x", domain=(0, 3), tile=2, dtype=np.int64))
    attributes = [oracle.Attr("d", dtype="datetime64[D]")]
    oracle.Array.create(str(tmp_path), oracle.ArraySchema(domain, attributes, sparse=sparse))
    days = np.array(["2020-01-01", "NaT"], "datetime64[D]")
    with oracle.open(str(tmp_path), "w") as array:
        array[np.arange(2) if sparse else slice(0, 2)] = days
    found = tiledb.open_array(str(tmp_path)).read()["d"].to_pylist()
    assert found == [dt.date(2020, 1, 1), None, *([] if sparse else [None, None])]
    where = [("d", ">", dt.date(2000, 1, 1))]
    assert tiledb.open_array(str(tmp_path)).read(where=where).num_rows == 1


@pytest.mark.parametrize("kind", [k for k in Datatype if pa.types.is_temporal(k.arrow())])
def test_what_is_no_time_is_null(tmp_path, kind):
    """In all units that Arrow has. It can be written back."""
    uri, columns = str(tmp_path / "a"), (attribute("t", kind), attribute("n", kind, nullable=True))
    schema = ArraySchema((dimension("x", Datatype.INT64, (0, 3), 2),), columns, dense=True)
    create_array(uri, schema)
    one = (
        pa.array([7], pa.int64()).view(kind.arrow()) if kind.arrow() != pa.date32() else [dt.date(1970, 1, 8)]
    )
    write_dense(uri, pa.table({"t": one, "n": one}), {"x": (1, 1)}, timestamp=1)
    array = tiledb.open_array(uri)
    found = array.read(["t", "n"])
    assert [column.is_valid().to_pylist() for column in found] == [[False, True, False, False]] * 2
    assert array.arrow_schema.field("t").nullable
    assert array.read(["x"], where=[("t", "is null")])["x"].to_pylist() == [0, 2, 3]
    assert array.read(["x"], where=[("t", "<=", 7)])["x"].to_pylist() == [1]
    write_dense(uri, found, timestamp=2)
    assert tiledb.open_array(uri).read(["t", "n"]) == found
    with oracle.open(uri) as opened:
        assert np.isnat(opened[:]["t"]).tolist() == [True, False, True, True]


@pytest.mark.parametrize(
    "condition",
    [
        "v > 5",
        "v == 3 or x < 2",
        "v != 4 and x >= 3",
        "v in [1, 2, 8]",
        "v not in [1, 2, 8]",
        "s == 'k3'",
        "s == ''",
    ],
)
def test_delete_conditions(tmp_path, condition):
    uri = str(tmp_path / "a")
    text = attribute("s", Datatype.STRING_ASCII, cell_val_num=tiledb.VAR_NUM)
    create_array(uri, one_dimension(attribute("v", Datatype.INT32), text, capacity=4))
    texts = [f"k{i}" if i else "" for i in range(12)]
    cells = pa.table({"x": range(12), "v": np.arange(12, dtype=np.int32), "s": texts})
    write_array(uri, cells, timestamp=10)
    with oracle.open(uri, "d", timestamp=20) as array:
        array.query(cond=condition).submit()
    write_array(uri, cells.slice(3, 3), timestamp=30)
    after = same_as_oracle(uri, "x")
    assert 0 < len(after["x"]) <= 12
    assert same_as_oracle(uri, "x", timestamp=15)["x"] == list(range(12))
    consolidate(uri)
    oracle.vacuum(uri)
    assert same_as_oracle(uri, "x") == after
    assert len(same_as_oracle(uri, "x", timestamp=25)["x"]) < 12


@pytest.mark.parametrize("condition", ["n == 5", "n != 5", "n > 9 and x < 3", "n > 9 or v < 0"])
def test_a_delete_by_a_column_that_a_fragment_lacks_takes_all_its_cells(tmp_path, condition):
    """They would be gone after a consolidation, which drops what libtiledb does not show."""
    uri = str(tmp_path / "a")
    create_array(uri, one_dimension(attribute("v", Datatype.INT32)), timestamp=10)
    write_array(uri, pa.table({"x": [1, 2], "v": pa.array([1, 2], pa.int32())}), timestamp=20)
    with evolving(uri) as change:
        change.timestamp(30)
        change.add_attribute(oracle.Attr("n", dtype=np.int32))
    write_array(uri, pa.table({"x": [3, 4], "v": [3, 4], "n": [5, 6]}), timestamp=40)
    with oracle.open(uri, "d", timestamp=50) as array:
        array.query(cond=condition).submit()
    after = same_as_oracle(uri, "x")
    assert not {1, 2} & set(after["x"])
    assert same_as_oracle(uri, "x", timestamp=40)["x"] == [1, 2, 3, 4]
    consolidate(uri)
    assert same_as_oracle(uri, "x") == after


def test_deletes_of_enumerated_values(tmp_path):
    uri = str(tmp_path / "a")
    colours = oracle.Enumeration("colours", False, ["red", "green", "blue"])
    domain = oracle.Domain(oracle.Dim("x", domain=(0, 100), tile=10, dtype=np.int32))
    attr = oracle.Attr("c", dtype=np.int8, enum_label="colours")
    oracle.Array.create(uri, oracle.ArraySchema(domain=domain, attrs=[attr], sparse=True, enums=(colours,)))
    with oracle.open(uri, "w", timestamp=10) as array:
        array[np.arange(9)] = {"c": np.arange(9, dtype=np.int8) % 3}
    with oracle.open(uri, "d", timestamp=20) as array:
        array.query(cond="c in ['red', 'green']").submit()
    array = tiledb.open_array(uri)
    assert array.read()["x"].to_pylist() == [2, 5, 8]
    assert array.enumerations["colours"].values.to_pylist() == ["red", "green", "blue"]
    assert array.schema.fields["c"].enumeration == "colours"


def test_consolidated_commits_and_deletes(tmp_path):
    """A consolidated commits file holds the conditions themselves; the single files are gone after a vacuum."""
    uri = str(tmp_path / "a")
    create_array(uri, one_dimension(attribute("v", Datatype.INT32), capacity=4))
    for k in range(3):
        write_array(
            uri, pa.table({"x": range(10 * k, 10 * k + 10), "v": np.full(10, k, np.int32)}), timestamp=10 + k
        )
    with oracle.open(uri, "d", timestamp=20) as array:
        array.query(cond="v == 1").submit()
    before = same_as_oracle(uri, "x")
    consolidate(uri, "commits")
    assert same_as_oracle(uri, "x") == before
    oracle.vacuum(uri, config=oracle.Config({"sm.vacuum.mode": "commits"}))
    assert [p.suffix for p in (tmp_path / "a" / "__commits").iterdir()] == [".con"]
    assert same_as_oracle(uri, "x") == before
    # What a consolidated commit lists and was vacuumed since is named in an ignore file.
    consolidate(uri)
    oracle.vacuum(uri)
    assert same_as_oracle(uri, "x") == before


def test_attributes_come_and_go(tmp_path):
    uri = str(tmp_path / "a")
    create_array(
        uri, one_dimension(attribute("a", Datatype.INT32), attribute("b", Datatype.INT32)), timestamp=1
    )
    write_array(uri, pa.table({"x": [1, 2], "a": [1, 2], "b": [3, 4]}), timestamp=10)
    with evolving(uri) as change:
        change.add_attribute(oracle.Attr("c", dtype=np.float64, nullable=True))
        change.drop_attribute("b")
        change.timestamp(20)
    write_array(uri, pa.table({"x": [3], "a": [5], "c": [0.5]}), timestamp=30)
    assert tiledb.open_array(uri).read().to_pydict() == {
        "x": [1, 2, 3],
        "a": [1, 2, 5],
        "c": [None, None, 0.5],
    }
    assert tiledb.open_array(uri, 15).read().column_names == ["x", "a", "b"]


@pytest.mark.parametrize(
    ("kind", "domain", "made_by_us"),
    [
        (Datatype.INT64, (0, 99), True),
        (Datatype.INT64, (-(2**63) + 1, 2**63 - 2), True),
        (Datatype.INT64, (-(2**63) + 1, 2**63 - 2), False),
        (Datatype.INT8, (-128, 126), False),
        (Datatype.UINT16, (0, 2**16 - 2), False),
        (Datatype.FLOAT32, (0.1, 99.3), True),
        (Datatype.FLOAT64, (-1e308, 1.7e308), True),
        (Datatype.FLOAT64, (5.0, 5.0), False),
        (Datatype.DATETIME_DAY, (-(2**63) + 1, 2**63 - 2), True),
    ],
)
def test_a_dimension_without_tiles_when_the_schema_changes(tmp_path, kind, domain, made_by_us):
    """libtiledb stores the span of the domain then, as a number without a sign."""
    uri, copy = str(tmp_path / "a"), str(tmp_path / "b")
    if made_by_us:
        create_array(uri, ArraySchema((dimension("x", kind, domain),), (attribute("v", Datatype.INT32),)))
    else:
        x = oracle.Domain(oracle.Dim("x", domain=domain, tile=None, dtype=kind.dtype))
        oracle.Array.create(uri, oracle.ArraySchema(x, [oracle.Attr("v", dtype=np.int32)], sparse=True))
    cells = pa.table({"x": np.array([5, 5 + (domain[1] > 5)][: 1 + (domain[1] > 5)], kind.dtype)})
    if kind is Datatype.DATETIME_DAY:
        cells = pa.table({"x": cells["x"].cast(pa.int32()).cast(pa.date32())})
    cells = cells.append_column("v", pa.array(range(cells.num_rows), pa.int32()))
    write_array(uri, cells, timestamp=1)
    with evolving(uri) as change:
        change.add_attribute(oracle.Attr("w", dtype=np.int64))
    for column in ("x", "v"):
        assert tiledb.open_array(uri).read()[column].to_pylist() == cells[column].to_pylist()
    write_array(uri, cells.append_column("w", pa.array([7] * cells.num_rows)))
    array = tiledb.open_array(uri)
    assert array.read()["w"].to_pylist() == [7] * cells.num_rows
    assert tiledb.verify(array).ok
    create_array(copy, array.schema)
    assert tiledb.open_array(copy).schema.dimensions == array.schema.dimensions
    for place in (uri, copy):
        with oracle.open(place) as opened:
            assert opened[:]["v"].size == (cells.num_rows if place == uri else 0)


@pytest.mark.parametrize("sparse", [True, False])
def test_an_attribute_of_another_type_than_it_was_written_with(tmp_path, sparse):
    uri = str(tmp_path / "a")
    domain = oracle.Domain(oracle.Dim("x", domain=(0, 3), tile=2, dtype=np.int64))
    attributes = [oracle.Attr("a", dtype=np.int64), oracle.Attr("b", dtype=np.int64)]
    oracle.Array.create(uri, oracle.ArraySchema(domain, attributes, sparse=sparse))
    with oracle.open(uri, "w") as array:
        array[np.arange(4) if sparse else slice(0, 4)] = {"a": np.arange(4), "b": np.arange(4)}
    for change in (
        lambda evolution: evolution.drop_attribute("b"),
        lambda evolution: evolution.add_attribute(oracle.Attr("b", dtype="datetime64[ns]")),
    ):
        with evolving(uri) as evolution:
            change(evolution)
    with pytest.raises(UnsupportedError, match="'b' has changed its type"):
        tiledb.open_array(uri).read()
    assert tiledb.open_array(uri).read(["a"])["a"].to_pylist() == [0, 1, 2, 3]


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("kind", [np.int32, str])
def test_an_attribute_that_takes_no_nulls_any_more(tmp_path, sparse, kind):
    """It shows what is stored under those that it has had."""
    uri, v = str(tmp_path / "a"), {"dtype": kind, "var": kind is str}
    domain = oracle.Domain(oracle.Dim("x", domain=(0, 1), tile=2, dtype=np.int64))
    attributes = [oracle.Attr("k", dtype=np.int32), oracle.Attr("v", nullable=True, **v)]
    oracle.Array.create(uri, oracle.ArraySchema(domain, attributes, sparse=sparse))
    cells = pa.table({"k": pa.array([1, 2], pa.int32()), "v": [7, None] if kind is np.int32 else ["7", None]})
    if sparse:
        write_array(uri, cells.append_column("x", pa.array([0, 1])))
    else:
        write_dense(uri, cells)
    for change in (
        lambda evolution: evolution.drop_attribute("v"),
        lambda evolution: evolution.add_attribute(oracle.Attr("v", **v)),
    ):
        with evolving(uri) as evolution:
            change(evolution)
    found = tiledb.open_array(uri).read(["v"])
    assert not found.schema.field("v").nullable
    assert found["v"].to_pylist() == ([7, 0] if kind is np.int32 else ["7", ""])
    with oracle.open(uri) as array:
        assert array.query(attrs=["v"])[:]["v"].tolist() == found["v"].to_pylist()


@pytest.mark.parametrize("name", ["sp_multifrag", "sp_empty", "de_2d_row_row"])
def test_a_column_that_is_asked_for_twice(golden, name):
    array = tiledb.open_array(golden(f"tiledb/{name}") / "array")
    names = [*array.schema.fields]
    for order in ("row-major", "unordered"):
        once = array.read(names, order=order)
        twice = array.read([*names, *names], order=order)
        assert twice.column_names == [*names, *names]
        for at, column in enumerate(names):
            assert twice.column(at) == twice.column(at + len(names)) == once[column]


def test_the_two_zeros_are_two_places(tmp_path):
    uri = str(tmp_path / "a")
    schema = ArraySchema(
        (dimension("x", Datatype.FLOAT64, (-1.0, 1.0), 1.0),), (attribute("a", Datatype.INT32),)
    )
    create_array(uri, schema)
    for at, x in enumerate((-0.0, 0.0, 0.0, 0.5, -0.5), 1):
        write_array(uri, pa.table({"x": [x], "a": [at]}), timestamp=at)
    assert tiledb.open_array(uri).read()["a"].to_pylist() == [5, 1, 3, 4]
    with oracle.open(uri) as array:
        # The library leaves the order of the two places open.
        assert sorted(array[:]["a"].tolist()) == [1, 3, 4, 5]


def test_the_two_zeros_are_one_in_the_order_of_cells(tmp_path):
    """The library takes cells of an order of its own for doubled, and so does `verify`."""
    uri = str(tmp_path / "a")
    x, y = (dimension(name, Datatype.FLOAT64, (-1.0, 1.0)) for name in "xy")
    create_array(uri, ArraySchema((x, y), (attribute("a", Datatype.INT32),)))
    write_array(uri, pa.table({"x": [-0.0, 0.0, -0.0], "y": [0.5, 0.1, 0.1], "a": [1, 2, 3]}))
    array = tiledb.open_array(uri)
    assert array.read()["a"].to_pylist() == [3, 2, 1]
    assert tiledb.verify(array).ok
    with oracle.open(uri) as theirs:
        assert sorted(theirs.query(order="C")[:]["a"].tolist()) == [1, 2, 3]


def test_texts_that_end_in_nul(tmp_path):
    """NumPy takes the NULs off the end of a text that it compares with."""
    uri = str(tmp_path / "a")
    schema = ArraySchema(
        (dimension("s", Datatype.STRING_ASCII),), (attribute("v", Datatype.INT64),), capacity=1
    )
    create_array(uri, schema)
    write_array(uri, pa.table({"s": ["a", "a\0", "b"], "v": [1, 2, 3]}), timestamp=1)
    write_array(uri, pa.table({"s": ["a\0", "c"], "v": [20, 30]}), timestamp=2)
    array = tiledb.open_array(uri)

    def values(**conditions):
        return array.read(["v"], **conditions)["v"].to_pylist()

    assert values(where=[("s", "==", "a\0")]) == values(where=[("s", "in", ["a\0"])]) == [20]
    assert values(where=[("s", "<=", "a\0")]) == values(box={"s": (None, "a\0")}) == [1, 20]
    assert values(where=[("v", "<", 10)]) == [1, 3], "the cell was overwritten"


def test_text_that_is_no_utf8_is_an_error(tmp_path):
    """Arrow text is UTF-8; bytes that are not would crash readers later."""
    uri = str(tmp_path / "a")
    text = attribute("s", Datatype.STRING_UTF8, cell_val_num=tiledb.VAR_NUM)
    create_array(uri, one_dimension(text))
    write_array(uri, pa.table({"x": [1], "s": ["é"]}))
    file = next((tmp_path / "a").rglob("a0_var.tdb"))
    file.write_bytes(file.read_bytes().replace("é".encode(), b"\xff\xff"))
    with pytest.raises(QbeastError, match=r"s: .*UTF-8"):
        tiledb.open_array(uri).read()


def test_unordered_reads_hold_the_same_rows(golden_array):
    array = golden_array("sp_order_col_col")
    ordered, any_order = array.read(), array.read(order="unordered")
    key = [("x", "ascending"), ("y", "ascending")]
    assert any_order.sort_by(key).equals(ordered.sort_by(key))
    assert ordered.equals(ordered.sort_by(key))


@pytest.mark.slow
@pytest.mark.parametrize("duplicates", [False, True])
@pytest.mark.parametrize("cell_order", ["row-major", "hilbert"])
def test_every_window_at_every_stage(tmp_path, duplicates, cell_order):
    """Overlapping writes, then partly consolidated, then deleted from, then vacuumed: at each stage and for
    each span of time the cells are those of libtiledb, and a pruned read is the filtered full one."""
    uri, rng = str(tmp_path / "a"), np.random.default_rng(5)
    domain = oracle.Domain(
        oracle.Dim("x", domain=(0, 999), tile=50, dtype=np.int64),
        oracle.Dim("y", domain=(-50.0, 50.0), tile=10.0, dtype=np.float64),
    )
    attributes = [oracle.Attr("v", dtype=np.float32), oracle.Attr("k", dtype=np.int16, nullable=True)]
    options = {"capacity": 37, "cell_order": cell_order, "allows_duplicates": duplicates}
    oracle.Array.create(uri, oracle.ArraySchema(domain=domain, attrs=attributes, sparse=True, **options))
    for k in range(1, 5):
        cells = rng.choice(1000, 300, replace=False)
        values = {
            "v": rng.normal(size=300).astype(np.float32),
            "k": rng.integers(-9, 9, 300).astype(np.int16),
        }
        with oracle.open(uri, "w", timestamp=10 * k) as array:
            array[(cells % 100) * 10, (cells // 100) * 2.0 - 40] = values
    for stage in ("written", "consolidated", "deleted", "vacuumed"):
        if stage == "deleted":
            with oracle.open(uri, "d", timestamp=60) as array:
                array.query(cond="k > 5").submit()
        elif stage != "written":
            consolidate(uri)
        if stage == "vacuumed":
            oracle.vacuum(uri)
        for window in (None, 25, (15, 40), (15, 60)):
            same_as_oracle(uri, "x", "y", "v", timestamp=window)
        array = tiledb.open_array(uri)
        low = (pc.field("k") < 0) & (pc.field("x") >= 100) & (pc.field("x") <= 600) & (pc.field("y") <= 20)
        found = array.read(where=[("k", "<", 0)], box={"x": (100, 600), "y": (None, 20)})
        assert found.equals(array.read().filter(low))


def test_arrays_before_version_10_are_refused(tmp_path):
    (tmp_path / "__array_schema.tdb").write_bytes(b"\x04\x00\x00\x00")
    with pytest.raises(UnsupportedError, match="before 10"):
        tiledb.open_array(str(tmp_path))


def test_what_an_array_hands_out_is_not_its_own(tmp_path):
    """Whoever changes a list or a dict of it changes neither what it reads nor what it says next."""
    uri = str(tmp_path / "a")
    create_array(
        uri,
        ArraySchema((dimension("x", Datatype.INT32, (0, 3), 2),), (attribute("a", Datatype.INT32),), True),
    )
    for value in (1, 2):
        write_dense(uri, pa.table({"a": np.full(4, value, np.int32)}), {"x": (0, 3)}, timestamp=value)
    array, other = tiledb.open_array(uri), tiledb.open_array(uri)
    array.fragments.reverse()
    array.fragments.pop()
    array.metadata["k"] = 1
    array.enumerations["e"] = None
    assert [each.name for each in array.fragments] == [each.name for each in other.fragments]
    assert (array.metadata, array.enumerations) == (other.metadata, other.enumerations)
    for fields in (array.schema.fields, array.fragments[0].fields):
        with pytest.raises(AttributeError):
            fields.pop(next(iter(fields)))
    assert array.read() == other.read()
    for each in (array.schema, array.fragments[0]):
        assert pickle.loads(pickle.dumps(each)).fields == each.fields
