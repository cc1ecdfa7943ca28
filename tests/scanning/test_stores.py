"""Scans of tables in other stores than the disk, and stores that fail."""

from __future__ import annotations

import io
import json
import shutil
import time
from pathlib import Path
from urllib.parse import quote

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import pyqbeast
import pyqbeast.tiledb
from pyqbeast.core.errors import (
    FormatError,
    InvalidInputError,
    StorageError,
    TableNotFoundError,
    UnsupportedError,
)
from pyqbeast.delta import DeletionVector, DeletionVectorDescriptor, write_vectors
from pyqbeast.delta_log import locations
from pyqbeast.plot.gather.table import gather_table
from pyqbeast.scanning.data_files import DataFiles
from pyqbeast.verification import files_on_disk
from pyqbeast.verification.without_spark import verify_log
from tests.deletion_vectors.tables import PROTOCOL, commit
from tests.delta_log.azure import AzureFiles
from tests.faulty_files import FaultyFiles, PythonFaults
from tests.read_together import reads_together
from tests.scanning.tables import NUMBERS, fields_of, ids, indexed_add, indexed_table, metadata
from tests.tiledb.server import serve


def test_other_stores(tmp_path):
    indexed_table(tmp_path, NUMBERS)
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path), "/stored", recursive=True)
    assert ids(pyqbeast.scan("memory://stored").where("id < 3")) == [0, 1, 2]
    with pytest.raises(InvalidInputError, match="cannot be opened"):
        pyqbeast.scan("nowhere://table")


def test_two_slashes_are_one(tmp_path):
    """As in Hadoop, wherever they stand. Stores of objects would take them for another place."""
    vector = write_vectors(str(tmp_path), [DeletionVector([1])])[0]
    commit(
        tmp_path,
        0,
        PROTOCOL,
        metadata(fields_of(NUMBERS.schema)),
        indexed_add(tmp_path / "a.parquet", NUMBERS.slice(0, 3), vector=vector),
    )
    fsspec.filesystem("memory").put(str(tmp_path), "/two/slashes", recursive=True)
    for url in ("memory://two//slashes", "memory://two/slashes//", "memory:////two/slashes"):
        scan = pyqbeast.scan(url)
        assert ids(scan) == [0, 2]
        assert scan.to_dataset().count_rows() == 2
        assert scan.verify().ok


@pytest.mark.parametrize("cache", ["simplecache", "filecache"])
def test_caches_of_fsspec_are_refused_by_what_they_are(cache):
    with pytest.raises(InvalidInputError, match=rf"'{cache}::memory://t' cannot be opened: a chain of URLs"):
        pyqbeast.scan(f"{cache}::memory://t")


def test_files_of_another_store_are_read_at_once(tmp_path, monkeypatch):
    indexed_table(tmp_path, *[NUMBERS.slice(first, 3) for first in range(0, 30, 3)])
    fsspec.filesystem("memory").put(str(tmp_path), "/together", recursive=True)
    reads_together(monkeypatch, DataFiles, "batches", "part-1.parquet", "part-2.parquet")
    assert ids(pyqbeast.scan("memory://together")) == list(range(30))


def test_footers_of_another_store_are_read_at_once(tmp_path, monkeypatch):
    indexed_table(tmp_path, *[NUMBERS.slice(first, 3) for first in range(0, 30, 3)])
    fsspec.filesystem("memory").put(str(tmp_path), "/footers", recursive=True)
    reads_together(monkeypatch, MemoryFileSystem, "_open", "part-1.parquet", "part-2.parquet")
    assert pyqbeast.scan("memory://footers").to_dataset().count_rows() == 30


def test_a_reader_that_stops_has_not_asked_for_many_files(tmp_path, monkeypatch):
    indexed_table(tmp_path, *[NUMBERS.slice(first, 3) for first in range(0, 30, 3)])
    fsspec.filesystem("memory").put(str(tmp_path), "/stopped", recursive=True)
    batches, opened = DataFiles.batches, []

    def counted(data, file, predicate):
        opened.append(file.path)
        return batches(data, file, predicate)

    monkeypatch.setattr(DataFiles, "batches", counted)
    assert next(iter(pyqbeast.scan("memory://stopped").to_batches())).num_rows == 3
    assert opened == ["part-0.parquet"]
    fsspec.filesystem("memory").rm("/stopped/part-1.parquet")
    with pytest.raises(
        StorageError, match=r"part-1\.parquet: the table's log names this file, and it is missing"
    ):
        pyqbeast.scan("memory://stopped").to_arrow()


def test_row_groups_are_chosen_by_the_footer_that_was_read(tmp_path, monkeypatch):
    rows = pa.table({name: pa.array(range(100), pa.float64()) for name in ("id", "x", "y")})
    indexed_table(tmp_path, rows, row_group_size=10)
    fsspec.filesystem("memory").put(str(tmp_path), "/groups", recursive=True)
    opened, opens = [], MemoryFileSystem._open

    def counted(system, path, *args, **how):
        opened.append(path)
        return opens(system, path, *args, **how)

    monkeypatch.setattr(MemoryFileSystem, "_open", counted)
    found = pyqbeast.scan("memory://groups").where("id > 94 AND x > 95 AND y > 96")
    assert ids(found) == [97, 98, 99]
    assert opened == ["/groups/part-0.parquet"]


@pytest.mark.parametrize("read", [pyqbeast.Scan.to_arrow, pyqbeast.Scan.to_dataset])
def test_a_store_without_ranges_fails_by_an_error_of_pyqbeast(tmp_path, monkeypatch, read):
    """A simple web server has none, and fsspec raises ValueError then."""

    class Whole(io.BytesIO):
        def read(self, *_):
            raise ValueError("the server has no ranges")

    indexed_table(tmp_path, pa.table({"id": [1]}))
    monkeypatch.setattr(FaultyFiles, "_open", lambda *_, **__: Whole(bytes(10_000)))
    with pytest.raises(StorageError, match=r"^reading .*part-0\.parquet failed: ValueError: the server"):
        read(pyqbeast.scan(f"faulty:{tmp_path}"))


@pytest.mark.parametrize("read", [pyqbeast.Scan.to_arrow, pyqbeast.Scan.to_dataset])
def test_a_file_that_cannot_be_opened_is_not_called_damaged(tmp_path, monkeypatch, read):
    """The error is one that Arrow has for what is in a file, too: without a number."""
    indexed_table(tmp_path, pa.table({"id": [1]}))
    scan, faults = pyqbeast.scan(f"faulty:{tmp_path}"), PythonFaults()
    monkeypatch.setattr(FaultyFiles, "next_call", faults.next)
    faults.fail("open", onwards=True)
    with pytest.raises(
        StorageError, match=r"^reading [^ ]*part-0\.parquet failed: OSError: the disk is on fire"
    ):
        read(scan)


@pytest.mark.parametrize(
    ("read", "reads"),
    [(pyqbeast.Scan.to_dataset, 0), (pyqbeast.Scan.to_arrow, 0), (pyqbeast.Scan.to_arrow, 1)],
)
def test_a_file_that_cannot_be_read_on_is_not_called_damaged(tmp_path, monkeypatch, read, reads):
    """gcsfs says that something is forbidden by an error that Arrow has for damaged pages."""
    left = reads

    class Forbidden(io.BytesIO):
        def read(self, *size):
            nonlocal left
            left -= 1
            if left < 0:
                raise OSError("Forbidden: b/part-0.parquet")
            return super().read(*size)

    content = (indexed_table(tmp_path, NUMBERS) / "part-0.parquet").read_bytes()
    monkeypatch.setattr(FaultyFiles, "_open", lambda *_, **__: Forbidden(content))
    scan = pyqbeast.scan(f"faulty:{tmp_path}")
    with pytest.raises(
        StorageError, match=r"^reading [^ ]*part-0\.parquet failed: OSError: Forbidden: b/part-0\.parquet$"
    ):
        read(scan)


def test_a_damaged_page_in_a_store_is_called_damaged(tmp_path):
    file = indexed_table(tmp_path, NUMBERS) / "part-0.parquet"
    content = file.read_bytes()
    file.write_bytes(content[:4] + bytes(60) + content[64:])
    with pytest.raises(FormatError, match=r"part-0\.parquet: not a readable Parquet file: .*thrift"):
        pyqbeast.scan(f"faulty:{tmp_path}").to_arrow()


@pytest.mark.parametrize("opened", [pyqbeast.scan, pyqbeast.tiledb.open_array])
def test_a_store_that_cannot_be_opened(monkeypatch, opened):
    with pytest.raises(StorageError, match=r"^opening zip://x::/no/such\.zip failed: FileNotFoundError"):
        opened("zip://x::/no/such.zip")
    with pytest.raises(InvalidInputError, match=r"reference://x.* 'fo'"):
        opened("reference://x")

    def without_jvm(*_, **__):
        raise OSError("Unable to load libjvm")

    monkeypatch.setattr("pyarrow.fs.HadoopFileSystem", without_jvm)
    with pytest.raises(
        StorageError, match=r"^opening hdfs://name/t failed: .*libjvm; HDFS needs .* JAVA_HOME"
    ):
        opened("hdfs://name/t")


class UnsetFiles(MemoryFileSystem):
    """A store whose client finds its settings wrong. gcsfs and s3fs raise ValueError then."""

    protocol = "unset"
    store, pseudo_dirs = {}, [""]
    refused = "no such path"

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.removeprefix("unset://"))

    def _check(self, path):
        if self.refused in path:
            raise ValueError("Bucket is requester pays. Set `requester_pays=True`.")

    def ls(self, path, detail=True, **how):
        self._check(path)
        return super().ls(path, detail, **how)

    def info(self, path, **how):
        self._check(path)
        return super().info(path, **how)

    def cat_file(self, path, *args, **how):
        self._check(path)
        return super().cat_file(path, *args, **how)

    def _open(self, path, *args, **how):
        self._check(path)
        return super()._open(path, *args, **how)


fsspec.register_implementation("unset", UnsetFiles, clobber=True)


@pytest.mark.parametrize("refused", ["_delta_log", "000.json", "source/part-0.parquet", "source/vector.bin"])
def test_wrong_settings_are_told_by_the_words_of_the_client(tmp_path, monkeypatch, refused):
    """Nothing is called missing that could not be asked for."""
    (vector,) = write_vectors(str(tmp_path), [DeletionVector([1])])
    far = DeletionVectorDescriptor.on_disk_with_absolute_path(
        "unset://source/vector.bin", vector.size_in_bytes, 1, vector.offset
    )
    added = indexed_add(tmp_path / "part-0.parquet", NUMBERS, vector=far)
    added["add"]["path"] = "unset://source/part-0.parquet"
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), added)
    store = fsspec.filesystem("unset")
    store.put(str(tmp_path / "_delta_log"), "/t/_delta_log", recursive=True)
    store.put(str(tmp_path / "part-0.parquet"), "/source/part-0.parquet")
    store.put(vector.absolute_path(tmp_path), "/source/vector.bin")
    assert verify_log("unset://t").ok
    monkeypatch.setattr(UnsetFiles, "refused", refused)
    for read in (verify_log, lambda url: pyqbeast.scan(url).to_arrow()):
        with pytest.raises(
            StorageError, match=rf"{refused}[^ ]* failed: ValueError: Bucket is requester pays"
        ):
            read("unset://t")


@pytest.mark.slow
def test_a_web_server(golden):
    folder = golden("qbeast/a_linear2d")
    with serve(folder) as server:
        scan = pyqbeast.scan(f"{server.url}/table")
        log = server.sent
        rows = scan.sample(0.02).select(["id"]).to_arrow()
        assert rows == pyqbeast.scan(folder / "table").sample(0.02).select(["id"]).to_arrow()
        assert server.sent - log < 0.3 * sum(file.size for file in scan.files())
        few = scan.to_dataset().to_table(columns=["id"], filter=pc.field("a") < 1_000)
        assert few.num_rows == scan.where("a < 1000").to_arrow().num_rows > 0
        assert scan.tolerance({"n": ("*", "count")}, exact=True).table["n"].to_pylist() == [50_000]
        assert verify_log(f"{server.url}/table").ok
        with pytest.raises(TableNotFoundError):
            pyqbeast.scan(f"{server.url}/nothing")
        server.fails = True
        with pytest.raises(StorageError):
            scan.to_arrow()
        with pytest.raises(StorageError):
            pyqbeast.scan(f"{server.url}/table")


def test_names_of_files_on_a_web_server(tmp_path):
    """They go into its URLs: `%41` would be another name there, `?` a question, and `#` the end."""
    names = ["a b.parquet", "p%41.parquet", "q?x=1.parquet", "r#1.parquet", "é+&.parquet"]
    adds = []
    for number, name in enumerate(names):
        entry = indexed_add(tmp_path / name, NUMBERS.slice(number, 1))
        entry["add"]["path"] = quote(name)
        adds.append(entry)
    # Writers leave alone what is no sign of theirs.
    adds[-2]["add"]["path"] = names[-2]
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), *adds)
    with serve(tmp_path) as server:
        scan = pyqbeast.scan(server.url)
        assert ids(scan) == ids(pyqbeast.scan(tmp_path)) == [0, 1, 2, 3, 4]
        assert scan.to_dataset().count_rows() == 5
        clone = indexed_add(tmp_path / "clone" / "x.parquet", NUMBERS)
        clone["add"]["path"] = f"{server.url}/p%2541.parquet"
        commit(tmp_path / "clone", 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), clone)
        assert ids(pyqbeast.scan(tmp_path / "clone")) == [1]


def test_a_vector_in_a_store_that_nobody_knows(tmp_path):
    """It is a problem of its file in a report, and an error that names the file where rows are read."""
    vector = DeletionVectorDescriptor.on_disk_with_absolute_path("foo://b/v.bin", 34, 1, 1)
    entry = indexed_add(tmp_path / "a.parquet", NUMBERS, vector=vector)
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), entry)
    scan = pyqbeast.scan(tmp_path)
    (problem,) = scan.verify().problems
    assert problem.file == "a.parquet"
    assert problem.text == "the file of its deletion vector is missing"
    with pytest.raises(InvalidInputError, match=r"a.parquet: 'foo://b/v.bin' cannot be opened: .*foo"):
        scan.to_arrow()


def test_what_verify_notes_holds_no_password(tmp_path):
    indexed_table(tmp_path, NUMBERS)
    (tmp_path / "stray.parquet").write_bytes(b"12345")
    with serve(tmp_path) as server:
        (note,) = verify_log(server.url.replace("//", "//user:sEcReT@")).notes
    assert "sEcReT" not in note
    assert "user:***@" in note


def test_markers_of_folders_are_no_files(tmp_path, monkeypatch):
    """A folder that was made in the console of a store is an object there, of no bytes."""
    indexed_table(tmp_path, NUMBERS)
    fsspec.filesystem("memory").put(str(tmp_path), "/marked", recursive=True)
    finds = MemoryFileSystem.find

    def with_markers(system, path, **how):
        marked = {f"/marked/{name}": {"size": 0, "type": "file"} for name in ("", "_delta_log/", "day=1/")}
        return finds(system, path, **how) | marked

    monkeypatch.setattr(MemoryFileSystem, "find", with_markers)
    report = verify_log("memory://marked")
    assert report.ok
    assert not report.notes


def test_a_file_of_another_store_with_the_path_of_one_that_is_there(tmp_path):
    """It is missing there, and the one that is there belongs to nobody."""
    here = tmp_path / "part-1.parquet"
    entry = indexed_add(here, NUMBERS)
    entry["add"]["path"] = f"memory://{here}"
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), entry)
    report = verify_log(tmp_path)
    assert [each.rule for each in report.problems] == ["the file exists"]
    assert any("part-1.parquet" in note for note in report.notes)


def test_credentials_of_a_table_stay_with_its_server(tmp_path):
    """Whoever can write its log says which other servers are asked, as a shallow clone does."""
    plain, deleted = indexed_table(tmp_path / "far", NUMBERS) / "part-0.parquet", [DeletionVector([1])]
    far = tmp_path / "far"
    (vector,) = write_vectors(str(far), deleted)
    name = Path(vector.absolute_path(far)).name
    options = {"headers": {"Authorization": "Bearer sEcReT"}}
    with serve(tmp_path / "table") as near, serve(far) as other:
        by_place = DeletionVectorDescriptor.on_disk_with_absolute_path(
            f"{other.url}/{name}", vector.size_in_bytes, 1, vector.offset
        )
        files = [
            indexed_add(tmp_path / "table" / "a.parquet", NUMBERS),
            indexed_add(tmp_path / "table" / "b.parquet", NUMBERS, vector=by_place),
            indexed_add(plain, NUMBERS),
        ]
        files[0]["add"]["path"] = f"{near.url}/a.parquet"
        files[2]["add"]["path"] = f"{other.url}/{plain.name}"
        commit(tmp_path / "table", 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), *files)
        scan = pyqbeast.scan(near.url, storage_options=options)
        assert len(ids(scan)) == 3 * NUMBERS.num_rows - 1
        assert scan.verify().ok
        assert near.keys == {"Bearer sEcReT"}
        assert other.keys == {None}


@pytest.mark.parametrize(
    ("table", "file", "are_given"),
    [
        ("https://host/t", "https://host/u/a", True),
        ("https://host/t", "http://host/t/a", False),
        ("https://host/t", "https://host:81/t/a", False),
        ("https://host/t", "https://other?@host/t/a", False),
        ("https://host/t", "https://other#@host/t/a", False),
        ("https://host/t", "https://host@other/t/a", False),
        ("https://host/t", "ftp://host/t/a", False),
        ("ftp://host/t", "ftp://host/u", True),
        ("ftp://host/t", "ftp://other/t", False),
        # What stands there is a bucket of one service.
        ("memory://bucket/t", "memory://other/t/a", True),
        ("memory://bucket/t", "/t/a", False),
        ("/t", "file:/u/a", True),
        ("zip://t::/a.zip", "zip://t/b::/a.zip", True),
        ("zip://t::/a.zip", "zip://t/b::/b.zip", False),
    ],
)
def test_options_go_to_the_store_of_the_table(monkeypatch, table, file, are_given):
    def opened(location, storage_options=None):
        return storage_options, location

    monkeypatch.setattr(locations, "open_location", opened)
    assert locations.open_named(file, table, {"key": "x"}) == ({"key": "x"} if are_given else None, file)


class AccountFiles(MemoryFileSystem):
    """A store like Azure's: a URL names the account, or an option does."""

    protocol = ("short", "whole")
    cachable = False

    def __init__(self, account=None, key=None):
        super().__init__()
        self.key = key

    @staticmethod
    def _get_kwargs_from_urls(url):
        _, _, server = url.rpartition("@")
        return {"account": server.partition("/")[0]} if "@" in url else {}


for scheme in AccountFiles.protocol:
    fsspec.register_implementation(scheme, AccountFiles, clobber=True)


@pytest.mark.parametrize(
    ("table", "file", "options", "are_given"),
    [
        ("short://c/t", "whole://c@one/f", {"account": "one", "key": "x"}, True),
        ("whole://c@one/t", "short://c/f", {"account": "one", "key": "x"}, True),
        ("whole://c@one/t", "whole://d@one/f", {"key": "x"}, True),
        ("short://c/t", "short://d/f", {"key": "x"}, True),
        ("short://c/t", "whole://c@two/f", {"account": "one", "key": "x"}, False),
        ("short://c/t", "whole://c@one/f", {"key": "x"}, False),
        ("whole://c@one/t", "short://c/f", {"key": "x"}, False),
        ("whole://c@one/t", "whole://c@two/f", {"key": "x"}, False),
    ],
)
def test_a_store_is_told_by_a_url_or_by_options(table, file, options, are_given):
    """Spark names the files of a clone with their account, as Azure's `abfss` does."""
    opened, _ = locations.open_named(file, table, options)
    assert (opened.key == "x") == are_given
    # A sidecar is taken where its store is that of the log.
    assert (opened == locations.open_location(table, options)[0]) == are_given


fsspec.register_implementation("azure", AzureFiles, clobber=True)


@pytest.mark.parametrize(
    ("table", "host", "is_read"),
    [
        ("azure://c@a.dfs.core.chinacloudapi.cn/t", "a.dfs.core.chinacloudapi.cn", True),
        ("azure://c@a.dfs.core.chinacloudapi.cn/t", "a.blob.core.chinacloudapi.cn", True),
        ("azure://c@a.dfs.core.chinacloudapi.cn/t", "b.dfs.core.chinacloudapi.cn", False),
        ("azure://c@a.dfs.core.chinacloudapi.cn/t", "b.blob.core.chinacloudapi.cn", False),
        ("azure://c@a.dfs.core.chinacloudapi.cn/t", "b.dfs.core.windows.net", True),
        ("azure://c@a.dfs.core.windows.net/t", "a.dfs.core.chinacloudapi.cn", False),
        ("azure://c/t", "a.dfs.core.chinacloudapi.cn", False),
        ("/t", "a.dfs.core.chinacloudapi.cn", False),
    ],
)
def test_no_file_is_read_from_another_account_than_its_own(table, host, is_read):
    """A client that takes no account from a host would look in the table's."""
    file = f"azure://c@{host}/source/f"
    if is_read:
        assert locations.open_named(file, table, {"key": "x"})[1] == "/c/source/f"
        return
    with pytest.raises(UnsupportedError, match=rf"'{file}' cannot be opened: .*takes no account from {host}"):
        locations.open_named(file, table, {"key": "x"})


@pytest.mark.parametrize(
    "url", ["http://user:word@host/f", "memory://a@b/f", "github://organization@commit/f"]
)
def test_what_stands_before_a_host_elsewhere_is_no_container(monkeypatch, url):
    monkeypatch.setattr(locations, "open_location", lambda location, _=None: location)
    assert locations.open_named(url, "/t", None) == url


def fails(url):
    raise KeyError("username")


def test_files_are_told_with_their_account(tmp_path, monkeypatch):
    """One path in two accounts is two files. What cannot be opened is missing, or not of the table's folder."""
    monkeypatch.setattr(AccountFiles, "_get_kwargs_from_urls", fails)
    indexed_table(tmp_path, NUMBERS)
    (log,) = (tmp_path / "_delta_log").glob("*.json")
    *first, added = log.read_text().splitlines()
    far = [
        added.replace('"part-0', f'"azure://c@{account}.dfs.core.windows.net/far/part-0') for account in "ab"
    ]
    log.write_text("\n".join([*first, added, *far]))
    (tmp_path / "stray.parquet").write_bytes(b"12345")
    fsspec.filesystem("memory").put(str(tmp_path), "/c/told", recursive=True)
    fsspec.filesystem("memory").put(str(tmp_path / "part-0.parquet"), "/c/far/part-0.parquet")
    report = verify_log("azure://c@a.dfs.core.windows.net/told")
    assert not report.problems
    assert any("azure://c@a.dfs.core.windows.net/told/stray.parquet" in note for note in report.notes)
    unread = "azure://c@a.dfs.else.where/far/part-0.parquet"
    gone = [
        json.dumps(
            {"remove": {"path": path, "deletionTimestamp": round(time.time() * 1000), "dataChange": True}}
        )
        for path in (unread, "short://c/f")
    ]
    log.write_text("\n".join([*first, added, *far, *gone]))
    fsspec.filesystem("memory").put(str(log), f"/c/told/_delta_log/{log.name}")
    again = verify_log("azure://c@a.dfs.core.windows.net/told")
    assert (again.problems, again.notes) == (report.problems, report.notes)
    log.write_text("\n".join([*first, added, *far, added.replace("part-0.parquet", unread)]))
    fsspec.filesystem("memory").put(str(log), f"/c/told/_delta_log/{log.name}")
    (problem,) = verify_log("azure://c@a.dfs.core.windows.net/told").problems
    assert (problem.rule, problem.file) == ("the file exists", unread)


def test_a_url_that_fsspec_cannot_take_apart(monkeypatch):
    """As github://organization@commit/file, which names no repository."""
    monkeypatch.setattr(AccountFiles, "_get_kwargs_from_urls", fails)
    with pytest.raises(StorageError, match=r"^opening short://c/f failed: KeyError: 'username'"):
        locations.open_named("short://c/f", "memory://t", {"key": "x"})


@pytest.mark.parametrize("may_list", [True, False])
def test_files_of_a_shallow_clone_are_listed_together(tmp_path, monkeypatch, may_list):
    """Once they are many. Who may not list their folder asks for each, and a missing file is found either way."""
    monkeypatch.setattr(files_on_disk, "_ASKED_SINGLY", 4)
    source = indexed_table(tmp_path / "source", *[NUMBERS.slice(first, 3) for first in range(0, 30, 3)])
    memory, cloned = fsspec.filesystem("memory"), f"/cloned-{may_list}"
    memory.put(str(source), f"{cloned}/source", recursive=True)
    for commit_file in (source / "_delta_log").glob("*.json"):
        text = commit_file.read_text().replace('"part-', f'"memory://{cloned}/source/part-')
        memory.pipe(f"{cloned}/clone/_delta_log/{commit_file.name}", text.encode())
    asked = []
    ls, size = type(memory).ls, type(memory).size

    def listing(store, path, *args, **options):
        if "source" in path and not may_list:
            raise PermissionError(path)
        return ls(store, path, *args, **options)

    def sizing(store, path):
        asked.append(path.rpartition("/")[2])
        return size(store, path)

    monkeypatch.setattr(type(memory), "ls", listing)
    monkeypatch.setattr(type(memory), "size", sizing)
    assert verify_log(f"memory://{cloned}/clone").problems == ()
    assert len(asked) == (4 if may_list else 10)
    memory.rm(f"{cloned}/source/part-3.parquet")
    with memory.open(f"{cloned}/source/part-4.parquet", "ab") as file:
        file.write(b"more")
    problems = verify_log(f"memory://{cloned}/clone").problems
    assert {each.file.rpartition("/")[2]: each.rule for each in problems} == {
        "part-3.parquet": "the file exists",
        "part-4.parquet": "file size",
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "url", ["zip://table::{}", "zip://table/::file://{}", "zip://table::memory://a/chained.zip"]
)
def test_a_table_in_an_archive(golden, tmp_path, url):
    """The names of its files belong before the `::` that a URL ends with."""
    stored = golden("qbeast/i2_deleted_dv") / "table"
    archive = shutil.make_archive(str(tmp_path / "stored"), "zip", stored.parent, "table")
    fsspec.filesystem("memory").put(archive, "/a/chained.zip")
    chained = url.format(archive)
    found, expected = pyqbeast.scan(chained), pyqbeast.scan(stored)
    assert found.sample(0.1).select(["id"]).to_arrow() == expected.sample(0.1).select(["id"]).to_arrow()
    assert found.select(["id"]).to_dataset().count_rows() == expected.to_arrow().num_rows
    assert gather_table(chained).points.rows.num_rows > 1_000
    assert verify_log(chained).problems == ()
