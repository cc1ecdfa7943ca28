"""Deleting rows of an indexed table: they are marked in deletion vectors, and the index stays as it is."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import functions as F

from pyqbeast import (
    CommitConflictError,
    ExecutionError,
    FormatError,
    InvalidInputError,
    QbeastTable,
    StorageError,
    UnsupportedError,
    bridge,
    convert,
)
from pyqbeast.bridge.row_deletion import RowDeletion
from pyqbeast.deletion_vectors.table import deleted_rows, file_vectors
from pyqbeast.delta import DeletionVector
from pyqbeast.delta_log import locations
from pyqbeast.delta_log.reader import read_snapshot
from pyqbeast.table.maintain.delete import delete_rows
from pyqbeast.table.options import WriteOptions
from tests.deletion_vectors.tables import table_of
from tests.spark_session import under
from tests.table.help import count, holds, ids, jobs, load, opened, rows_2d, save

VECTORS = "delta.enableDeletionVectors"


def blocks(path, spark):
    return sorted(QbeastTable.for_path(spark, path).blocks().drop("file_bytes").collect())


def versions(path):
    return sorted(Path(path, "_delta_log").glob("*.json"))


def actions(path, kind, version=-1):
    entries = map(json.loads, versions(path)[version].read_text().splitlines())
    return [entry[kind] for entry in entries if kind in entry]


def places(spark, path):
    """File and row index of every row, by id."""
    frame = load(spark, path).selectExpr("id", "_metadata.file_path", "_metadata.row_index")
    return {row[0]: (row[1], row[2]) for row in frame.collect()}


def test_deleted_rows_are_marked_and_the_index_stays(spark, table_path):
    save(rows_2d(spark, 5_000), table_path)
    before = blocks(table_path, spark)
    table = QbeastTable.for_path(spark, table_path)
    table.delete("id % 7 = 0")
    table.delete(F.col("name") == "name 3")
    live = [i for i in range(5_000) if i % 7 and i % 100 != 3]
    assert ids(table.df()) == live
    assert blocks(table_path, spark) == before
    assert all(file.storage == "u" for file in file_vectors(read_snapshot(table_path)))
    metrics = holds(spark, table_path).metrics()
    assert (metrics.element_count, metrics.live_rows) == (5_000, len(live))
    assert (metrics.deleted_rows, metrics.files_with_vectors) == (5_000 - len(live), metrics.file_count)
    assert f"deletedRows: {5_000 - len(live)} in " in str(metrics)
    assert metrics.unindexed_files == 0


def test_a_statement_counts_in_the_pages_of_spark(spark, table_path):
    """As it does on plain Delta tables, though more is done than Delta's command."""
    save(rows_2d(spark, 500), table_path)
    query = spark.sql(f"DELETE FROM delta.`{table_path}` WHERE id < 100")._jdf.queryExecution()
    plan = query.commandExecuted().commandPhysicalPlan()
    assert plan.nodeName() == "Execute DeleteCommand"
    assert plan.metrics().apply("numDeletedRows").value() == 100


def test_samples_and_filters_never_show_a_deleted_row(spark, table_path):
    save(rows_2d(spark, 5_000), table_path)
    table = QbeastTable.for_path(spark, table_path)
    sampled, boxed = set(ids(table.sample(0.3))), set(ids(table.df().filter("a < 300000 AND b > 500")))
    files = opened(table.sample(0.02)).files
    assert files < table.metrics().file_count / 2
    gone = {i for i in range(5_000) if i % 3 == 0}
    table.delete("id % 3 = 0")
    assert set(ids(table.sample(0.3))) == sampled - gone
    assert opened(table.sample(0.02)).files == files
    assert set(ids(table.df().filter("a < 300000 AND b > 500"))) == boxed - gone
    assert set(ids(table.sample(0.3).filter("a < 300000 AND b > 500"))) == sampled & boxed - gone
    save(rows_2d(spark, 500, first=5_000), table_path)
    assert ids(holds(spark, table_path).df()) == sorted({*range(5_500)} - gone)


def test_a_cached_table_forgets_deleted_rows(spark, table_path):
    save(rows_2d(spark, 300), table_path)
    (file,) = bridge.TableLog(spark, table_path).files()
    cached = load(spark, table_path).cache()
    try:
        assert count(cached) == 300
        QbeastTable.for_path(spark, table_path).delete_rows(file.path, [3, 4])
        assert count(cached) == count(load(spark, table_path)) == 298
    finally:
        cached.unpersist()


def test_restore_brings_deleted_rows_back(spark, table_path):
    save(rows_2d(spark, 500), table_path)
    table = QbeastTable.for_path(spark, table_path)
    table.delete("a < 500000")
    spark.sql(f"RESTORE TABLE delta.`{table_path}` TO VERSION AS OF 0")
    assert ids(table.df()) == list(range(500))
    assert holds(spark, table_path).metrics().deleted_rows == 0


def test_one_deleted_row_costs_under_a_hundredth_of_its_file(spark, table_path):
    save(rows_2d(spark, 100_000).withColumn("text", F.sha2("name", 256)), table_path, cubeSize=200_000)
    (file,) = bridge.TableLog(spark, table_path).files()
    there = {each: each.stat().st_size for each in Path(table_path).rglob("*") if each.is_file()}
    QbeastTable.for_path(spark, table_path).delete("id = 77")
    new = [each for each in Path(table_path).rglob("*") if each.is_file() and each not in there]
    assert sum(each.stat().st_size for each in new) < file.size / 100


def test_rows_are_deleted_by_file_and_index(spark, table_path):
    save(rows_2d(spark, 3_000), table_path)
    table = QbeastTable.for_path(spark, table_path)
    before, where = blocks(table_path, spark), places(spark, table_path)
    location, row = where[17]
    name = location.rsplit("/", 1)[1]
    assert table.delete_rows(location, [row]) == 1
    assert ids(table.df()) == [i for i in range(3_000) if i != 17]

    others = [i for i, (file, _) in where.items() if file == location and i != 17][:40]
    assert table.delete_rows(name, np.array([row, *(where[i][1] for i in others)])) == 40
    assert ids(table.df()) == sorted({*range(3_000)} - {17, *others})
    assert list(deleted_rows(table_path, location)) == sorted([row, *(where[i][1] for i in others)])
    assert blocks(table_path, spark) == before
    assert holds(spark, table_path).metrics().deleted_rows == 41

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
    assert table.delete_rows(name, []) == 0
    assert len(versions(table_path)) == latest


def test_rows_are_deleted_in_a_store_that_spark_alone_knows(spark, table_path, monkeypatch):
    """What fsspec would open has no part in it: keys of stores, and Hadoop's own, are those of the session."""
    save(rows_2d(spark, 300), table_path)
    (location,) = {file for file, _ in places(spark, table_path).values()}

    def refuse(location, storage_options=None):
        raise AssertionError(f"{location} is opened by fsspec")

    monkeypatch.setattr(locations, "open_location", refuse)
    table = QbeastTable.for_path(spark, table_path)
    assert table.delete_rows(location, [3, 4]) == 2
    assert table.delete_rows(location, [4, 5]) == 1
    monkeypatch.undo()
    assert list(deleted_rows(table_path, location)) == [3, 4, 5]
    assert count(table.df()) == 297


def test_a_file_without_live_rows_leaves_the_table(spark, table_path):
    save(rows_2d(spark, 3_000), table_path)
    table = QbeastTable.for_path(spark, table_path)
    file = max(bridge.TableLog(spark, table_path).files(), key=lambda each: each.rows)
    assert table.delete_rows(file.path, range(10)) == 10
    assert table.delete_rows(file.path, range(file.rows)) == file.rows - 10
    assert file.path not in {each.path for each in bridge.TableLog(spark, table_path).files()}
    assert count(table.df()) == 3_000 - file.rows
    with pytest.raises(InvalidInputError, match="no live file"):
        table.delete_rows(file.path, [0])


def test_a_file_without_statistics_gets_its_number_of_rows(spark, table_path):
    with under(spark, {"spark.databricks.delta.stats.collect": "false"}):
        save(rows_2d(spark, 500), table_path)
    (file,) = bridge.TableLog(spark, table_path).files()
    assert file.rows is None
    table = QbeastTable.for_path(spark, table_path)
    with pytest.raises(InvalidInputError, match="row index 500 is beyond"):
        table.delete_rows(file.path, [500])
    assert table.delete_rows(file.path, [499]) == 1
    (add,) = actions(table_path, "add")
    assert json.loads(add["stats"])["numRecords"] == 500
    assert count(table.df()) == 499


def test_two_tools_delete_from_one_file_at_once(spark, table_path, monkeypatch):
    """The second tool meets the vector of the first one, and adds its rows to that vector."""
    save(rows_2d(spark, 500), table_path)
    table = QbeastTable.for_path(spark, table_path)
    (file,) = bridge.TableLog(spark, table_path).files()
    commit, others = RowDeletion.commit, [lambda: table.delete_rows(file.path, [1, 2])]

    def interrupted(self, vector):
        if others:
            others.pop()()
        return commit(self, vector)

    monkeypatch.setattr(RowDeletion, "commit", interrupted)
    assert table.delete_rows(file.path, [2, 3]) == 1
    assert list(deleted_rows(table_path, file.path)) == [1, 2, 3]
    named = [actions(table_path, "add", v)[0]["deletionVector"]["pathOrInlineDv"] for v in (1, 2)]
    assert len(list(Path(table_path).glob("*.bin"))) == len(set(named)) == 2

    others.append(lambda: save(rows_2d(spark, 100, first=500), table_path))
    latest = len(versions(table_path))
    assert table.delete_rows(file.path, [4]) == 1
    assert len(versions(table_path)) == latest + 2
    assert count(holds(spark, table_path).df()) == 596


@pytest.fixture(scope="module")
def untouched(spark, tmp_path_factory):
    """A table of one file and 300 rows from which nothing gets deleted."""
    path = str(tmp_path_factory.mktemp("untouched") / "table")
    save(rows_2d(spark, 300), path)
    yield path
    assert len(versions(path)) == 1
    assert not list(Path(path).glob("*.bin"))
    assert count(load(spark, path)) == 300


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


def test_a_file_that_is_always_changed_is_given_up(spark, table_path, monkeypatch):
    save(rows_2d(spark, 300), table_path)
    (file,) = bridge.TableLog(spark, table_path).files()
    monkeypatch.setattr(RowDeletion, "commit", lambda *_: False)
    with pytest.raises(CommitConflictError, match="run it again"):
        QbeastTable.for_path(spark, table_path).delete_rows(file.path, [2])
    assert len(versions(table_path)) == 1


def test_a_large_vector_in_the_log_itself_is_built_upon(spark, tmp_path):
    even = DeletionVector(range(0, 600_000, 2)).to_inline()
    assert len(even.path_or_inline_dv) > 65_535
    table_of(tmp_path, (600_000, even))
    assert delete_rows(spark, str(tmp_path), "part-0.parquet", [6, 7]) == 1
    assert spark.read.format("delta").load(str(tmp_path)).filter("id < 10").count() == 4


def test_a_broken_vector_is_not_built_upon(spark, table_path):
    save(rows_2d(spark, 300), table_path)
    table = QbeastTable.for_path(spark, table_path)
    (file,) = bridge.TableLog(spark, table_path).files()
    table.delete_rows(file.path, [5])
    (vector,) = Path(table_path).glob("*.bin")
    content = bytearray(vector.read_bytes())
    content[-1] ^= 1
    vector.write_bytes(content)
    with pytest.raises(StorageError, match=rf"{vector.name} failed: ChecksumException"):
        table.delete_rows(file.path, [6])
    # Hadoop's own checksum is of local files only.
    vector.with_name(f".{vector.name}.crc").unlink()
    with pytest.raises(FormatError, match=rf"{file.path}: deletion vector file .*{vector.name}: checksum"):
        table.delete_rows(file.path, [6])
    assert len(versions(table_path)) == 2


def with_an_unreadable_file(spark, path, files, vectors):
    """A table of two files, one of which is missing or corrupt."""
    for first in (0, 100):
        save(rows_2d(spark, 100, first=first).coalesce(1), path, **{VECTORS: vectors})
    victim = Path(path, bridge.TableLog(spark, path).files()[0].path)
    victim.unlink() if files == "Missing" else victim.write_bytes(b"PAR1" + bytes(400) + b"PAR1")
    victim.with_name(f".{victim.name}.crc").unlink()


@pytest.mark.parametrize("files", ["Missing", "Corrupt"])
@pytest.mark.parametrize("vectors", ["true", "false"])
def test_rows_of_files_that_cannot_be_read_are_not_passed_over(spark, table_path, files, vectors):
    """They would stay in the table, or go with the others of their file, and the call would succeed."""
    with_an_unreadable_file(spark, table_path, files, vectors)
    before = versions(table_path)
    with under(spark, {f"spark.sql.files.ignore{files}Files": "true"}):
        assert count(load(spark, table_path).where("id % 2 = 0")) < 100
        with pytest.raises((StorageError, ExecutionError), match=f"{table_path}.*the table is as it was"):
            QbeastTable.for_path(spark, table_path).delete("id % 2 = 0")
    assert versions(table_path) == before


@pytest.mark.parametrize("files", ["Missing", "Corrupt"])
@pytest.mark.parametrize("vectors", ["true", "false"])
def test_rows_are_replaced_where_every_file_can_be_read(spark, table_path, files, vectors):
    """Old rows of the others would stay beside the new ones."""
    with_an_unreadable_file(spark, table_path, files, vectors)
    before = versions(table_path)
    new = rows_2d(spark, 200).where("id % 2 = 0")
    with (
        under(spark, {f"spark.sql.files.ignore{files}Files": "true"}),
        pytest.raises(Exception, match=table_path),
    ):
        save(new, table_path, "overwrite", replaceWhere="id % 2 = 0")
    assert versions(table_path) == before


def test_a_delete_takes_its_number_from_the_session(spark, table_path):
    """As a setting of Delta's says: the next one would pass for this one."""
    writes = "spark.databricks.delta.write.txn"
    save(rows_2d(spark, 100), table_path)
    auto = {f"{writes}Version.autoReset.enabled": "true", f"{writes}AppId": "loader", f"{writes}Version": "1"}
    with under(spark, auto):
        QbeastTable.for_path(spark, table_path).delete("id = 3")
        assert spark.conf.get(f"{writes}Version", None) is None
    assert [txn["version"] for txn in actions(table_path, "txn")] == [1]


def test_an_append_only_table_keeps_its_rows(spark, table_path):
    save(rows_2d(spark, 100), table_path, **{"delta.appendOnly": "true"})
    table = QbeastTable.for_path(spark, table_path)
    (file,) = bridge.TableLog(spark, table_path).files()
    with pytest.raises(UnsupportedError, match="nothing was deleted"):
        table.delete("id = 1")
    with pytest.raises(UnsupportedError, match="nothing was deleted"):
        table.delete_rows(file.path, [1])
    with pytest.raises(UnsupportedError, match="nothing was deleted"):
        table.delete("hash(a, b) < 0")
    assert len(versions(table_path)) == 1
    assert count(table.df()) == 100


def test_without_vectors_the_touched_files_lose_their_index(spark, table_path, caplog):
    save(rows_2d(spark, 5_000), table_path, **{VECTORS: "false"})
    table = QbeastTable.for_path(spark, table_path)
    (file, *_) = bridge.TableLog(spark, table_path).files()
    with pytest.raises(UnsupportedError, match=rf"SET TBLPROPERTIES \('{VECTORS}' = 'true'\)"):
        table.delete_rows(file.path, [0])
    table.delete("id = 77")
    assert "lose their index" in caplog.text
    assert ids(table.df()) == [i for i in range(5_000) if i != 77]
    metrics = table.metrics()
    assert metrics.deleted_rows == 0
    assert metrics.unindexed_files == 1
    assert metrics.element_count + metrics.unindexed_rows == 4_999
    assert not list(Path(table_path).glob("*.bin"))


def test_no_index_is_said_to_be_lost_where_vectors_are_taken(spark, table_path, caplog):
    """Delta keeps the property as it was written, and reads it in any case."""
    save(rows_2d(spark, 1_000), table_path, **{VECTORS: "TRUE"})
    table = QbeastTable.for_path(spark, table_path)
    table.delete("id = 77")
    assert "lose their index" not in caplog.text
    assert (table.metrics().deleted_rows, table.metrics().unindexed_files) == (1, 0)


@pytest.mark.parametrize(
    ("option", "default", "enabled"),
    [(None, None, True), ("false", None, False), ("true", "false", True), (None, "false", False)],
)
def test_new_tables_take_vectors_unless_the_user_says_no(spark, table_path, option, default, enabled):
    name = "spark.databricks.delta.properties.defaults.enableDeletionVectors"
    with under(spark, {} if default is None else {name: default}):
        save(rows_2d(spark, 100), table_path, **({} if option is None else {VECTORS.upper(): option}))
    (metadata,), (protocol,) = actions(table_path, "metaData"), actions(table_path, "protocol")
    assert metadata["configuration"].get(VECTORS, "false") == str(enabled).lower()
    assert ("deletionVectors" in protocol.get("readerFeatures", [])) == enabled
    assert (protocol["minReaderVersion"], protocol["minWriterVersion"]) == ((3, 7) if enabled else (1, 2))
    save(rows_2d(spark, 100, first=100), table_path)
    assert not actions(table_path, "protocol")


def test_tables_for_readers_of_iceberg_get_no_vectors(spark):
    asked = WriteOptions.parse({"path": "t", "delta.enableIcebergCompatV2": "true"})
    assert asked.new_table_properties(spark) == {}


def test_a_table_of_an_older_protocol_gets_no_vectors(spark, table_path):
    """Its protocol would be the newest one without a word."""
    save(rows_2d(spark, 100), table_path, **{"delta.minReaderVersion": 1, "delta.minWriterVersion": 2})
    (protocol,) = actions(table_path, "protocol")
    assert (protocol["minReaderVersion"], protocol["minWriterVersion"]) == (1, 2)


def plan_text(frame):
    return frame._jdf.queryExecution().executedPlan().toString()


def plan_shape(frame):
    """A query's plan without names of folders and numbers of columns."""
    return re.sub(r"#\d+L?|file:/[^\]]*", "", plan_text(frame))


def jobs_again(spark, frame):
    """How many Spark jobs a query takes once the snapshot is known."""
    frame.collect()
    return jobs(spark, frame.select("*"))


def test_a_scan_without_vectors_is_planned_as_if_there_could_be_none(spark, tmp_path):
    """Delta filters deleted rows only in scans of a table with a vector.

    Finding out whether there is one takes no job.
    """
    plain, able = str(tmp_path / "plain"), str(tmp_path / "able")
    save(rows_2d(spark, 200), plain, **{VECTORS: "false"})
    save(rows_2d(spark, 200), able)

    def deletes(frame):
        return "__delta_internal_is_row_deleted" in plan_text(frame)

    def shapes(path):
        return [load(spark, path), load(spark, path).filter("a < 500000"), load(spark, path).sample(0.1)]

    assert not any(deletes(frame) for frame in shapes(plain) + shapes(able))
    for of_plain, of_able in zip(shapes(plain), shapes(able), strict=True):
        assert plan_shape(of_able) == plan_shape(of_plain)
    queries = [[jobs_again(spark, frame) for frame in shapes(path)] for path in (plain, able)]
    assert queries[0] == queries[1]
    QbeastTable.for_path(spark, able).delete("id = 5")
    assert all(deletes(frame) for frame in shapes(able))
    assert [jobs_again(spark, frame) for frame in shapes(able)] == queries[0]


def test_texts_of_a_fixed_length(spark, table_path):
    """Spark reads them with blanks added, and Delta's function refuses to delete from what is read so."""
    rows = spark.range(100).selectExpr("id", "concat('k', id % 10) AS kind")
    spark.sql(f"CREATE TABLE delta.`{table_path}` (id BIGINT, kind CHAR(5)) USING delta")
    rows.write.format("delta").mode("append").save(table_path)
    convert(spark, f"delta.`{table_path}`", columns_to_index=["id"])
    table = QbeastTable.for_path(spark, table_path)
    table.delete("kind = 'k3'")
    table.delete(F.col("kind") == "k4   ")
    QbeastTable.for_path(spark, os.path.relpath(table_path)).delete("id < 10")
    assert ids(load(spark, table_path)) == [each for each in range(10, 100) if each % 10 not in (3, 4)]
