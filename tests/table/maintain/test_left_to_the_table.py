"""Writes that leave names, columns or matches to the table, as plain Delta lets them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import functions as F

from pyqbeast import InvalidInputError, QbeastTable, UnsupportedError, bridge
from tests.spark_session import under, warnings_of
from tests.table.help import holds, ids, ids_of_each, load, log_of_name, rows_2d, save, save_copy
from tests.table.relogged import append_unindexed


@pytest.fixture
def name(spark):
    yield "left_to_it"
    spark.sql("DROP TABLE IF EXISTS left_to_it")


def test_names_in_another_case_are_the_same_columns(spark, table_path):
    given = {
        "columnsToIndex": "A,B",
        "weightColumns": "NAME",
        "columnStats": '{"A_min": -5, "A_max": 2000000}',
    }
    save(rows_2d(spark, 300), table_path, **given)
    upper = rows_2d(spark, 100, first=300).toDF("ID", "A", "B", "NAME")
    save(upper, table_path, columnsToIndex=None, cubeSize=None)
    table = holds(spark, table_path)
    revision = table.latest_revision
    assert (revision.columns, revision.weight_columns) == (["a", "b"], ("name",))
    assert revision.transformations[0].minimum == -5
    assert load(spark, table_path).columns == ["id", "a", "b", "name"]
    assert table.metrics().unindexed_files == 0
    case_matters = under(spark, {"spark.sql.caseSensitive": "true"})
    with case_matters, pytest.raises(InvalidInputError, match="'A' is to be indexed"):
        save(rows_2d(spark, 10), table_path + "2", columnsToIndex="A,b")


def test_indexed_columns_that_the_table_fills_in(spark, table_path):
    """A default, a generated column, an identity and a null."""
    spark.sql(
        f"CREATE TABLE delta.`{table_path}` (id BIGINT, twice BIGINT GENERATED ALWAYS AS (id * 2), "
        "level INT DEFAULT 7, number BIGINT GENERATED ALWAYS AS IDENTITY, a INT) USING qbeast "
        "OPTIONS (columnsToIndex = 'twice,level,number,a') "
        "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
    )
    spark.range(200).write.format("qbeast").mode("append").save(table_path)
    spark.sql(f"INSERT INTO delta.`{table_path}` (id, level) SELECT id, 1 FROM range(200, 300)")
    spark.sql(f"INSERT INTO delta.`{table_path}` (a) SELECT 1")
    rows = load(spark, table_path).orderBy(F.desc_nulls_last("a")).collect()
    assert len({row["number"] for row in rows}) == 301
    last, *rows = rows
    # What a missing column generates is null, too.
    assert (last["a"], last["id"], last["twice"]) == (1, None, None)
    assert all(row["twice"] == 2 * row["id"] and row["a"] is None for row in rows)
    assert {row["level"] for row in rows if row["id"] < 200} == {7}
    assert holds(spark, table_path).metrics().unindexed_files == 0


def test_identities_of_a_write_that_is_committed_on_top_of_another(spark, name, monkeypatch):
    """What was written once is committed again, and the highest number goes along."""
    spark.sql(
        f"CREATE TABLE {name} (number BIGINT GENERATED ALWAYS AS IDENTITY, id BIGINT) USING qbeast "
        "OPTIONS (columnsToIndex = 'id')"
    )
    insert = f"INSERT INTO {name} (id) SELECT id FROM range(100)"
    spark.sql(insert)
    commit = bridge.Transaction.commit
    others = ["ALTER TABLE left_to_it SET TBLPROPERTIES (team = 'maps')"]

    def late(self, mode, tags):
        while others:
            spark.sql(others.pop())
        return commit(self, mode, tags)

    monkeypatch.setattr(bridge.Transaction, "commit", late)
    spark.sql(insert)
    spark.sql(insert)
    assert spark.table(name).select("number").distinct().count() == 300


def kept_rows(spark):
    """The RDDs that Spark keeps in memory. Those of Delta have names."""
    kept = spark.sparkContext._jsc.getPersistentRDDs()
    return {number for number, rdd in kept.items() if rdd.name() is None}


def test_matching_rows_are_replaced(spark, name, table_path, monkeypatch):
    save_copy(spark, table_path, 300)
    new = rows_2d(spark, 30, first=290).withColumn("name", F.lit("new"))
    in_memory = kept_rows(spark)
    with warnings_of(spark) as warnings:
        save(new, table_path, "overwrite", replaceUsing="id")
    assert "checkpointed" not in warnings.toString(), "nobody reads the rows any more"
    forget = bridge.Transaction.forget_kept

    def forget_twice(self):
        """The rows are freed, and then their context is gone."""
        forget(self)
        rows = spark._jvm.io.pyqbeast.spark.Frames.plan(hidden(self._java, "kept").get(self._java)).rdd()
        hidden(rows, "_sc", spark._jvm.java.lang.Class.forName("org.apache.spark.rdd.RDD")).set(rows, None)
        forget(self)

    def hidden(of, name, java_class=None):
        field = (java_class or of.getClass()).getDeclaredField(name)
        field.setAccessible(True)
        return field

    monkeypatch.setattr(bridge.Transaction, "forget_kept", forget_twice)
    with warnings_of(spark) as warnings:
        save(new, table_path, "overwrite", replaceUsing="id")
    assert "stay in memory" in warnings.toString()
    wrong = new.withColumn("a", F.expr("if(id < 300, a, int(raise_error('while they are read')))"))
    with pytest.raises(Exception, match="while they are read"):
        save(wrong, table_path, "overwrite", replaceUsing="id")
    on = {"replaceOn": "t.id = s.id + 100", "targetAlias": "t"}
    save(rows_2d(spark, 10).alias("s"), table_path, "overwrite", **on)
    with pytest.raises(Exception, match="cannot be resolved"):
        save(rows_2d(spark, 10), table_path, "overwrite", **on)
    assert kept_rows(spark) <= in_memory
    rows = load(spark, table_path).select("id", "name").collect()
    wanted = [*range(100), *range(110, 320), *range(10)]
    assert sorted(row["id"] for row in rows) == sorted(wanted)
    assert sum(row["name"] == "new" for row in rows) == 30
    spark.sql(f"CREATE TABLE {name} USING qbeast LOCATION '{table_path}'")
    writer = rows_2d(spark, 10, first=315).write.format("qbeast").mode("overwrite")
    writer.option("replaceUsing", "id").insertInto(name)
    assert ids(spark.table(name)) == sorted([*wanted, *range(320, 325)])
    assert log_of_name(spark, name).metrics().unindexed_files == 0
    with pytest.raises(UnsupportedError, match="replaceOn"):
        writer.option("replaceOn", "t.id = s.id").insertInto(name)


def test_a_shallow_clone_is_verified_where_its_files_lie(spark, table_path):
    """Also those that are lost there, or that somebody has made longer."""
    save_copy(spark, table_path, 300)
    indexed = {*Path(table_path).glob("*.parquet")}
    # Of so many files in a folder of another table the folder is listed.
    append_unindexed(table_path, *range(300, 360, 2), rows=2)
    clone = table_path + " of it"
    spark.sql(f"CREATE TABLE delta.`{clone}` SHALLOW CLONE delta.`{table_path}`")
    table = QbeastTable.for_path(spark, clone)
    assert table.delete_rows(table.blocks().first()["file"], [0, 1]) == 2
    save(rows_2d(spark, 10, first=360), clone)
    assert holds(spark, clone).optimize().changed
    assert [len(each) for each in ids_of_each([load(spark, clone), load(spark, table_path)])] == [368, 360]
    lost, longer, *_ = sorted({*Path(table_path).glob("*.parquet")} - indexed)
    lost.unlink()
    with longer.open("ab") as file:
        file.write(b"more")
    assert {Path(problem.file).name: problem.rule for problem in table.verify(level="log").problems} == {
        lost.name: "the file exists",
        longer.name: "file size",
    }


def test_texts_of_a_stated_length(spark, name):
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, padded CHAR(5), short VARCHAR(10)) USING qbeast "
        "OPTIONS (columnsToIndex = 'id,padded,short')"
    )
    spark.sql(f"INSERT INTO {name} SELECT id, concat('n', id % 50), concat('n', id % 30) FROM range(300)")
    table = QbeastTable.for_name(spark, name)
    assert table.verify().ok
    found = ids_of_each(spark.table(name).filter(f"{column} = 'n7'") for column in ("padded", "short"))
    assert found == [[*range(7, 300, 50)], [*range(7, 300, 30)]]


@pytest.mark.parametrize("layout", ["partitionBy", "clusterBy"])
def test_another_layout_is_refused(spark, table_path, layout):
    writer = rows_2d(spark, 10).write.format("qbeast").option("columnsToIndex", "a")
    with pytest.raises(UnsupportedError, match="leave partitionBy and clusterBy out"):
        getattr(writer, layout)("name").save(table_path)
