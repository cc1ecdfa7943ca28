"""Stores whose clients keep what they list: nothing older is believed, nothing stays, nothing is asked for twice."""

from __future__ import annotations

import json
import os
from datetime import datetime, timezone
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pyqbeast
from pyqbeast import listings
from pyqbeast.core.errors import FormatError
from pyqbeast.core.problems import EXISTS
from pyqbeast.delta import DeletionVector, DeletionVectorDescriptor, write_vectors
from pyqbeast.delta_log.history import read_history
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from pyqbeast.delta_log.reader import read_snapshot
from pyqbeast.listings import fresh_folder
from pyqbeast.tiledb.storage.stores import open_store
from tests.deletion_vectors.tables import PROTOCOL, add, commit
from tests.scanning.tables import NUMBERS, fields_of, ids, indexed_add, metadata
from tests.tiledb.failing import RememberingFileSystem


class Stored:
    """A folder of this machine that another process puts into the store, of which the client hears nothing."""

    def __init__(self, folder):
        self.folder, self.root = folder, f"/{folder.name}"
        self.url = f"remembering:/{self.root}"
        self.system = fsspec.filesystem("remembering")
        self.system.dircache.clear()

    def put(self):
        for file in filter(lambda path: path.is_file(), self.folder.rglob("*")):
            place = f"{self.root}/{file.relative_to(self.folder).as_posix()}"
            self.system.pipe_file(place, file.read_bytes())
        self.system.asked.clear()

    def commit_rows(self, version, *actions):
        """A file of three rows in a folder of the table, behind what else a commit holds."""
        rows = NUMBERS.slice(3 * version, 3)
        added = indexed_add(self.folder / "ab" / f"part-{version}.parquet", rows)
        added["add"]["path"] = f"ab/part-{version}.parquet"
        commit(self.folder, version, *actions, added)
        self.put()


@pytest.fixture
def stored(tmp_path):
    made = Stored(tmp_path)
    made.commit_rows(0, PROTOCOL, metadata(fields_of(NUMBERS.schema)))
    return made


@pytest.mark.parametrize("who", ["verify", "the user"])
def test_files_are_found_that_were_written_since_their_folder_was_listed(stored, who):
    if who == "verify":
        assert pyqbeast.scan(stored.url).verify().ok
    else:
        assert stored.system.find(stored.root)
    stored.commit_rows(1)
    scan = pyqbeast.scan(stored.url)
    assert ids(scan) == list(range(6))
    assert scan.verify().ok


def test_what_another_thread_has_asked_before_is_no_listing_of_now(stored, monkeypatch):
    """All threads of a process share the client, and an answer on its way comes in whenever it likes."""
    folders = [stored.root, f"{stored.root}/_delta_log", f"{stored.root}/ab"]
    old = {folder: stored.system.ls(folder) for folder in folders}
    stored.commit_rows(1)
    listed = RememberingFileSystem.ls

    def listed_late(system, path, detail=True, **how):
        if system is stored.system:
            system.dircache.update(old)
        return listed(system, path, detail, **how)

    monkeypatch.setattr(RememberingFileSystem, "ls", listed_late)
    scan = pyqbeast.scan(stored.url)
    assert scan.version == 1
    assert scan.verify().ok
    store = open_store(stored.url)
    assert [entry.name for entry in store.entries("ab")] == ["part-0.parquet", "part-1.parquet"]
    assert store.size("ab/part-1.parquet") == scan.files()[1].size
    store.delete("ab")
    assert not [path for path in RememberingFileSystem.store if path.startswith(f"{stored.root}/ab/")]


def test_no_listing_of_a_table_stays(stored):
    stored.system.pipe_file("/elsewhere/file", b"")
    stored.system.ls("/elsewhere")
    scan = pyqbeast.scan(stored.url)
    assert ids(scan) == [0, 1, 2]
    assert scan.verify().ok
    assert read_history(IndexedSnapshot.read(stored.url))
    assert list(stored.system.dircache) == ["/elsewhere"]


def test_a_listing_tells_all_of_the_files_of_a_log(stored):
    """Otherwise each would be asked for: when a commit was written, and how large a checkpoint is."""
    log = f"{stored.root}/_delta_log"
    tells = {"schemaString": json.dumps({"type": "struct", "fields": []})}
    actions = [{"protocol": {"minReaderVersion": 1}}, {"metaData": tells}, add("a")]
    rows = [{kind: {**entry, "partitionValues": None}} for each in actions for kind, entry in each.items()]
    kinds = ("protocol", "metaData", "add")
    columns = {kind: [row.get(kind) for row in rows] for kind in kinds}
    pq.write_table(
        pa.table(columns), stored.folder / "_delta_log" / "00000000000000000001.checkpoint.parquet"
    )
    commit(stored.folder, 1, add("a"))
    stored.put()
    assert [file.path for file in read_snapshot(stored.url).files] == ["a"]
    assert stored.system.asked == [log]
    for version in range(2):
        file = stored.system.store[f"{log}/{version:020d}.json"]
        file.modified = datetime.fromtimestamp(version, timezone.utc)
    stored.system.asked.clear()
    assert read_snapshot(stored.url, timestamp=1000).version == 1
    assert stored.system.asked == [log] * 2


def test_what_lies_outside_of_the_table_is_listed_once(stored):
    """As of a shallow clone. What is missing there is missing after that."""
    for number in range(30):
        stored.system.pipe_file(f"/source{stored.root}/{number}", b"1")
    stored.system.find("/source")
    stored.system.pipe_file(f"/source{stored.root}/30", b"1")
    paths = [f"remembering://source{stored.root}/{number}" for number in [30, *range(28), "gone", "lost"]]
    commit(stored.folder, 1, *(add(path, rows=1) for path in paths))
    stored.put()
    report = pyqbeast.scan(stored.url).verify()
    missing = {problem.file for problem in report.problems if problem.rule == EXISTS}
    assert missing == set(paths[-2:])
    outside = [path for path in stored.system.asked if path.startswith("/source")]
    assert outside[20:] == [f"/source{stored.root}"]
    assert not [path for path in stored.system.dircache if path.startswith(f"/source{stored.root}")]


def test_a_file_outside_of_the_table_is_read_whatever_was_listed_before(stored):
    """A shallow clone may have been made of a version that is newer than the listing."""
    source = stored.folder.parent / f"{stored.folder.name}-source"
    outside = f"remembering://{source.name}"
    stored.system.pipe_file(f"/{source.name}/first", b"")
    stored.system.ls(f"/{source.name}")
    (vector,) = write_vectors(str(source), [DeletionVector([1])])
    placed = DeletionVectorDescriptor.on_disk_with_absolute_path(
        f"{outside}/vector.bin", vector.size_in_bytes, 1, vector.offset
    )
    added = indexed_add(source / "part.parquet", NUMBERS.slice(3, 3), vector=placed)
    added["add"]["path"] = f"{outside}/part.parquet"
    commit(stored.folder, 1, added)
    stored.put()
    scan = pyqbeast.scan(stored.url)
    stored.system.pipe_file(f"/{source.name}/part.parquet", (source / "part.parquet").read_bytes())
    with pytest.raises(FormatError, match=r"vector\.bin: there is no such file"):
        scan.to_arrow()
    stored.system.ls(f"/{source.name}")
    content = Path(vector.absolute_path(source)).read_bytes()
    stored.system.pipe_file(f"/{source.name}/vector.bin", content)
    assert ids(scan) == [0, 1, 2, 3, 5]


def test_a_slash_at_the_end_is_no_part_of_a_folders_name(stored, monkeypatch):
    """The client of Azure drops what it keeps under that very name, which has no slash there."""

    def drops_one(system, path=None):
        system.dircache.pop(path, None)

    monkeypatch.setattr(RememberingFileSystem, "invalidate_cache", drops_one)
    stored.system.ls(stored.root)
    with fresh_folder(stored.system, f"{stored.root}/"):
        assert not stored.system.dircache


@pytest.fixture
def clients(monkeypatch):
    """The clients of stores that are made."""
    made, init = [], RememberingFileSystem.__init__

    def noted(client, *arguments, **options):
        made.append(client)
        init(client, *arguments, **options)

    monkeypatch.setattr(RememberingFileSystem, "__init__", noted)
    monkeypatch.setattr(listings, "_IDLE", {})
    return made


def test_what_lies_outside_of_the_table_is_listed_by_one_client(stored, clients):
    """However many folders a shallow clone has its files in."""
    paths = [f"/source{stored.root}/day={number}/0" for number in range(30)]
    for path in paths:
        stored.system.pipe_file(path, b"1")
    commit(stored.folder, 1, *(add(f"remembering:/{path}", rows=1) for path in paths))
    stored.put()
    report = pyqbeast.scan(stored.url).verify()
    assert not [problem for problem in report.problems if problem.rule == EXISTS]
    assert len(clients) == 1
    assert not [path for path in stored.system.dircache if path.startswith("/source")]


def test_sizes_that_a_listing_does_not_tell_are_asked_for(stored, monkeypatch):
    listed = RememberingFileSystem.ls

    def ls(system, path, detail=True, **how):
        for entry in listed(system, path, **how):
            if "/ab/" in entry["name"]:
                entry["size"] = None
        return listed(system, path, detail, **how)

    monkeypatch.setattr(RememberingFileSystem, "ls", ls)
    assert pyqbeast.scan(stored.url).verify().ok


def test_few_clients_are_kept(stored, clients, monkeypatch):
    monkeypatch.setattr(listings, "_MOST_OF_A_STORE", 2)
    monkeypatch.setattr(listings, "_MOST_STORES", 4)
    stores = [fsspec.filesystem("remembering", number=number) for number in range(20)]
    for store in stores:
        with fresh_folder(store, "/a"), fresh_folder(store, "/b"), fresh_folder(store, "/c"):
            pass
    assert len(clients) == 20 * 4
    assert sum(map(len, listings._IDLE.values())) <= 8
    for store in (stores[16], stores[0], stores[16], stores[1], stores[16], stores[2], stores[16], stores[3]):
        with fresh_folder(store, "/a"):
            pass
    assert len(clients) == 20 * 4 + 4, "what is used again and again is kept"


def test_a_forked_process_makes_a_client_of_its_own(stored, clients, monkeypatch):
    """There fsspec's clients refuse to work, and before 2026.9 it calls the first one there equal to the parent's."""
    with fresh_folder(stored.system, stored.root) as of_parent:
        pass
    with fresh_folder(stored.system, stored.root) as again:
        assert again is of_parent
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with fresh_folder(stored.system, stored.root) as of_child:
        assert of_child is not of_parent
    # The connections of the parent's are closed where it is freed.
    for number in range(20):
        with fresh_folder(fsspec.filesystem("remembering", number=number), "/a"):
            pass
    assert any(of_parent is each for idle in listings._IDLE.values() for each in idle)


def test_who_keeps_no_listings_is_asked_itself(clients):
    store = fsspec.filesystem("remembering", use_listings_cache=False)
    with fresh_folder(store, "/a") as fresh:
        assert fresh is store
    assert clients == [store]
