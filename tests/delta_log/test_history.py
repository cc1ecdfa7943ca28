"""The history of a table tells of each version what reading that version tells."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil

import fsspec
import pyarrow as pa
import pytest

from pyqbeast import NotIndexedError
from pyqbeast.core.errors import StorageError
from pyqbeast.core.revisions.revision import Revision
from pyqbeast.delta_log import history
from pyqbeast.delta_log.history import read_history
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from tests.faulty_files import FaultyFiles, PythonFaults
from tests.read_together import reads_together
from tests.scanning.tables import indexed_table


def figures_by_reading(table, version):
    files = IndexedSnapshot.read(table, version).files
    unindexed = [file for file in files if not file.blocks]
    return {
        "files": len(files),
        "bytes": sum(file.size for file in files),
        "rows": sum((file.rows or 0) - file.deleted for file in files),
        "deleted_rows": sum(file.deleted for file in files),
        "unindexed_files": len(unindexed),
        "unindexed_bytes": sum(file.size for file in unindexed),
        "uncounted_files": 0,
    }


@pytest.mark.parametrize(
    "name",
    [
        "a_linear2d",
        "d_append_revisions",
        "e3_convert_only",
        "i2_deleted_dv",
        "l3_empty_then_append",
        "h_optimized",
    ],
)
def test_each_version_is_as_it_is_read(golden, name):
    table = golden(f"qbeast/{name}") / "table"
    told = read_history(IndexedSnapshot.read(table))
    assert [each.version for each in told] == list(range(told[-1].version + 1))
    for each in told:
        with contextlib.suppress(NotIndexedError):
            expected = figures_by_reading(table, each.version)
            assert {key: getattr(each, key) for key in expected} == expected
    assert all(each.operation for each in told)


def test_a_commit_whose_info_has_a_name_twice(tmp_path):
    """The last one counts, as for Delta: delta-rs has written what users call `operation` behind its own."""
    indexed_table(tmp_path, pa.table({"id": [1]}))
    info = '{"commitInfo":{"timestamp":7,"operation":"WRITE","operation":"1"}}'
    (tmp_path / "_delta_log" / f"{1:020d}.json").write_text(info)
    newest = read_history(IndexedSnapshot.read(tmp_path))[-1]
    assert (newest.version, newest.timestamp, newest.operation) == (1, 7, "1")


def test_a_revision_is_read_once(golden, monkeypatch):
    """Each version repeats those before it: a history of 500 revisions took three quarters of a minute."""
    index = IndexedSnapshot.read(golden("qbeast/d_append_revisions") / "table")
    expected = read_history(index)
    read = []
    from_json = Revision.from_json

    def noted(text):
        read.append(text)
        return from_json(text)

    monkeypatch.setattr(Revision, "from_json", noted)
    assert read_history(index) == expected
    assert len(read) == len(set(read)) == len(index.revisions.revisions) > 2


def test_an_older_version_is_the_end_of_its_history(golden):
    table = golden("qbeast/d_append_revisions") / "table"
    assert [each.version for each in read_history(IndexedSnapshot.read(table, 1))] == [0, 1]


def test_a_history_begins_at_the_oldest_checkpoint_or_at_the_most(golden, tmp_path, monkeypatch):
    table = tmp_path / "table"
    shutil.copytree(golden("qbeast/d_append_revisions") / "table", table)
    whole = read_history(IndexedSnapshot.read(table))
    monkeypatch.setattr(history, "MOST_VERSIONS", 2)
    assert read_history(IndexedSnapshot.read(table)) == whole[-2:]
    monkeypatch.undo()
    actions = [
        line
        for version in (0, 1)
        for line in (table / "_delta_log" / f"{version:020}.json").read_text().splitlines()
        if "commitInfo" not in line
    ]
    name = f"{1:020}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json"
    (table / "_delta_log" / name).write_text("\n".join(actions))
    (table / "_delta_log" / f"{0:020}.json").unlink()
    assert read_history(IndexedSnapshot.read(table)) == whole[1:]
    (table / "_delta_log" / f"{1:020}.json").unlink()
    # The checkpoint does not say what made it.
    begun = dataclasses.replace(whole[1], timestamp=None, operation="")
    assert read_history(IndexedSnapshot.read(table)) == [begun, *whole[2:]]


@pytest.mark.parametrize("checkpoint", [False, True])
def test_revisions_may_stand_behind_the_files_that_they_tell_of(golden, tmp_path, checkpoint):
    """Spark makes checkpoints in any order, and a later overwrite has dropped the revision."""
    table = tmp_path / "table"
    shutil.copytree(golden("qbeast/a_linear2d") / "table", table)
    log = table / "_delta_log"
    first = log / f"{0:020}.json"
    actions = [json.loads(line) for line in first.read_text().splitlines()]
    files_first = sorted(actions, key=lambda action: "add" not in action)
    stored = [action for action in files_first if not (checkpoint and "commitInfo" in action)]
    first.write_text("\n".join(map(json.dumps, stored)))
    if checkpoint:
        first.rename(log / f"{0:020}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json")
    metadata = next(action["metaData"] for action in actions if "metaData" in action)
    kept = metadata["configuration"]
    revision = {**json.loads(kept.pop("qbeast.revision.1")), "revisionID": 2}
    kept.update({"qbeast.revision.2": json.dumps(revision), "qbeast.lastRevisionID": "2"})
    (log / f"{1:020}.json").write_text(json.dumps({"metaData": metadata}))
    beginning, after = read_history(IndexedSnapshot.read(table))
    assert beginning.unindexed_files == 0 < beginning.files == after.files


def test_commits_of_another_store_are_read_at_once(golden, monkeypatch):
    table = golden("qbeast/d_append_revisions") / "table"
    files = fsspec.filesystem("memory")
    files.put(str(table / "_delta_log"), "/history/_delta_log", recursive=True)
    index = IndexedSnapshot.read("memory://history")
    assert index.snapshot.version >= 3
    reads_together(monkeypatch, type(files), "cat_file", "2.json", "3.json")
    assert read_history(index) == read_history(IndexedSnapshot.read(table))


def test_a_commit_that_a_store_refuses_is_no_commit_that_says_nothing(golden, tmp_path, monkeypatch):
    """Where a checkpoint stands for it. `exists` of fsspec takes every error for a file that is not there."""
    table = tmp_path / "table"
    shutil.copytree(golden("qbeast/a_linear2d") / "table", table)
    first = table / "_delta_log" / f"{0:020}.json"
    checkpoint = first.with_name(f"{0:020}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json")
    lines = first.read_text().splitlines()
    checkpoint.write_text("\n".join(line for line in lines if "commitInfo" not in line))
    index = IndexedSnapshot.read(f"faulty://{table}")
    (whole,) = read_history(index)
    assert whole.operation
    faults = PythonFaults()
    faults.fail("stat", first.name)
    monkeypatch.setattr(FaultyFiles, "next_call", faults.next)
    with pytest.raises(StorageError, match=f"looking for .*{first.name} failed"):
        read_history(index)
    first.unlink()
    assert read_history(index) == [dataclasses.replace(whole, timestamp=None, operation="")]
