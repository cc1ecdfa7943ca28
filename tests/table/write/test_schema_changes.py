"""Columns that come, go, change their name or grow wider: samples stay exact, and an indexed column stays."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import InvalidInputError, QbeastTable, UnsupportedError
from tests.table.help import (
    holds,
    ids,
    load,
    log_entries,
    opened,
    parquet_files,
    rows_2d,
    rows_read,
    samples_exactly,
    save,
    save_copy,
)

#: Types that make no weight, each with a value.
UNHASHED = (("MAP<STRING,INT>", "map('x', 1)", "map"), ("VARIANT", "parse_json('1')", "variant"))


def alter(spark, path, change):
    spark.sql(f"ALTER TABLE delta.`{path}` {change}")


def is_sampled_exactly(spark, path):
    """A sample is the rows of the lowest weights by the column types of today, and the index says the truth."""
    samples_exactly(spark, path)
    return holds(spark, path)


def files_of(path, *revisions):
    return sum(add["tags"]["revision"] in revisions for add in log_entries(path, "add"))


def files_of_a_sample(table):
    return opened(table.sample(0.001).agg(F.sum("b"))).files


def test_a_wider_type_hashes_otherwise(spark, table_path):
    """The weights in the blocks of revision 1 are those of ints: a sample opens all of its files.

    Here a write widens the table. What `ALTER TABLE` widens is in `test_hashed_columns.py`.
    """
    save_copy(spark, table_path, cubeSize=300, **{"delta.enableTypeWidening": "true"})
    wide = rows_2d(spark, 1_000, first=1_000).withColumn("a", F.col("a").cast("bigint"))
    save(wide, table_path, cubeSize=300, mergeSchema=True)
    table = is_sampled_exactly(spark, table_path)
    assert ids(table.df()) == list(range(2_000))
    assert [revision.id for revision in table.revisions()] == [0, 1, 2]
    assert files_of(table_path, "1") < files_of_a_sample(table) < files_of(table_path, "1", "2")


def test_columns_that_are_mapped(spark, table_path):
    """Names in the files differ from those in the table; columns that are not indexed come and go.

    `test_hashed_columns.py` looks at tables that map columns by their names, here they are mapped by numbers.
    """
    save_copy(spark, table_path, cubeSize=300, **{"delta.columnMapping.mode": "id"})
    alter(spark, table_path, "RENAME COLUMN name TO title")
    more = rows_2d(spark, 300, first=1_000).withColumnRenamed("name", "title")
    save(more, table_path, cubeSize=300)
    table = QbeastTable.for_path(spark, table_path)
    assert table.df().filter("title = concat('name ', id % 100)").count() == 1_300
    alter(spark, table_path, "DROP COLUMN title")
    alter(spark, table_path, "ADD COLUMN more int")
    assert is_sampled_exactly(spark, table_path).df().columns == ["id", "a", "b", "more"]
    assert ids(table.df()) == list(range(1_300))


def test_an_indexed_column_can_neither_go_nor_change_its_name(spark, table_path):
    save_copy(spark, table_path, **{"delta.columnMapping.mode": "name"})
    for change in (
        "RENAME COLUMN a TO c",
        "DROP COLUMN A",
        "DROP COLUMNS (name, b)",
        "REPLACE COLUMNS (id bigint)",
    ):
        with pytest.raises(UnsupportedError, match="is indexed and can neither be dropped nor renamed"):
            alter(spark, table_path, change)
        assert load(spark, table_path).columns == ["id", "a", "b", "name"], change


def test_one_of_the_weight_columns_stays_while_it_is_one(spark, table_path):
    save(rows_2d(spark, 10), table_path, weightColumns="name", **{"delta.columnMapping.mode": "name"})
    told = "is one of the weightColumns and can neither be dropped nor renamed: .* with other weightColumns"
    for change in ("RENAME COLUMN name TO title", "DROP COLUMN NAME"):
        with pytest.raises(UnsupportedError, match=told):
            alter(spark, table_path, change)
        assert load(spark, table_path).columns == ["id", "a", "b", "name"], change
    save(rows_2d(spark, 10), table_path, "overwrite")
    alter(spark, table_path, "RENAME COLUMN name TO title")
    alter(spark, table_path, "DROP COLUMN TITLE")
    assert load(spark, table_path).columns == ["id", "a", "b"]


def test_one_of_the_weight_columns_may_get_a_type_that_cannot_be_indexed(spark, table_path):
    """It is hashed and nothing else, and Spark hashes such values."""
    days = rows_2d(spark, 300).withColumn("day", F.expr("date'2024-01-01' + cast(id as int)"))
    save(days, table_path, cubeSize=100, weightColumns="day", **{"delta.enableTypeWidening": "true"})
    alter(spark, table_path, "SET TBLPROPERTIES ('delta.feature.timestampNtz' = 'supported')")
    alter(spark, table_path, "ALTER COLUMN day TYPE timestamp_ntz")
    samples_exactly(spark, table_path)
    later = days.selectExpr("id + 1000 as id", "a", "b", "name", "cast(day as timestamp_ntz) as day")
    save(later, table_path, cubeSize=100)
    assert [revision.id for revision in samples_exactly(spark, table_path).revisions()] == [0, 1, 2]


def test_a_text_may_get_longer(spark, tmp_path):
    """Whatever it is hashed or indexed for: its values in files are the same. So may a struct get such a field."""
    place = f"'{tmp_path / 'texts'}'"
    spark.sql(
        "CREATE TABLE texts (id BIGINT, short VARCHAR(5), s STRUCT<x: INT>) "
        f"USING qbeast OPTIONS (columnsToIndex = 'id,short', weightColumns = 's') LOCATION {place}"
    )
    try:
        spark.sql("INSERT INTO texts SELECT id, 'short', named_struct('x', 1) FROM range(50)")
        spark.sql("ALTER TABLE texts ALTER COLUMN short TYPE VARCHAR(20)")
        spark.sql("ALTER TABLE texts ADD COLUMNS (s.y VARCHAR(5))")
        spark.sql(
            "INSERT INTO texts SELECT id, 'no more short', named_struct('x', 1, 'y', 'y') FROM range(50, 99)"
        )
        holds(spark, str(tmp_path / "texts"))
        assert ids(spark.table("texts")) == [*range(99)]
    finally:
        spark.sql("DROP TABLE texts")


def days_and_times(spark, path):
    """A table that is indexed by a day and would be widened by what is left in the view `times`."""
    days = rows_2d(spark, 10).withColumn("day", F.expr("date'2024-01-01' + cast(id as int)"))
    save(days, path, columnsToIndex="day,a", **{"delta.enableTypeWidening": "true"})
    alter(spark, path, "SET TBLPROPERTIES ('delta.feature.timestampNtz' = 'supported')")
    times = days.selectExpr("id + 1000 AS id", "a", "b", "name", "CAST(day AS timestamp_ntz) AS day")
    times.createOrReplaceTempView("times")
    return days, times


def test_an_indexed_column_gets_no_type_that_cannot_be_indexed(spark, table_path):
    days, times = days_and_times(spark, table_path)
    files = parquet_files(table_path)
    told = r"column day of .* is indexed, and no index takes .* timestamp_ntz: overwrite the table with other"
    for statement in (
        f"ALTER TABLE delta.`{table_path}` ALTER COLUMN day TYPE timestamp_ntz",
        f"MERGE WITH SCHEMA EVOLUTION INTO delta.`{table_path}` t USING times ON t.id = times.id "
        "WHEN NOT MATCHED THEN INSERT *",
    ):
        with pytest.raises(UnsupportedError, match=told):
            spark.sql(statement)
    with pytest.raises(
        InvalidInputError, match=r"no index takes .* timestamp_ntz, which the rows bring: write"
    ):
        save(times, table_path, columnsToIndex=None, mergeSchema=True)
    assert parquet_files(table_path) == files
    save(days, table_path, columnsToIndex=None)


def test_an_indexed_column_that_another_program_gave_such_a_type(spark, table_path):
    """Plain Delta is the other one here. What is read is right, and rows join once other columns are indexed."""
    _, times = days_and_times(spark, table_path)
    times.write.format("delta").mode("append").option("mergeSchema", "true").save(table_path)
    samples_exactly(spark, table_path, 0.5, rows=20)
    table = holds(spark, table_path)
    told = "indexed by day, and no index takes .* timestamp_ntz, which it has by now: overwrite .* columnsToIndex"
    for append in (
        lambda: save(times, table_path, columnsToIndex=None),
        lambda: save(times, table_path, columnsToIndex="day,a"),
        lambda: table.optimize(0),
        lambda: table.optimize(1),
    ):
        with pytest.raises(InvalidInputError, match=told):
            append()
    save(load(spark, table_path).localCheckpoint(), table_path, "overwrite", columnsToIndex="a")
    save(times, table_path, columnsToIndex=None)
    samples_exactly(spark, table_path, 0.5, rows=30)


def test_an_indexed_column_that_is_gone_is_noticed(spark, table_path):
    """Plain Delta overwrites the table here. A new column of the same name does not have the old values."""
    save_copy(spark, table_path)
    left = rows_2d(spark, 50).drop("b")
    left.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(table_path)
    report = QbeastTable.for_path(spark, table_path).verify("log")
    assert [problem.rule for problem in report.problems] == ["indexed columns exist"]
    assert "no column 'b'" in str(report)
    for rows in (rows_2d(spark, 10), left):
        with pytest.raises(InvalidInputError, match="indexed by b and has no such column any more"):
            save(rows, table_path, mergeSchema=True)
    assert ids(load(spark, table_path)) == ids(left)
    save(left, table_path, "overwrite", columnsToIndex="a", overwriteSchema=True)
    assert QbeastTable.for_path(spark, table_path).columns_to_index == ["a"]


def test_one_of_the_weight_columns_that_is_gone_is_noticed(spark, table_path):
    save(rows_2d(spark, 100), table_path, weightColumns="name")
    left = rows_2d(spark, 50).drop("name")
    left.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(table_path)
    assert "no column 'name'" in str(QbeastTable.for_path(spark, table_path).verify("log"))
    for rows in (rows_2d(spark, 10), left):
        with pytest.raises(
            InvalidInputError, match="has the weightColumns name and has no such column any more"
        ):
            save(rows, table_path, mergeSchema=True)
    with pytest.raises(UnsupportedError, match="no column name any more, which weights are made of"):
        pyqbeast.tolerance(load(spark, table_path).agg(F.avg("a")), 0.1)
    save(left, table_path, "overwrite", overwriteSchema=True)
    assert QbeastTable.for_path(spark, table_path).latest_revision.weight_columns == ()


def test_columns_that_come_with_a_write(spark, table_path):
    """And columns that a write leaves out, of which one is indexed: its rows have nulls there."""
    rows = rows_2d(spark, 900)
    save_copy(spark, table_path, 300, cubeSize=100)
    save(rows.filter("id BETWEEN 300 AND 599").withColumn("more", F.lit(1)), table_path, mergeSchema=True)
    save(rows.filter("id >= 600").drop("name"), table_path)
    save(rows.selectExpr("id + 900 AS id", "a"), table_path)
    table = is_sampled_exactly(spark, table_path)
    assert ids(table.df()) == list(range(1_800))
    told = "count_if(more = 1 AND name IS NOT NULL)", "count_if(name IS NULL)", "count_if(b IS NULL)"
    assert tuple(table.df().selectExpr(*told).first()) == (300, 1_200, 900)


def weighed_by_struct(spark, n, first=0, field=""):
    return rows_2d(spark, n, first, f"struct(id AS x, array(struct(id AS z)) AS y {field}) AS s")


def with_field(spark, value):
    return weighed_by_struct(spark, 100, 1_000, f", if(id > 0, {value}, null) AS v")


@pytest.mark.parametrize(("kind", "value", "name"), UNHASHED)
def test_a_struct_that_makes_weights_gets_no_field_that_makes_none(spark, table_path, kind, value, name):
    """By whatever way: the table, its rows and its files are as they were."""
    save(weighed_by_struct(spark, 100), table_path, weightColumns="s")
    before, files = load(spark, table_path).schema, parquet_files(table_path)
    with_field(spark, value).createOrReplaceTempView("more")
    told = f"s of .* is one of the weightColumns, and a {name} cannot be hashed: overwrite .* columnsToIndex alone"
    for field in ("s.v", "s.y.element.v"):
        with pytest.raises(UnsupportedError, match=told):
            alter(spark, table_path, f"ADD COLUMNS ({field} {kind})")
    with pytest.raises(UnsupportedError, match=told):
        spark.sql(
            f"MERGE WITH SCHEMA EVOLUTION INTO delta.`{table_path}` t USING more ON t.id = more.id "
            "WHEN NOT MATCHED THEN INSERT *"
        )
    with pytest.raises(
        InvalidInputError, match=f"weightColumns s, and a {name}, which the rows bring, cannot"
    ):
        save(spark.table("more"), table_path, columnsToIndex=None, mergeSchema=True)
    assert load(spark, table_path).schema == before
    assert parquet_files(table_path) == files
    alter(spark, table_path, f"ADD COLUMNS (s.w INT, v {kind})")
    samples_exactly(spark, table_path, rows=100)


@pytest.mark.parametrize(("kind", "value", "name"), UNHASHED)
def test_a_struct_that_another_program_gave_such_a_field(spark, table_path, kind, value, name):
    """Spark samples it, and rows join once it has other weights or no such field. Plain Delta is the other one."""
    rows = weighed_by_struct(spark, 100)
    save(rows, table_path, weightColumns="s", **{"delta.columnMapping.mode": "name"})
    more = with_field(spark, value)
    more.write.format("delta").mode("append").option("mergeSchema", "true").save(table_path)
    table = holds(spark, table_path)
    assert rows_read(load(spark, table_path)) == 200
    assert 0 < rows_read(table.sample(0.5)) < 200
    told = f"column .?s.?, which holds a {name}"
    with pytest.raises(UnsupportedError, match=told):
        pyqbeast.scan(table_path).select(["id"]).sample(0.5).to_arrow()
    with pytest.raises(UnsupportedError, match=told):
        pyqbeast.tolerance(load(spark, table_path).agg(F.avg("a")), 0.1)
    told = f"weightColumns s, and a {name}, which it has by now, cannot be hashed: overwrite the table with other"
    for append in (
        lambda: save(rows, table_path, columnsToIndex=None),
        lambda: table.optimize(0),
        lambda: table.optimize(1),
    ):
        with pytest.raises(InvalidInputError, match=told):
            append()
    alter(spark, table_path, "ADD COLUMNS (s.w INT)")
    assert rows_read(load(spark, table_path)) == 200
    if kind == "VARIANT":
        save(load(spark, table_path).localCheckpoint(), table_path, "overwrite", weightColumns="id")
    else:
        alter(spark, table_path, "DROP COLUMN s.v")
    save(weighed_by_struct(spark, 100, 2_000), table_path, columnsToIndex=None)
    assert rows_read(load(spark, table_path)) == 300
    samples_exactly(spark, table_path, rows=300)


def test_a_name_that_the_index_uses_is_no_name_of_a_column(spark, table_path):
    """Also in another case. A field of a struct may have it."""
    told = "column name '(?i:_qbeastCube)' is used by the index itself; rename the column"
    save(weighed_by_struct(spark, 10), table_path, **{"delta.columnMapping.mode": "name"})
    columns = load(spark, table_path).columns
    for statement in (
        f"ALTER TABLE delta.`{table_path}` ADD COLUMNS (more INT, _qbeastCube STRING)",
        f"ALTER TABLE delta.`{table_path}` ADD COLUMN _QBEASTcube STRING FIRST",
        f"ALTER TABLE delta.`{table_path}` RENAME COLUMN name TO _qbeastCube",
        f"MERGE WITH SCHEMA EVOLUTION INTO delta.`{table_path}` t USING (SELECT 1L AS id, 1 AS _qbeastCube) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
    ):
        with pytest.raises(InvalidInputError, match=told):
            spark.sql(statement)
        assert load(spark, table_path).columns == columns, statement
    alter(spark, table_path, "ADD COLUMNS (s._qbeastCube STRING)")
    alter(spark, table_path, "DROP COLUMN s._qbeastCube")
    spark.sql(f"INSERT INTO delta.`{table_path}` SELECT * FROM delta.`{table_path}`")
    samples_exactly(spark, table_path, 0.5, rows=20)
