"""Scans as datasets, which DuckDB queries by name: conditions and columns are pushed into files."""

from __future__ import annotations

import datetime as dt
import json
import math

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pyqbeast
from pyqbeast.core.errors import StorageError
from pyqbeast.delta import DeletionVector
from pyqbeast.scanning import dataset as of_dataset
from pyqbeast.scanning.conditions import file_tests
from tests.deletion_vectors.tables import PROTOCOL, commit
from tests.scanning.tables import by_weight, fields_of, indexed_add, indexed_table, metadata

ROWS = pa.table(
    {
        "id": pa.array(range(1_000)),
        "x": pa.array([None if n % 7 == 0 else math.nan if n % 11 == 0 else n / 4 for n in range(1_000)]),
        "s": pa.array([f"n{n:03}" for n in range(1_000)]),
        "day": pa.array(np.arange(1_000), pa.int32()).cast(pa.date32()),
    }
)


@pytest.fixture
def table(tmp_path):
    """Four files of ascending ids, in row groups of 50."""
    parts = [ROWS.slice(start, 250) for start in range(0, 1_000, 250)]
    return indexed_table(tmp_path / "table", *parts, row_group_size=50)


def test_files_are_judged_once_a_scan(tmp_path, monkeypatch):
    judged = []
    kept = file_tests._kept

    def noted(condition, guarantees, schema):
        judged.append(len(guarantees))
        return kept(condition, guarantees, schema)

    scan = pyqbeast.scan(by_weight(tmp_path / "table", ROWS, files=4)).sample(0.6)
    scan = scan.where(pc.field("id") + 1 > 500)
    monkeypatch.setattr(file_tests, "_kept", noted)
    rows = scan.to_arrow()
    assert 200 < rows.num_rows < 400
    assert scan.explain().count("opened: ") == sum(file.skipped is None for file in scan.files()) == 3
    same(scan.to_dataset().to_table(), rows)
    assert judged == [4]


def in_order(rows):
    return rows.sort_by("id").to_pylist()


def same(mine, right):
    assert list(map(repr, in_order(mine))) == list(map(repr, in_order(right)))


@pytest.mark.parametrize(
    "condition",
    [
        "id > 900",
        "x > 200",
        "x <= 3",
        "s = 'n007'",
        "day >= DATE '1972-09-20'",
        "x IS NULL",
        "id % 7 = 3",
        "NOT x < 5",
    ],
)
def test_duckdb_gives_the_rows_of_a_condition(table, condition):
    connection = duckdb.connect()
    relation = pyqbeast.scan(table).to_duckdb(connection)
    found = relation.filter(condition).select("id", "x").to_arrow_table()
    connection.register("truth", ROWS)
    same(found, connection.sql(f"SELECT id, x FROM truth WHERE {condition}").to_arrow_table())
    assert found.num_rows


def test_duckdb_finds_a_dataset_by_its_name(table):
    flights = pyqbeast.scan(table).to_dataset()
    assert duckdb.sql("SELECT sum(id) FROM flights WHERE id > 990").fetchall() == [(sum(range(991, 1_000)),)]
    del flights


def test_files_and_row_groups_are_left_out(table):
    dataset = pyqbeast.scan(table).to_dataset()
    assert len(list(dataset.get_fragments())) == 4
    left = list(dataset.get_fragments(filter=pc.field("id") > 900))
    assert [fragment.path.rpartition("/")[2] for fragment in left] == ["part-3.parquet"]
    assert left[0].subset(pc.field("id") > 900).row_groups[0].id == 3
    # A scan that would open other files fails: they are gone.
    for number in range(3):
        (table / f"part-{number}.parquet").unlink()
    total = duckdb.from_arrow(dataset).filter("id > 900").aggregate("sum(id)").fetchall()
    assert total == [(sum(range(901, 1_000)),)]
    with pytest.raises(StorageError, match="missing"):
        pyqbeast.scan(table).to_dataset()


def test_samples_conditions_and_columns(tmp_path):
    scan = pyqbeast.scan(by_weight(tmp_path / "table", ROWS, files=10)).sample(0.25)
    # The sample takes two files whole, and a part of a third.
    same(scan.to_dataset().to_table(), scan.to_arrow())
    narrowed = scan.where("x > 100 OR s < 'n050'").select(["id", "day"])
    assert narrowed.to_arrow().num_rows
    connection = duckdb.connect()
    relation = narrowed.to_duckdb(connection)
    assert relation.columns == ["id", "day"]
    same(relation.to_arrow_table(), narrowed.to_arrow())
    same(relation.filter("id > 500").to_arrow_table(), narrowed.where("id > 500").to_arrow())
    same(scan.where("id < 0").to_dataset().to_table(), scan.where("id < 0").to_arrow())


def test_files_that_hold_something_else_are_read_first(tmp_path):
    first = pa.table({"id": [1, 2, 3], "x": [1.5, 2.5, 3.5], "s": ["a", "b", "c"]})
    deleted = indexed_add(tmp_path / "deleted.parquet", first, vector=DeletionVector([1]).to_inline())
    other_case = pa.table({"ID": [4], "x": [4.5], "s": ["d"]})
    narrow = pa.table({"id": pa.array([5], pa.int32()), "x": pa.array([5.5], pa.float32()), "s": ["e"]})
    fewer = pa.table({"id": [6]})
    good = pa.table({"id": [7], "x": [7.5], "s": ["g"]})
    parts = {"other_case": other_case, "narrow": narrow, "fewer": fewer, "good": good}
    adds = [deleted, *(indexed_add(tmp_path / f"{name}.parquet", part) for name, part in parts.items())]
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(first.schema)), *adds)
    scan = pyqbeast.scan(tmp_path)
    rows = scan.to_dataset().to_table()
    assert [row["id"] for row in in_order(rows)] == [1, 3, 4, 5, 6, 7]
    same(rows, scan.to_arrow())


def test_statistics_that_may_be_of_another_column_tell_nothing(tmp_path):
    """A name that is left over from a mapping: Delta's statistics go by it, and it may be another column's."""
    rows = pa.table({"id": [1, 2], "x": [1.5, 2.5], "gone": pa.nulls(2, pa.float64())})
    entry = indexed_add(tmp_path / "a.parquet", rows)
    left_over = {"id": "id", "x": "gone", "gone": "x"}
    statistics = json.loads(entry["add"]["stats"])
    of_delta = {
        part: {left_over[name]: value for name, value in statistics[part].items()}
        for part in ("minValues", "maxValues", "nullCount")
    }
    entry["add"]["stats"] = json.dumps(statistics | of_delta)
    fields = fields_of(rows.schema)
    for field in fields:
        field["metadata"] = {"delta.columnMapping.physicalName": left_over[field["name"]]}
    commit(tmp_path, 0, PROTOCOL, metadata(fields), entry)
    scan = pyqbeast.scan(tmp_path)
    assert scan.to_dataset().to_table() == rows
    assert scan.where("x > 2").to_dataset().to_table()["id"].to_pylist() == [2]
    connection = duckdb.connect()
    assert scan.to_duckdb(connection).filter("x > 2").fetchall() == [(2, 2.5, None)]


def test_times_that_are_stored_in_an_old_way(tmp_path):
    when = dt.datetime(2020, 5, 17, 12, tzinfo=dt.timezone.utc)
    rows = pa.table({"id": [1], "at": pa.array([when], pa.timestamp("us", "UTC"))})
    scan = pyqbeast.scan(indexed_table(tmp_path, rows, use_deprecated_int96_timestamps=True))
    assert scan.to_dataset().to_table() == rows


def test_a_filter_gives_no_nan_that_bounds_leave_out(tmp_path):
    """delta-rs tells of 1 and 5 here, and gives its files no tags."""
    rows = pa.table(
        {"id": [1, 2, 3], "x": [1.0, math.nan, 5.0], "f": pa.array([1, math.nan, 5], pa.float32())}
    )
    entry = indexed_add(tmp_path / "a.parquet", rows)
    del entry["add"]["tags"]
    statistics = json.loads(entry["add"]["stats"])
    for name in ("x", "f"):
        statistics["minValues"][name], statistics["maxValues"][name] = 1, 5
    entry["add"]["stats"] = json.dumps(statistics)
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(rows.schema)), entry)
    scan = pyqbeast.scan(tmp_path)
    for name in ("x", "f"):
        assert scan.to_dataset().to_table(filter=pc.field(name) <= 5)["id"].to_pylist() == [1, 3]
        found = scan.to_duckdb(duckdb.connect()).filter(f"{name} <= 5 OR id < 0").select("id").fetchall()
        assert sorted(found) == [(1,), (3,)]
    assert scan.to_dataset().count_rows(filter=pc.field("id") > 3) == 0


X, Y = pc.field("x"), pc.field("y")
_VALUES = [*10 * [0.0], *10 * [-0.0], *10 * [1.0], *10 * [math.nan], *5 * [0.0, -0.0]]
ZEROS = pa.table(
    {"id": range(50), "x": _VALUES, "y": pa.array(_VALUES, pa.float32()), **dict.fromkeys("abc", _VALUES)}
)


@pytest.fixture(scope="module")
def of_zeros(tmp_path_factory):
    parts = ZEROS.slice(0, 30), ZEROS.slice(30)
    return indexed_table(tmp_path_factory.mktemp("zeros") / "table", *parts, row_group_size=10)


@pytest.mark.parametrize(
    "condition",
    [
        X.isin([0.0]), X.isin([-0.0]), ~X.isin([0.0]), X.isin([0.0, 7.0]) & (Y < 1), X.isin([-0.0]) | (Y > 5),
        pc.divide(pc.scalar(1.0), X) == math.inf, Y.cast(pa.string()) == "0", Y.isin(pa.array([0], pa.float32())),
        X.isin([0.0]) & (pc.field("a") + pc.field("b") + pc.field("c") + Y < 1), X == 0.0, X < 0.0,
    ],
    ids=str,
)  # fmt: skip
def test_zeros_alone_lie_in_no_bounds(of_zeros, condition, monkeypatch):
    """Parquet tells of a row group of them as values from -0.0 to 0.0, and pyarrow takes them for the least one."""
    # As if Spark had written the files, which the dataset's reader opens then.
    monkeypatch.setattr(of_dataset, "_TELLS_NAN", "parquet-cpp")
    expected = ZEROS.filter(condition)["id"].to_pylist()
    narrowed = pyqbeast.scan(of_zeros).where(condition)
    assert narrowed.to_arrow()["id"].to_pylist() == expected
    assert narrowed.to_dataset().to_table()["id"].to_pylist() == expected


@pytest.mark.parametrize(
    "condition",
    [X / (Y + 1) > 0.9, pc.scalar(1.0) / X > 0.1, pc.ln_checked(X) > 1, X.cast(pa.int64()) > 3],
    ids=str,
)
def test_a_condition_that_fails_for_values_that_are_not_there(tmp_path, condition, monkeypatch):
    """Zeros and NaN are looked for apart from other values, also where there are none."""
    monkeypatch.setattr(of_dataset, "_TELLS_NAN", "parquet-cpp")
    values = [float(number) for number in range(1, 31)]
    rows = pa.table({"id": range(30), "x": values, "y": values})
    narrowed = pyqbeast.scan(indexed_table(tmp_path, rows, row_group_size=10)).where(condition)
    expected = rows.filter(condition)["id"].to_pylist()
    assert narrowed.to_arrow()["id"].to_pylist() == expected
    assert narrowed.to_dataset().to_table()["id"].to_pylist() == expected


ID, J = pc.field("id"), pc.field("j")


@pytest.mark.parametrize(
    "condition",
    [
        J.isin([-0.0, 2.5]), ~J.isin([-0.0, 2.5]), J.isin([0.0, -0.0, 2.5]), J.isin([-0.0, 1e30]) | (ID > 5),
        J.isin([0, 7]) & (ID < 5), J.isin([-0.0]),
    ],
    ids=str,
)  # fmt: skip
def test_whole_numbers_in_a_list_with_minus_zero(tmp_path, condition):
    """0 is none among doubles, and would be where bounds have left only whole numbers in the list."""
    parts = [pa.table({"id": range(first, first + 3), "j": [0, low, low]}) for first, low in ((0, 0), (3, 1))]
    narrowed = pyqbeast.scan(indexed_table(tmp_path, *parts, row_group_size=2)).where(condition)
    expected = pa.concat_tables(parts).filter(condition)["id"].to_pylist()
    assert narrowed.to_arrow()["id"].to_pylist() == expected
    assert narrowed.to_dataset().to_table()["id"].to_pylist() == expected
    both = pyqbeast.scan(tmp_path).where("id >= 0").where(condition)
    assert both.to_dataset().to_table()["id"].to_pylist() == expected
