"""Converting: a Delta table or Parquet files become an indexed table, and no file changes."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path

import pytest
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import (
    CommitConflictError,
    FormatError,
    InvalidInputError,
    QbeastTable,
    TableNotFoundError,
    UnsupportedError,
    bridge,
)
from pyqbeast.delta_log.reader import read_snapshot
from pyqbeast.table import convert as converting
from tests.spark_session import under
from tests.table.help import ids, ids_of_each, load, log_entries, rows_2d, rows_read, save
from tests.table.relogged import set_properties


def data_files(path):
    return sorted((f.name, f.stat().st_mtime_ns) for f in Path(path).glob("*.parquet"))


def copied(table, kind, path):
    """Copies a plain Delta table, or its Parquet files alone, and returns what `convert` calls that."""
    shutil.copytree(table, path)
    if kind == "parquet":
        shutil.rmtree(Path(path, "_delta_log"))
    return f"{kind}.`{path}`"


@pytest.fixture(scope="module")
def plain(spark, tmp_path_factory):
    """A function that copies a plain Delta table of 500 rows; see `copied`."""
    path = str(tmp_path_factory.mktemp("plain") / "table")
    rows_2d(spark, 500).write.format("delta").save(path)
    return functools.partial(copied, path)


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_files_stay_and_are_indexed_later(spark, plain, table_path, kind):
    identifier = plain(kind, table_path)
    before = data_files(table_path)
    table = pyqbeast.convert(spark, identifier, columns_to_index=["a", "b"], cube_size=500)
    assert data_files(table_path) == before
    assert (table.columns_to_index, table.cube_size, table.latest_revision.id) == (["a", "b"], 500, 0)
    assert rows_read(table.sample(1.0)) == 500
    landed = bridge.TableLog(spark, table_path).version
    pyqbeast.convert(spark, identifier, columns_to_index=["a", "b"], cube_size=500)
    assert bridge.TableLog(spark, table_path).version == landed
    if kind == "delta":
        return  # the table goes on as the other one does
    rows_2d(spark, 500, first=500).write.format("qbeast").mode("append").save(table_path)
    assert table.latest_revision.id == 1
    assert table.optimize(revision=0).changed
    assert table.metrics().unindexed_files == 0
    assert ids(load(spark, table_path)) == list(range(1_000))
    assert pyqbeast.scan(table_path).verify().ok


def test_no_option_of_an_older_index_stays(spark, plain, table_path):
    """The Scala project keeps options of a write among the properties, and its samples in SQL go by them.

    Its catalog stores each of them twice.
    """
    identifier = plain("delta", table_path)
    older = {"columnsToIndex": "id", "option.columnsToIndex": "id", "mine": "stays"}
    set_properties(table_path, older)
    table = pyqbeast.convert(spark, identifier, columns_to_index=["a", "b"])
    kept = bridge.TableLog(spark, table_path).configuration
    assert not [key for key in kept if "columnsToIndex" in key]
    assert (table.columns_to_index, kept["mine"]) == (["a", "b"], "stays")


def test_partitioned_tables_are_refused_and_stay_as_they_are(spark, tmp_path):
    rows_2d(spark, 2).write.format("delta").partitionBy("name").save(f"{tmp_path}/table")
    are_refused(spark, tmp_path, UnsupportedError, "partitioned")


def are_refused(spark, folder, error, told):
    """The table in a folder is not converted, nor are its Parquet files, and all stays as it is."""
    for kind in ("parquet", "delta"):
        identifier = copied(folder / "table", kind, folder / kind)
        before = sorted(folder.rglob("*"))
        with pytest.raises(error, match=told):
            pyqbeast.convert(spark, identifier, columns_to_index=["a"])
        assert sorted(folder.rglob("*")) == before, kind


def test_only_folders_of_the_table_say_that_it_is_partitioned(spark, plain, tmp_path):
    """It may lie in a partition's folder, however its path is spelled."""
    folder = tmp_path / "env=prod"
    plain("parquet", folder / "a")
    table = pyqbeast.convert(spark, f"parquet.`file://{folder}/b/../a`", columns_to_index=["a"])
    assert (table.columns_to_index, rows_read(table.df())) == (["a"], 500)


@pytest.mark.parametrize(
    ("root", "file", "is_partitioned"),
    [
        ("hdfs://nn:8020/lake/env=prod/t", "hdfs://nn:8020/lake/env=prod/t/part-0.parquet", False),
        ("hdfs://nn:8020/lake/env=prod/t", "hdfs://nn:8020/lake/env=prod/t/a=1/part-0.parquet", True),
        ("file:/lake/env=prod/a b%20c", "file:///lake/env=prod/a%20b%2520c/k=v.parquet", False),
        ("s3a://lake/env=prod", "s3a://lake/env=prod/x%3D%3D/part-0.parquet", True),
        ("s3a://lake/", "s3a://lake/part-0.parquet", False),
    ],
)
def test_a_table_is_partitioned_by_folders_in_it(root, file, is_partitioned):
    assert converting._is_partitioned(root, [file]) == is_partitioned


def test_a_column_with_a_reserved_name_is_refused_and_all_stays_as_it_is(spark, tmp_path):
    """No write would be taken afterwards."""
    rows_2d(spark, 2, columns="1 as _QbeastWeight").write.format("delta").save(f"{tmp_path}/table")
    are_refused(spark, tmp_path, InvalidInputError, "'_QbeastWeight' is used by the index")


def test_bad_input(spark, plain, table_path):
    identifier = plain("parquet", table_path)
    for message, wrong in {
        "did you mean 'name'": {"columns_to_index": ["nmae"]},
        "columns_to_index": {"columns_to_index": []},
        "cube_size": {"columns_to_index": ["a"], "cube_size": 0},
    }.items():
        with pytest.raises(InvalidInputError, match=message):
            pyqbeast.convert(spark, identifier, **wrong)
    for nowhere in ("delta.`/nowhere/at/all`", "parquet.`/nowhere/at/all`", "no_such_table"):
        with pytest.raises(TableNotFoundError):
            pyqbeast.convert(spark, nowhere, columns_to_index=["a"])
    with pytest.raises(InvalidInputError):
        pyqbeast.convert(spark, f"csv.`{table_path}`", columns_to_index=["a"])
    assert not (Path(table_path) / "_delta_log").exists()


def converted_second(spark, plain, path, monkeypatch, step):
    """A table that another writer converts and appends to just before a step of our own conversion."""
    identifier = plain("delta", path)
    own, others = getattr(converting, step), []

    def later(*arguments):
        if not others:
            others.append(None)
            pyqbeast.convert(spark, identifier, columns_to_index=["a", "b"])
            rows_2d(spark, 500, first=500).write.format("qbeast").mode("append").save(path)
        return own(*arguments)

    monkeypatch.setattr(converting, step, later)
    return pyqbeast.convert(spark, identifier, columns_to_index=["b"])


def test_who_converts_second_leaves_the_index_of_the_first(spark, plain, table_path, monkeypatch):
    table = converted_second(spark, plain, table_path, monkeypatch, "_store_staging")
    assert (table.columns_to_index, table.latest_revision.id) == (["a", "b"], 1)
    assert ids(load(spark, table_path)) == list(range(1_000))
    assert pyqbeast.scan(table_path).verify().ok


def test_tags_of_the_index_of_the_first_stay(spark, plain, table_path, monkeypatch):
    """The second looks for tags of an index that is gone in the version that had no index."""
    table = converted_second(spark, plain, table_path, monkeypatch, "_columns")
    assert table.columns_to_index == ["a", "b"]
    assert any(file.tags for file in read_snapshot(table_path).files)


def test_a_table_that_never_rests_is_not_converted(spark, plain, table_path, monkeypatch):
    identifier = plain("delta", table_path)
    store = converting._store_staging

    def later(*arguments):
        set_properties(table_path, {"x": str(len(log_entries(table_path, "metaData")))})
        return store(*arguments)

    monkeypatch.setattr(converting, "_store_staging", later)
    with pytest.raises(CommitConflictError, match="no indexed table; convert it again"):
        pyqbeast.convert(spark, identifier, columns_to_index=["a"])


LATEST = "qbeast.lastRevisionID"


@pytest.fixture(scope="module")
def one_revision(spark, tmp_path_factory):
    """A table of 500 rows, which tests copy."""
    path = str(tmp_path_factory.mktemp("one") / "table")
    save(rows_2d(spark, 500), path, columnsToIndex="a", cubeSize=200)
    return path


@pytest.fixture(scope="module")
def two_revisions(spark, one_revision):
    """A copy of that table with 500 rows more, and a second revision for them."""
    path = shutil.copytree(one_revision, f"{one_revision} and more")
    save(rows_2d(spark, 500, first=500), path, columnsToIndex=None, cubeSize=190)
    return path


def test_a_table_that_has_lost_its_latest_revision_is_for_repair(spark, one_revision, table_path):
    """A new index would take the number of the old one, and files of the old one would count as files of the new."""
    rows = rows_2d(spark, 500)
    shutil.copytree(one_revision, table_path)
    set_properties(table_path, {LATEST: None})
    with pytest.raises(FormatError, match=r"is damaged: .* run first: pyqbeast repair "):
        pyqbeast.convert(spark, f"delta.`{table_path}`", columns_to_index=["b"])
    with pytest.raises(FormatError, match=r"is damaged: .* run first: pyqbeast repair "):
        rows.write.format("qbeast").mode("append").save(table_path)
    assert QbeastTable.for_path(spark, table_path).repair(dry_run=False).version is not None
    rows.write.format("qbeast").mode("append").save(table_path)
    assert pyqbeast.scan(table_path).verify().ok


def test_files_of_an_index_that_is_gone_are_none_of_the_next(spark, one_revision, table_path):
    shutil.copytree(one_revision, table_path)
    set_properties(table_path, dict.fromkeys([LATEST, "qbeast.revision.0", "qbeast.revision.1"]))
    with under(spark, {"spark.qbeast.index.numberOfRetries": "0"}):
        table = pyqbeast.convert(spark, f"delta.`{table_path}`", columns_to_index=["b"], cube_size=500)
    rows_2d(spark, 100, first=500).write.format("qbeast").mode("append").save(table_path)
    assert (table.latest_revision.id, table.columns_to_index) == (1, ["b"])
    assert table.metrics().unindexed_files > 0
    light = F.hash("b") < -1_000_000_000
    found, wanted = ids_of_each([load(spark, table_path).where(light), rows_2d(spark, 600).where(light)])
    assert found == wanted
    assert pyqbeast.scan(table_path).verify().ok


def test_a_revision_takes_no_number_that_is_stored(spark, two_revisions, table_path):
    """Somebody has set the latest revision back to an older one."""
    shutil.copytree(two_revisions, table_path)
    stored = log_entries(table_path, "metaData")[-1]["configuration"]["qbeast.revision.2"]
    set_properties(table_path, {LATEST: "1"})
    save(rows_2d(spark, 500, first=1_000), table_path, columnsToIndex=None, cubeSize=180)
    configuration = log_entries(table_path, "metaData")[-1]["configuration"]
    assert (configuration["qbeast.revision.2"], configuration[LATEST]) == (stored, "3")


def test_a_revision_takes_no_number_that_files_have(spark, two_revisions, table_path):
    """Somebody has set the latest revision back to an older one, and removed the newer one."""
    shutil.copytree(two_revisions, table_path)
    set_properties(table_path, {LATEST: "1", "qbeast.revision.2": None})
    save(rows_2d(spark, 500, first=1_000), table_path, columnsToIndex=None, cubeSize=180)
    table = QbeastTable.for_path(spark, table_path)
    assert table.latest_revision.id == 3
    assert ids(table.df()) == list(range(1_500))
    done = table.repair(dry_run=False)
    assert {remedy.problem.rule for remedy in done.healed} == {"tags"}
    assert done.version is not None
    assert pyqbeast.scan(table_path).verify().ok


def test_a_name_that_delta_takes_for_none(spark):
    """Without backticks, it takes some words for the beginning of something else."""
    rows_2d(spark, 50).write.format("delta").saveAsTable("location")
    try:
        table = pyqbeast.convert(spark, "`location`", columns_to_index=["a"])
        assert pyqbeast.convert(spark, "location", columns_to_index=["a"]).path == table.path
        QbeastTable.for_name(spark, "location").optimize(0)
        blocks = spark.sql("SELECT sum(element_count) FROM qbeast_blocks('default.location')")
        assert blocks.first()[0] == 50
    finally:
        spark.sql("DROP TABLE location")


@pytest.mark.parametrize("name", ["no_such_table", "no-such-table"])
def test_a_name_of_no_table(spark, name):
    with pytest.raises(TableNotFoundError, match=f"there is no table '{name}' in the catalog"):
        pyqbeast.convert(spark, name, columns_to_index=["a"])


def test_a_name_of_too_many_parts_is_none_of_a_table(spark):
    with pytest.raises(TableNotFoundError, match=r"'no\.such\.table' in the catalog"):
        QbeastTable.for_name(spark, "no.such.table")
    with pytest.raises(Exception, match=r"'no\.such\.table' is neither a table of the catalog nor the path"):
        spark.sql("SELECT * FROM qbeast_metrics('no.such.table')").collect()
