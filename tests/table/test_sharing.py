"""`pyqbeast doctor TABLE`: its commands make a table right for the reader that it names."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from deltalake import DeltaTable
from pyspark.sql import functions as F

from pyqbeast import QbeastTable, scan
from pyqbeast.cli import common
from pyqbeast.cli.app import app
from tests.table.help import holds, ids, rows_2d, save, save_copy


def a_day_passes(path):
    """Makes the log as old as it is when Delta lets go of what older versions need."""
    for file in Path(path, "_delta_log").iterdir():
        before = file.stat().st_mtime - 2 * 24 * 3600
        os.utime(file, (before, before))


@pytest.fixture
def pyqbeast(spark, monkeypatch):
    def run(*arguments, session=spark):
        monkeypatch.setattr(common, "local_session", lambda: session)
        return CliRunner().invoke(app, [str(a) for a in arguments])

    return run


@pytest.fixture
def doctor(pyqbeast):
    def ask(path, reader):
        done = pyqbeast("doctor", path, "--reader", reader, "--output", "json", session=None)
        (told,) = json.loads(done.output).values()
        assert done.exit_code == (0 if told["ok"] else 1)
        return told

    return ask


def texts(told):
    return " ".join(found["text"] for found in told["findings"])


def test_the_commands_make_a_table_right(spark, pyqbeast, doctor, table_path):
    save(rows_2d(spark, 1_000), table_path, **{"delta.columnMapping.mode": "name"})
    spark.sql(f"ALTER TABLE delta.`{table_path}` RENAME COLUMN name TO label")
    QbeastTable.for_path(spark, table_path).delete("id % 10 = 3")
    spark.sql(f"UPDATE delta.`{table_path}` SET label = 'x' WHERE id = 7")
    told = doctor(table_path, "qbeast-spark")
    for part in ("return the deleted rows", "its optimize fails", "reads return NULL"):
        assert part in texts(told)
    assert "which is not known there" in texts(doctor(table_path, "polars"))
    for command in told["commands"]:
        if command.startswith("pyqbeast "):
            assert pyqbeast(*command.split()[1:]).exit_code == 0, command
        else:
            if command.endswith("a day after the others"):
                a_day_passes(table_path)
            spark.sql(command)
    for reader in ("qbeast-spark", "delta-rs", "polars"):
        assert doctor(table_path, reader)["ok"]
    left = [i for i in range(1_000) if i % 10 != 3]
    assert ids(QbeastTable.for_path(spark, table_path).df()) == left
    scanned = scan(table_path)
    assert (scanned.verify().ok, scanned.metrics().unindexed_files) == (True, 0)
    stored = DeltaTable(table_path).to_pyarrow_table()
    assert sorted(stored.column("id").to_pylist()) == left
    assert stored.column("label").null_count == 0


def test_what_cannot_be_changed_in_place_is_written_anew(spark, pyqbeast, doctor, table_path):
    rows = rows_2d(spark, 1_000).withColumn("is-even", F.col("id") % 2 == 0)
    save(rows, table_path, columnsToIndex="a,is-even", weightColumns="id")
    told = doctor(table_path, "qbeast-spark")
    for part in ("cannot open the table", "'is-even (boolean)'", "does not quote names"):
        assert part in texts(told)
    *_, command = told["commands"]
    exec(command, {"spark": spark, "F": F})
    copy = f"{table_path}-shared"
    assert doctor(copy, "qbeast-spark")["ok"]
    assert ids(holds(spark, copy).df().filter("is_even = 1")) == list(range(0, 1_000, 2))


def test_doctor_needs_a_table_for_a_reader_and_a_reader_that_it_knows(pyqbeast, spark, table_path):
    done = pyqbeast("doctor", "--reader", "duckdb")
    assert (done.exit_code, "needs a table" in done.output) == (1, True)
    save_copy(spark, table_path)
    done = pyqbeast("doctor", table_path, "--reader", "excel")
    assert (done.exit_code, "has to be one of qbeast-spark, " in done.output) == (1, True)
    done = pyqbeast("doctor", table_path, session=None)
    assert done.exit_code == 1
    assert "its optimize fails, whether a row is deleted or not" in done.output
    assert "duckdb (DuckDB 1.5: delta_scan): nothing in the log" in done.output
