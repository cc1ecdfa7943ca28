"""A write takes over what the last one knew of the index, and it is what all files of the table say."""

from __future__ import annotations

import shutil

import pytest

from pyqbeast import QbeastTable, bridge
from pyqbeast.table.write import known_status
from pyqbeast.table.write.known_status import status_of
from tests.table.help import holds, rows_2d, save

BOUNDS = '{"a_min": 0, "a_max": 1000000, "b_min": 0, "b_max": 1000}'


@pytest.fixture
def reads(monkeypatch):
    """The versions whose files were all handed to Python."""
    versions = []
    files = bridge.TableLog.files

    def counted(log, **how):
        versions.append(log.version)
        return files(log, **how)

    monkeypatch.setattr(bridge.TableLog, "files", counted)
    monkeypatch.setattr(known_status, "_KNOWN", type(known_status._KNOWN)())
    return versions


def append(spark, path, n, first):
    save(rows_2d(spark, n, first), path, columnStats=BOUNDS, cubeSize=500)


def test_appends_in_a_row_read_the_files_once(spark, table_path, reads):
    for i in range(5):
        append(spark, table_path, 1_000, 1_000 * i)
    assert reads == [0]
    holds(spark, table_path)


def test_whatever_happens_meanwhile_the_status_is_that_of_the_files(spark, table_path, reads):
    table = f"delta.`{table_path}`"

    def anew():
        shutil.rmtree(table_path)
        for i in range(9):
            append(spark, table_path, 300, i)

    changes = [
        lambda: append(spark, table_path, 3_000, 0),
        lambda: append(spark, table_path, 1_000, 3_000),
        lambda: rows_2d(spark, 10, 7).write.format("delta").mode("append").save(table_path),
        lambda: spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('a' = 'b')"),
        lambda: spark.sql(f"DELETE FROM {table} WHERE a < 300000"),
        lambda: append(spark, table_path, 500, 9_000),
        lambda: QbeastTable.for_path(spark, table_path).optimize(),
        lambda: spark.sql(f"RESTORE TABLE {table} TO VERSION AS OF 1"),
        lambda: append(spark, table_path, 100, 20_000),
        anew,
    ]
    taken_over = []
    for change in changes:
        change()
        log = bridge.TableLog(spark, table_path)
        revision = QbeastTable.for_path(spark, table_path).latest_revision
        before = len(reads)
        status = status_of(log, revision)
        taken_over.append(len(reads) == before)
        known_status._KNOWN.clear()
        assert status == status_of(log, revision)
        assert status.cubes
    # What a write remembers is of the version before it.
    assert taken_over == [False, True, True, True, False, True, False, False, True, True]


def test_a_file_with_a_mark_is_read_anew_each_time(spark, table_path, reads, monkeypatch):
    """Whether a mark is true can change with every other file."""
    append(spark, table_path, 1_000, 0)
    monkeypatch.setattr(known_status, "_has_mark", lambda file: True)
    append(spark, table_path, 10, 1_000)
    append(spark, table_path, 10, 2_000)
    assert reads == [0, 1]
