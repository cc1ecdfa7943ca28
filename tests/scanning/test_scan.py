"""Scans of golden tables and of tables made by hand, without Spark."""

from __future__ import annotations

import datetime as dt
import io
import json
import os
import subprocess
import sys
import threading

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import pyqbeast
import pyqbeast.tiledb
from pyqbeast.core.errors import (
    FormatError,
    InvalidInputError,
    MissingPackageError,
    NotIndexedError,
    StorageError,
    TableNotFoundError,
    UnsupportedError,
)
from pyqbeast.core.format.constants import TAG_PARTS
from pyqbeast.core.format.file_parts import FilePart, parts_tag
from pyqbeast.core.format.weight import weight_of
from pyqbeast.delta import DeletionVector, DeletionVectorDescriptor
from pyqbeast.scanning import weighed_rows
from pyqbeast.scanning.conditions.column_types import conformed, has_ids
from pyqbeast.scanning.data_files import BATCH_ROWS, DataFiles
from pyqbeast.scanning.row_weights import row_weights
from pyqbeast.verification.without_spark import verify_log
from tests.deletion_vectors.tables import PROTOCOL, commit, remove
from tests.faulty_files import FaultyFiles
from tests.scanning.tables import by_weight, fields_of, indexed_add, indexed_table, metadata
from tests.tiledb.server import serve

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
NUMBERS = pa.table({"id": pa.array(range(1_000), pa.int64()), "text": [f"t{i}" for i in range(1_000)]})


def count_and_sum(scan):
    ids = scan.select(["id"]).to_arrow()["id"]
    return len(ids), pc.sum(ids).as_py()


def ids(scan):
    return sorted(scan.to_arrow()["id"].to_pylist())


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


def test_only_the_file_that_a_sample_cuts_is_hashed(tmp_path, monkeypatch):
    """Of the others neither the indexed columns are read."""
    hashed, read = [], []
    truth, iter_batches = weighed_rows.row_weights, pq.ParquetFile.iter_batches

    def weights(columns):
        hashed.append(len(columns[0]))
        return truth(columns)

    def batches(parquet, *arguments, columns, **how):
        read.append(columns)
        return iter_batches(parquet, *arguments, columns=columns, **how)

    by_weight(tmp_path, NUMBERS, files=10)
    scan = pyqbeast.scan(tmp_path).sample(0.25).select(["text"])
    lighter = row_weights([NUMBERS["id"].chunk(0)]) < weight_of(0.25)
    wanted = sorted(NUMBERS.filter(pa.array(lighter))["text"].to_pylist())
    monkeypatch.setattr(weighed_rows, "row_weights", weights)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", batches)
    assert sorted(scan.to_arrow()["text"].to_pylist()) == wanted
    assert hashed == [100]
    assert read == [["text"], ["text"], ["text", "id"]]


def parted(path, half):
    """A table of one file, whose second row group begins with the first row that is not lighter than a weight."""
    weights = row_weights([NUMBERS["id"].chunk(0)])
    is_light = weights < half
    rows = pa.concat_tables([NUMBERS.filter(pa.array(is_light)), NUMBERS.filter(pa.array(~is_light))])
    file = path / "a.parquet"
    entry = indexed_add(
        file, rows, int(weights.min()), heaviest=int(weights.max()), row_group_size=int(is_light.sum())
    )
    begin = pq.read_metadata(file).row_group(1).column(0).dictionary_page_offset
    part = FilePart(begin, int(weights[is_light].max()), int(weights[~is_light].min()))
    entry["add"]["tags"][TAG_PARTS] = parts_tag([part])
    commit(path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), entry)
    return weights, begin


def test_of_a_file_with_parts_a_sample_reads_those_that_it_needs(tmp_path):
    weights, begin = parted(tmp_path, weight_of(0.5))
    scan = pyqbeast.scan(tmp_path)
    fractions = (0.3, 0.5, 0.51, 0.9)
    wanted = [NUMBERS.filter(pa.array(weights < weight_of(each)))["id"].to_pylist() for each in fractions]
    for fraction, rows in zip(fractions, wanted, strict=True):
        sample = scan.sample(fraction)
        assert ids(sample) == rows
        assert sorted(sample.to_dataset().to_table()["id"].to_pylist()) == rows
    whole = (tmp_path / "a.parquet").read_bytes()
    end = pq.read_metadata(tmp_path / "a.parquet").row_group(1).column(1).data_page_offset
    (tmp_path / "a.parquet").write_bytes(whole[:begin] + bytes(end - begin) + whole[end:])
    for fraction, rows in zip(fractions[:2], wanted, strict=False):
        assert ids(scan.sample(fraction)) == rows
    with pytest.raises((FormatError, StorageError), match=r"a\.parquet"):
        scan.sample(fractions[2]).to_arrow()


def test_the_weight_of_a_block_is_not_taken_for_that_of_its_rows(tmp_path):
    """Other writers say by it only which rows they left to a cube."""
    weights = row_weights([NUMBERS["id"].chunk(0)])
    in_first = (weights < weight_of(0.2)) | (np.arange(len(weights)) % 200 == 0)
    first = indexed_add(tmp_path / "a", NUMBERS.filter(pa.array(in_first)), highest=weight_of(0.2))
    second = indexed_add(tmp_path / "b", NUMBERS.filter(pa.array(~in_first)), weight_of(0.2))
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), first, second)
    wanted = NUMBERS.filter(pa.array(weights < weight_of(0.25)))["id"].to_pylist()
    scan = pyqbeast.scan(tmp_path).sample(0.25)
    assert ids(scan) == wanted
    assert sorted(scan.to_dataset().to_table()["id"].to_pylist()) == wanted


def test_rows_without_a_column_are_counted(golden):
    scan = pyqbeast.scan(golden("qbeast/i2_deleted_dv") / "table")
    for rows in (scan, scan.sample(0.1), scan.where("a < 1000"), scan.sample(0.9).where("a < 1000")):
        assert rows.select([]).to_arrow().num_rows == rows.to_arrow().num_rows > 0


def test_rows_come_batch_by_batch(golden):
    reader = pyqbeast.scan(golden("qbeast/a_linear2d") / "table").to_batches()
    assert isinstance(reader, pa.RecordBatchReader)
    assert next(iter(reader)).num_rows < 50_000


def test_conditions_add_up_and_may_be_expressions(golden):
    scan = pyqbeast.scan(golden("qbeast/a_linear2d") / "table")
    asked = scan.where(pc.field("a") < 10_000).where("b < 100").select(["id"])
    assert count_and_sum(asked) == (58, 1_419_729)
    assert len([file for file in asked.files() if file.skipped is None]) == 3


def test_no_spark_and_no_java(golden):
    script = """
import sys, pyqbeast
scan = pyqbeast.scan(sys.argv[1]).sample(0.1)
scan.to_arrow()
assert "pandas" not in sys.modules, "it takes longer than a small sample"
assert scan.where("a > 5").to_arrow().num_rows
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


def test_a_path_in_the_log_that_no_file_can_have(tmp_path):
    entry = indexed_add(tmp_path / "a.parquet", NUMBERS)
    entry["add"]["path"] = "\ud800.parquet"
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), entry)
    with pytest.raises(FormatError, match=r"names a file .*\\ud800\.parquet', which is no UTF-8"):
        pyqbeast.scan(tmp_path).to_arrow()


@pytest.mark.parametrize("path", ["./a.parquet", "b/../a.parquet", "b//c/../../a.parquet"])
def test_a_path_in_the_log_that_goes_around(tmp_path, path):
    entry = indexed_add(tmp_path / "a.parquet", NUMBERS)
    entry["add"]["path"] = path
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), entry)
    (tmp_path / "b" / "c").mkdir(parents=True)
    scan = pyqbeast.scan(tmp_path)
    assert scan.to_arrow() == NUMBERS
    assert (scan.verify().problems, scan.verify().notes) == ((), ())


def test_a_vector_far_larger_than_its_file_costs_no_memory(tmp_path):
    """It takes a megabyte in the log to name four billion rows. Nothing but the file itself says how many it has."""
    vector = DeletionVector(range(2**32)).to_inline()
    entry = indexed_add(tmp_path / "a.parquet", NUMBERS, vector=vector)
    del entry["add"]["stats"]
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), entry)
    with pytest.raises(FormatError, match=r"row index 4294967295 is beyond the file's 1000 rows"):
        pyqbeast.scan(tmp_path).to_arrow()


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


def of_ids(table, rows):
    """A table of one file, whose columns `id` and `later` are found by the ids 2 and 3."""

    def field(name, number):
        mapping = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        return {"name": name, "type": "long", "nullable": True, "metadata": mapping}

    entry = indexed_add(table / "a.parquet", rows)
    fields = [field("id", 2), field("later", 3)]
    commit(table, 0, PROTOCOL, metadata(fields, **{"delta.columnMapping.mode": "id"}), entry)
    return pyqbeast.scan(table)


X_WITH_ID = pa.field("x", pa.int64(), metadata={"PARQUET:field_id": "2"})


def test_a_table_that_names_its_columns_by_ids(tmp_path):
    scan = of_ids(tmp_path, pa.table([pa.array([7, 8])], schema=pa.schema([X_WITH_ID])))
    assert scan.where("id > 7").to_arrow().to_pylist() == [{"id": 8, "later": None}]


def test_a_file_without_ids_in_a_table_that_names_its_columns_by_ids(tmp_path):
    """As to Spark: without any id in it nobody knows what its columns are."""
    scan = of_ids(tmp_path, pa.table({"col-2": [7, 8], "id": [7, 8]}))
    with pytest.raises(FormatError, match=r"a\.parquet: .* no field ids"):
        scan.to_arrow()
    assert scan.select([]).to_arrow().num_rows == 2


@pytest.mark.parametrize(
    "kind", [pa.struct([X_WITH_ID]), pa.list_(X_WITH_ID), pa.map_(pa.string(), X_WITH_ID)]
)
def test_an_id_inside_a_column_is_one_of_the_file(kind):
    assert has_ids([pa.field("id", pa.int64()), pa.field("inside", kind)])


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list, lambda of: pa.list_(of, 1)])
def test_structs_in_every_kind_of_list(tmp_path, kind):
    """Other writers have kinds of lists that Spark lacks, and the names inside are the table's all the same."""
    stored = pa.array([[{"col-3": 7}], None, [{"col-3": 8}]], kind(pa.struct([("col-3", pa.int64())])))
    rows = pa.table({"id": [1, 2, 3], "l": stored})
    inner = {"delta.columnMapping.physicalName": "col-3", "delta.columnMapping.id": 3}
    struct = {
        "type": "struct",
        "fields": [{"name": "a", "type": "long", "nullable": True, "metadata": inner}],
    }
    fields = [
        *fields_of(rows.select(["id"]).schema),
        {"name": "l", "type": {"type": "array", "elementType": struct}, "nullable": True, "metadata": {}},
    ]
    entry = indexed_add(tmp_path / "a.parquet", rows.select(["id"]))
    pq.write_table(rows, tmp_path / "a.parquet")
    commit(tmp_path, 0, PROTOCOL, metadata(fields, **{"delta.columnMapping.mode": "name"}), entry)
    assert pyqbeast.scan(tmp_path).to_arrow()["l"].to_pylist() == [[{"a": 7}], None, [{"a": 8}]]


def test_a_column_of_another_form_than_the_table_has(tmp_path):
    """Arrow casts some of them, and makes nulls of fields that it does not find."""
    field = {"name": "a", "type": "long", "nullable": True, "metadata": {}}
    of_list = {"type": "array", "elementType": {"type": "struct", "fields": [field]}}
    held = pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))
    with pytest.raises(FormatError, match=r"column 'm' is map.* in the file and list.* in the table"):
        conformed(held, {"name": "m", "type": of_list}, "none")


def test_structs_in_structs(tmp_path):
    """Ninety of them. Of more than a hundred Arrow reads no file."""
    kind, stored, value = pa.int64(), "long", 7
    for _ in range(90):
        kind, value = pa.struct([("a", kind)]), {"a": value}
        field = {"name": "a", "type": stored, "nullable": True, "metadata": {}}
        stored = {"type": "struct", "fields": [field]}
    entry = indexed_add(tmp_path / "a.parquet", pa.table({"id": [1]}))
    rows = pa.table({"id": [1], "x": pa.array([value], kind)})
    pq.write_table(rows, tmp_path / "a.parquet")
    types = (("id", "long"), ("x", stored))
    fields = [{"name": name, "type": of, "nullable": True, "metadata": {}} for name, of in types]
    commit(tmp_path, 0, PROTOCOL, metadata(fields), entry)
    assert pyqbeast.scan(tmp_path).to_arrow() == rows


def test_versions_and_times(tmp_path):
    indexed_table(tmp_path, NUMBERS)
    commit(tmp_path, 1, remove("part-0.parquet"))
    commit(tmp_path, 2, indexed_add(tmp_path / "b.parquet", NUMBERS.slice(0, 3)))
    for version, seconds in enumerate((1_000, 3_000, 2_000)):
        os.utime(tmp_path / "_delta_log" / f"{version:020d}.json", (seconds, seconds))
    rows = [pyqbeast.scan(tmp_path, version).to_arrow().num_rows for version in (0, 1, 2, None)]
    assert rows == [1_000, 0, 3, 3]

    def at(milliseconds):
        moment = dt.datetime.fromtimestamp(0, dt.timezone.utc) + dt.timedelta(milliseconds=milliseconds)
        return pyqbeast.scan(tmp_path, timestamp=moment).version

    assert at(1_000_000) == at(2_999_999) == 0
    assert at(3_000_000) == 1
    # The newest commit's file is older than the one before it, so it counts as a millisecond newer.
    assert at(3_000_001) == 2
    assert pyqbeast.scan(tmp_path, timestamp="1970-01-01T00:20:00+00:00").version == 0
    for milliseconds in (999_999, 3_000_002):
        with pytest.raises(InvalidInputError, match="timestamp"):
            at(milliseconds)
    for version in (3, -1):
        with pytest.raises(InvalidInputError, match=f"version {version} "):
            pyqbeast.scan(tmp_path, version)
    for wrong in ({"timestamp": "yesterday"}, {"timestamp": "2020-01-01"}):
        with pytest.raises(InvalidInputError):
            pyqbeast.scan(tmp_path, **wrong)
    for wrong in ("0", 1.5, True):
        with pytest.raises(InvalidInputError, match=f"is a whole number, not {wrong!r}"):
            pyqbeast.scan(tmp_path, wrong)
    with pytest.raises(InvalidInputError, match="a version or a timestamp, not both"):
        pyqbeast.scan(tmp_path, 0, timestamp="1970-01-01T00:20:00Z")
    assert pyqbeast.scan(tmp_path, np.int64(0)).version == 0


def test_times_that_stand_in_commits_are_not_those_of_files(tmp_path):
    """Also of versions from before the table began to keep them."""
    indexed_table(tmp_path, NUMBERS)
    fields = fields_of(NUMBERS.schema)
    commit(tmp_path, 1, metadata(fields, **{"delta.enableInCommitTimestamps": "True"}))
    os.utime(tmp_path / "_delta_log" / f"{0:020d}.json", (1_000, 1_000))
    for year in (1970, 1969, 2200):
        with pytest.raises(UnsupportedError, match="give a version"):
            pyqbeast.scan(tmp_path, timestamp=f"{year}-01-01T00:20:00+00:00")
    assert pyqbeast.scan(tmp_path, 0).to_arrow().num_rows == NUMBERS.num_rows


def test_a_colon_in_the_name_of_a_file(tmp_path):
    entry = indexed_add(tmp_path / "at_10:00.parquet", NUMBERS)
    entry["add"]["path"] = "at_10%3A00.parquet"
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), entry)
    scan = pyqbeast.scan(tmp_path)
    assert scan.to_arrow().num_rows == scan.to_dataset().count_rows() == NUMBERS.num_rows
    assert (scan.verify().problems, scan.verify().notes) == ((), ())


def test_other_stores(tmp_path):
    indexed_table(tmp_path, NUMBERS)
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path), "/stored", recursive=True)
    assert ids(pyqbeast.scan("memory://stored").where("id < 3")) == [0, 1, 2]
    with pytest.raises(InvalidInputError, match="cannot be opened"):
        pyqbeast.scan("nowhere://table")


def test_files_of_another_store_are_read_at_once(tmp_path, monkeypatch):
    indexed_table(tmp_path, *[NUMBERS.slice(first, 3) for first in range(0, 30, 3)])
    fsspec.filesystem("memory").put(str(tmp_path), "/together", recursive=True)
    batches, began = DataFiles.batches, threading.Event()

    def waiting(data, file, predicate):
        if file.path == "part-2.parquet":
            began.set()
        # Alone, it would wait in vain.
        assert file.path != "part-1.parquet" or began.wait(60)
        return batches(data, file, predicate)

    monkeypatch.setattr(DataFiles, "batches", waiting)
    assert ids(pyqbeast.scan("memory://together")) == list(range(30))


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


def test_texts_with_a_collation(tmp_path):
    rows = pa.table({"id": [1, 2], "s": ["a", "A"]})
    add = indexed_add(tmp_path / "part.parquet", rows)
    number, text = fields_of(rows.schema)
    collated = {**text, "metadata": {"__COLLATIONS": {"s": "spark.UTF8_LCASE"}}}
    commit(tmp_path, 0, PROTOCOL, metadata([number, collated]), add)
    scan = pyqbeast.scan(tmp_path)
    assert scan.where("id = 1").to_arrow().num_rows == 1
    assert scan.where(pc.field("s") == "a").to_arrow().num_rows == 1
    with pytest.raises(UnsupportedError, match="collation"):
        scan.where("id > 0 AND s = 'a'")
    assert scan.tolerance({"n": ("s", "count")}).table["n"].to_pylist() == [2]
    with pytest.raises(UnsupportedError, match="collation"):
        scan.tolerance({"n": ("*", "count")}, by=["s"])
    with pytest.raises(UnsupportedError, match="collation"):
        scan.tolerance({"n": ("s", "count_distinct")}, exact=True)


def test_what_cannot_be_scanned(golden, tmp_path):
    with pytest.raises(TableNotFoundError, match="nothing"):
        pyqbeast.scan(tmp_path / "nothing")
    plain = tmp_path / "plain"
    commit(plain, 0, PROTOCOL, {"metaData": {"schemaString": '{"fields": []}', "configuration": {}}})
    with pytest.raises(NotIndexedError, match="not indexed"):
        pyqbeast.scan(plain)
    fields = fields_of(NUMBERS.schema)
    commit(plain, 1, metadata(fields, partitions=["text"]))
    with pytest.raises(UnsupportedError, match="partitioned"):
        pyqbeast.scan(plain)
    commit(plain, 2, metadata(fields, **{"delta.columnMapping.mode": "colour"}))
    with pytest.raises(UnsupportedError, match="colour"):
        pyqbeast.scan(plain)
    commit(plain, 3, metadata([*fields, {"name": "v", "type": "variant", "metadata": {}}]))
    with pytest.raises(UnsupportedError, match="'v' has type 'variant'"):
        pyqbeast.scan(plain).to_arrow()
    assert pyqbeast.scan(plain).select(["id"]).to_arrow().num_rows == 0
    commit(plain, 4, {"protocol": {"minReaderVersion": 3, "readerFeatures": ["wonders"]}})
    with pytest.raises(UnsupportedError, match="wonders"):
        pyqbeast.scan(plain)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_fractions_of_numpy(golden, kind):
    """They are the numbers that they stand for, and computed with as such: halves overflow on the way to a weight."""
    scan = pyqbeast.scan(golden("qbeast/a_linear2d") / "table")
    fraction = kind(0.1)
    assert 0 < len(ids(scan.sample(fraction))) < len(ids(scan)) / 5
    assert ids(scan.sample(fraction)) == ids(scan.sample(float(fraction)))


def test_bad_arguments(golden):
    scan = pyqbeast.scan(golden("qbeast/a_linear2d") / "table")
    for version in (-1, 10**6, 10**30):
        with pytest.raises(InvalidInputError, match=f"version {version} of the table"):
            pyqbeast.scan(golden("qbeast/a_linear2d") / "table", version)
    for fraction in (-0.1, 1.1, float("nan"), "0.1", True, 10**400):
        with pytest.raises(InvalidInputError, match="fraction"):
            scan.sample(fraction)
    with pytest.raises(InvalidInputError, match="already"):
        scan.sample(0.1).sample(0.1)
    with pytest.raises(InvalidInputError, match="without columns"):
        scan.select([]).to_duckdb(None)
    with pytest.raises(InvalidInputError, match="a connection of DuckDB, not None"):
        scan.to_duckdb(None)
    for path in (None, 7, b"table"):
        with pytest.raises(InvalidInputError, match="neither a path nor a URL"):
            pyqbeast.scan(path)
    with pytest.raises(TableNotFoundError, match="no Delta table"):
        pyqbeast.scan("table\0")
    for columns in ("id", ["id", "nothing"], ["id", "id"], None, [1], 7):
        with pytest.raises(InvalidInputError, match="select"):
            scan.select(columns)
    for condition in ("", "a", "a >", "a > 'x'", "nothing = 1", "a = 1 b = 2", "a = 1e", "id = 'it\\'s'", 7):
        with pytest.raises(InvalidInputError):
            scan.where(condition)
    with pytest.raises(InvalidInputError, match="each column once"):
        scan.select(["id", "ID"])
    for misspelt in (lambda: scan.select(["IDD"]), lambda: scan.where("idd = 1")):
        with pytest.raises(InvalidInputError, match="did you mean 'id'"):
            misspelt()
    with pytest.raises(InvalidInputError, match="does not fit"):
        scan.where(pc.field("nothing") > 1)


def test_missing_and_damaged_files(tmp_path):
    indexed_table(tmp_path, NUMBERS)
    scan = pyqbeast.scan(tmp_path)
    (tmp_path / "part-0.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(FormatError, match=r"part-0\.parquet: not a readable"):
        scan.to_arrow()
    (tmp_path / "part-0.parquet").unlink()
    with pytest.raises(StorageError, match=r"part-0\.parquet.*missing"):
        scan.to_arrow()


@pytest.mark.parametrize("size", [None, 0, 0.5, 2])
def test_what_the_log_says_of_a_files_size_hides_no_row(tmp_path, size):
    entry = indexed_add(tmp_path / "a.parquet", NUMBERS, row_group_size=100)
    entry["add"]["size"] = None if size is None else int(entry["add"]["size"] * size)
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), entry)
    scan = pyqbeast.scan(tmp_path)
    assert scan.to_arrow().num_rows == scan.to_dataset().count_rows() == NUMBERS.num_rows


def test_samples_that_no_weight_stands_for(tmp_path):
    entry = indexed_add(tmp_path / "a.parquet", NUMBERS)
    entry["add"]["tags"]["pyqbeast.keyRows"] = '{"write":"w","rows":101}'
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), entry)
    scan = pyqbeast.scan(tmp_path)
    with pytest.raises(UnsupportedError, match=r"one key holds up to 0\.1 of the rows"):
        scan.sample(0.05)
    assert 100 < scan.sample(0.2).to_arrow().num_rows < 300
    fields = fields_of(NUMBERS.schema)
    fields[0]["name"] = "other"
    commit(tmp_path, 1, metadata(fields))
    with pytest.raises(UnsupportedError, match="no column 'id'"):
        pyqbeast.scan(tmp_path).sample(0.5)


#: A day inside other values, and their type in Arrow and in a log.
OF_DAY = {"name": "of", "type": "date", "nullable": True, "metadata": {}}
DAYS = {"type": "array", "elementType": "date", "containsNull": True}
MAP = {"type": "map", "keyType": "string", "valueType": DAYS, "valueContainsNull": True}
PLACES = {
    "alone": (lambda day: day, pa.date32(), "date"),
    "in a struct": (
        lambda day: {"of": day},
        pa.struct({"of": pa.date32()}),
        {"type": "struct", "fields": [OF_DAY]},
    ),
    "in a list": (lambda day: [None, day], pa.list_(pa.date32()), DAYS),
    "in a map": (lambda day: {"of": [day]}, pa.map_(pa.string(), pa.list_(pa.date32())), MAP),
}


def of_the_old_calendar(table, place, *days):
    """A table of one file, whose writer notes that it counts days as Spark 2 did; a row group for each row."""
    value, kind, named = PLACES[place]
    rows = pa.table({"day": pa.array([value(day) for day in days], kind)})
    noted = rows.replace_schema_metadata({"org.apache.spark.legacyDateTime": ""})
    pq.write_table(noted, table / "a.parquet", row_group_size=1)
    entry = {"path": "a.parquet", "partitionValues": {}, "size": 1, "modificationTime": 0, "dataChange": True}
    fields = [{"name": "day", "type": named, "nullable": True, "metadata": {}}]
    commit(table, 0, PROTOCOL, metadata(fields), {"add": entry})
    return rows


@pytest.mark.parametrize("place", PLACES)
def test_days_of_the_old_calendar(tmp_path, place):
    rows = of_the_old_calendar(tmp_path, place, dt.date(2000, 1, 1), dt.date(1990, 1, 1))
    assert pyqbeast.scan(tmp_path).to_arrow().to_pylist() == rows.to_pylist()


@pytest.mark.parametrize("place", PLACES)
def test_days_that_the_old_calendar_counts_otherwise(tmp_path, place):
    of_the_old_calendar(tmp_path, place, dt.date(2000, 1, 1), dt.date(1500, 1, 1))
    with pytest.raises(UnsupportedError, match="calendar"):
        pyqbeast.scan(tmp_path).to_arrow()


def test_row_groups_tell_nothing_of_days_of_the_old_calendar(tmp_path):
    """Their statistics are by that calendar too."""
    of_the_old_calendar(tmp_path, "alone", dt.date(1500, 1, 1), dt.date(2000, 1, 1))
    with pytest.raises(UnsupportedError, match="calendar"):
        pyqbeast.scan(tmp_path).where("day = DATE '1499-12-23'").to_arrow()


@pytest.mark.parametrize("int96", [True, False])
@pytest.mark.parametrize(
    ("version", "notes", "is_old", "is_old_as_int96"),
    [
        ("2.4.8", [], True, True),
        ("3.0.1", [], False, True),
        ("3.1.0", [], False, False),
        ("3.1.0", ["legacyINT96"], False, True),
    ],
)
def test_writers_that_count_times_by_the_old_calendar(
    tmp_path, version, notes, is_old, is_old_as_int96, int96
):
    """As Spark tells them: up to 3.0 it wrote times of 96 bits by the old calendar."""
    day = dt.datetime(1500, 1, 1)
    rows = pa.table({"id": [1], "d": [day.date()], "t": pa.array([day], pa.timestamp("us", "UTC"))})
    names = ["version", *notes]
    noted = rows.replace_schema_metadata({f"org.apache.spark.{name}": version for name in names})
    indexed_table(tmp_path, noted, use_deprecated_int96_timestamps=int96)
    for column, is_refused in (("d", is_old), ("t", is_old_as_int96 if int96 else is_old)):
        scan = pyqbeast.scan(tmp_path).select([column])
        if is_refused:
            with pytest.raises(UnsupportedError, match="calendar"):
                scan.to_arrow()
        else:
            assert scan.to_arrow().equals(rows.select([column]))


@pytest.mark.parametrize("package", ["polars"])
def test_packages_that_are_not_installed(tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    scan = pyqbeast.scan(indexed_table(tmp_path, NUMBERS))
    with pytest.raises(MissingPackageError, match=rf"pip install 'pyqbeast\[{package}\]'"):
        getattr(scan, f"to_{package}")()


def test_other_libraries(golden):
    scan = pyqbeast.scan(golden("qbeast/a_linear2d") / "table").sample(0.1)
    assert scan.to_polars()["id"].sum() == 124_868_817
    connection = pytest.importorskip("duckdb").connect()
    relation = scan.to_duckdb(connection)
    for _ in range(2):
        assert relation.aggregate("count(*), sum(id)").fetchall() == [(4_920, 124_868_817)]


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
