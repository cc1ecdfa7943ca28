"""Vectors in files: written, read, and refused when broken."""

import dataclasses
import io
import json
import re
import struct
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from pyqbeast.core.errors import FormatError, InvalidInputError, StorageError
from pyqbeast.deletion_vectors import vector_files
from pyqbeast.deletion_vectors.table import find_file
from pyqbeast.deletion_vectors.vector import read_from, write_vectors
from pyqbeast.delta import DeletionVector, DeletionVectorDescriptor
from pyqbeast.delta_log import locations
from tests.faulty_files import FaultyFiles, PythonFaults
from tests.tiledb.server import serve


@pytest.fixture
def written(tmp_path):
    """A vector of three rows alone in a file: its descriptor, the table and the file."""
    (descriptor,) = write_vectors(tmp_path, [DeletionVector([3, 4, 2**32])])
    (file,) = tmp_path.iterdir()
    return descriptor, tmp_path, file


def test_many_vectors_share_a_file(tmp_path):
    vectors = [DeletionVector([1]), DeletionVector(), DeletionVector(range(2**32, 2**32 + 500))]
    descriptors = write_vectors(tmp_path, vectors, random_prefix="ab")
    assert [descriptor.cardinality for descriptor in descriptors] == [1, 0, 500]
    assert len({descriptor.absolute_path(tmp_path) for descriptor in descriptors}) == 1
    assert [path.parent.name for path in tmp_path.rglob("*.bin")] == ["ab"]
    assert [DeletionVector.read(descriptor, tmp_path) for descriptor in descriptors] == vectors


def test_a_table_whose_name_reads_like_a_chain_of_urls(tmp_path):
    """fsspec takes `a::b` for something at `b` that is opened by way of `a`."""
    (vector,) = write_vectors(tmp_path / "a::b", [DeletionVector([7])])
    assert DeletionVector.read(vector, tmp_path / "a::b") == DeletionVector([7])
    assert [path.name for path in tmp_path.iterdir()] == ["a::b"]
    with pytest.raises(InvalidInputError, match="chain of URLs"):
        write_vectors("memory://a::b", [DeletionVector([7])])


class StoreOfSpark:
    """Files by their whole locations, as Hadoop has them."""

    def __init__(self):
        self.files = {}

    def open(self, location, read_ahead):
        if location not in self.files:
            raise FileNotFoundError(location)
        return io.BytesIO(self.files[location])

    def write(self, location, content):
        self.files[location] = content


@pytest.mark.parametrize(
    "root",
    [
        "s3a://lake/runs/db::t",
        "abfss://c@a.dfs.core.windows.net/db::t",
        "hdfs://nn:8020/db::t",
        "lake://db::t",
    ],
)
def test_to_spark_two_colons_are_letters_of_a_name(root):
    """Only fsspec has chains of URLs. A vector that lies beside its table is found by no reader."""
    store = StoreOfSpark()
    (vector,) = write_vectors(root, [DeletionVector([7])], store=store)
    (location,) = store.files
    assert re.fullmatch(rf"{root}/deletion_vector_[0-9a-f-]*\.bin", location)
    assert read_from(vector, root, store) == DeletionVector([7])
    assert locations.file_location(root, "a.parquet") == f"{root}/a.parquet"
    assert find_file(f"{root}/a.parquet", ["a.parquet"], root, locations.place_in_spark) == "a.parquet"


@pytest.mark.parametrize("given", [DeletionVector([1, 2]), [1, 2], ["x"], 5])
def test_what_is_no_list_of_vectors(tmp_path, given):
    """A vector is a list of whole numbers, which have a method `to_bytes` of their own."""
    with pytest.raises(InvalidInputError, match="a list of deletion vectors"):
        write_vectors(tmp_path, given)
    assert not list(tmp_path.iterdir())


def test_the_file_is_laid_out_as_the_protocol_says(written):
    descriptor, _, file = written
    content = file.read_bytes()
    assert content[0] == 1
    assert descriptor.offset == 1
    assert struct.unpack(">I", content[1:5]) == (descriptor.size_in_bytes,)
    assert content[5:-4] == DeletionVector([3, 4, 2**32]).to_bytes()


def test_no_vectors_no_file(tmp_path):
    assert write_vectors(tmp_path, []) == []
    assert list(tmp_path.iterdir()) == []


def test_other_file_systems_through_fsspec():
    (descriptor,) = write_vectors("memory://dv/table", [DeletionVector([5])], random_prefix="xy")
    assert fsspec.filesystem("memory").exists("/dv/table/xy")
    assert list(DeletionVector.read(descriptor, "memory://dv/table")) == [5]
    with pytest.raises(InvalidInputError, match="nosuch"):
        DeletionVector.read(descriptor, "nosuch://dv/table")


def test_one_vector_of_many_is_fetched_alone(tmp_path):
    """A file may hold thousands of them, and stores read 5 MB ahead by themselves."""
    vectors = [DeletionVector(range(k, 60_000, 2)) for k in range(100)]
    descriptors = write_vectors(tmp_path, vectors)
    (file,) = tmp_path.iterdir()
    with serve(tmp_path) as server:
        for k in (0, 50, 99):
            assert DeletionVector.read(descriptors[k], server.url) == vectors[k]
        assert 0 < server.sent < 0.1 * file.stat().st_size


def test_a_vector_near_the_start_of_its_file_takes_one_request(tmp_path):
    """Its version byte, and all that comes before it, take less time than another request."""
    vectors = [DeletionVector(range(k, 60_000, 2)) for k in range(100)]
    descriptors = write_vectors(tmp_path, vectors)
    (alone,) = write_vectors(tmp_path, vectors[:1])
    cases = ((alone, 0, 1), (descriptors[0], 0, 1), (descriptors[2], 2, 1), (descriptors[99], 99, 2))
    with serve(tmp_path) as server:
        for descriptor, k, reads in cases:
            server.reads = server.sent = 0
            assert DeletionVector.read(descriptor, server.url) == vectors[k]
            assert server.reads == reads
            assert server.sent < 1 << 15


@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}"])
def test_an_absolute_copy_reads_the_same(written, form):
    descriptor, table, _ = written
    copy = descriptor.copy_with_absolute_path(form.format(table))
    assert copy.storage_type == "p"
    assert list(DeletionVector.read(copy, "/elsewhere")) == [3, 4, 2**32]


def test_an_absolute_copy_of_a_table_with_an_awkward_name(tmp_path):
    table = tmp_path / "100% mine #1?"
    (descriptor,) = write_vectors(table, [DeletionVector([8])])
    copy = descriptor.copy_with_absolute_path(table)
    assert list(DeletionVector.read(copy, "/elsewhere")) == [8]


def test_every_altered_byte_is_noticed(written):
    descriptor, table, file = written
    content = file.read_bytes()
    for position in range(len(content)):
        altered = bytearray(content)
        altered[position] ^= 0x10
        file.write_bytes(altered)
        with pytest.raises(FormatError, match=r"deletion_vector_.*bin: (version|sizeInBytes|checksum)"):
            DeletionVector.read(descriptor, table)


def test_a_file_cut_anywhere_is_refused(written):
    descriptor, table, file = written
    content = file.read_bytes()
    for length in range(len(content)):
        file.write_bytes(content[:length])
        with pytest.raises(FormatError, match="truncated"):
            DeletionVector.read(descriptor, table)


def test_a_missing_file_is_named(written):
    descriptor, table, file = written
    file.unlink()
    with pytest.raises(FormatError, match=f"{file.name}: there is no such file"):
        DeletionVector.read(descriptor, table)


@pytest.mark.parametrize("name", ["", "%00", "gone/dv.bin"])
def test_an_absolute_path_that_is_no_file(tmp_path, name):
    descriptor = DeletionVectorDescriptor.on_disk_with_absolute_path(f"file:{tmp_path}/{name}", 40, 6, 1)
    with pytest.raises(FormatError, match="there is no such file"):
        DeletionVector.read(descriptor, tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size_in_bytes": 20}, "sizeInBytes: 20 in the log"),
        ({"size_in_bytes": 2**31 - 1}, "truncated"),
        ({"offset": 2**31 - 1}, "truncated"),
        ({"offset": 2}, "sizeInBytes|truncated"),
        ({"offset": None}, "sizeInBytes"),
        ({"cardinality": 4}, "cardinality: 4 in the log, and it holds 3"),
        ({"max_row_index": 4}, "maxRowIndex: 4"),
    ],
)
def test_a_descriptor_that_disagrees_with_its_file(written, change, message):
    descriptor, table, file = written
    with pytest.raises(FormatError, match=f"{file.name}.*({message})"):
        DeletionVector.read(dataclasses.replace(descriptor, **change), table)


def test_without_offset_the_vector_starts_the_file(written):
    descriptor, table, file = written
    file.write_bytes(file.read_bytes()[1:])
    assert len(DeletionVector.read(dataclasses.replace(descriptor, offset=None), table)) == 3


def test_a_file_does_not_outgrow_its_offsets(tmp_path, monkeypatch):
    monkeypatch.setattr(vector_files, "INT_MAX", 100)
    with pytest.raises(InvalidInputError, match="2 GiB"):
        write_vectors(tmp_path, [DeletionVector([1])] * 4)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_delta_wrote(golden):
    """Rows deleted by Delta 3.1: seven vectors in two files, 2963 rows in all."""
    table = golden("qbeast/i2_deleted_dv") / "table"
    lines = (table / "_delta_log" / f"{1:020d}.json").read_text().splitlines()
    adds = [action["add"] for action in map(json.loads, lines) if "add" in action]
    total = 0
    for entry in adds:
        descriptor = DeletionVectorDescriptor.from_struct(entry["deletionVector"])
        vector = DeletionVector.read(descriptor, table)
        total += len(vector)
        content = (table / descriptor.absolute_path(table)).read_bytes()
        start = descriptor.offset + 4
        # Ours are the same bytes, not just the same rows.
        assert vector.to_bytes() == content[start : start + descriptor.size_in_bytes]
    assert (len(adds), total) == (7, 2963)


def test_a_table_that_cannot_take_a_file(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for table in ("file", "file/below", "a\0b"):
        with pytest.raises(StorageError, match=r"^writing deletion vector file .* failed: "):
            write_vectors(f"{tmp_path}/{table}", [DeletionVector([1])])
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("error", [ValueError, MemoryError, FileNotFoundError])
def test_half_of_a_file_is_deleted_whatever_the_error_is(tmp_path, monkeypatch, error):
    def half(path, data):
        Path(path).write_bytes(data[:5])
        raise error("in the middle")

    monkeypatch.setattr(fsspec.filesystem("file"), "pipe_file", half)
    with pytest.raises(MemoryError if error is MemoryError else StorageError, match="in the middle"):
        write_vectors(tmp_path, [DeletionVector([1])])
    assert not list(tmp_path.iterdir())


@pytest.fixture
def schedule(monkeypatch):
    """Says which call below `faulty:` fails."""
    faults = PythonFaults()
    monkeypatch.setattr(FaultyFiles, "next_call", faults.next)
    return faults


def test_storage_that_fails_is_told_with_path_and_cause(written, schedule):
    descriptor, table, file = written
    schedule.fail("open")
    with pytest.raises(
        StorageError, match=rf"^reading deletion vector file faulty:.*{file.name} failed: OSError: the"
    ):
        DeletionVector.read(descriptor, f"faulty:{table}")
    schedule.fail("create", when="full", onwards=True)
    with pytest.raises(
        StorageError, match=r"^writing deletion vector file faulty:.*\.bin failed: OSError: .*No space"
    ):
        write_vectors(f"faulty:{table}", [DeletionVector([1])])
    assert list(table.iterdir()) == [file], "half of a vector stays behind"


def test_a_client_that_has_one_size_of_block(monkeypatch):
    """As that of Databricks."""
    opens = MemoryFileSystem._open

    def of_one_size(system, path, mode="rb", block_size=None, **how):
        if block_size is not None:
            raise ValueError(f"Only the default block size is allowed, not {block_size}")
        return opens(system, path, mode, **how)

    monkeypatch.setattr(MemoryFileSystem, "_open", of_one_size)
    (vector,) = write_vectors("memory://blocks", [DeletionVector([7])])
    assert DeletionVector.read(vector, "memory://blocks") == DeletionVector([7])
