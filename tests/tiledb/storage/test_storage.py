"""Where arrays are: any fsspec store and web servers, and only the bytes that are needed."""

from __future__ import annotations

import math
import os
import pickle
import shutil
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import pyqbeast
from pyqbeast import plot, tiledb
from pyqbeast.cli.tiledb import commands
from pyqbeast.core.errors import InvalidInputError, QbeastError, StorageError, TableNotFoundError
from pyqbeast.tiledb import Datatype, attribute, create_array, write_array
from pyqbeast.tiledb.read import fragment_metadata, tile_data
from pyqbeast.tiledb.read.fragment_metadata import METADATA_FILE
from pyqbeast.tiledb.storage.stores import Store, open_store
from pyqbeast.tiledb.storage.web import WebFileSystem
from tests.scanning.tables import indexed_table
from tests.tiledb import failing  # noqa: F401  (makes `remembering://` known)
from tests.tiledb.arrays import mixed_schema, mixed_table, one_dimension, rows, sorted_array
from tests.tiledb.server import serve


@pytest.fixture
def memory(tmp_path):
    """A function that copies a folder into `memory://` and gives its URI."""
    fs = fsspec.filesystem("memory")

    def copy(folder):
        for path in folder.rglob("*"):
            if path.is_file():
                fs.pipe_file(f"/{tmp_path.name}/{path.relative_to(folder)}", path.read_bytes())
        return f"memory://{tmp_path.name}"

    yield copy
    if fs.exists(f"/{tmp_path.name}"):
        fs.rm(f"/{tmp_path.name}", recursive=True)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["sp_deletes", "sp_consolidated_del", "de_subarray", "sp_enum", "sp_meta"])
def test_the_same_over_memory_and_http(golden, memory, case):
    folder = golden(f"tiledb/{case}") / "array"
    local = tiledb.open_array(str(folder))
    with serve(folder.parent) as server:
        for uri in (memory(folder), f"{server.url}/array"):
            array = tiledb.open_array(uri)
            assert str(array.read().to_pydict()) == str(local.read().to_pydict())
            assert array.metadata == local.metadata
            assert array.enumerations.keys() == local.enumerations.keys()
            assert tiledb.verify(array).problems == tiledb.verify(local).problems


def test_a_name_that_reads_like_a_chain_of_urls(tmp_path):
    """fsspec takes `a::b` for something at `b` that is opened by way of `a`, and the array beside it for this one."""
    for number, name in enumerate(["a", "a::b"]):
        uri = str(tmp_path / name)
        tiledb.create_array(uri, one_dimension(tiledb.attribute("v", tiledb.Datatype.INT64)))
        tiledb.write_array(uri, pa.table({"x": [number], "v": [number]}))
    for number, name in enumerate(["a", "a::b"]):
        for uri in (str(tmp_path / name), f"file://{tmp_path}/{name}"):
            assert tiledb.open_array(uri).read().to_pylist() == [{"x": number, "v": number}]


def test_a_url_with_one_slash(tmp_path, monkeypatch):
    """Hadoop spells it so where no host is named. It is no folder of the working directory."""
    monkeypatch.chdir(tmp_path)
    schema = one_dimension(tiledb.attribute("v", tiledb.Datatype.INT64))
    tiledb.create_array("memory:/one_slash/a", schema)
    tiledb.write_array("memory:/one_slash/a", pa.table({"x": [1], "v": [2]}))
    assert tiledb.open_array("memory:///one_slash/a").read().num_rows == 1
    with pytest.raises(InvalidInputError, match=r"^nosuch:/a: Protocol not known: nosuch"):
        tiledb.create_array("nosuch:/a", schema)
    assert list(tmp_path.iterdir()) == []
    for local in (f"file:{tmp_path}/a", "c:/a"):
        tiledb.create_array(local, schema)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "c:"]


def test_a_name_that_reads_like_a_pattern():
    """fsspec deletes whatever matches the name."""
    fs, schema = fsspec.filesystem("memory"), one_dimension(tiledb.attribute("v", tiledb.Datatype.INT64))
    cells = pa.table({"x": [1], "v": [1]})
    for name in ("/patterns/b1", "/patterns/b?", "/patterns/b[1]"):
        tiledb.create_array(f"memory:/{name}", schema)
    array = tiledb.open_array("memory://patterns/b1")
    staged = tiledb.stage_fragment(array, cells)
    for name in ("/patterns/b?", "/patterns/b[1]"):
        for path in fs.find(f"/patterns/b1/__fragments/{staged}"):
            fs.pipe_file(path.replace("/patterns/b1", name), fs.cat_file(path))
    tiledb.commit_fragments(array.store, [staged])
    for name in ("/patterns/b?", "/patterns/b[1]"):
        tiledb.abort_fragments(tiledb.open_array(f"memory:/{name}").store, [staged])
    assert [path for path in fs.find("/patterns") if path.endswith("__fragment_metadata.tdb")] == [
        f"/patterns/b1/__fragments/{staged}/__fragment_metadata.tdb"
    ]
    assert tiledb.open_array("memory://patterns/b1").read().to_pylist() == cells.to_pylist()
    fs.rm("/patterns", recursive=True)


@pytest.mark.slow
def test_one_tile_of_a_hundred_costs_little(tmp_path, memory, monkeypatch):
    """Under 5 % of the fragment's bytes: schema, listing, footer and sections are all counted."""
    folder = tmp_path / "a"
    sorted_array(str(folder))
    size = sum(path.stat().st_size for path in folder.rglob("*.tdb"))
    read = []
    original = Store.read

    def counted(self, *args):
        data = original(self, *args)
        read.append(len(data))
        return data

    monkeypatch.setattr(Store, "read", counted)
    for question in ({"box": {"x": (150_000, 152_000)}}, {"where": [("v", "==", -150_300)]}):
        read.clear()
        assert tiledb.open_array(memory(folder)).read(**question).num_rows
        assert 0 < sum(read) < 0.05 * size
    with serve(tmp_path) as server:
        assert tiledb.open_array(f"{server.url}/a").read(box={"x": (150_000, 152_000)}).num_rows
        assert 0 < server.sent < 0.05 * size


def test_a_server_without_ranges_serves_as_well(tmp_path):
    expected = sorted_array(str(tmp_path / "a"), tiles=2)
    with serve(tmp_path, ranges=False) as server:
        assert tiledb.open_array(f"{server.url}/a").read(["v"])["v"].to_pylist() == expected["v"].to_pylist()


def test_arrays_are_written_to_memory(memory, tmp_path):
    uri = memory(tmp_path / "nothing") + "/array"
    tiledb.create_array(uri, mixed_schema(capacity=32))
    table = mixed_table(100)
    tiledb.write_array(uri, table)
    assert rows(tiledb.open_array(uri).read(), "x", "y") == rows(table, "x", "y")


def test_a_store_that_remembers_listings(tmp_path):
    """What was written since the last listing (here without the client's knowledge) is seen all the same."""
    uri = f"remembering://{tmp_path.name}"
    tiledb.create_array(uri, mixed_schema())
    assert not tiledb.open_array(uri).fragments
    tiledb.write_array(uri, mixed_table(10))
    assert tiledb.open_array(uri).read().num_rows == 10
    store = open_store(uri)
    assert len(store.entries("__commits")) == 1
    store.write("__commits/x", b"abc")
    assert store.size("__commits/x") == 3
    fs = fsspec.filesystem("remembering")
    assert not fs.dircache
    # All files of a folder tell their times as it is listed.
    fs.asked.clear()
    assert tiledb.clean(uri, retain_hours=0) == []
    assert not fs.store.keys() & set(fs.asked)
    fs.find(f"/{tmp_path.name}")
    fs.pipe_file(f"/{tmp_path.name}/__commits/y", b"")
    store.delete("__commits")
    assert f"/{tmp_path.name}/__commits" not in fs.dircache
    assert not store.entries("__commits")


@pytest.mark.parametrize(
    ("entry", "error"),
    [({"name": "{}/", "type": "file"}, IsADirectoryError), ({"name": "{}", "type": "directory"}, KeyError)],
)
def test_a_folder_that_a_store_lists_as_its_own_child(tmp_path, monkeypatch, entry, error):
    """As clients do where an object stands for the folder. None tells when a folder was made."""
    uri, empty = f"memory://{tmp_path.name}", f"__1_1_{'0a' * 16}_22"
    tiledb.create_array(uri, one_dimension(tiledb.attribute("v", tiledb.Datatype.INT64)))
    staged = tiledb.stage_fragment(tiledb.open_array(uri), pa.table({"x": [1], "v": [2]}))
    fs = fsspec.filesystem("memory")
    fs.makedirs(f"/{tmp_path.name}/__fragments/{empty}")
    ls, modified = MemoryFileSystem.ls, MemoryFileSystem.modified

    def with_itself(system, path, detail=True, **how):
        itself = {**entry, "name": entry["name"].format(path), "size": 0}
        return [*ls(system, path, True, **how), itself]

    def modified_of_files(system, path):
        if system.isdir(path):
            raise error(path)
        return modified(system, path)

    monkeypatch.setattr(MemoryFileSystem, "ls", with_itself)
    monkeypatch.setattr(MemoryFileSystem, "modified", modified_of_files)
    assert {each.name for each in open_store(uri).entries("__fragments")} == {staged, empty}
    # An empty folder may be that of a write that has just begun.
    assert tiledb.clean(uri, retain_hours=0) == [f"__fragments/{staged}"]


def test_an_empty_folder_in_a_store_that_finds_files_alone(tmp_path):
    """`memory://` says of the time of a folder that there is no such file."""
    uri = f"memory://{tmp_path.name}"
    tiledb.create_array(uri, one_dimension(tiledb.attribute("v", tiledb.Datatype.INT64)))
    staged = tiledb.stage_fragment(tiledb.open_array(uri), pa.table({"x": [1], "v": [2]}))
    fsspec.filesystem("memory").makedirs(f"/{tmp_path.name}/__fragments/__1_1_{'0a' * 16}_22")
    assert tiledb.clean(uri, retain_hours=0) == [f"__fragments/{staged}"]


def test_what_has_just_gone_is_nothing_old(tmp_path):
    """A file that a write began has its name in the end, and another may clean at the same time."""
    store = open_store(str(tmp_path))
    assert store.modified("gone") == store.newest("gone") == math.inf


def test_an_opened_array_is_read_in_a_forked_process(tmp_path, monkeypatch):
    """fsspec tells the process by its number, and refuses to work in another one."""
    sorted_array(str(tmp_path / "a"), tiles=2)
    with serve(tmp_path) as server:
        array = tiledb.open_array(f"{server.url}/a")
        assert array.read(["v"]).num_rows == 2000
        monkeypatch.setattr(os, "getpid", lambda: -1)
        assert array.read(["f"]).num_rows == 2000


def test_storage_without_an_array(tmp_path):
    with pytest.raises(TableNotFoundError, match="no array"):
        tiledb.open_array(str(tmp_path))
    with pytest.raises(InvalidInputError, match="nosuch"):
        tiledb.open_array("nosuch://a/b")
    with serve(tmp_path) as server:
        with pytest.raises(TableNotFoundError):
            tiledb.open_array(f"{server.url}/a")
        with pytest.raises(InvalidInputError, match="read-only"):
            tiledb.create_array(f"{server.url}/a", mixed_schema())


def test_a_missing_file_is_named(tmp_path):
    sorted_array(str(tmp_path / "a"), tiles=2)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    next((tmp_path / "b").rglob("a0.tdb")).unlink()
    array = tiledb.open_array(str(tmp_path / "b"))
    assert array.read(["f"]).num_rows == 2000
    with pytest.raises(tiledb.ArrayFormatError, match=r"a0\.tdb.*missing"):
        array.read(["v"])


def test_a_read_past_the_end_is_an_error(tmp_path, memory):
    (tmp_path / "f").write_bytes(b"12345")
    (tmp_path / "empty").touch()
    with serve(tmp_path) as with_ranges, serve(tmp_path, ranges=False) as without:
        for uri in (str(tmp_path), memory(tmp_path), with_ranges.url, without.url):
            store = open_store(uri)
            assert store.read("f", 1, 3) == b"23"
            assert store.read("f", 3) == b"45"
            assert store.read("f", 3, 3) == b""
            assert store.read("empty") == b""
            assert (store.size("f"), store.size("empty"), store.size("nope")) == (5, 0, None)
            for start, end in ((0, 6), (4, 6), (5, 6), (0, 2**40)):
                with pytest.raises(tiledb.ArrayFormatError, match=r"f: .*ends"):
                    store.read("f", start, end)
            with pytest.raises(tiledb.ArrayFormatError, match=r"nope: .*missing"):
                store.read("nope", 0, 1)


@pytest.mark.slow
def test_several_ranges_of_a_file(tmp_path, memory, monkeypatch):
    """They come as one by one; servers are asked for several at once."""
    content = bytes(range(200))
    (tmp_path / "f").write_bytes(content)
    ranges = [(start, start + 3) for start in range(190, 0, -5)] + [(7, 7), (0, 200)]
    running, most, original = 0, 0, WebFileSystem._cat_file

    async def counted(self, *args, **options):
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            return await original(self, *args, **options)
        finally:
            running -= 1

    monkeypatch.setattr(WebFileSystem, "_cat_file", counted)
    with serve(tmp_path) as with_ranges, serve(tmp_path, ranges=False) as without:
        for uri in (str(tmp_path), memory(tmp_path), with_ranges.url, without.url):
            store = open_store(uri)
            assert store.read_ranges("f", ranges) == [content[start:end] for start, end in ranges]
            assert store.read_ranges("f", []) == []
            with pytest.raises(tiledb.ArrayFormatError, match=r"f: .*ends 1 bytes"):
                store.read_ranges("f", [*ranges, (199, 201)])
            with pytest.raises(tiledb.ArrayFormatError, match=r"f: .*ends"):
                store.read_ranges("f", [*ranges, (0, 2**40)])
            with pytest.raises(tiledb.ArrayFormatError, match=r"nope: .*missing"):
                store.read_ranges("nope", ranges)
        without.fails = True
        with pytest.raises(StorageError, match=rf"{without.url}/f: .*503"):
            store.read_ranges("f", ranges)
    assert most == 16


def test_small_metadata_is_fetched_once(tmp_path, memory, monkeypatch):
    """A request for the footer and one for all sections; sections that are many are fetched each."""
    uri = memory(tmp_path / "nothing") + "/array"
    create_array(uri, mixed_schema(capacity=32))
    write_array(uri, mixed_table(100))
    asked, original = [], Store.read

    def counted(self, path, *args):
        asked.append(path.endswith(METADATA_FILE))
        return original(self, path, *args)

    monkeypatch.setattr(Store, "read", counted)
    array = tiledb.open_array(uri)
    cells = array.read(where=[("i", ">", 0)])
    assert sum(asked) == 2
    monkeypatch.setattr(fragment_metadata, "_FETCHED_WHOLE", 100)
    assert tiledb.open_array(uri).read(where=[("i", ">", 0)]).equals(cells)
    assert sum(asked) > 10
    (fragment,) = array.fragments
    assert "_section_bytes" in vars(fragment)
    assert "_section_bytes" not in vars(pickle.loads(pickle.dumps(fragment)))


def test_of_many_columns_only_the_sections_that_are_needed_are_fetched(tmp_path, monkeypatch):
    uri = str(tmp_path / "a")
    create_array(uri, one_dimension(*[attribute(f"v{i}", Datatype.INT64) for i in range(60)]))
    write_array(uri, pa.table({name: range(10) for name in ("x", *(f"v{i}" for i in range(60)))}))
    fetched, original = 0, Store.read

    def counted(self, *args):
        nonlocal fetched
        data = original(self, *args)
        fetched += len(data)
        return data

    (fragment,) = tiledb.open_array(uri).fragments
    size = fragment.store.size(fragment.metadata_path)
    assert fragment.footer.sparse_tiles == 1
    monkeypatch.setattr(Store, "read", counted)
    assert len(fragment.rtree.leaves) == 1
    assert fragment.tile_offsets("v7").values.tolist() == [0]
    assert 0 < fetched < size / 50


def test_tiles_that_lie_near_one_another_are_read_in_one_piece(tmp_path, monkeypatch):
    content = bytes(range(256)) * 100
    (tmp_path / "f").write_bytes(content)
    asked, original = [], Store.read_ranges

    def counted(self, path, ranges):
        asked.extend(ranges)
        return original(self, path, ranges)

    monkeypatch.setattr(Store, "read_ranges", counted)
    starts = np.array([0, 10, 30, 20_000, 5, 8])
    pieces = tile_data._fetch(open_store(str(tmp_path)), "f", starts, starts + 10)
    assert [bytes(piece) for piece in pieces] == [content[start : start + 10] for start in starts]
    assert asked == [(0, 40), (20_000, 20_010), (5, 15), (8, 18)]


def test_no_piece_is_mostly_what_lies_between_its_tiles(tmp_path, monkeypatch):
    """10,000 tiles of 100 bytes may be spread over a file of 81 MB."""
    (tmp_path / "f").write_bytes(bytes(900_000))
    asked, original = [], Store.read_ranges

    def counted(self, path, ranges):
        asked.append(ranges)
        return original(self, path, ranges)

    monkeypatch.setattr(Store, "read_ranges", counted)
    store = open_store(str(tmp_path))
    for distance in (0, 100, 1_000, 7_900, 8_193):
        starts = np.arange(100) * (100 + distance)
        tile_data._fetch(store, "f", starts, starts + 100)
        in_a_piece = (1 << 16) // max(1, distance) if distance <= 8_192 else 0
        assert len(asked[-1]) == -(-100 // (1 + in_a_piece))
    # More is read over beside more that is wanted.
    starts = 24_000 * np.arange(30)
    tile_data._fetch(store, "f", starts, starts + 16_000)
    assert asked[-1] == [(0, 29 * 24_000 + 16_000)]


@pytest.mark.slow
def test_no_more_is_taken_of_a_server_without_ranges_than_is_needed(tmp_path):
    (tmp_path / "f").write_bytes(bytes(range(256)) * 400_000)
    with serve(tmp_path, ranges=False) as server:
        assert open_store(server.url).read("f", 100, 300) == (bytes(range(256)) * 2)[100:300]
        assert server.sent < 50_000_000


def test_a_server_that_fails_is_no_missing_array(tmp_path):
    sorted_array(str(tmp_path / "a"), tiles=2)
    with serve(tmp_path) as server:
        array = tiledb.open_array(f"{server.url}/a")
        server.fails = True
        for ask in (lambda: tiledb.open_array(f"{server.url}/a"), array.read, lambda: array.store.size("x")):
            with pytest.raises(StorageError, match=rf"{server.url}/a.*503"):
                ask()
    with pytest.raises(StorageError, match=server.url):
        array.read()


@pytest.mark.slow
def test_passwords_are_shown_nowhere(tmp_path):
    """Neither in errors nor in what is made to be shared."""
    uri = str(tmp_path / "a")
    create_array(uri, one_dimension(attribute("v", Datatype.INT32)))
    write_array(uri, pa.table({"x": [1, 2], "v": [1, 2]}))
    with serve(tmp_path) as server:
        url = server.url.replace("//", "//user:sEcReT@") + "/a"
        array = tiledb.open_array(url)
        assert array.read().num_rows == 2
        shown = [
            repr(array),
            str(tiledb.verify(array).to_dict()),
            str(commands.info(url)),
            plot.page(url).html,
        ]
        next(Path(uri).rglob("a0.tdb")).unlink()
        for wrong in (
            array.read,
            lambda: tiledb.open_array(f"{url}x"),
            lambda: plot.page(f"{url}x"),
            lambda: tiledb.write_metadata(url, {"a": 1}),
            lambda: tiledb.open_array("nosuch://user:sEcReT@host/a"),
            lambda: tiledb.open_array("http://user:sEcReT@127.0.0.1:9/a"),
            lambda: pyqbeast.scan("http://user:sEcReT@127.0.0.1:9/a"),
        ):
            with pytest.raises(QbeastError) as error:
                wrong()
            shown.append(str(error.value))
    assert not [text for text in shown if "sEcReT" in text]
    assert "user:***@" in shown[3]
    assert "user:***@" in shown[-1]


def test_the_host_of_a_file_url(tmp_path, monkeypatch):
    """With two slashes in place of three, fsspec quietly opens what is below the working directory."""
    monkeypatch.chdir(tmp_path)
    indexed_table(tmp_path / "tmp" / "t", pa.table({"id": [1]}))
    tiledb.create_array(
        str(tmp_path / "tmp" / "a"), one_dimension(tiledb.attribute("v", tiledb.Datatype.INT64))
    )
    here = f"file://LocalHost{tmp_path}/tmp"
    assert pyqbeast.scan(f"{here}/t").to_arrow().num_rows == 1
    assert tiledb.open_array(f"{here}/a").read().num_rows == 0
    for opened in (lambda: pyqbeast.scan("file://tmp/t"), lambda: tiledb.open_array("file://tmp/a")):
        with pytest.raises(InvalidInputError, match=r"'file://tmp/.' names the host 'tmp': .* three slashes"):
            opened()
