"""A write takes over what the last one knew of the index, and it is what all files of the table say."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pyqbeast import QbeastTable, bridge
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block, parse_tags
from pyqbeast.core.otree.status import IndexStatus
from pyqbeast.table.write import known_status
from pyqbeast.table.write.known_status import status_of
from tests.table.help import BOUNDS, agree, holds, ids, load, newest, rows_2d, save, save_copy
from tests.table.relogged import marked, relogged


@pytest.fixture
def reads(monkeypatch):
    """The versions of which all files were summed up or read."""
    versions = []
    added_since, files = bridge.TableLog.added_since, bridge.TableLog.files

    def added(log, version, *more):
        if version == bridge.NO_VERSION:
            versions.append(log.version)
        return added_since(log, version, *more)

    monkeypatch.setattr(bridge.TableLog, "added_since", added)

    def read(log, **how):
        if not how:
            versions.append("marked")
        return files(log, **how)

    monkeypatch.setattr(bridge.TableLog, "files", read)
    monkeypatch.setattr(known_status, "_KNOWN", type(known_status._KNOWN)())
    return versions


def by_files(spark, path):
    """The status by the tags of each file, as Python reads them."""
    log, revision = bridge.TableLog(spark, path), QbeastTable.for_path(spark, path).latest_revision
    dimensions = {revision.id: revision.dimensions}.get
    blocks = [block for file in log.files() for block in parse_tags(file.true_tags, dimensions).blocks]
    return IndexStatus.from_blocks(revision, blocks)


def append(spark, path, n, first):
    save(rows_2d(spark, n, first), path, columnStats=BOUNDS, cubeSize=100)


def first_rows(spark, path):
    """A table as a first append makes it."""
    save_copy(spark, path, 300, columnStats=BOUNDS, cubeSize=100)


def test_appends_in_a_row_read_the_files_once_and_keep_the_index_right(spark, table_path, reads):
    first_rows(spark, table_path)
    for i in range(1, 4):
        append(spark, table_path, 200, 300 * i)
    assert reads == [0]
    assert holds(spark, table_path).latest_revision.id == 1
    assert ids(load(spark, table_path)) == [*range(500), *range(600, 800), *range(900, 1_100)]


def test_whatever_happens_meanwhile_the_status_is_that_of_the_files(spark, table_path, reads):
    table = f"delta.`{table_path}`"

    def anew():
        """Another table, of as many versions, most of which change nothing."""
        shutil.rmtree(table_path)
        append(spark, table_path, 300, 0)
        for version in range(1, 9):
            commit = Path(table_path, "_delta_log", f"{version:020d}.json")
            commit.write_text('{"commitInfo": {"timestamp": 0, "operation": "SET"}}\n')
        append(spark, table_path, 100, 300)

    def restored():
        """The driver finds the files itself, after this commit as after those of `test_live_files.py`."""
        spark.sql(f"RESTORE TABLE {table} TO VERSION AS OF 1")
        agree(spark, table_path)

    changes = [
        lambda: first_rows(spark, table_path),
        lambda: append(spark, table_path, 200, 3_000),
        lambda: rows_2d(spark, 10, 7).write.format("delta").mode("append").save(table_path),
        lambda: spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('a' = 'b')"),
        lambda: spark.sql(f"DELETE FROM {table} WHERE a < 300000"),
        lambda: append(spark, table_path, 200, 9_000),
        lambda: QbeastTable.for_path(spark, table_path).optimize(),
        restored,
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
        assert status == by_files(spark, table_path)
        assert status.cubes
    # What a write remembers is of the version before it.
    assert taken_over == [False, True, True, True, False, True, False, False, True, True]


def test_a_file_with_a_mark_is_read_anew_each_time(spark, table_path, reads):
    """Whether a mark is true can change with every other file."""
    first_rows(spark, table_path)
    copy = marked(table_path, lambda cube: cube == "")
    append(spark, copy, 10, 1_000)
    append(spark, copy, 10, 2_000)
    assert reads == [0, "marked", 1, "marked"]
    status = status_of(bridge.TableLog(spark, copy), QbeastTable.for_path(spark, copy).latest_revision)
    assert status == by_files(spark, copy)


def test_executors_sum_up_what_the_driver_does(spark, java, table_path):
    """Those of large tables do. Other revisions, files without an index and damaged tags count as no cube."""
    save_copy(spark, table_path)
    append(spark, table_path, 600, 1_000)
    rows_2d(spark, 10, 7).write.format("delta").mode("append").save(table_path)
    damaged = relogged(
        table_path, lambda add, blocks: blocks and add["size"] % 3 == 0 and blocks[0].pop("cubeId")
    )
    for path in (table_path, damaged):
        snapshot = newest(spark, path)
        revision = QbeastTable.for_path(spark, path).latest_revision
        told = [
            java("index.StoredCubes", function, ("Snapshot", snapshot), ("long", revision.id))
            for function in ("of", "byExecutors")
        ]
        assert [each.files() for each in told] == [snapshot.numOfFiles()] * 2
        blocks = [
            [Block(CubeId.from_string(each[0], 2), *list(each)[1:]) for each in one.all()] for one in told
        ]
        statuses = [IndexStatus.from_blocks(revision, some) for some in blocks]
        assert statuses == [by_files(spark, path)] * 2
        assert len(statuses[0].cubes) > 3


def test_what_kinds_of_files_there_are_follows_from_those_that_came(spark, java, table_path):
    """A job looks at all files only where some went. What is asked for is also known of the version before."""

    def mark():
        """Another program adds a file with a mark."""
        log = Path(table_path, "_delta_log")
        lines = (
            (log / f"{1:020d}.json").read_text().replace('\\"replicated\\":false', '\\"replicated\\":true')
        )
        (log / f"{3:020d}.json").write_text("".join(x for x in lines.splitlines(True) if '{"add"' in x))

    first_rows(spark, table_path)
    kinds = []
    for change, follows in (
        (lambda: append(spark, table_path, 10, 1_000), True),
        (lambda: append(spark, table_path, 10, 2_000), True),
        (mark, True),
        (lambda: spark.sql(f"DELETE FROM delta.`{table_path}` WHERE id < 100"), False),
    ):
        java("index.FileKinds", "of", ("Snapshot", newest(spark, table_path)))
        change()
        grown = java("index.FileKinds", "grown", ("Snapshot", newest(spark, table_path)))
        assert (grown is not None) == follows
        if follows:
            kinds.append((grown.legacy(), grown.isMarked()))
            assert grown == java("index.FileKinds", "of", ("Snapshot", newest(spark, table_path)))
    assert kinds == [(False, False), (False, False), (False, True)]


def test_a_log_in_the_place_of_one_that_went_another_way(spark, table_path, reads):
    """Such as one from a backup, to which another process has written: of the same table, and with as many files."""
    first_rows(spark, table_path)
    backup = table_path + "-backup"
    shutil.copytree(table_path, backup)
    append(spark, table_path, 300, 1_000)
    append(spark, backup, 300, 5_000)
    revision = QbeastTable.for_path(spark, table_path).latest_revision
    status = status_of(bridge.TableLog(spark, table_path), revision)
    shutil.rmtree(table_path)
    shutil.copytree(backup, table_path)
    other = status_of(bridge.TableLog(spark, table_path), revision)
    assert other == by_files(spark, table_path)
    assert other != status
