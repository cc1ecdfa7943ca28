"""Scans of golden tables and of tables made by hand, without Spark."""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import pyqbeast
from pyqbeast.core.errors import FormatError, InvalidInputError, StorageError, UnsupportedError
from pyqbeast.core.problems import EXISTS
from pyqbeast.delta import DeletionVector, DeletionVectorDescriptor, read_snapshot, write_vectors
from pyqbeast.scanning.data_files import BATCH_ROWS
from pyqbeast.verification.without_spark import verify_log
from tests.deletion_vectors.tables import PROTOCOL, commit
from tests.scanning.tables import NUMBERS, count_and_sum, fields_of, ids, indexed_add, indexed_table, metadata

GOLDEN = [
    *(
        f"qbeast/{name}"
        for name in ("a_linear2d", "b_linear_hash", "c_ts_decimal_nulls", "d_append_revisions")
    ),
    *(f"qbeast/{name}" for name in ("e1_convert_delta", "e3_convert_only", "f2_quantiles_string")),
    *(f"qbeast/{name}" for name in ("g_date_float_long", "h_optimized", "k_4d", "l_constant_column")),
    *(f"qbeast_old/{name}" for name in ("o1_linear2d", "o3_replicated", "o6_identity_nulls")),
]
#: What no text of a condition can say.
NOT_SAID = ("like",)


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDEN)
def test_rows_are_those_that_the_writer_read(golden, name):
    folder = golden(name)
    expected = json.loads((folder / "expected.json").read_text())
    scan = pyqbeast.scan(folder / "table")
    assert count_and_sum(scan) == (expected["full"]["count"], expected["full"]["sum_id"])
    for query in expected["filters"]:
        if not any(word in query["sql"] for word in NOT_SAID):
            assert count_and_sum(scan.where(query["sql"])) == (query["count"], query["sum_id"]), query
    for sample in expected["samples"]:
        found = scan.sample(sample["fraction"])
        wanted = sample
        if "filter" in sample:
            found, wanted = found.where(sample["filter"]), sample["sample_then_filter"]
        assert count_and_sum(found) == (wanted["count"], wanted["sum_id"]), sample


def test_a_scan_is_shown_in_a_line_without_secrets(tmp_path):
    path = indexed_table(tmp_path, NUMBERS)
    scan = pyqbeast.scan(path, storage_options={"auto_mkdir": False})
    assert repr(scan) == f"<rows of {str(path)!r}, version 0, columns ['id', 'text']>"
    narrow = scan.sample(0.5).where("id > 3").select(["id"])
    told = f"<rows of {str(path)!r}, version 0, sample 0.5, where a condition holds, columns ['id']>"
    assert repr(narrow) == repr(narrow._rows) == told


def test_scans_and_versions_are_found_in_lists_and_sets(tmp_path):
    """A version has the files and columns that make it; conditions of pyarrow cannot be compared."""
    path = indexed_table(tmp_path, NUMBERS)
    scan = pyqbeast.scan(path)
    scans = [scan.where(pc.field("id") > 3), scan.where(pc.field("id") > 4), scan]
    assert [scans.index(each) for each in scans] == [0, 1, 2]
    assert len({*scans, *scans}) == 3
    versions = [read_snapshot(path), read_snapshot(path)]
    assert len({*versions}) == len({file for version in versions for file in version.files}) == 1


def test_deleted_rows_are_left_out(golden):
    folder = golden("qbeast/i2_deleted_dv")
    expected = json.loads((folder / "expected.json").read_text())
    scan = pyqbeast.scan(folder / "table")
    assert count_and_sum(scan) == (expected["full_delta"]["count"], expected["full_delta"]["sum_id"])
    before = pyqbeast.scan(folder / "table", version=0)
    assert (before.version, before.to_arrow().num_rows) == (0, 30_000)


def test_columns_files_and_the_page(golden):
    scan = pyqbeast.scan(golden("qbeast/a_linear2d") / "table").select(["B", "id"]).sample(0.1)
    assert scan.schema.names == scan.to_arrow().column_names == ["b", "id"]
    opened = [file for file in scan.files() if file.skipped is None]
    assert len(opened) == 5
    assert sum(file.size for file in opened) == 142_554
    page = scan.where("a between 100000 and 199999").explain()
    assert page.startswith("version 0: opens 3 of 21 files, 85,679 of 711,024 bytes\n")
    assert "16 files, all rows are too heavy" in page
    assert "2 files, no row meets the condition" in page
    assert scan.to_pandas()["id"].sum() == count_and_sum(scan)[1]


def test_rows_without_a_column_are_counted(golden):
    scan = pyqbeast.scan(golden("qbeast/i2_deleted_dv") / "table")
    for rows in (scan, scan.sample(0.1), scan.where("a < 1000"), scan.sample(0.9).where("a < 1000")):
        assert rows.select([]).to_arrow().num_rows == rows.to_arrow().num_rows > 0


def test_rows_come_batch_by_batch(golden):
    reader = pyqbeast.scan(golden("qbeast/a_linear2d") / "table").to_batches()
    assert isinstance(reader, pa.RecordBatchReader)
    assert next(iter(reader)).num_rows < 50_000


@pytest.mark.parametrize("failure", [OSError(5, "away"), KeyboardInterrupt()])
def test_a_reader_that_has_failed_never_comes_to_its_end(tmp_path, monkeypatch, failure):
    """Whoever goes on reading would take what has come so far for all rows."""
    reader = pyqbeast.scan(indexed_table(tmp_path, NUMBERS, NUMBERS, NUMBERS)).to_batches()
    assert reader.read_next_batch().num_rows == NUMBERS.num_rows

    def fails(*_, **__):
        raise failure

    with monkeypatch.context() as patched:
        patched.setattr(pq.ParquetFile, "iter_batches", fails)
        with pytest.raises((StorageError, KeyboardInterrupt)):
            reader.read_next_batch()
    for _ in range(2):
        with pytest.raises(InvalidInputError, match=r"failed \((StorageError: .*|KeyboardInterrupt)\): call"):
            reader.read_next_batch()


def test_a_reader_that_two_threads_ask_at_once_is_none_the_worse(tmp_path, monkeypatch):
    reader = pyqbeast.scan(indexed_table(tmp_path, NUMBERS, NUMBERS)).to_batches()
    begun, free, read = threading.Event(), threading.Event(), pq.ParquetFile.iter_batches

    def slow(*arguments, **options):
        begun.set()
        assert free.wait(60)
        return read(*arguments, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", slow)
    first = []
    thread = threading.Thread(target=lambda: first.append(reader.read_next_batch()))
    thread.start()
    assert begun.wait(60)
    try:
        with pytest.raises(InvalidInputError, match="another thread"):
            reader.read_next_batch()
    finally:
        free.set()
    thread.join(60)
    assert [batch.num_rows for batch in [*first, *reader]] == [NUMBERS.num_rows] * 2


def test_conditions_add_up_and_may_be_expressions(golden):
    scan = pyqbeast.scan(golden("qbeast/a_linear2d") / "table")
    asked = scan.where(pc.field("a") < 10_000).where("b < 100").select(["id"])
    assert count_and_sum(asked) == (58, 1_419_729)
    assert len([file for file in asked.files() if file.skipped is None]) == 3


def test_days_that_pandas_has_not_are_told_by_their_column(tmp_path):
    days = pa.array([0, 3_000_000], pa.int32()).view(pa.date32())
    scan = pyqbeast.scan(
        indexed_table(tmp_path, pa.table({"id": [1, 2], "first": days.take([0, 0]), "day": days}))
    )
    with pytest.raises(UnsupportedError, match=r"column 'day' has a value that is none in pandas \("):
        scan.to_pandas()
    assert scan.where("id = 1").to_pandas()["day"].tolist() == [dt.date(1970, 1, 1)]
    assert scan.select(["id"]).to_pandas()["id"].tolist() == [1, 2]


@pytest.mark.slow
def test_no_spark_and_no_java(golden):
    script = """
import sys, pyqbeast
scan = pyqbeast.scan(sys.argv[1]).sample(0.1)
scan.to_arrow()
assert "pandas" not in sys.modules, "it takes longer than a small sample"
assert scan.where("a > 5").to_arrow().num_rows
found = pyqbeast.scan(sys.argv[1]).tolerance({"mean": ("a", "avg")}, budget="30 KB")
assert found.table.num_rows and not found.exact
assert not {"pyspark", "py4j", "delta"} & set(sys.modules)
"""
    command = [sys.executable, "-W", "error", "-c", script, str(golden("qbeast/a_linear2d") / "table")]
    # No Java can be started where there is no program of that name.
    done = subprocess.run(command, capture_output=True, text=True, env={"PATH": ""}, check=False)
    assert done.returncode == 0, done.stderr


def test_deleted_rows_at_the_ends_of_batches(tmp_path):
    rows = pa.table({"id": range(4 * BATCH_ROWS)})
    deleted = {0, *range(BATCH_ROWS - 1, 2 * BATCH_ROWS + 1), 4 * BATCH_ROWS - 1}
    entry = indexed_add(tmp_path / "a.parquet", rows, vector=DeletionVector(sorted(deleted)).to_inline())
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(rows.schema)), entry)
    scan = pyqbeast.scan(tmp_path)
    assert ids(scan) == sorted(set(range(len(rows))) - deleted)
    assert scan.select([]).to_arrow().num_rows == len(rows) - len(deleted)


def test_deleted_rows_and_row_groups(tmp_path):
    vector = DeletionVector([0, 150, 151, 999]).to_inline()
    entry = indexed_add(tmp_path / "a.parquet", NUMBERS, vector=vector, row_group_size=100)
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), entry)
    scan = pyqbeast.scan(tmp_path)
    assert ids(scan) == sorted(set(range(1_000)) - {0, 150, 151, 999})
    assert ids(scan.where("id BETWEEN 149 AND 152 OR id > 997")) == [149, 152, 998]
    # Nothing is wrong with the groups that the statistics of others rule out.
    damaged = bytearray((tmp_path / "a.parquet").read_bytes())
    end = pq.ParquetFile(tmp_path / "a.parquet").metadata.row_group(0).column(0).total_compressed_size
    damaged[4:end] = bytes(end - 4)
    (tmp_path / "a.parquet").write_bytes(damaged)
    assert ids(scan.where("id BETWEEN 149 AND 152")) == [149, 152]
    with pytest.raises((FormatError, StorageError), match=r"a\.parquet"):
        scan.to_arrow()


@pytest.mark.parametrize("path", ["./a.parquet", "b/../a.parquet", "b//c/../../a.parquet"])
def test_a_path_in_the_log_that_goes_around(tmp_path, path):
    entry = indexed_add(tmp_path / "a.parquet", NUMBERS)
    entry["add"]["path"] = path
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), entry)
    (tmp_path / "b" / "c").mkdir(parents=True)
    scan = pyqbeast.scan(tmp_path)
    assert scan.to_arrow() == NUMBERS
    assert (scan.verify().problems, scan.verify().notes) == ((), ())


@pytest.mark.slow
def test_a_vector_far_larger_than_its_file_costs_no_memory(tmp_path):
    """It takes a megabyte in the log to name four billion rows. Nothing but the file itself says how many it has."""
    vector = DeletionVector(range(2**32)).to_inline()
    entry = indexed_add(tmp_path / "a.parquet", NUMBERS, vector=vector)
    del entry["add"]["stats"]
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), entry)
    with pytest.raises(FormatError, match=r"row index 4294967295 is beyond the file's 1000 rows"):
        pyqbeast.scan(tmp_path).to_arrow()


@pytest.mark.parametrize("deleted", [[], [3, 2_500_000]])
def test_the_first_batch_of_a_large_file_takes_the_memory_of_a_batch(tmp_path, deleted):
    rows = pa.table({"id": np.zeros(3_000_000, np.int64)})
    vector = DeletionVector(deleted).to_inline() if deleted else None
    entry = indexed_add(tmp_path / "a.parquet", rows, vector=vector)
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(rows.schema)), entry)
    batches = pyqbeast.scan(tmp_path).to_batches()
    tracemalloc.start()
    try:
        first = next(iter(batches))
        assert tracemalloc.get_traced_memory()[1] < 8 * rows.num_rows / 4
    finally:
        tracemalloc.stop()
    assert first.num_rows + sum(batch.num_rows for batch in batches) == rows.num_rows - len(deleted)


def test_files_are_ruled_out_by_their_bounds(tmp_path):
    table = indexed_table(
        tmp_path,
        pa.table({"id": pa.array([1, 5]), "text": ["a", "b"]}),
        pa.table({"id": pa.array([6, None]), "text": ["c", "d"]}),
        pa.table({"id": pa.array([None, None], pa.int64()), "text": ["e", "f"]}),
    )

    def opened(condition):
        files = pyqbeast.scan(table).where(condition).files()
        return "".join(file.path[5] for file in files if file.skipped is None)

    assert opened("id = 5") == "0"
    assert opened("id > 5.5 OR text = 'a'") == "01"
    assert opened("id <= 5.5") == "0"
    assert opened("id IS NULL") == "12"
    assert opened("id IS NOT NULL") == "01"
    assert opened("NOT text >= 'c'") == "0"
    assert opened("id > 9223372036854775807") == ""
    assert opened("id < 9223372036854775808") == "01"


def test_the_last_time_of_all_in_the_bounds(tmp_path):
    last = dt.datetime(9999, 12, 31, 23, 59, 59, 999_000, dt.timezone.utc)
    part = pa.table({"id": [1], "at": pa.array([last], pa.timestamp("us", "UTC"))})
    add = indexed_add(tmp_path / "part.parquet", part)
    statistics = json.loads(add["add"]["stats"])
    statistics |= {"minValues": {"at": last.isoformat()}, "maxValues": {"at": last.isoformat()}}
    add["add"]["stats"] = json.dumps(statistics)
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(part.schema)), add)
    assert pyqbeast.scan(tmp_path).where("at > TIMESTAMP '9999-01-01'").to_arrow() == part


@pytest.mark.parametrize("is_link", [True, False])
def test_a_file_has_every_path_that_links_give_it(tmp_path, is_link):
    """The table's own path may be a link, the log may name its files by one, and a folder may lie elsewhere."""
    table, link, elsewhere = tmp_path / "table", tmp_path / "link", tmp_path / "elsewhere"
    elsewhere.mkdir()
    link.symlink_to(table, target_is_directory=True)
    (near,) = write_vectors(str(table), [DeletionVector([1])])
    (far,) = write_vectors(str(elsewhere), [DeletionVector([1])])
    (table / "inside").symlink_to(elsewhere, target_is_directory=True)
    placed = DeletionVectorDescriptor.on_disk_with_absolute_path(
        str(far.absolute_path(elsewhere)), far.size_in_bytes, 1, far.offset
    )
    added = []
    for number, (folder, vector) in enumerate(((table, near), (link, placed), (elsewhere, None))):
        added.append(indexed_add(folder / f"{number}.parquet", NUMBERS.slice(3 * number, 3), vector=vector))
        added[-1]["add"]["path"] = f"{folder}/{number}.parquet"
    commit(table, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), *added)
    scan = pyqbeast.scan(link if is_link else table)
    assert ids(scan) == [0, 2, 3, 5, 6, 7, 8]
    assert (scan.verify().problems, scan.verify().notes) == ((), ())
    again = {"add": {**added[2]["add"], "path": "inside/2.parquet"}}
    commit(table, 1, again)
    twice = {each.file for each in pyqbeast.scan(link if is_link else table).verify().problems}
    assert twice == {f"{elsewhere}/2.parquet", "inside/2.parquet"}


def test_a_path_that_no_file_has_is_missing(tmp_path):
    entry = indexed_add(tmp_path / "a.parquet", NUMBERS)
    for number, path in enumerate(("a%00b", "/a%00b", "file:///a%00b")):
        entry["add"]["path"] = path
        commit(tmp_path / str(number), 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), entry)
        (problem,) = pyqbeast.scan(tmp_path / str(number)).verify().problems
        assert (problem.rule, problem.file) == (EXISTS, path)


def test_a_colon_in_the_name_of_a_file(tmp_path):
    entry = indexed_add(tmp_path / "at_10:00.parquet", NUMBERS)
    entry["add"]["path"] = "at_10%3A00.parquet"
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), entry)
    scan = pyqbeast.scan(tmp_path)
    assert scan.to_arrow().num_rows == scan.to_dataset().count_rows() == NUMBERS.num_rows
    assert (scan.verify().problems, scan.verify().notes) == ((), ())


@pytest.mark.parametrize("size", [None, 0, 0.5, 2])
def test_what_the_log_says_of_a_files_size_hides_no_row(tmp_path, size):
    entry = indexed_add(tmp_path / "a.parquet", NUMBERS, row_group_size=100)
    entry["add"]["size"] = None if size is None else int(entry["add"]["size"] * size)
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), entry)
    scan = pyqbeast.scan(tmp_path)
    assert scan.to_arrow().num_rows == scan.to_dataset().count_rows() == NUMBERS.num_rows


def test_other_libraries(golden):
    scan = pyqbeast.scan(golden("qbeast/a_linear2d") / "table").sample(0.1)
    assert scan.to_polars()["id"].sum() == 124_868_817
    connection = pytest.importorskip("duckdb").connect()
    relation = scan.to_duckdb(connection)
    for _ in range(2):
        assert relation.aggregate("count(*), sum(id)").fetchall() == [(4_920, 124_868_817)]


def test_what_a_scan_tells_of_the_index(golden):
    path = golden("qbeast/d_append_revisions") / "table"
    scan = pyqbeast.scan(path)
    metrics, blocks = scan.metrics(), scan.blocks()
    live = blocks.filter(pc.field("revision") == metrics.revision_id)
    assert metrics.element_count == pc.sum(live["element_count"]).as_py()
    assert scan.where("id < 10").select(["id"]).metrics() == metrics
    with pytest.raises(InvalidInputError, match="told by its number"):
        scan.metrics(["1"])
    assert set(blocks["file"].to_pylist()) <= {file.path for file in scan.files()}
    assert pc.all(pc.less_equal(blocks["min_weight"], blocks["max_weight"])).as_py()
    assert scan.verify() == verify_log(path)
    with pytest.raises(InvalidInputError, match="the newest, and this scan is of 0"):
        pyqbeast.scan(path, version=0).verify()
    with pytest.raises(UnsupportedError, match=r"QbeastTable\.for_path"):
        scan.verify("data")
    with pytest.raises(InvalidInputError, match="level"):
        scan.verify("all")


def test_a_scan_stays_with_its_table_where_the_working_directory_changes(tmp_path, monkeypatch):
    for folder, part in (("here", NUMBERS.slice(0, 3)), ("there", NUMBERS.slice(3, 9))):
        vector = write_vectors(str(tmp_path / folder / "t"), [DeletionVector([1])])[0]
        commit(
            tmp_path / folder / "t",
            0,
            PROTOCOL,
            metadata(fields_of(part.schema)),
            indexed_add(tmp_path / folder / "t" / "a.parquet", part, vector=vector),
        )
    monkeypatch.chdir(tmp_path / "here")
    scan = pyqbeast.scan("t")
    monkeypatch.chdir(tmp_path / "there")
    assert ids(scan) == [0, 2]
    assert scan.to_dataset().count_rows() == 2
    assert scan.tolerance({"n": ("*", "count")}, exact=True).table["n"].to_pylist() == [2]
    monkeypatch.chdir(tmp_path)
    assert scan.verify().ok
    assert "'t'" in repr(scan)


def test_deleted_rows_are_looked_up_batch_by_batch(tmp_path, monkeypatch):
    """A vector of a few bytes may stand for more rows than memory holds."""
    monkeypatch.setattr(DeletionVector, "to_array", lambda _: pytest.fail("all rows at once"))
    rows = pa.table({"id": pa.array(range(50_000), pa.int64())})
    vector = DeletionVector([*range(10, 40_000), 49_999]).to_inline()
    entry = indexed_add(tmp_path / "a.parquet", rows, vector=vector, row_group_size=7_000)
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(rows.schema)), entry)
    scan = pyqbeast.scan(tmp_path)
    assert ids(scan) == [*range(10), *range(40_000, 49_999)]
    assert ids(scan.where("id < 5 OR id > 49990")) == [*range(5), *range(49_991, 49_999)]
    assert scan.select([]).to_arrow().num_rows == 10_009


def test_a_pipe_in_the_place_of_a_file_is_told(tmp_path):
    """To open it would wait for whoever writes into it."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    vector = DeletionVectorDescriptor.on_disk_with_absolute_path(f"file:{tmp_path}/link", 34, 1, 1)
    with_vector = indexed_add(tmp_path / "b" / "b.parquet", NUMBERS, vector=vector)
    entry = indexed_add(tmp_path / "a" / "a.parquet", NUMBERS)
    entry["add"]["path"] = f"{tmp_path}/link"
    for table, file in (("a", entry), ("b", with_vector)):
        commit(tmp_path / table, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), file)
        with pytest.raises(StorageError, match=r"/link is a pipe or a device and no file"):
            pyqbeast.scan(tmp_path / table).to_arrow()


def test_infinities_in_statistics_of_old_versions_of_delta_rs(tmp_path):
    """`json.dumps` writes them as they are, which Spark reads."""
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "x": [-math.inf, 1.0, math.inf]})
    entry = indexed_add(tmp_path / "a.parquet", rows)
    low, high = {"id": 1, "x": -math.inf}, {"id": 3, "x": math.inf}
    told = {"numRecords": 3, "minValues": low, "maxValues": high, "nullCount": {"id": 0, "x": 0}}
    entry["add"] |= {"stats": json.dumps(told), "tags": None}
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(rows.schema)), entry)
    scan = pyqbeast.scan(tmp_path)
    for condition, found in (("x < -5", [1]), ("x > 5e0", [3]), ("id = 2", [2]), ("x IS NULL", [])):
        assert ids(scan.where(condition)) == found
    assert ids(scan.sample(0.5)) == [1, 2]
    assert "Infinity is no finite number" in str(scan.verify())
