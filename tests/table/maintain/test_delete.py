"""Deleting rows of an indexed table: they are marked in deletion vectors, and the index stays as it is."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import (
    CommitConflictError,
    ExecutionError,
    FormatError,
    InvalidInputError,
    QbeastTable,
    StorageError,
    UnsupportedError,
    bridge,
)
from pyqbeast.bridge.row_deletion import RowDeletion
from pyqbeast.deletion_vectors.table import deleted_rows, file_vectors
from pyqbeast.delta import DeletionVector
from pyqbeast.delta_log import locations
from pyqbeast.delta_log.reader import read_snapshot
from pyqbeast.table.maintain import delete as deleting
from tests.deletion_vectors.tables import table_of
from tests.spark_session import under
from tests.table.help import holds, ids, ids_of_each, jobs_of, load, opened, rows_2d, rows_read, save
from tests.table.relogged import relogged, set_properties

VECTORS = "delta.enableDeletionVectors"


def blocks(path, spark):
    return sorted(QbeastTable.for_path(spark, path).blocks().drop("file_bytes").collect())


def tags(path):
    """What the log says of each file's place in the index."""
    return {file.path: file.tags for file in read_snapshot(path).files}


def versions(path):
    return sorted(Path(path, "_delta_log").glob("*.json"))


def actions(path, kind, version=-1):
    entries = map(json.loads, versions(path)[version].read_text().splitlines())
    return [entry[kind] for entry in entries if kind in entry]


def places(spark, path):
    """File and row index of every row, by id."""
    frame = load(spark, path).selectExpr("id", "_metadata.file_path", "_metadata.row_index")
    return {row[0]: (row[1], row[2]) for row in frame.collect()}


@pytest.fixture(scope="module")
def untouched(spark, tmp_path_factory):
    """A table of one file and 300 rows from which nothing gets deleted."""
    path = str(tmp_path_factory.mktemp("untouched") / "table")
    save(rows_2d(spark, 300), path)
    yield path
    assert len(versions(path)) == 1
    assert not list(Path(path).glob("*.bin"))
    assert rows_read(load(spark, path)) == 300


@pytest.fixture
def one_file(untouched, table_path):
    """A copy of that table, for a test that deletes."""
    return shutil.copytree(untouched, table_path)


@pytest.fixture(scope="module")
def several(spark, tmp_path_factory):
    """A table of several files and 3,000 rows, which tests only read."""
    path = str(tmp_path_factory.mktemp("several") / "table")
    save(rows_2d(spark, 3_000), path, cubeSize=500)
    return path


@pytest.fixture(scope="module")
def deleted(spark, several):
    """A copy of that table without some rows, the ids of those, and the statement's execution."""
    path = shutil.copytree(several, f"{several} of which rows are deleted")
    query = spark.sql(f"DELETE FROM delta.`{path}` WHERE id % 7 = 0 OR name = 'name 3'")
    return path, {i for i in range(3_000) if i % 7 == 0 or i % 100 == 3}, query._jdf.queryExecution()


def test_deleted_rows_are_marked_and_the_index_stays(spark, several, deleted):
    path, gone, _ = deleted
    assert ids(load(spark, path)) == sorted({*range(3_000)} - gone)
    assert blocks(path, spark) == blocks(several, spark)
    assert all(file.storage == "u" for file in file_vectors(read_snapshot(path)))
    metrics = holds(spark, path).metrics()
    assert (metrics.element_count, metrics.live_rows) == (3_000, 3_000 - len(gone))
    assert (metrics.deleted_rows, metrics.files_with_vectors) == (len(gone), metrics.file_count)
    assert f"deletedRows: {len(gone)} in " in str(metrics)
    assert metrics.unindexed_files == 0


def test_a_statement_counts_in_the_pages_of_spark(deleted):
    """As it does on plain Delta tables, though more is done than Delta's command."""
    _, gone, query = deleted
    plan = query.commandExecuted().commandPhysicalPlan()
    assert plan.nodeName() == "Execute DeleteCommand"
    assert plan.metrics().apply("numDeletedRows").value() == len(gone)


def test_samples_and_filters_never_show_a_deleted_row(spark, several, deleted):
    path, gone, _ = deleted
    before, after = QbeastTable.for_path(spark, several), QbeastTable.for_path(spark, path)
    files = opened(before.sample(0.02)).files
    assert files < before.metrics().file_count / 2
    assert opened(after.sample(0.02)).files == files
    box = "a < 300000 AND b > 500"
    asked = [frame for table in (before, after) for frame in (table.sample(0.3), table.df().filter(box))]
    asked.append(after.sample(0.3).filter(box))
    sampled, boxed, *live = map(set, ids_of_each(asked))
    assert live == [sampled - gone, boxed - gone, sampled & boxed - gone]


def test_one_deleted_row_costs_under_a_hundredth_of_its_file_and_no_index(spark, table_path, caplog):
    """Delta keeps the property for vectors as it was written, and reads it in any case."""
    text = F.sha2(F.col("id").cast("string"), 512)
    rows = rows_2d(spark, 10_000).withColumn("text", text)
    save(rows, table_path, cubeSize=20_000, **{VECTORS: "TRUE"})
    (file,) = bridge.TableLog(spark, table_path).files()
    there = {each: each.stat().st_size for each in Path(table_path).rglob("*") if each.is_file()}
    table = QbeastTable.for_path(spark, table_path)
    table.delete("id = 77")
    assert "lose their index" not in caplog.text
    assert (table.metrics().deleted_rows, table.metrics().unindexed_files) == (1, 0)
    new = [each for each in Path(table_path).rglob("*") if each.is_file() and each not in there]
    assert sum(each.stat().st_size for each in new) < file.size / 100


def test_rows_are_deleted_by_file_and_index(spark, several, table_path, monkeypatch):
    """What fsspec would open has no part in it: keys of stores, and Hadoop's own, are those of the session."""

    def refuse(location, storage_options=None):
        raise AssertionError(f"{location} is opened by fsspec")

    shutil.copytree(several, table_path)
    table = QbeastTable.for_path(spark, table_path)
    before, where = tags(several), places(spark, table_path)
    location, row = where[17]
    name = location.rsplit("/", 1)[1]
    others = [i for i, (file, _) in where.items() if file == location and i != 17][:40]
    with monkeypatch.context() as patched:
        patched.setattr(locations, "open_location", refuse)
        assert table.delete_rows(location, [row]) == 1
        assert table.delete_rows(name, np.array([row, *(where[i][1] for i in others)])) == 40
    assert ids(table.df()) == sorted({*range(3_000)} - {17, *others})
    assert list(deleted_rows(table_path, location)) == sorted([row, *(where[i][1] for i in others)])
    assert tags(table_path) == before
    assert table.metrics().deleted_rows == 41

    (add,), (removed,) = actions(table_path, "add"), actions(table_path, "remove")
    stats = json.loads(add["stats"])
    assert stats["tightBounds"] is False
    assert stats["numRecords"] == sum(file == location for file, _ in where.values())
    assert removed["deletionVector"]["cardinality"] == 1
    assert add["deletionVector"]["cardinality"] == 41
    (told,) = actions(table_path, "commitInfo")
    assert (told["operation"], told["operationMetrics"]["numDeletedRows"]) == ("DELETE", "40")

    latest = len(versions(table_path))
    assert table.delete_rows(name, [row]) == 0
    assert table.delete_rows(Path(name), []) == 0
    assert len(versions(table_path)) == latest


def test_a_file_without_live_rows_leaves_the_table(spark, deleted, table_path):
    """Some of its rows are in a vector already."""
    path, gone, _ = deleted
    shutil.copytree(path, table_path)
    table = QbeastTable.for_path(spark, table_path)
    file = max(bridge.TableLog(spark, table_path).files(), key=lambda each: each.rows)
    assert 0 < table.delete_rows(file.path, range(file.rows)) == file.rows - file.deleted < file.rows
    assert file.path not in {each.path for each in bridge.TableLog(spark, table_path).files()}
    assert rows_read(table.df()) == 3_000 - len(gone) - (file.rows - file.deleted)
    with pytest.raises(InvalidInputError, match="no live file"):
        table.delete_rows(file.path, [0])


def test_a_file_without_statistics_gets_its_number_of_rows(spark, one_file):
    path = relogged(one_file, lambda add, _: add.pop("stats"))
    (file,) = bridge.TableLog(spark, path).files()
    assert file.rows is None
    table = QbeastTable.for_path(spark, path)
    with pytest.raises(InvalidInputError, match="row index 300 is beyond"):
        table.delete_rows(file.path, [300])
    assert table.delete_rows(file.path, [299]) == 1
    (add,) = actions(path, "add")
    assert json.loads(add["stats"])["numRecords"] == 300
    assert rows_read(table.df()) == 299


def test_a_file_whose_rows_that_are_left_the_log_may_count(spark, tmp_path):
    """As old versions of Trino did. Delta would take out the whole file where as many rows go as it counts as left."""

    def counting(rows):
        def change(add, _):
            add["stats"] = json.dumps({"numRecords": rows})

        return change

    vector = DeletionVector(range(5)).to_inline()
    table_of(tmp_path / "t", (15, vector))
    live = relogged(tmp_path / "t", counting(10))
    for rows in ([14], range(5, 10), [3]):
        with pytest.raises(
            FormatError, match=r"counts 10 rows in file part-0.parquet, and it has 15; .* repair"
        ):
            deleting.delete_rows(spark, live, "part-0.parquet", rows)
    assert len(versions(live)) == 1
    shutil.rmtree(live)
    stored = relogged(tmp_path / "t", counting(15))
    assert deleting.delete_rows(spark, stored, "part-0.parquet", range(5, 10)) == 5
    assert list(deleted_rows(stored, "part-0.parquet")) == list(range(10))


def test_two_tools_delete_from_one_file_at_once(spark, one_file, monkeypatch):
    """The second tool meets the vector of the first one, and adds its rows to that vector."""
    table = QbeastTable.for_path(spark, one_file)
    (file,) = bridge.TableLog(spark, one_file).files()
    commit, others = RowDeletion.commit, [lambda: table.delete_rows(file.path, [1, 2])]

    def interrupted(self, vector):
        if others:
            others.pop()()
        return commit(self, vector)

    monkeypatch.setattr(RowDeletion, "commit", interrupted)
    assert table.delete_rows(file.path, [2, 3]) == 1
    assert list(deleted_rows(one_file, file.path)) == [1, 2, 3]
    named = [actions(one_file, "add", v)[0]["deletionVector"]["pathOrInlineDv"] for v in (1, 2)]
    assert len(list(Path(one_file).glob("*.bin"))) == len(set(named)) == 2

    others.append(lambda: save(rows_2d(spark, 100, first=300), one_file))
    latest = len(versions(one_file))
    assert table.delete_rows(file.path, [4]) == 1
    assert len(versions(one_file)) == latest + 2
    assert rows_read(table.df()) == 396
    assert pyqbeast.scan(one_file).verify().ok


@pytest.mark.parametrize(
    ("file", "rows", "message"),
    [
        ("nowhere.parquet", [0], "'nowhere.parquet' is no live file"),
        (None, [-1], "row indexes are whole numbers from 0"),
        (None, [0.5], "row indexes are whole numbers from 0"),
        (None, ["0"], "row indexes are whole numbers from 0"),
        (None, [0, 300], r"row index 300 is beyond file part-.*, whose 300 rows"),
    ],
)
def test_bad_rows_are_refused(spark, untouched, file, rows, message):
    (live,) = bridge.TableLog(spark, untouched).files()
    with pytest.raises(InvalidInputError, match=message):
        QbeastTable.for_path(spark, untouched).delete_rows(file or live.path, rows)


@pytest.mark.parametrize("condition", ["nosuch = 1", "((", "id", 5, None])
def test_bad_conditions_are_refused(spark, untouched, condition):
    with pytest.raises(InvalidInputError, match=r"condition|cannot be asked"):
        QbeastTable.for_path(spark, untouched).delete(condition)


def test_a_file_that_is_always_changed_is_given_up(spark, one_file, monkeypatch):
    (file,) = bridge.TableLog(spark, one_file).files()
    monkeypatch.setattr(RowDeletion, "commit", lambda *_: False)
    monkeypatch.setattr(deleting, "_COMMITS", 3)
    with pytest.raises(CommitConflictError, match="run it again"):
        QbeastTable.for_path(spark, one_file).delete_rows(file.path, [2])
    assert len(versions(one_file)) == 1


def test_a_large_vector_in_the_log_itself_is_built_upon(spark, tmp_path):
    even = DeletionVector(range(0, 430_000, 2)).to_inline()
    assert len(even.path_or_inline_dv) > 65_535
    table_of(tmp_path, (430_000, even))
    assert deleting.delete_rows(spark, str(tmp_path), "part-0.parquet", [6, 7]) == 1
    assert {*deleted_rows(tmp_path, "part-0.parquet")} == {*range(0, 430_000, 2), 7}


def test_a_broken_vector_is_not_built_upon(spark, one_file):
    table = QbeastTable.for_path(spark, one_file)
    (file,) = bridge.TableLog(spark, one_file).files()
    table.delete_rows(file.path, [5])
    (vector,) = Path(one_file).glob("*.bin")
    content = bytearray(vector.read_bytes())
    content[-1] ^= 1
    vector.write_bytes(content)
    with pytest.raises(StorageError, match=rf"{vector.name} failed: ChecksumException"):
        table.delete_rows(file.path, [6])
    # Hadoop's own checksum is of local files only.
    vector.with_name(f".{vector.name}.crc").unlink()
    with pytest.raises(FormatError, match=rf"{file.path}: deletion vector file .*{vector.name}: checksum"):
        table.delete_rows(file.path, [6])
    assert len(versions(one_file)) == 2


@contextlib.contextmanager
def passing_over(spark, table, files):
    """A table one of whose files is missing, or corrupt and without vectors, in a session that passes over it.

    The table stays as it is.
    """
    (log,) = before = versions(table)
    if files == "Corrupt":
        log.write_text(log.read_text().replace(f'"{VECTORS}":"true"', f'"{VECTORS}":"false"'))
    victim = Path(table, bridge.TableLog(spark, table).files()[0].path)
    victim.unlink() if files == "Missing" else victim.write_bytes(b"PAR1" + bytes(400) + b"PAR1")
    with under(spark, {f"spark.sql.files.ignore{files}Files": "true"}):
        assert len(ids(load(spark, table).where("id % 2 = 0"))) < 1_500
        yield
    assert versions(table) == before


def test_rows_of_files_that_cannot_be_read_are_not_passed_over(spark, several, table_path):
    """They would stay in the table, or go with the others of their file, and the call would succeed."""
    shutil.copytree(several, table_path, ignore=shutil.ignore_patterns("*.crc"))
    failed = pytest.raises((StorageError, ExecutionError), match=f"{table_path}.*the table is as it was")
    with passing_over(spark, table_path, "Missing"), failed:
        QbeastTable.for_path(spark, table_path).delete("id % 2 = 0")


def test_rows_are_replaced_where_every_file_can_be_read(spark, several, table_path):
    """Old rows of the others would stay beside the new ones."""
    shutil.copytree(several, table_path, ignore=shutil.ignore_patterns("*.crc"))
    new = rows_2d(spark, 10).where("id % 2 = 0")
    with passing_over(spark, table_path, "Corrupt"), pytest.raises(Exception, match=table_path):
        save(new, table_path, "overwrite", replaceWhere="id % 2 = 0")


def test_a_delete_takes_its_number_from_the_session(spark, one_file):
    """As a setting of Delta's says: the next one would pass for this one."""
    writes = "spark.databricks.delta.write.txn"
    auto = {f"{writes}Version.autoReset.enabled": "true", f"{writes}AppId": "loader", f"{writes}Version": "1"}
    with under(spark, auto):
        QbeastTable.for_path(spark, one_file).delete("id = 3")
        assert spark.conf.get(f"{writes}Version", None) is None
    assert [txn["version"] for txn in actions(one_file, "txn")] == [1]


def test_an_append_only_table_keeps_its_rows(spark, one_file):
    set_properties(one_file, {"delta.appendOnly": "true"})
    table = QbeastTable.for_path(spark, one_file)
    (file,) = bridge.TableLog(spark, one_file).files()
    with pytest.raises(UnsupportedError, match="nothing was deleted"):
        table.delete("id = 1")
    with pytest.raises(UnsupportedError, match="nothing was deleted"):
        table.delete_rows(file.path, [1])
    with pytest.raises(UnsupportedError, match="nothing was deleted"):
        table.delete("hash(a, b) < 0")
    assert len(versions(one_file)) == 2


def test_without_vectors_the_touched_files_lose_their_index(spark, table_path, caplog):
    save(rows_2d(spark, 1_000), table_path, cubeSize=250, **{VECTORS: "false"})
    table = QbeastTable.for_path(spark, table_path)
    (file, *_) = bridge.TableLog(spark, table_path).files()
    with pytest.raises(UnsupportedError, match=rf"SET TBLPROPERTIES \('{VECTORS}' = 'true'\)"):
        table.delete_rows(file.path, [0])
    table.delete("id = 77")
    assert "lose their index" in caplog.text
    assert ids(table.df()) == [i for i in range(1_000) if i != 77]
    metrics = table.metrics()
    assert metrics.deleted_rows == 0
    assert metrics.unindexed_files == 1
    assert metrics.element_count + metrics.unindexed_rows == 999
    assert not list(Path(table_path).glob("*.bin"))


@pytest.fixture(scope="module")
def plain(spark, tmp_path_factory):
    """A table of one file and 300 rows that takes no vectors, which tests only read."""
    path = str(tmp_path_factory.mktemp("plain") / "table")
    save(rows_2d(spark, 300), path, **{VECTORS.upper(): "false"})
    return path


def test_new_tables_take_vectors_unless_the_user_says_no(spark, plain, one_file):
    for path, enabled in ((one_file, True), (plain, False)):
        (metadata,), (protocol,) = actions(path, "metaData"), actions(path, "protocol")
        assert metadata["configuration"].get(VECTORS, "false") == str(enabled).lower()
        assert ("deletionVectors" in protocol.get("readerFeatures", [])) == enabled
        wanted = (3, 7) if enabled else (1, 2)
        assert (protocol["minReaderVersion"], protocol["minWriterVersion"]) == wanted
    save(rows_2d(spark, 100, first=300), one_file)
    assert not actions(one_file, "protocol")


def plan_text(frame):
    return frame._jdf.queryExecution().executedPlan().toString()


def plan_shape(frame):
    """A query's plan without names of folders, which Spark cuts off where they are long, and numbers of columns."""
    return re.sub(r"#\d+L?|\[file:/[^\],]*\]?", "", plan_text(frame))


def test_a_scan_without_vectors_is_planned_as_if_there_could_be_none(spark, one_file, plain):
    """Delta filters deleted rows only in scans of a table with a vector.

    Finding out whether there is one takes no job.
    """

    def deletes(frame):
        return "__delta_internal_is_row_deleted" in plan_text(frame)

    def shapes(path):
        return [load(spark, path), load(spark, path).filter("a < 500000"), load(spark, path).sample(0.1)]

    def jobs_again(path):
        """How many Spark jobs these take once the snapshot is known."""
        load(spark, path).collect()
        return jobs_of(spark, lambda: [frame.collect() for frame in shapes(path)])

    of_plain, of_able = shapes(plain), shapes(one_file)
    assert not any(deletes(frame) for frame in of_plain + of_able)
    assert [plan_shape(frame) for frame in of_able] == [plan_shape(frame) for frame in of_plain]
    queries = jobs_again(plain)
    assert jobs_again(one_file) == queries
    (file,) = bridge.TableLog(spark, one_file).files()
    QbeastTable.for_path(spark, one_file).delete_rows(file.path, [5])
    assert all(deletes(frame) for frame in shapes(one_file))
    assert jobs_again(one_file) == queries


def test_texts_of_a_fixed_length(spark, table_path):
    """Spark reads them with blanks added, and Delta's function refuses to delete from what is read so."""
    spark.sql(
        f"CREATE TABLE delta.`{table_path}` (id BIGINT, kind CHAR(5)) USING qbeast OPTIONS (columnsToIndex = 'id')"
    )
    spark.sql(f"INSERT INTO delta.`{table_path}` SELECT id, concat('k', id % 10) FROM range(100)")
    QbeastTable.for_path(spark, table_path).delete("kind = 'k3'")
    QbeastTable.for_path(spark, os.path.relpath(table_path)).delete(
        (F.col("kind") == "k4   ") | (F.col("id") < 10)
    )
    assert ids(load(spark, table_path)) == [each for each in range(10, 100) if each % 10 not in (3, 4)]
