"""Storage that fails: a write that landed is never told as failed, one that did not leaves the table as it was."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import (
    CommitConflictError,
    ExecutionError,
    QbeastTable,
    StorageError,
    UncertainWriteError,
    bridge,
)
from pyqbeast.bridge.row_deletion import RowDeletion
from pyqbeast.core.problems import READABLE
from pyqbeast.table.options import WriteOptions
from pyqbeast.table.write import writer as writing
from tests.faults import COMMITTED
from tests.spark_session import under
from tests.table.help import BOUNDS, holds, ids, load, rows_2d, run_stream, save
from tests.table.legacy import SMALL, small_copy_of

COMMIT = r"\d{20}\.json$"


@pytest.fixture(scope="module")
def written(spark, tmp_path_factory):
    """An indexed table of 1,000 rows, and the same with 200 rows more in files of their own; tests change copies."""
    folder = tmp_path_factory.mktemp("written")
    save(rows_2d(spark, 1_000), str(folder / "table"), cubeSize=300, columnStats=BOUNDS)
    shutil.copytree(folder / "table", folder / "scattered")
    for first in (1_000, 1_100):
        save(rows_2d(spark, 100, first=first), str(folder / "scattered"), cubeSize=None)
    return folder


@pytest.fixture
def table(written, faults, tmp_path):
    """Where an indexed table of 1,000 rows lies."""
    shutil.copytree(written / "table", tmp_path / "table")
    return faults.path(tmp_path) + "/table"


@pytest.fixture
def scattered(written, faults, tmp_path):
    """The same with 200 rows more in files of their own."""
    shutil.copytree(written / "scattered", tmp_path / "table")
    return faults.path(tmp_path) + "/table"


def live(spark, path):
    """The files of a table, as the log has them."""
    return sorted(file.path for file in bridge.TableLog(spark, path).files())


def rows_of(spark, path):
    """How many rows a table has, as the session knows its log. Their files are there, each with its rows."""
    files = bridge.TableLog(spark, path).files()
    folder = Path(path.split(":", 1)[1])
    assert all(pq.read_metadata(folder / file.path).num_rows == file.rows for file in files)
    return sum(file.rows - file.deleted for file in files)


def is_indexed(spark, path):
    """Each file of a table belongs to its index, as the log tells it."""
    assert QbeastTable.for_path(spark, path).metrics().unindexed_files == 0
    assert pyqbeast.scan(path.split(":", 1)[1]).verify().ok


def optimize_all(spark, path):
    """Rewrites every file."""
    return QbeastTable.for_path(spark, path).optimize(files=live(spark, path))


@pytest.fixture
def more(spark):
    """Rows that are not in the table yet."""
    return rows_2d(spark, 100, first=1_000)


@pytest.fixture
def nothing_works_after(faults):
    """Once the next commit is there, nothing works any more but to ask for its file: that belongs to the commit.

    The storage fails, or with `when="error"` the JVM does: it has no memory, no stack, or misses a method.
    """

    def schedule(commit=COMMITTED, when="before"):
        operations = "list|stat|open" if when == "error" else ".*"
        faults.fail(operations, rf"^(?!.*{COMMIT})", when=when, onwards=True, since=commit)

    return schedule


def test_save(spark, faults, table, more, nothing_works_after):
    """Also where the rows before are cached, which Spark reads anew behind a write."""
    cached = load(spark, table).cache()
    try:
        assert len(ids(cached)) == 1_000
        for mode, when, left in (
            ("append", "before", range(1_100)),
            ("overwrite", "error", range(1_000, 1_100)),
        ):
            nothing_works_after(when=when)
            save(more, table, mode)
            assert faults.failed
            faults.clear()
            assert ids(load(spark, table)) == list(left)
    finally:
        cached.unpersist()


def test_the_first_save(spark, faults, tmp_path, more, nothing_works_after):
    nothing_works_after()
    save(more, faults.path(tmp_path))
    faults.clear()
    assert rows_of(spark, faults.path(tmp_path)) == 100


def test_insert_and_save_as_table(spark, faults, tmp_path, more, nothing_works_after):
    place = faults.path(tmp_path) + "/named"
    try:
        nothing_works_after()
        options = {"columnsToIndex": "a,b", "cubeSize": 300, "path": place}
        more.write.format("qbeast").options(**options).saveAsTable("failing")
        assert faults.failed
        faults.clear()
        more.createOrReplaceTempView("more")
        for statement, left in (("INTO", 200), ("OVERWRITE", 100)):
            nothing_works_after()
            spark.sql(f"INSERT {statement} failing SELECT * FROM more")
            assert faults.failed
            faults.clear()
            assert len(ids(spark.table("failing"))) == left
        nothing_works_after()
        more.writeTo("failing").append()
    finally:
        faults.clear()
        spark.sql("DROP TABLE IF EXISTS failing")
        spark.catalog.dropTempView("more")
    assert rows_of(spark, place) == 200


def test_stream(spark, faults, written, tmp_path, nothing_works_after):
    source, target = str(written / "table"), faults.path(tmp_path) + "/table"
    nothing_works_after()
    run_stream(spark, source, target, str(tmp_path / "checkpoint"))
    assert faults.failed
    faults.clear()
    run_stream(spark, source, target, str(tmp_path / "checkpoint"))
    assert ids(load(spark, target)) == list(range(1_000))


def test_optimize_and_delete(spark, faults, scattered, nothing_works_after):
    indexed = QbeastTable.for_path(spark, scattered)
    first_file = live(spark, scattered)[0]
    for change, when, left in (
        (lambda: indexed.delete_rows(first_file, [0]), "before", lambda rows: len(rows) - 1),
        (lambda: indexed.delete("id < 10"), "error", lambda rows: sum(row >= 10 for row in rows)),
        (lambda: optimize_all(spark, scattered), "before", len),
    ):
        wanted = left(ids(indexed.df()))
        nothing_works_after(when=when)
        change()
        assert faults.failed
        faults.clear()
        assert rows_of(spark, scattered) == wanted
    holds(spark, scattered)


@pytest.fixture(scope="module")
def plain(spark, tmp_path_factory):
    """A folder of Parquet files with 500 rows; tests convert copies."""
    path = tmp_path_factory.mktemp("plain") / "parquet"
    rows_2d(spark, 500).coalesce(1).write.parquet(str(path))
    return path


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_convert(spark, faults, plain, tmp_path, kind, nothing_works_after):
    path = faults.path(tmp_path) + "/plain"
    if kind == "parquet":
        shutil.copytree(plain, tmp_path / "plain")
    else:
        rows_2d(spark, 500).coalesce(1).write.format("delta").save(path)
    nothing_works_after(COMMITTED.replace(r"\d{20}", "0" * 19 + "1"))
    pyqbeast.convert(spark, f"{kind}.`{path}`", columns_to_index=["a", "b"])
    faults.clear()
    assert QbeastTable.for_path(spark, path).columns_to_index == ["a", "b"]


@pytest.mark.parametrize(
    ("k", "onwards", "told"), [(4, False, "is a Delta table now"), (1, True, "may be a Delta table now")]
)
def test_convert_tells_of_the_log_that_delta_made(spark, faults, plain, tmp_path, k, onwards, told):
    shutil.copytree(plain, tmp_path / "plain")
    path = faults.path(tmp_path) + "/plain"
    faults.fail("list", "_delta_log", since=COMMITTED, k=k, onwards=onwards)
    with pytest.raises(StorageError, match=told):
        pyqbeast.convert(spark, f"parquet.`{path}`", columns_to_index=["a", "b"])
    faults.clear()
    pyqbeast.convert(spark, f"parquet.`{path}`", columns_to_index=["a", "b"])
    assert rows_of(spark, path) == 500


def test_upgrade_and_restore(spark, faults, golden, tmp_path, nothing_works_after):
    small_copy_of(golden, "o1_linear2d", tmp_path / "old")
    path = f"{faults.path(tmp_path)}/old"
    nothing_works_after()
    assert pyqbeast.upgrade(spark, path).version == 1
    faults.clear()
    nothing_works_after()
    spark.sql(f"RESTORE TABLE delta.`{path}` TO VERSION AS OF 0")
    faults.clear()
    assert len(ids(load(spark, path))) == SMALL["o1_linear2d"]
    assert len(list(Path(tmp_path, "old", "_delta_log").glob("*.json"))) == 3
    assert not pyqbeast.upgrade(spark, path, dry_run=True).is_needed
    spark.sql(f"RESTORE TABLE delta.`{path}` TO VERSION AS OF 0")  # once more, as the warning in the log says
    assert pyqbeast.upgrade(spark, path, dry_run=True).is_needed


def doors(spark, path):
    """Each way to change an indexed table of 1,200 rows: its name, the call, and rows that it takes or gives."""
    indexed = QbeastTable.for_path(spark, path)
    file = live(spark, path)[0]
    return {
        "save": (lambda: save(rows_2d(spark, 10, first=5_000), path, cubeSize=None), 10),
        "insert": (lambda: rows_2d(spark, 10, first=6_000).writeTo(f"delta.`{path}`").append(), 10),
        "optimize": (lambda: optimize_all(spark, path), 0),
        "delete": (lambda: indexed.delete("id < 10"), -10),
        "delete_rows": (lambda: indexed.delete_rows(file, [0]), -1),
    }


def test_what_delta_does_behind_a_commit_fails(spark, faults, tmp_path):
    """A manifest for other readers, a checkpoint: the change has landed without them."""
    path = faults.path(tmp_path) + "/table"
    properties = {
        "delta.compatibility.symlinkFormatManifest.enabled": "true",
        "delta.checkpointInterval": "1",
        "delta.enableDeletionVectors": "false",
    }
    save(rows_2d(spark, 1_200), path, cubeSize=300, columnStats=BOUNDS, **properties)
    before = 1_200
    for door, failing in (("delete", "_symlink_format_manifest"), ("save", "_delta_log.*checkpoint")):
        change, rows = doors(spark, path)[door]
        faults.fail("create|mkdirs", failing, onwards=True)
        change()
        assert faults.failed
        faults.clear()
        before += rows
        assert rows_of(spark, path) == before


def files_of(path):
    return {
        each.name for each in Path(path.split(":", 1)[1]).rglob("*") if each.suffix in (".parquet", ".bin")
    }


def test_a_commit_that_fails_itself(spark, faults, scattered):
    """Nothing has landed, whichever way the table is changed."""
    for door, (change, _) in doors(spark, scattered).items():
        faults.fail("rename", COMMIT)
        with pytest.raises(StorageError, match=rf"{scattered}.*disk is on fire.*the table is as it was"):
            change()
        assert faults.failed == 1, door
        faults.clear()
    assert rows_of(spark, scattered) == 1_200


def test_a_commit_that_lands_and_seems_to_fail(spark, faults, scattered):
    for door in ("insert", "delete"):
        change, rows = doors(spark, scattered)[door]
        before = rows_of(spark, scattered)
        faults.fail("rename", COMMIT, when="after")
        change()
        assert faults.failed == 1, door
        faults.clear()
        assert rows_of(spark, scattered) == before + rows, door
    is_indexed(spark, scattered)


@pytest.mark.parametrize(("door", "when"), [("save", "before"), ("delete_rows", "error")])
def test_a_commit_of_which_nobody_can_tell(spark, faults, scattered, door, when):
    """The log cannot be read to find out: the storage fails, or the JVM does. The error says what to look for."""
    change, rows = doors(spark, scattered)[door]
    version = bridge.TableLog(spark, scattered).version
    faults.fail("rename", COMMIT, when="after")
    faults.fail("open", COMMIT, when=when, onwards=True, since=COMMITTED)
    with pytest.raises(UncertainWriteError, match="may have landed") as told:
        change()
    faults.clear()
    (name,) = re.findall(r"file of version (\d+) in .* holds the text", str(told.value))
    (text,) = re.findall(r"holds the text (\S+);", str(told.value))
    assert int(name) == version + 1
    log = Path(scattered.split(":", 1)[1], "_delta_log", f"{int(name):020d}.json")
    assert text in log.read_text()
    assert rows_of(spark, scattered) == 1_200 + rows


def test_what_fails_before_the_commit_leaves_nothing(spark, faults, table, more):
    before = files_of(table)
    for operation, path, when in (
        ("list", "_delta_log", "before"),
        ("create", r"\.parquet$", "half"),
        ("create", r"\.tmp$", "half"),
    ):
        faults.fail(operation, path, when=when)
        with pytest.raises(StorageError, match=rf"writing to {table}.*disk is on fire.*as it was"):
            save(more, table)
        assert faults.failed
        faults.clear()
        assert rows_of(spark, table) == 1_000
    faults.fail("list|open|stat", "_delta_log", onwards=True)
    with pytest.raises(StorageError, match=rf"reading the log of {table} failed: IOException"):
        QbeastTable.for_path(spark, table)
    faults.clear()
    save(more, table)
    assert len(files_of(table)) <= len(before) + 4


@pytest.fixture
def file_by_file(spark):
    """Files of 20 rows at most, of which some are there when another one fails."""
    with under(spark, {"spark.sql.files.maxRecordsPerFile": "20"}):
        yield


def leaves(path, before, tasks=1):
    """Tasks that still run when a write fails delete their files a little later; one that just ended leaves its own.

    A slow machine takes its time over those files. Returns what is there afterwards.
    """
    began = time.monotonic()
    while left := files_of(path) - before:
        waited = time.monotonic() - began
        if waited > 3 and len({name.split("-")[1] for name in left}) <= tasks:
            break
        assert waited < 60, left
        time.sleep(0.1)
    after = files_of(path)
    assert before <= after
    return after


def test_files_go_with_the_write_that_fails_behind_them(spark, faults, table, file_by_file):
    """Tasks had ended whose files are whole, and one fails in its own."""
    spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES (delta.enableDeletionVectors = false)")
    before = files_of(table)
    rows = rows_2d(spark, 400, first=1_000)
    indexed = QbeastTable.for_path(spark, table)
    for change in (
        lambda: save(rows, table, cubeSize=None),
        lambda: optimize_all(spark, table),
        lambda: indexed.delete("id % 2 = 0"),
    ):
        faults.fail("create", r"\.parquet$", k=6, when="half")
        with pytest.raises(StorageError, match=r"disk is on fire.*as it was"):
            change()
        assert faults.failed
        faults.clear()
        before = leaves(table, before)
    spark.sql(f"ALTER TABLE delta.`{table}` ADD CONSTRAINT few CHECK (id <> 1399)")
    with pytest.raises(Exception, match="CHECK constraint few"):
        save(rows, table, cubeSize=None)
    leaves(table, before)


def test_files_go_with_a_task_that_is_killed_once_they_are_whole(spark, faults, tmp_path, more, file_by_file):
    path = faults.path(tmp_path) + "/new"
    last_is_whole = r"stat .*-c004\S*\.parquet$"
    with faults.held("stat", r"\.parquet$", lambda: save(more, path), since=last_is_whole) as write:
        assert len(files_of(path)) == 5
        spark.sparkContext.cancelAllJobs()
        with pytest.raises(Exception, match="cancelled"):
            write.result(240)
        leaves(path, set(), tasks=0)
    assert not files_of(path)


def test_an_error_is_told_though_the_files_behind_it_cannot_be_deleted(
    spark, faults, table, more, file_by_file
):
    faults.fail("delete", r"\.parquet$", onwards=True)
    spark.sql(f"ALTER TABLE delta.`{table}` ADD CONSTRAINT few CHECK (id <> 1099)")
    with pytest.raises(Exception, match="CHECK constraint few"):
        save(more, table)
    assert faults.failed


def test_a_file_that_cannot_be_deleted_keeps_no_other(spark, faults, tmp_path, more, file_by_file):
    path = faults.path(tmp_path) + "/new"
    faults.fail("create", r"\.parquet$", k=4, when="half")
    faults.fail("delete", r"\.parquet$")
    with pytest.raises(StorageError, match=r"disk is on fire: create"):
        save(more, path)
    assert (faults.failed, len(files_of(path))) == (2, 1)


def test_each_step_on_the_way_says_what_became_of_the_table(spark, faults, scattered):
    """Reading the log or the rows fails like writing does, and so does a vector that Python writes."""
    indexed, files = QbeastTable.for_path(spark, scattered), live(spark, scattered)
    for operation, path, doing, change in (
        ("open", r"\.parquet$", "optimizing", lambda: indexed.optimize(files=files)),
        ("list", "_delta_log", "optimizing", lambda: indexed.optimize(files=files)),
        ("list", "_delta_log", "deleting rows of", lambda: indexed.delete("id < 10")),
        ("create", r"\.bin$", "deleting rows of", lambda: indexed.delete_rows(files[0], [0])),
    ):
        faults.fail(operation, path, when="full" if operation == "create" else "before", onwards=True)
        with pytest.raises(
            StorageError,
            match=rf"^({doing}|writing to) {scattered} failed: .*(fire|space).*; the table is as it was$",
        ):
            change()
        assert faults.failed
        faults.clear()
    assert rows_of(spark, scattered) == 1_200


def test_optimize_of_two_revisions_says_which_has_landed(spark, faults, table):
    save(rows_2d(spark, 100, first=1_000).selectExpr("id", "a * 10 as a", "b", "name"), table, cubeSize=None)
    faults.fail("rename", COMMIT, k=2)
    told = rf"of revision [12] of {table} are as they were, those of revision [12] have been rewritten, and"
    with pytest.raises(StorageError, match=f"disk is on fire.*; the files {told} no row has changed$"):
        optimize_all(spark, table)
    assert faults.failed
    faults.clear()
    assert rows_of(spark, table) == 1_100
    is_indexed(spark, table)


def test_rows_that_cannot_be_read_are_told_as_such(spark, faults, table, more):
    broken = "java_method('java.lang.Integer', 'parseInt', concat('x', id))"
    with pytest.raises(ExecutionError, match=rf"writing to {table} failed: .*as it was"):
        save(more.withColumn("name", F.expr(broken)), table)
    assert rows_of(spark, table) == 1_000
    faults.fail("open", r"\.parquet$", onwards=True)
    report = QbeastTable.for_path(spark, table).verify()
    assert {problem.rule for problem in report.problems} == {READABLE}
    assert all("the disk is on fire" in problem.text for problem in report.problems)
    with pytest.raises(StorageError, match="estimating an answer failed"):
        pyqbeast.tolerance(load(spark, table).groupBy().avg("b"), exact=True)
    # So small a table is read whole in the first step, outside the steps that read samples.
    with pytest.raises(StorageError, match="estimating an answer failed"):
        next(pyqbeast.refine(load(spark, table).groupBy().avg("b")))


def test_a_delete_that_loses_leaves_no_vector(spark, faults, table):
    """That of the other delete stays."""
    indexed = QbeastTable.for_path(spark, table)
    with faults.held("create", r"\.bin$", lambda: indexed.delete("id % 2 = 0")) as running:
        indexed.delete("id % 3 = 0")
        left, files = ids(indexed.df()), files_of(table)
    with pytest.raises(CommitConflictError, match=rf"another writer changed {table} first.*run it again"):
        running.result()
    assert ids(load(spark, table)) == left
    assert files_of(table) == files


def test_a_vector_that_cannot_be_deleted_hides_no_conflict(spark, faults, table, monkeypatch):
    """The delete that has come second begins again, and the file stays behind."""
    indexed = QbeastTable.for_path(spark, table)
    file = live(spark, table)[0]
    commit, others = RowDeletion.commit, [lambda: indexed.delete_rows(file, [0])]

    def interrupted(self, vector):
        if others:
            others.pop()()
        return commit(self, vector)

    monkeypatch.setattr(RowDeletion, "commit", interrupted)
    faults.fail("delete", r"\.bin$")
    assert indexed.delete_rows(file, [1]) == 1
    assert faults.failed
    assert rows_of(spark, table) == 998


def test_a_write_that_was_given_up_commits_no_more(spark, faults, table, more):
    """Ctrl-C ends no call of the JVM: its thread may come to the commit after the files are deleted."""
    write = writing._Write(spark, more, "Append", WriteOptions.parse({"path": table}))
    transaction = bridge.Transaction(spark, table)
    write._write_files(transaction, write._plan(transaction))
    transaction.discard()
    with pytest.raises(ExecutionError, match=f"{table} was given up.*the table is as it was"):
        transaction.commit("Append", {})
    assert rows_of(spark, table) == 1_000
