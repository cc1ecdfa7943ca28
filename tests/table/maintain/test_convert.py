"""Converting: a Delta table or Parquet files become an indexed table, and no file changes."""

from __future__ import annotations

from pathlib import Path

import pytest

import pyqbeast
from pyqbeast import CommitConflictError, InvalidInputError, TableNotFoundError, UnsupportedError, bridge
from pyqbeast.table import convert as converting
from tests.table.help import count, holds, ids, load, rows_2d


def data_files(path):
    return sorted((f.name, f.stat().st_mtime_ns) for f in Path(path).glob("*.parquet"))


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_files_stay_and_are_indexed_later(spark, table_path, kind):
    rows_2d(spark, 2_000).write.format(kind).save(table_path)
    before = data_files(table_path)
    identifier = f"{kind}.`{table_path}`"
    table = pyqbeast.convert(spark, identifier, columns_to_index=["a", "b"], cube_size=500)
    assert data_files(table_path) == before
    assert (table.columns_to_index, table.cube_size, table.latest_revision.id) == (["a", "b"], 500, 0)
    assert count(table.sample(1.0)) == 2_000
    landed = bridge.TableLog(spark, table_path).version
    pyqbeast.convert(spark, identifier, columns_to_index=["a", "b"], cube_size=500)
    assert bridge.TableLog(spark, table_path).version == landed
    holds(spark, table_path)
    rows_2d(spark, 1_000, first=2_000).write.format("qbeast").mode("append").save(table_path)
    assert table.latest_revision.id == 1
    assert table.optimize(revision=0).changed
    assert table.metrics().unindexed_files == 0
    assert ids(load(spark, table_path)) == list(range(3_000))
    holds(spark, table_path)


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_partitioned_tables_are_refused_and_stay_as_they_are(spark, table_path, kind):
    rows_2d(spark, 100).write.format(kind).partitionBy("name").save(table_path)
    before = sorted(Path(table_path).rglob("*"))
    with pytest.raises(UnsupportedError, match="partitioned"):
        pyqbeast.convert(spark, f"{kind}.`{table_path}`", columns_to_index=["a"])
    assert sorted(Path(table_path).rglob("*")) == before


def test_bad_input(spark, table_path):
    rows_2d(spark, 10).write.format("parquet").save(table_path)
    for message, wrong in {
        "did you mean 'name'": {"columns_to_index": ["nmae"]},
        "columns_to_index": {"columns_to_index": []},
        "cube_size": {"columns_to_index": ["a"], "cube_size": 0},
    }.items():
        with pytest.raises(InvalidInputError, match=message):
            pyqbeast.convert(spark, f"parquet.`{table_path}`", **wrong)
    for nowhere in ("delta.`/nowhere/at/all`", "parquet.`/nowhere/at/all`", "no_such_table"):
        with pytest.raises(TableNotFoundError):
            pyqbeast.convert(spark, nowhere, columns_to_index=["a"])
    with pytest.raises(InvalidInputError):
        pyqbeast.convert(spark, f"csv.`{table_path}`", columns_to_index=["a"])
    assert not (Path(table_path) / "_delta_log").exists()


def test_who_converts_second_leaves_the_index_of_the_first(spark, table_path, monkeypatch):
    rows_2d(spark, 500).write.format("delta").save(table_path)
    identifier = f"delta.`{table_path}`"
    store, others = converting._store_staging, []

    def later(*arguments):
        if not others:
            others.append(None)
            pyqbeast.convert(spark, identifier, columns_to_index=["a", "b"])
            rows_2d(spark, 500, first=500).write.format("qbeast").mode("append").save(table_path)
        return store(*arguments)

    monkeypatch.setattr(converting, "_store_staging", later)
    table = pyqbeast.convert(spark, identifier, columns_to_index=["b"])
    assert (table.columns_to_index, table.latest_revision.id) == (["a", "b"], 1)
    assert ids(load(spark, table_path)) == list(range(1_000))
    holds(spark, table_path)


def test_a_table_that_never_rests_is_not_converted(spark, table_path, monkeypatch):
    rows_2d(spark, 100).write.format("delta").save(table_path)
    store = converting._store_staging

    def later(*arguments):
        version = bridge.TableLog(spark, table_path).version
        spark.sql(f"ALTER TABLE delta.`{table_path}` SET TBLPROPERTIES ('x' = '{version}')")
        return store(*arguments)

    monkeypatch.setattr(converting, "_store_staging", later)
    with pytest.raises(CommitConflictError, match="no indexed table; convert it again"):
        pyqbeast.convert(spark, f"delta.`{table_path}`", columns_to_index=["a"])
