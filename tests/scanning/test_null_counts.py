"""Scans of files whose statistics count nulls wrongly, as those of delta-rs up to 1.6.0 do beside lists and maps."""

from __future__ import annotations

import json

import duckdb
import pyarrow as pa
import pytest

import pyqbeast
from tests.deletion_vectors.tables import PROTOCOL, commit
from tests.scanning.tables import fields_of, indexed_add, metadata

MAP = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}
LIST = {"type": "array", "elementType": "string", "containsNull": True}
NESTED = {
    "m": (pa.map_(pa.string(), pa.int64()), MAP),
    "tags": (pa.list_(pa.string()), LIST),
}


def table_of(path, rows, nulls, *, has_tags=False):
    """A table of one file, of which the statistics count these nulls, beside the right bounds."""
    entry = indexed_add(path / "a.parquet", rows)
    statistics = json.loads(entry["add"]["stats"])
    entry["add"]["stats"] = json.dumps(statistics | {"nullCount": statistics["nullCount"] | nulls})
    if not has_tags:
        del entry["add"]["tags"]
    flat = [name for name in rows.column_names if name not in NESTED]
    fields = fields_of(rows.select(flat).schema)
    fields += [
        {"name": name, "type": kind, "nullable": True, "metadata": {}} for name, (_, kind) in NESTED.items()
    ]
    commit(path, 0, PROTOCOL, metadata(fields), entry)
    return pyqbeast.scan(path)


def rows_with(value, key, m, tags):
    return pa.table(
        {
            "id": pa.array(range(len(value)), pa.int64()),
            "l": pa.array([b"a"] * len(value), pa.binary()),
            "value": pa.array(value, pa.float64()),
            "key": pa.array(key, pa.string()),
            "m": pa.array(m, NESTED["m"][0]),
            "tags": pa.array(tags, NESTED["tags"][0]),
        }
    )


def found(scan, condition):
    """The ids of the rows that meet a condition: by the scan, and by DuckDB, which asks the scan's dataset."""
    by_scan = scan.where(condition).to_arrow()["id"].to_pylist()
    # Old versions of DuckDB close a connection that nobody holds, relations or not.
    connection = duckdb.connect()
    relation = scan.to_duckdb(connection).filter(condition).order("id")
    return by_scan, [row[0] for row in relation.fetchall()]


@pytest.mark.parametrize("has_tags", [False, True])
def test_a_column_with_bounds_has_values_whatever_its_nulls_are_said_to_be(tmp_path, has_tags):
    rows = rows_with([7.0, 8.0, 9.0], ["x", "y", "z"], [[], [], []], [["a"], ["b"], ["c"]])
    scan = table_of(tmp_path, rows, {"value": 3, "key": 3}, has_tags=has_tags)
    assert found(scan, "value > 7") == ([1, 2], [1, 2])
    assert found(scan, "key = 'y'") == ([1], [1])
    assert found(scan, "value IS NOT NULL") == ([0, 1, 2], [0, 1, 2])
    assert scan.to_dataset().to_table() == rows


def test_nulls_of_columns_that_are_called_like_the_insides_of_lists_and_maps_are_found(tmp_path):
    maps = [[("a", 1)], [("a", 2)], [("b", 1)]]
    rows = rows_with([7.0, None, 9.0], ["x", None, "z"], maps, [["a"], ["b"], ["c"]])
    scan = table_of(tmp_path, rows, {"value": 0, "key": 0})
    assert found(scan, "value IS NULL") == ([1], [1])
    assert found(scan, "key IS NULL") == ([1], [1])
    assert found(scan, "value IS NOT NULL") == ([0, 2], [0, 2])


def test_the_inside_of_a_list_may_have_any_name(tmp_path):
    """DuckDB calls it `l`, and a column of bytes has no bounds that would contradict."""
    rows = rows_with([7.0, 8.0, 9.0], ["x", "y", "z"], [[], [], []], [[], [], []])
    scan = table_of(tmp_path, rows, {"l": 3})
    assert found(scan, "l IS NOT NULL") == ([0, 1, 2], [0, 1, 2])
    assert scan.to_dataset().to_table() == rows


def test_empty_lists_are_no_nulls(tmp_path):
    rows = rows_with([7.0, 8.0, 9.0], ["x", "y", "z"], [[], [], None], [[], [None], None])
    scan = table_of(tmp_path, rows, {"m": 3, "tags": 3})
    assert found(scan, "tags IS NOT NULL") == ([0, 1], [0, 1])
    assert found(scan, "m IS NOT NULL") == ([0, 1], [0, 1])
    assert scan.to_dataset().to_table() == rows


def test_files_that_spark_wrote_are_left_out_by_their_nulls(tmp_path):
    rows = rows_with([None, None], [None, None], [None, None], [None, None])
    scan = table_of(tmp_path, rows, {}, has_tags=True)
    for condition in ("value IS NOT NULL", "tags IS NOT NULL", "m IS NOT NULL"):
        assert all(file.skipped for file in scan.where(condition).files())
