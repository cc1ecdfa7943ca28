"""Writers at the same time: every row lands once, or the write says that it did not."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import CommitConflictError, NotIndexedError, QbeastTable, bridge
from pyqbeast.table.write import writer as writing
from tests.spark_session import under
from tests.table.help import ids, load, rows_2d, save, save_copy


@pytest.fixture
def before(monkeypatch):
    """Runs a function once, right before the first call of a method that follows."""

    def schedule(owner, method, function):
        called = getattr(owner, method)
        waiting = [function]

        def interrupted(self, *arguments):
            if waiting:
                waiting.pop()()
            return called(self, *arguments)

        monkeypatch.setattr(owner, method, interrupted)

    return schedule


@pytest.fixture
def before_commit(before):
    """Runs a function once, right before the first commit of the next write."""
    return lambda function: before(bridge.Transaction, "commit", function)


@pytest.fixture
def layouts(monkeypatch):
    """The writes that lay rows out, each as often as it does. Tests forget that of a table that they copy."""
    writes = []
    write_files = writing._Write._write_files
    monkeypatch.setattr(
        writing._Write, "_write_files", lambda self, *a: (writes.append(self), write_files(self, *a))[1]
    )
    return writes


def at_once(tasks):
    with ThreadPoolExecutor(len(tasks)) as pool:
        for future in [pool.submit(task) for task in tasks]:
            future.result()


def test_appends_at_once_two_of_them_with_a_range_that_grows(spark, table_path):
    save_copy(spark, table_path)

    def append(i):
        frame = rows_2d(spark, 300, first=1_000 + 300 * i).withColumn("a", F.col("a") + 2_000_000 * i)
        return lambda: save(frame, table_path)

    at_once([append(i) for i in range(3)])
    assert ids(load(spark, table_path)) == list(range(1_900))
    assert pyqbeast.scan(table_path).verify().ok


def test_writers_at_once_make_one_table(spark, table_path):
    at_once([lambda i=i: save(rows_2d(spark, 300, first=300 * i), table_path) for i in range(3)])
    assert ids(load(spark, table_path)) == list(range(900))


@pytest.mark.parametrize("overtaken", ["_plan", "_write_files"])
def test_a_writer_that_finds_a_table_where_there_was_none_begins_again(spark, table_path, before, overtaken):
    """Delta would compare its rows with a table that its transaction has not seen, and refuse them."""
    before(writing._Write, overtaken, lambda: save(rows_2d(spark, 500), table_path))
    save(rows_2d(spark, 500, first=500), table_path)
    assert ids(load(spark, table_path)) == list(range(1_000))


def test_an_overwrite_that_finds_a_table_where_there_was_none_says_so(spark, table_path, before):
    before(writing._Write, "_write_files", lambda: save(rows_2d(spark, 500), table_path))
    with pytest.raises(CommitConflictError, match="run it again"):
        save(rows_2d(spark, 500, first=500), table_path, mode="overwrite")
    assert ids(load(spark, table_path)) == list(range(500))


def test_files_are_written_once_when_another_revision_comes_first(spark, table_path, before_commit, layouts):
    """A write that fits a revision that stays joins the changed table without laying its rows out again."""
    stats = '{"a_min": 0, "a_max": 1000000, "b_min": 0, "b_max": 1000}'
    save_copy(spark, table_path, columnStats=stats)
    layouts.clear()
    wide = rows_2d(spark, 500, first=2_000).withColumn("a", F.col("a") + 3_000_000)
    before_commit(lambda: save(wide, table_path))
    save(rows_2d(spark, 500, first=1_000), table_path)
    assert len(layouts) == 2
    assert ids(load(spark, table_path)) == [*range(1_500), *range(2_000, 2_500)]
    assert pyqbeast.scan(table_path).verify().ok


@pytest.mark.parametrize("retries", ["0", "2"])
def test_two_new_revisions(spark, table_path, before_commit, retries):
    """With retries left the rows are laid out again; without, the second revision gets the next number."""
    save_copy(spark, table_path)
    wide = [rows_2d(spark, 500, first=1_000 * i).withColumn("a", F.col("a") + 3_000_000 * i) for i in (1, 2)]
    before_commit(lambda: save(wide[0], table_path))
    with under(spark, {"spark.qbeast.index.numberOfRetries": retries}):
        save(wide[1], table_path)
    assert ids(load(spark, table_path)) == [*range(1_000), *range(1_000, 1_500), *range(2_000, 2_500)]
    table = QbeastTable.for_path(spark, table_path)
    assert table.latest_revision.id == 3
    # Without retries the files are those that were laid out for another number.
    assert table.verify("log" if int(retries) else "data").ok


def test_an_overwrite_that_cannot_land_says_so_and_leaves_nothing(spark, table_path, before_commit):
    save_copy(spark, table_path)
    before_commit(lambda: save(rows_2d(spark, 500, first=5_000), table_path, "overwrite"))
    with pytest.raises(CommitConflictError, match="run it again"):
        save(rows_2d(spark, 700, first=9_000), table_path, "overwrite")
    assert ids(load(spark, table_path)) == list(range(5_000, 5_500))
    live = {
        row["file"] for row in load(spark, table_path).selectExpr("_metadata.file_name as file").collect()
    }
    old = {f.name for f in Path(table_path).glob("*.parquet")} - live
    assert all(
        name in Path(table_path, "_delta_log", "00000000000000000000.json").read_text() for name in old
    )


def test_two_inserts_at_once_give_no_number_twice(spark, table_path, before_commit):
    """Both find the same numbers free, and give out as many: the schemas agree afterwards, the numbers do not."""
    table = f"delta.`{table_path}`"
    spark.sql(
        f"CREATE TABLE {table} (number BIGINT GENERATED ALWAYS AS IDENTITY, a INT) USING qbeast "
        """OPTIONS (columnsToIndex = 'a', columnStats = '{"a_min": 0, "a_max": 1000}')"""
    )
    spark.sql(f"INSERT INTO {table} (a) SELECT cast(id AS int) FROM range(100)")
    before_commit(lambda: spark.sql(f"INSERT INTO {table} (a) VALUES (7)"))
    spark.sql(f"INSERT INTO {table} (a) VALUES (5)")
    assert load(spark, table_path).select("number").distinct().count() == 102


def test_rows_are_checked_by_a_constraint_that_comes_first(spark, table_path, before_commit):
    save_copy(spark, table_path)
    constraint = f"ALTER TABLE delta.`{table_path}` ADD CONSTRAINT small CHECK (id < 2000)"
    before_commit(lambda: spark.sql(constraint))
    with pytest.raises(Exception, match=r"CHECK constraint small.* - id : 500\d"):
        save(rows_2d(spark, 10, first=5_000), table_path)
    assert ids(load(spark, table_path)) == list(range(1_000))


def test_a_table_that_comes_to_be_partitioned_takes_no_more_rows(spark, table_path, before_commit):
    save_copy(spark, table_path)
    plain = rows_2d(spark, 2).write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    before_commit(lambda: plain.partitionBy("name").save(table_path))
    with pytest.raises(NotIndexedError, match="partitioned"):
        save(rows_2d(spark, 10, first=1_000), table_path)
    assert ids(load(spark, table_path)) == [0, 1]


def test_files_are_written_once_when_a_property_of_the_user_comes_first(
    spark, table_path, before_commit, layouts
):
    save_copy(spark, table_path)
    layouts.clear()
    before_commit(lambda: spark.sql(f"ALTER TABLE delta.`{table_path}` SET TBLPROPERTIES (team = 'maps')"))
    save(rows_2d(spark, 10, first=1_000), table_path)
    assert len(layouts) == 1
    assert ids(load(spark, table_path)) == list(range(1_010))


def test_the_cube_size_of_a_write_goes_with_it_when_a_property_comes_first(
    spark, table_path, before_commit, layouts
):
    save_copy(spark, table_path)
    layouts.clear()
    spark.sql(f"ALTER TABLE delta.`{table_path}` SET TBLPROPERTIES (cubeSize = 500)")
    before_commit(lambda: spark.sql(f"ALTER TABLE delta.`{table_path}` SET TBLPROPERTIES (team = 'maps')"))
    save(rows_2d(spark, 10), table_path, cubeSize=1000)
    stored = bridge.TableLog(spark, table_path).configuration
    assert (stored["cubeSize"], stored["team"], len(layouts)) == ("1000", "maps", 1)
    assert [each.id for each in QbeastTable.for_path(spark, table_path).revisions()] == [0, 1]


def test_the_number_of_a_write_goes_with_it_when_a_property_comes_first(spark, table_path, before_commit):
    """Otherwise the next write would pass for this one, and its rows be left out."""
    save_copy(spark, table_path)
    before_commit(lambda: spark.sql(f"ALTER TABLE delta.`{table_path}` SET TBLPROPERTIES (team = 'maps')"))
    writes = "spark.databricks.delta.write.txn"
    numbered = {
        f"{writes}Version.autoReset.enabled": "true",
        f"{writes}AppId": "loader",
        f"{writes}Version": "1",
    }
    with under(spark, numbered):
        save(rows_2d(spark, 10, first=1_000), table_path)
        assert spark.conf.get(f"{writes}Version", None) is None
    assert ids(load(spark, table_path)) == list(range(1_010))


def test_an_insert_that_reads_its_table_is_worked_out_again(spark, table_path, before_commit, layouts):
    """Two drivers add what is missing, and the second must not add what the first has added."""
    save(spark.range(100), table_path, columnsToIndex="id", columnStats='{"id_min": 0, "id_max": 1000}')
    table = f"delta.`{table_path}`"
    statement = (
        f"INSERT INTO {table} SELECT i.id FROM range(90, 110) i LEFT ANTI JOIN {table} t ON i.id = t.id"
    )
    before_commit(lambda: spark.sql(statement))
    spark.sql(statement)
    assert ids(load(spark, table_path)) == list(range(110))
    assert len(layouts) == 4


def test_an_insert_that_reads_its_table_conflicts_where_it_may_not_be_worked_out_again(
    spark, table_path, before_commit
):
    save_copy(spark, table_path)
    before_commit(lambda: save(rows_2d(spark, 10, first=1_000), table_path))
    with under(spark, {"spark.qbeast.index.numberOfRetries": "0"}), pytest.raises(CommitConflictError):
        save(load(spark, table_path).withColumn("id", F.col("id") + 2_000), table_path)
    assert ids(load(spark, table_path)) == list(range(1_010))


@pytest.mark.parametrize("asked", ["metrics", "blocks"])
def test_what_is_told_of_an_index_is_of_one_version(spark, table_path, monkeypatch, asked):
    save_copy(spark, table_path)
    table = QbeastTable.for_path(spark, table_path)
    read = bridge.TableLog.configuration.fget
    waiting = [lambda: save(rows_2d(spark, 500), table_path, "overwrite", columnsToIndex="id")]

    def interrupted(log):
        found = read(log)
        if waiting:
            waiting.pop()()
        return found

    monkeypatch.setattr(bridge.TableLog, "configuration", property(interrupted))
    if asked == "metrics":
        metrics = table.metrics()
        assert (metrics.dimension_count, metrics.element_count, metrics.unindexed_files) == (2, 1_000, 0)
    else:
        assert table.blocks().agg(F.sum("element_count")).first()[0] == 1_000


def test_rows_worked_out_from_the_rows_that_they_replace_conflict_with_a_change_of_these(
    spark, table_path, monkeypatch
):
    """A counter: each row comes back with one hit more, and the other writer's hits must not get lost."""
    save(spark.range(20).selectExpr("id", "id * 2 AS a", "0 AS hits"), table_path, columnsToIndex="a,id")
    kept = bridge.Transaction.kept

    def slowly(self, rows):
        result = kept(self, rows)
        spark.sql(f"UPDATE delta.`{table_path}` SET hits = 100 WHERE id = 7")
        return result

    monkeypatch.setattr(bridge.Transaction, "kept", slowly)
    more = load(spark, table_path).where("id < 10").withColumn("hits", F.expr("hits + 1"))
    with pytest.raises(CommitConflictError, match="run it again"):
        save(more, table_path, "overwrite", replaceUsing="id", columnsToIndex=None, cubeSize=None)
    found = {row["id"]: row["hits"] for row in load(spark, table_path).collect()}
    assert found == {row: 100 if row == 7 else 0 for row in range(20)}


@pytest.mark.parametrize("commits", [0, 1, 2])
def test_an_append_to_a_table_that_was_dropped_leaves_the_one_in_its_place_alone(
    spark, table_path, before_commit, commits
):
    """Its files went with the old table, or have tags of another revision. Delta looks at later commits alone."""
    save_copy(spark, table_path)

    def make_anew():
        shutil.rmtree(table_path)
        if commits:
            save_copy(spark, table_path, columnsToIndex="id", cubeSize=300)
        if commits > 1:
            rows_2d(spark, 1, first=1_000).write.format("delta").mode("append").save(table_path)

    before_commit(make_anew)
    with pytest.raises(CommitConflictError, match=r"dropped .*nothing was"):
        save(rows_2d(spark, 10, first=5_000), table_path)
    if commits:
        assert ids(load(spark, table_path)) == list(range(999 + commits))
    else:
        assert not Path(table_path, "_delta_log").exists()


def test_a_commit_is_known_by_its_time_whichever_way_a_store_tells_it(spark):
    """Some stores tell milliseconds where they list a file, and seconds where they are asked for it."""
    is_same_time = bridge.java(spark).spark.Snapshots.isSameTime
    assert is_same_time(7_123, 7_123)
    assert is_same_time(7_123, 7_000)
    assert not is_same_time(7_123, 7_124)
    assert not is_same_time(8_000, 7_000)
