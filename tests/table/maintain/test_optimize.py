"""Optimizing: the same rows in fewer, larger files, or nothing at all."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from pyqbeast import (
    CommitConflictError,
    FormatError,
    InvalidInputError,
    NotIndexedError,
    QbeastError,
    QbeastTable,
    StorageError,
    TableNotFoundError,
    UncertainWriteError,
    bridge,
    convert,
    scan,
)
from pyqbeast.delta import DeletionVector
from pyqbeast.table.maintain import optimize
from pyqbeast.table.maintain.optimize import OptimizeResult
from tests.deletion_vectors.tables import table_of
from tests.spark_session import under
from tests.table.help import (
    BOUNDS,
    holds,
    ids,
    load,
    log_entries,
    parquet_files,
    rows_2d,
    rows_read,
    save,
    save_copy,
)
from tests.table.relogged import append_unindexed, relogged


def version(spark, path):
    return bridge.TableLog(spark, path).version


def sizes(spark, path):
    return [file.rows for file in bridge.TableLog(spark, path).files()]


#: How many small appends a scattered table has had.
APPENDS = 3
SCATTERED = 4_000 + 100 * APPENDS


@pytest.fixture(scope="module")
def few_appends(spark, tmp_path_factory):
    """A table of 4,000 rows and a few small appends."""
    path = str(tmp_path_factory.mktemp("scattered") / "table")
    save(rows_2d(spark, 4_000), path, columnStats=BOUNDS)
    for first in range(4_000, SCATTERED, 100):
        save(rows_2d(spark, 100, first=first), path)
    return path


@pytest.fixture
def scattered(few_appends, table_path):
    """A copy of that table, for a test that changes it."""
    return shutil.copytree(few_appends, table_path)


def test_scattered_rows_come_together_and_then_there_is_nothing_to_do(spark, scattered):
    before = sizes(spark, scattered)
    result = QbeastTable.for_path(spark, scattered).optimize()
    after = sizes(spark, scattered)
    assert len(after) <= len(before) - (APPENDS - 1)
    assert result.files_removed - result.files_added == len(before) - len(after)
    assert sum(size < 125 for size in after) <= 1
    assert ids(load(spark, scattered)) == list(range(SCATTERED))
    table = holds(spark, scattered)
    landed = version(spark, scattered)
    assert not table.optimize().changed
    assert version(spark, scattered) == landed
    last = Path(scattered, "_delta_log", f"{landed:020}.json").read_text()
    assert '"dataChange":true' not in last


def test_a_fresh_table_is_left_alone(spark, table_path):
    save_copy(spark, table_path, cubeSize=200)
    assert not QbeastTable.for_path(spark, table_path).optimize().changed
    assert version(spark, table_path) == 0


def test_deleted_rows_are_purged_whatever_they_leave(spark, table_path):
    save_copy(spark, table_path)
    spark.sql(f"DELETE FROM delta.`{table_path}` WHERE a < 400000 OR id % 3 = 0")
    assert all(file.deleted for file in bridge.TableLog(spark, table_path).files())
    left = ids(load(spark, table_path))
    assert QbeastTable.for_path(spark, table_path).optimize().changed
    assert ids(load(spark, table_path)) == left
    assert not any(file.deleted for file in bridge.TableLog(spark, table_path).files())
    assert scan(table_path).verify().ok


def test_files_of_other_writers_are_indexed(spark, table_path):
    save_copy(spark, table_path)
    spark.sql(f"UPDATE delta.`{table_path}` SET name = 'x' WHERE id < 5")
    append_unindexed(table_path, 1_000, a=pa.scalar(5_000_000, pa.int32()))
    table, before = QbeastTable.for_path(spark, table_path), len(log_entries(table_path, "add"))
    assert table.metrics().unindexed_files
    assert table.optimize(revision=0).changed
    assert table.metrics().unindexed_files == 0
    assert table.latest_revision.id == 2
    assert ids(load(spark, table_path)) == list(range(1_100))
    table.optimize(revision=1)
    assert scan(table_path).verify().ok
    assert not table.optimize(revision=0).changed
    assert not any(add["dataChange"] for add in log_entries(table_path, "add")[before:])


def test_given_files_and_a_fraction(spark, scattered):
    table = QbeastTable.for_path(spark, scattered)
    name = table.blocks().orderBy("file_bytes").first()["file"]
    assert table.optimize(files=iter([name])).files_removed >= 1
    assert name not in {file.path for file in bridge.TableLog(spark, scattered).files()}
    table.optimize(fraction=0.3)
    assert ids(load(spark, scattered)) == list(range(SCATTERED))
    assert scan(scattered).verify().ok


@pytest.mark.parametrize(
    ("kind", "fate"), [(FormatError, "are as they were"), (UncertainWriteError, "may have been rewritten")]
)
def test_each_error_says_which_revisions_have_been_rewritten(monkeypatch, kind, fate):
    """Not only storage ends an optimize of several revisions halfway."""

    def run(self):
        if self.revision == 2:
            raise kind("it failed")
        return OptimizeResult(1, 1)

    monkeypatch.setattr(optimize, "_by_revision", lambda *_: {1: {"a"}, 2: {"b"}})
    monkeypatch.setattr(optimize._Optimize, "run", run)
    told = f"it failed; the files of revision 2 of /t {fate}, those of revision 1 have been rewritten, and no row has"
    with pytest.raises(kind, match=f"^{told} changed$"):
        optimize.optimize(None, "/t", None, ["a", "b"], 1)


def test_bad_input_changes_nothing(spark, table_path):
    save_copy(spark, table_path)
    table = QbeastTable.for_path(spark, table_path)
    for wrong in ({"fraction": 0}, {"fraction": 1.5}, {"fraction": 0.5, "files": ["x"]}):
        with pytest.raises(InvalidInputError):
            table.optimize(**wrong)
    with pytest.raises(NotIndexedError, match="no revision 7"):
        table.optimize(revision=7)
    with pytest.raises(InvalidInputError, match="not by False"):
        table.optimize(revision=False)
    with pytest.raises(NotIndexedError, match="no file 'x'"):
        table.optimize(files=["x"])
    assert version(spark, table_path) == 0
    file = table.blocks().first()["file"]
    shutil.rmtree(table_path)
    for use in (
        table.optimize,
        lambda: table.optimize(revision=0),
        lambda: table.optimize(files=[file]),
        lambda: table.delete("id = 1"),
        lambda: table.delete_rows(file, [0]),
        table.verify,
        table.repair,
        table.clean,
    ):
        with pytest.raises(TableNotFoundError, match=f"^there is no Delta table at {table_path}; "):
            use()


def test_an_interrupted_optimize_leaves_the_table_as_it_was(spark, scattered, monkeypatch):
    before = parquet_files(scattered)

    def interrupted(self, tags):
        raise KeyboardInterrupt

    monkeypatch.setattr(bridge.Transaction, "tag", interrupted)
    with pytest.raises(KeyboardInterrupt):
        QbeastTable.for_path(spark, scattered).optimize()
    assert parquet_files(scattered) == before
    assert ids(load(spark, scattered)) == list(range(SCATTERED))


def test_a_new_revision_meanwhile_does_not_draw_it_away(spark, scattered, monkeypatch):
    """An optimize works on the revision that was the latest when it began, however often other writers come first."""
    before = len(sizes(spark, scattered))
    wide = rows_2d(spark, 100, first=10_000).withColumn("a", F.col("a") + 3_000_000)
    commit = bridge.Transaction.commit_rewrite
    waiting = [lambda: save(wide, scattered)]

    def interrupted(self, tags):
        if waiting:
            waiting.pop()()
        return commit(self, tags)

    monkeypatch.setattr(bridge.Transaction, "commit_rewrite", interrupted)
    table = QbeastTable.for_path(spark, scattered)
    result = table.optimize()
    assert result.changed
    assert (table.latest_revision.id, scan(scattered).verify().ok) == (2, True)
    assert len(sizes(spark, scattered)) == before + 1 - (result.files_removed - result.files_added)
    assert ids(load(spark, scattered)) == [*range(SCATTERED), *range(10_000, 10_100)]


def test_files_that_come_after_it_began_are_not_taken_for_unindexed_ones(spark, table_path, monkeypatch):
    """Files of other writers may have a revision that the version at the beginning does not have."""
    save_copy(spark, table_path)
    wide = rows_2d(spark, 100, first=10_000).withColumn("a", F.col("a") + 3_000_000)
    begin = bridge.Transaction.__init__
    waiting = [lambda: save(wide, table_path)]

    def overtaken(self, *arguments):
        begin(self, *arguments)
        if waiting:
            waiting.pop()()

    monkeypatch.setattr(bridge.Transaction, "__init__", overtaken)
    table = QbeastTable.for_path(spark, table_path)
    assert not table.optimize(revision=0).changed
    assert table.metrics(revision=2).element_count == 100
    assert scan(table_path).verify().ok


def test_rows_deleted_meanwhile_stay_deleted(spark, scattered, monkeypatch):
    commit = bridge.Transaction.commit_rewrite
    deletes = [100]

    def interrupted(self, tags):
        spark.sql(f"DELETE FROM delta.`{scattered}` WHERE id >= 4000 AND id % 100 < {deletes[-1]}")
        return commit(self, tags)

    monkeypatch.setattr(bridge.Transaction, "commit_rewrite", interrupted)
    deletes.append(10)
    before = parquet_files(scattered)
    no_retries = under(spark, {"spark.qbeast.index.numberOfRetries": "0"})
    with no_retries, pytest.raises(CommitConflictError, match="run it again"):
        QbeastTable.for_path(spark, scattered).optimize()
    assert rows_read(load(spark, scattered)) == SCATTERED - 10 * APPENDS
    assert set(before) <= set(parquet_files(scattered))
    monkeypatch.undo()
    QbeastTable.for_path(spark, scattered).optimize(revision=0)
    assert rows_read(load(spark, scattered)) == SCATTERED - 10 * APPENDS
    assert scan(scattered).verify().ok


@pytest.mark.parametrize(("files", "revision"), [("Missing", None), ("Corrupt", 0)])
def test_rows_that_a_session_passes_over_stay_in_the_table(spark, scattered, tmp_path, files, revision):
    """A mount that is gone for a minute leaves rows out of an answer, and must not take them out of the table.

    Neither where files are laid out anew nor where files of other writers are.
    """
    rows = SCATTERED
    if revision == 0:
        append_unindexed(scattered, rows)
        rows += 100
    newest = max(bridge.TableLog(spark, scattered).files(), key=lambda file: file.modified).path
    victim, kept = Path(scattered, newest), tmp_path / "kept"
    shutil.copy(victim, kept)
    victim.unlink() if files == "Missing" else victim.write_bytes(b"PAR1" + bytes(400) + b"PAR1")
    victim.with_name(f".{newest}.crc").unlink(missing_ok=True)
    before = version(spark, scattered)
    with under(spark, {f"spark.sql.files.ignore{files}Files": "true"}):
        assert len(ids(load(spark, scattered))) < rows
        with pytest.raises(QbeastError, match=f"{scattered}.*the table is as it was"):
            QbeastTable.for_path(spark, scattered).optimize(revision=revision)
    assert version(spark, scattered) == before
    shutil.copy(kept, victim)
    assert QbeastTable.for_path(spark, scattered).optimize(revision=revision).changed
    assert len(ids(load(spark, scattered))) == rows


def test_files_of_other_rows_than_the_log_says_are_not_replaced(spark, scattered, tmp_path):
    """A file was cut by whoever copied the table, or another program counts rows otherwise."""
    copy = str(tmp_path / "copy")
    shutil.copytree(scattered, copy)
    commit = Path(copy, "_delta_log", f"{3:020}.json")
    commit.write_text(re.sub(r'numRecords\\":100\b', r'numRecords\\":107', commit.read_text()))
    commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)
    files = set(Path(copy).glob("*.parquet"))
    with pytest.raises(StorageError, match=r"hold \d+ rows by the log of .*copy, and \d+ were read.*verify"):
        QbeastTable.for_path(spark, copy).optimize()
    assert set(Path(copy).glob("*.parquet")) == files
    assert version(spark, copy) == version(spark, scattered)


def test_blocks_tell_of_rows_where_statistics_do_not(spark, scattered):
    """Files of versions 0.2 to 0.5 of the Scala project have no statistics."""

    def count_more(add, blocks):
        del add["stats"]
        blocks[0]["elementCount"] += 7

    copy = relogged(scattered, count_more)
    with pytest.raises(StorageError, match=r"hold \d+ rows by the log of .*, and \d+ were read.*verify"):
        QbeastTable.for_path(spark, copy).optimize()
    assert version(spark, copy) == version(spark, scattered)


def test_files_of_deleted_rows_alone_by_the_log_are_read(spark, table_path):
    """A writer put the live rows into numRecords: as many as the vector hides, where it hides one half."""
    table_of(Path(table_path), (10, DeletionVector(range(0, 10, 2)).to_inline()))
    convert(spark, f"delta.`{table_path}`", columns_to_index=["id"])
    copy = relogged(table_path, live_rows_alone)
    landed = version(spark, copy)
    assert [(file.rows, file.deleted) for file in bridge.TableLog(spark, copy).files()] == [(5, 5)]
    with pytest.raises(StorageError, match=r"hold 0 rows by the log of .*, and 5 were read"):
        QbeastTable.for_path(spark, copy).optimize(revision=0)
    assert version(spark, copy) == landed
    assert ids(load(spark, copy)) == [1, 3, 5, 7, 9]


def live_rows_alone(add, _):
    statistics = json.loads(add["stats"])
    statistics["numRecords"] -= (add.get("deletionVector") or {}).get("cardinality", 0)
    add["stats"] = json.dumps(statistics)
