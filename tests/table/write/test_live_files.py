"""A process that knows the files of a version learns those of later ones from the commits between, without a job."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pyqbeast import QbeastTable, bridge
from tests.table.help import agree, ids, jobs_of, load, rows_2d, save, save_copy


def test_finding_the_files_after_an_append_takes_no_job(spark, table_path):
    """A checkpoint that is written with it changes nothing: there is one at the second."""
    save_copy(spark, table_path, **{"delta.checkpointInterval": "2"})
    bridge.TableLog(spark, table_path).files()
    for number in range(3):
        save(rows_2d(spark, 100, first=1_000 + 100 * number), table_path)
        assert jobs_of(spark, lambda: bridge.TableLog(spark, table_path).files()) == 0
        assert jobs_of(spark, lambda: load(spark, table_path).inputFiles()) == 0
    agree(spark, table_path)


def test_a_young_table_is_read_without_a_job(spark, table_path):
    save_copy(spark, table_path)
    save(rows_2d(spark, 100, first=1_000), table_path)
    copy = table_path + "-copy"
    shutil.copytree(table_path, copy)
    assert jobs_of(spark, lambda: load(spark, copy).inputFiles()) == 0
    agree(spark, copy)


def test_an_old_version_is_known_once_it_was_asked_for(spark, table_path):
    """Its commits are not read again, also where a newer version is known."""
    save(rows_2d(spark, 500), table_path, **{"delta.checkpointInterval": "2"})
    for number in range(3):
        spark.sql(f"ALTER TABLE delta.`{table_path}` SET TBLPROPERTIES (number = {number})")
    copy = table_path + "-copy"
    shutil.copytree(table_path, copy)

    def takes_a_job(version):
        rows = spark.read.format("qbeast").option("versionAsOf", version).load(copy)
        return jobs_of(spark, rows.inputFiles) > 0

    assert not takes_a_job(3)
    assert not takes_a_job(2)
    for version in (0, 1):
        Path(copy, "_delta_log", f"{version:020d}.json").unlink()
    assert not takes_a_job(2)
    agree(spark, copy)


def test_a_small_append_takes_a_pass_and_a_write(spark, table_path):
    save(rows_2d(spark, 1_000), table_path, cubeSize=200)
    assert jobs_of(spark, lambda: save(rows_2d(spark, 100, first=1_000), table_path)) == 2
    assert ids(load(spark, table_path)) == list(range(1_100))


def test_the_driver_finds_deltas_files_after_every_kind_of_commit(spark, table_path):
    """A RESTORE, the dearest, is one of those in `test_known_status.py`."""
    save_copy(spark, table_path, cubeSize=300)
    table = f"delta.`{table_path}`"
    for change in (
        lambda: (
            rows_2d(spark, 100, first=1_000).coalesce(1).write.format("delta").mode("append").save(table_path)
        ),
        lambda: QbeastTable.for_path(spark, table_path).optimize(revision=0),
        # A file gets a vector, and then another one.
        lambda: QbeastTable.for_path(spark, table_path).delete("id % 7 = 0"),
        lambda: spark.sql(f"DELETE FROM {table} WHERE id % 7 = 1"),
        lambda: save(rows_2d(spark, 100), table_path, "overwrite"),
        lambda: spark.sql(f"ALTER TABLE {table} ADD COLUMN more int"),
        lambda: save(rows_2d(spark, 100, columns="1 AS more"), table_path),
        lambda: spark.sql(f"DELETE FROM {table}"),
    ):
        change()
        agree(spark, table_path)


def test_a_table_that_was_deleted_and_made_again(spark, table_path):
    save_copy(spark, table_path)
    agree(spark, table_path)
    shutil.rmtree(table_path)
    for number in range(2):
        save(rows_2d(spark, 10, first=10 * number), table_path)
    agree(spark, table_path)
    assert ids(load(spark, table_path)) == list(range(20))


def test_a_log_that_was_put_back_and_went_on_in_another_way(spark, table_path):
    """Its files are as many and as large, whichever rows of them are deleted."""
    save_copy(spark, table_path)
    table = f"delta.`{table_path}`"
    spark.sql(f"DELETE FROM {table} WHERE id < 10")
    assert ids(load(spark, table_path)) == list(range(10, 1_000))
    for file in Path(table_path, "_delta_log").glob("*00001.*"):
        file.unlink()
    spark.sql(f"DELETE FROM {table} WHERE id >= 990")
    assert ids(load(spark, table_path)) == list(range(990))
    save(rows_2d(spark, 1, first=990), table_path)
    agree(spark, table_path)


@pytest.mark.parametrize("has_checksum", [True, False])
def test_what_another_process_wrote_is_believed_if_a_checksum_confirms_it(spark, table_path, has_checksum):
    save_copy(spark, table_path)
    copy = table_path + "-copy"
    shutil.copytree(table_path, copy)
    agree(spark, copy)
    rows_2d(spark, 10).write.format("delta").mode("append").save(table_path)
    names = {file.relative_to(table_path) for file in Path(table_path).rglob("*.*")}
    for name in sorted(names):
        if not Path(copy, name).exists() and (has_checksum or not str(name).endswith("1.crc")):
            shutil.copy(Path(table_path, name), Path(copy, name))
    assert (jobs_of(spark, lambda: bridge.TableLog(spark, copy).files()) == 0) == has_checksum
    agree(spark, copy)
