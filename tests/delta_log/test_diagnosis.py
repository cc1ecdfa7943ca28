"""The log of a table, looked at for another reader: without Spark, and true of the reader that is installed here."""

from __future__ import annotations

import os
import shutil
import time

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from deltalake import DeltaTable, QueryBuilder

from pyqbeast.cli.app import app
from pyqbeast.core.errors import InvalidInputError, NotIndexedError, TableNotFoundError
from pyqbeast.core.sharing.readers import READERS, VERSION_2, ReaderVerdict
from pyqbeast.delta import DeletionVector
from pyqbeast.delta_log.diagnosis import diagnose
from tests.deletion_vectors.tables import METADATA, PROTOCOL, add, commit, table_of
from tests.scanning import damaged_copies
from tests.scanning.tables import NUMBERS, fields_of, indexed_add, indexed_table, metadata

PHYSICAL = "delta.columnMapping.physicalName"
FEATURES = sorted({feature for reader in READERS.values() for way in reader.ways for feature in way.features})


def described_by(fields, **configuration):
    """The metadata of an indexed table with all that deltalake asks for."""
    indexed = metadata(fields, **configuration)["metaData"]
    return {"metaData": {**METADATA["metaData"], **indexed}}


def table_that_needs(path, feature, physical="id"):
    """Ten rows of one column, in a table whose protocol asks for a feature that it makes no use of."""
    pq.write_table(pa.table({physical: pa.array(range(10), pa.int64())}), path / "p.parquet")
    mapping = feature in ("columnMapping", VERSION_2)
    field = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
    if mapping:
        field["metadata"] = {"delta.columnMapping.id": 1, PHYSICAL: physical}
    mapped = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
    described = described_by([field], **mapped if mapping else {})
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": [feature],
        "writerFeatures": [feature],
    }
    if feature == VERSION_2:
        protocol = {"minReaderVersion": 2, "minWriterVersion": 5}
    size = (path / "p.parquet").stat().st_size
    commit(path, 0, {"protocol": protocol}, described, add("p.parquet", 10, size=size))


def query(path):
    return pa.table(QueryBuilder().register("t", DeltaTable(path)).execute("select id from t").read_all())


def to_arrow(path):
    return DeltaTable(path).to_pyarrow_table()


def grown_old(path):
    """A file, made older than the retention."""
    eight_days_ago = time.time() - 8 * 24 * 3600
    os.utime(path, (eight_days_ago, eight_days_ago))
    return path


def count_after_vacuum(path):
    (path / "left").touch()
    grown_old(path / "left")
    DeltaTable(path).vacuum(dry_run=False, full=True)
    return DeltaTable(path).count()


#: How many rows each way finds.
WAYS = {
    "QueryBuilder": lambda path: query(path).num_rows,
    "to_pyarrow_table": lambda path: to_arrow(path).num_rows,
    "count()": lambda path: DeltaTable(path).count(),
    "vacuum(full=True)": count_after_vacuum,
}


def refuses(count, path):
    try:
        return count(path) != 10
    except Exception:
        return True


@pytest.mark.parametrize("feature", FEATURES)
def test_deltalake_knows_the_features_that_are_said_of_it(tmp_path, feature):
    table_that_needs(tmp_path, feature)
    (told,) = diagnose(tmp_path, "delta-rs")
    refused = {name for name in WAYS for found in told.findings if found.way.startswith(name)}
    assert {name for name, count in WAYS.items() if refuses(count, tmp_path)} == refused
    assert told.ok == (not refused)


def test_deltalake_returns_nulls_under_column_mapping(tmp_path):
    table_that_needs(tmp_path, VERSION_2, physical="col-1")
    (told,) = diagnose(tmp_path, "delta-rs")
    (found,) = told.findings
    assert found.way.startswith("to_pyarrow_table")
    assert "NULL" in found.text
    assert to_arrow(tmp_path).column("id").null_count == 10
    assert query(tmp_path).column("id").null_count == 0


def test_deltalake_counts_deleted_rows(golden):
    table = golden("qbeast/i2_deleted_dv") / "table"
    (told,) = diagnose(table, "delta-rs")
    (found,) = (found for found in told.findings if found.way == "count()")
    assert found.outcome is ReaderVerdict.wrong
    assert "hide 2,963 rows of" in found.text
    assert "it counts the deleted rows too" in found.text
    assert (DeltaTable(table).count(), query(table).num_rows) == (30_000, 30_000 - 2_963)


def test_a_full_vacuum_of_deltalake_deletes_vectors_that_are_in_use(golden, tmp_path):
    table = shutil.copytree(golden("qbeast/i2_deleted_dv") / "table", tmp_path / "table")
    vectors = sorted(grown_old(file).name for file in table.glob("*.bin"))
    assert DeltaTable(table).vacuum(dry_run=True, full=False) == []
    assert sorted(DeltaTable(table).vacuum(dry_run=True, full=True)) == vectors != []
    (told,) = diagnose(table, "delta-rs")
    (found,) = (found for found in told.findings if found.way == "vacuum(full=True)")
    assert found.outcome is ReaderVerdict.damages
    assert "hide 2,963 rows of" in found.text
    assert "pyqbeast clean" in found.text


def test_a_table_with_vectors(tmp_path):
    rows = pa.table({"id": pa.array(range(100), pa.int64())})
    marked = indexed_add(tmp_path / "a.parquet", rows, vector=DeletionVector([1, 2]).to_inline())
    described = described_by(fields_of(rows.schema))
    commit(tmp_path, 0, PROTOCOL, described, marked, indexed_add(tmp_path / "b.parquet", rows.slice(0, 10)))
    told = {each.reader: each for each in diagnose(tmp_path)}
    assert set(told) == set(READERS)
    assert told["duckdb"].ok
    assert "nothing in the log" in str(told["duckdb"])
    scala = told["qbeast-spark"]
    assert "hide 2 rows of 1 file: reads and samples return the deleted rows" in str(scala)
    assert scala.to_dict()["findings"][0]["outcome"] == "wrong rows"
    assert scala.commands == scala.to_dict()["commands"]
    assert query(tmp_path).num_rows == 108


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("qbeast/a_linear2d", None),
        ("qbeast/d_append_revisions", None),
        ("qbeast/i2_deleted_dv", "hide 2,963 rows of"),
        ("qbeast/i_deleted", "cubes of the index have no parent"),
        ("qbeast_old/o3_replicated", "9 files of rows that other files hold too"),
    ],
)
def test_tables_of_the_scala_project(golden, name, text):
    (told,) = diagnose(golden(name) / "table", "qbeast-spark")
    assert told.ok == (text is None)
    assert text is None or text in str(told)


def test_writer_version_6_is_only_told_of_who_writes(tmp_path):
    described = metadata(fields_of(NUMBERS.schema))
    protocol = {"minReaderVersion": 1, "minWriterVersion": 6}
    commit(tmp_path, 0, {"protocol": protocol}, described, indexed_add(tmp_path / "a.parquet", NUMBERS))
    assert [each.reader for each in diagnose(tmp_path) if not each.ok] == ["qbeast-spark"]
    commit(tmp_path, 1, {"protocol": protocol | {"minWriterVersion": 5}})
    assert all(each.ok for each in diagnose(tmp_path))


def test_copies_of_a_lost_revision_are_told(golden, tmp_path):
    lost = next(damage for damage in damaged_copies.DAMAGES if str(damage) == "the revision is lost")
    (told,) = diagnose(damaged_copies.planted(golden, tmp_path / "table", lost), "delta-rs")
    assert "3 files of rows that other files hold too" in str(told)


def test_a_table_that_has_only_a_checkpoint(golden, tmp_path):
    shutil.copytree(golden("qbeast/i2_deleted_dv") / "table", tmp_path / "table")
    DeltaTable(tmp_path / "table").create_checkpoint()
    log = tmp_path / "table" / "_delta_log"
    before = diagnose(tmp_path / "table")
    for path in log.glob("*.json"):
        path.unlink()
    assert diagnose(tmp_path / "table") == before


def test_a_table_that_is_not_indexed(tmp_path):
    """What would mend it, `pyqbeast optimize`, refuses it too."""
    table_of(tmp_path / "plain", (100, DeletionVector([1]).to_inline()))
    indexed_table(tmp_path / "overwritten", NUMBERS)
    commit(tmp_path / "overwritten", 1, metadata(fields_of(NUMBERS.schema), partitions=["text"]))
    for name, told in (("plain", "is not indexed; call pyqbeast.convert"), ("overwritten", "is partitioned")):
        with pytest.raises(NotIndexedError, match=told):
            diagnose(tmp_path / name)


@pytest.mark.parametrize(
    "left", [{"qbeast.revision.1": "no JSON"}, {"qbeast.lastRevisionID": "1"}, {"qbeast.lastRevisionID": "x"}]
)
def test_an_index_of_which_nothing_can_be_read_is_damaged(tmp_path, left):
    described = metadata(fields_of(NUMBERS.schema))
    described["metaData"]["configuration"] = left
    commit(tmp_path, 0, PROTOCOL, described, indexed_add(tmp_path / "a.parquet", NUMBERS))
    told = str(*diagnose(tmp_path, "qbeast-spark"))
    assert "the index cannot be read as a whole" in told
    assert f"pyqbeast repair {tmp_path} --yes" in told


def test_what_cannot_be_looked_at(tmp_path):
    with pytest.raises(InvalidInputError, match="one of qbeast-spark"):
        diagnose(tmp_path, "excel")
    with pytest.raises(TableNotFoundError):
        diagnose(tmp_path)


def table_of_odd_name(path):
    """A table without files whose indexed column is to be renamed for qbeast-spark: it is written anew elsewhere."""
    commit(path, 0, PROTOCOL, metadata(fields_of(pa.schema({"a b": pa.int64()})), indexed="a b"))
    return path


@pytest.mark.parametrize("named", ["{}", "{}/", "{}//", "t", "t/", "./t/.", "~/t", "file:{}/", "file://{}/"])
def test_the_safe_copy_of_a_table_lies_beside_it(tmp_path, monkeypatch, named):
    """Inside the table, VACUUM deletes it."""
    monkeypatch.chdir(table_of_odd_name(tmp_path / "t").parent)
    monkeypatch.setenv("HOME", str(tmp_path))
    (told,) = diagnose(named.format(tmp_path / "t"), "qbeast-spark")
    path = f"file:{tmp_path}/t" if named.startswith("file:") else f"{tmp_path}/t"
    assert told.table == path
    assert f".load({path!r})" in told.commands[-1]
    assert told.commands[-1].endswith(f".save({path + '-shared'!r})")


def test_the_folder_above(tmp_path, monkeypatch):
    inside = table_of_odd_name(tmp_path / "t") / "_delta_log"
    monkeypatch.chdir(inside)
    (told,) = diagnose("..", "qbeast-spark")
    assert told.commands[-1].endswith(f".save('{tmp_path}/t-shared')")


def test_no_password_is_shown(tmp_path):
    """Who runs a command fills it in."""
    url = "memory://user:SECRET@host/diagnosed"
    fsspec.filesystem("memory").put(str(table_of_odd_name(tmp_path / "t")), url, recursive=True)
    for shown in ([], ["--output", "json"]):
        done = CliRunner().invoke(app, ["doctor", url, *shown])
        assert done.exit_code == 1
        assert "memory://user:***@host/diagnosed-shared" in done.output
        assert "SECRET" not in done.output
    assert "SECRET" not in repr(diagnose(url))
