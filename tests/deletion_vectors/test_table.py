"""The deletion vectors of a table file by file, and the report of `pyqbeast dv`."""

import json
import shutil
from pathlib import PurePosixPath
from urllib.parse import quote

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.utils import infer_storage_options

import pyqbeast
from pyqbeast.cli.dv import rows_text, table_text
from pyqbeast.core.errors import FormatError, InvalidInputError, StorageError
from pyqbeast.core.problems import VECTOR, VECTOR_FITS, VECTOR_ROWS
from pyqbeast.deletion_vectors import reports
from pyqbeast.deletion_vectors.table import FileVector, deleted_rows, file_vectors, find_file
from pyqbeast.deletion_vectors.vector import write_vectors
from pyqbeast.delta import DeletionVector, DeletionVectorDescriptor, diagnose
from pyqbeast.delta_log import locations
from pyqbeast.delta_log.reader import read_snapshot
from tests.deletion_vectors.tables import METADATA, PROTOCOL, add, commit
from tests.delta_log.azure import AzureFiles
from tests.scanning.tables import metadata as indexed_metadata


@pytest.fixture
def table(tmp_path):
    """Files with an inline vector, one in a file, one at an absolute path, none, and none nor statistics."""
    on_disk, absolute = write_vectors(tmp_path, [DeletionVector([0, 9]), DeletionVector(range(10))])
    entries = [
        add("a", 4, DeletionVector([3]).to_inline()),
        add("b%20b", 10, on_disk),
        add("c", 10, absolute.copy_with_absolute_path(f"file:{tmp_path}")),
        add("d", 0),
        add("[red]e"),
    ]
    commit(tmp_path, 0, PROTOCOL, METADATA, *entries)
    return tmp_path


def test_each_live_file_is_listed(table):
    assert file_vectors(read_snapshot(table)) == [
        FileVector("[red]e", None, 0, None, None),
        FileVector("a", "i", 1, 4, 0.25),
        FileVector("b%20b", "u", 2, 10, 0.2),
        FileVector("c", "p", 10, 10, 1.0),
        FileVector("d", None, 0, 0, 0.0),
    ]


@pytest.mark.parametrize(
    ("file", "rows"),
    [("a", [3]), ("b%20b", [0, 9]), ("b b", [0, 9]), ("c", list(range(10))), ("d", []), ("[red]e", [])],
)
def test_the_deleted_rows_of_one_file(table, file, rows):
    assert list(deleted_rows(table, file)) == rows


def test_a_colon_in_the_name_of_a_file(tmp_path):
    commit(tmp_path, 0, PROTOCOL, METADATA, add("at_10%3A00", 4, DeletionVector([3]).to_inline()))
    for name in ("at_10%3A00", "at_10:00", f"file:{tmp_path}/at_10:00"):
        assert list(deleted_rows(tmp_path, name)) == [3]


class HostedFiles(MemoryFileSystem):
    """A store whose paths in fsspec go without the host, as those of HDFS do."""

    protocol = "hosted"

    @classmethod
    def _strip_protocol(cls, path):
        return infer_storage_options(path)["path"]


fsspec.register_implementation("hosted", HostedFiles, clobber=True)


def test_a_location_names_a_file_as_its_store_reads_it(tmp_path):
    commit(tmp_path, 0, PROTOCOL, METADATA, add("a", 4, DeletionVector([3]).to_inline()))
    fsspec.filesystem("memory").put(str(tmp_path), "/hosted/t", recursive=True)
    for table in ("hosted://nn/hosted/t", "hosted://nn:8020/hosted/t", "hosted:///hosted/t"):
        for file in ("hosted://nn:8020/hosted/t/a", "hosted:///hosted/t/a", "hosted:/hosted/t/a"):
            assert list(deleted_rows(table, file)) == [3]
        for other in ("memory://hosted/t/a", "/hosted/t/a", "nowhere://nn/hosted/t/a"):
            with pytest.raises(InvalidInputError, match="no live file"):
                deleted_rows(table, other)


fsspec.register_implementation("azure", AzureFiles, clobber=True)


@pytest.mark.parametrize(
    ("table", "options", "file", "is_below"),
    [
        ("azure://c@a.dfs.core.windows.net", {}, "azure://c@a.blob.core.windows.net", True),
        ("azure://c@a.dfs.core.windows.net", {}, "azure://c", True),
        ("azure://c@a.dfs.core.windows.net", {}, "azure://c@b.dfs.core.windows.net", False),
        ("azure://c", {}, "azure://c@a.dfs.core.windows.net", True),
        ("azure://c", {"account": "a"}, "azure://c@a.dfs.core.windows.net", True),
        ("azure://c", {"account": "a"}, "azure://c@b.dfs.core.windows.net", False),
        ("azure://c@a.dfs.else.where", {}, "azure://c@a.blob.else.where", True),
        ("azure://c@a.dfs.else.where", {}, "azure://c@b.dfs.else.where", False),
        ("azure://c", {"account": "a"}, "azure://c@b.dfs.else.where", False),
    ],
)
def test_a_file_of_another_account_is_none_of_the_table(tmp_path, table, options, file, is_below):
    """Its path in fsspec is that of the table's own file. What names no account is in that of the table."""
    commit(tmp_path, 0, PROTOCOL, METADATA, add("a", 4, DeletionVector([3]).to_inline()))
    fsspec.filesystem("memory").put(str(tmp_path), "/c/accounts", recursive=True)
    if is_below:
        assert list(deleted_rows(f"{table}/accounts", f"{file}/accounts/a", storage_options=options)) == [3]
        return
    with pytest.raises(InvalidInputError, match="no live file"):
        deleted_rows(f"{table}/accounts", f"{file}/accounts/a", storage_options=options)


def test_a_file_of_another_archive_is_none_of_the_table(tmp_path):
    commit(tmp_path / "t", 0, PROTOCOL, METADATA, add("a", 4, DeletionVector([3]).to_inline()))
    for name in ("one", "two"):
        shutil.make_archive(str(tmp_path / name), "zip", tmp_path, "t")
    table = f"zip://t::{tmp_path}/one.zip"
    assert list(deleted_rows(table, f"zip://t/a::{tmp_path}/one.zip")) == [3]
    with pytest.raises(InvalidInputError, match="no live file"):
        deleted_rows(table, f"zip://t/a::{tmp_path}/two.zip")


class LockedFiles(HostedFiles):
    """A store that opens with a key."""

    protocol = "locked"
    cachable = False

    def __init__(self, key=None, **options):
        super().__init__(**options)
        if key != "kept":
            raise PermissionError("no key")


fsspec.register_implementation("locked", LockedFiles, clobber=True)


def test_a_store_that_needs_options(tmp_path):
    (descriptor,) = write_vectors(tmp_path, [DeletionVector([3])])
    commit(tmp_path, 0, PROTOCOL, indexed_metadata([]), add("a", 4, descriptor))
    fsspec.filesystem("memory").put(str(tmp_path), "/locked/t", recursive=True)
    table, options = "locked://nn/locked/t", {"key": "kept"}
    for file in ("a", f"{table}/a"):
        assert list(deleted_rows(table, file, storage_options=options)) == [3]
    assert reports.table_report(table, storage_options=options)["deleted_rows"] == 1
    assert reports.rows_report(table, PurePosixPath("a"), storage_options=options)["file"] == "a"
    assert diagnose(table, storage_options=options)
    with pytest.raises(StorageError, match="no key"):
        diagnose(table)
    (written,) = write_vectors(table, [DeletionVector([1])], storage_options=options)
    assert list(DeletionVector.read(written, table, storage_options=options)) == [1]


@pytest.mark.parametrize(
    ("table", "file", "is_below"),
    [
        ("file:/lake/t", "/lake/t/a", True),
        ("file:/lake/t", "file:///lake/t/a", True),
        ("s3a://lake/t", "s3://lake/t/a", True),
        ("s3a://lake/t", "s3a://other/t/a", False),
        ("gs://lake/t", "s3a://lake/t/a", False),
        ("hdfs://nn:8020/lake/t", "hdfs://nn:8020/lake/t/a", True),
        ("hdfs://nn:8020/lake/t", "hdfs://other:8020/lake/t/a", False),
        ("abfss://c@one.dfs.core.windows.net/t", "abfss://c@two.dfs.core.windows.net/t/a", False),
    ],
)
def test_whole_locations_of_spark_are_of_one_store_or_another(table, file, is_below):
    if is_below:
        assert find_file(file, ["a"], table, locations.place_in_spark) == "a"
    else:
        with pytest.raises(InvalidInputError, match="no live file"):
            find_file(file, ["a"], table, locations.place_in_spark)


def test_a_file_of_a_clone_lies_in_another_table(tmp_path):
    commit(tmp_path, 0, PROTOCOL, METADATA, add("file:/lake/t/a", 4, DeletionVector([3]).to_inline()))
    for name in ("file:/lake/t/a", "file:///lake/t/a"):
        assert list(deleted_rows(tmp_path, name)) == [3]


@pytest.mark.parametrize("folder", ["plain", "with space", "with%20code"])
def test_names_that_differ_by_their_encoding_are_two_files(tmp_path, folder):
    """As Spark's `_metadata.file_path` has them, as the log has them, and as storage has them."""
    table = tmp_path / folder
    blank, code = (
        add(name, 4, DeletionVector([row]).to_inline()) for name, row in (("a%20b", 1), ("a%2520b", 2))
    )
    for live in ([blank, code], [code, blank]):
        commit(table, 0, PROTOCOL, METADATA, *live)
        for below, row in (("a%20b", 1), ("a%2520b", 2)):
            for name in (below, f"{table.as_uri()}/{below}", f"file:{quote(str(table))}/{below}"):
                assert list(deleted_rows(table, name)) == [row], name
        assert list(deleted_rows(table, f"{table}/a b")) == [1]
    commit(table, 0, PROTOCOL, METADATA, blank)
    with pytest.raises(InvalidInputError, match="no live file"):
        deleted_rows(table, f"{table.as_uri()}/a%2520b")


def test_a_file_that_is_not_live(table):
    with pytest.raises(InvalidInputError, match="'b' is no live file"):
        deleted_rows(table, "b")


def test_arguments_of_the_wrong_kind(table):
    for file in (None, 0, b"a", ["a"]):
        with pytest.raises(InvalidInputError, match="neither a path nor a URL"):
            deleted_rows(table, file)
    assert deleted_rows(table, table / "a") == deleted_rows(table, "a")
    for snapshot in (None, str(table)):
        with pytest.raises(InvalidInputError, match="takes a snapshot, as read_snapshot gives it, not "):
            file_vectors(snapshot)


def test_a_row_index_beyond_the_file(tmp_path):
    commit(tmp_path, 0, PROTOCOL, METADATA, add("a", 9, DeletionVector([9]).to_inline()))
    with pytest.raises(FormatError, match="a: row index 9 is beyond the file's 9 rows"):
        deleted_rows(tmp_path, "a")


def test_more_rows_deleted_than_there_are(tmp_path):
    commit(tmp_path, 0, PROTOCOL, METADATA, add("a", 1, DeletionVector([8, 9]).to_inline()))
    with pytest.raises(FormatError, match="a: cardinality: 2 rows deleted of the 1"):
        file_vectors(read_snapshot(tmp_path))


@pytest.mark.parametrize("tight", [{}, {"tightBounds": True}])
def test_rows_that_the_log_may_count_without_the_deleted_ones(tmp_path, tight):
    """Old versions of Trino did, where a file with deleted rows had no statistics: 10 or 60 of 100."""
    (on_disk,) = write_vectors(tmp_path, [DeletionVector(range(90))])
    entries = [add("a", 10, on_disk), add("b", 60, DeletionVector(range(60, 100)).to_inline())]
    for entry, rows in zip(entries, (10, 60), strict=True):
        entry["add"]["stats"] = json.dumps({"numRecords": rows, **tight})
    commit(tmp_path, 0, PROTOCOL, indexed_metadata([]), *entries)
    told = [FileVector("a", "u", 90, None, None), FileVector("b", "i", 40, None, None)]
    assert file_vectors(read_snapshot(tmp_path)) == told
    assert [len(deleted_rows(tmp_path, name)) for name in "ab"] == [90, 40]
    report = reports.table_report(tmp_path)
    assert report["deleted_rows"] == 130
    assert table_text(report).split("\n")[2].split() == ["90", "?", "?", "file", "(u)", "a"]
    found = {problem.rule for problem in pyqbeast.scan(tmp_path).verify().problems}
    assert found.isdisjoint({VECTOR, VECTOR_FITS, VECTOR_ROWS})


def test_a_broken_vector_names_data_file_and_vector_file(tmp_path):
    gone = DeletionVectorDescriptor.on_disk_with_absolute_path("file:/gone.bin", 40, 6, 1)
    commit(tmp_path, 0, PROTOCOL, METADATA, add("a", 10, gone))
    with pytest.raises(FormatError, match=r"^a: deletion vector file file:/gone.bin"):
        deleted_rows(tmp_path, "a")


def test_the_report_of_a_table(table):
    report = reports.table_report(table)
    assert json.loads(json.dumps(report)) == report
    assert (report["table"], report["version"], report["deleted_rows"]) == (str(table), 0, 13)
    assert report["files"][1] == {
        "path": "a",
        "storage": "i",
        "cardinality": 1,
        "physical_rows": 4,
        "deleted_share": 0.25,
    }
    head, names, *lines = table_text(report).split("\n")
    assert head.endswith("13 rows deleted, 3 of 5 files have a deletion vector")
    assert names.split() == ["deleted", "rows", "share", "vector", "file"]
    assert lines[1].split() == ["1", "4", "25.0%", "inline", "(i)", "a"]
    assert [line[names.index("file") :] for line in lines] == [file["path"] for file in report["files"]]


def test_the_report_of_a_file(table):
    report = reports.rows_report(table, "b b")
    assert report == {"table": str(table), "file": "b b", "cardinality": 2, "rows": [0, 9]}
    assert rows_text(report).split("\n") == ["b b: 2 rows deleted", "0", "9"]


def test_a_table_that_qbeast_and_delta_wrote(golden):
    folder = golden("qbeast/i2_deleted_dv")
    expected = json.loads((folder / "expected.json").read_text())
    report = reports.table_report(folder / "table")
    rows = sum(file["physical_rows"] for file in report["files"])
    assert rows == expected["full"]["count"]
    assert rows - report["deleted_rows"] == expected["full_delta"]["count"]
    for file in report["files"]:
        assert len(deleted_rows(folder / "table", file["path"])) == file["cardinality"]
