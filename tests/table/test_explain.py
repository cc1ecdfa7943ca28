"""`pyqbeast.explain`: what a query opens, told by its plan before it runs and by Spark's metrics afterwards."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

import pyqbeast
from tests.spark_session import under
from tests.table.help import load, rows_2d, save, since_spark


@pytest.fixture(scope="module")
def tables(spark, tmp_path_factory):
    """An indexed table with a deleted row, and a plain one: two partitions, several row groups a file, mapped names."""
    folder = tmp_path_factory.mktemp("explained")
    indexed, plain = str(folder / "indexed"), str(folder / "plain")
    save(rows_2d(spark, 8_000), indexed, cubeSize=100)
    pyqbeast.QbeastTable.for_path(spark, indexed).delete("id = 7")
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("parquet.block.size", "4096")
    try:
        numbers = spark.range(0, 4000, 1, 1).selectExpr("id % 2 as odd", "id")
        mapped = numbers.write.format("delta").option("delta.columnMapping.mode", "name")
        mapped.partitionBy("odd").save(plain)
    finally:
        hadoop.unset("parquet.block.size")
    return indexed, plain


def add_up(scan):
    parts = [scan.opened, *scan.skipped.values()]
    assert scan.total.files == sum(part.files for part in parts)
    assert scan.total.bytes == sum(part.bytes for part in parts)
    assert scan.total.rows == sum(part.rows for part in parts)
    return scan


def test_a_sample_reads_its_share(spark, tables):
    """The same files as a scan without Spark opens, and as Spark says afterwards that it has opened."""
    path, _ = tables
    sample = load(spark, path).sample(0.1).where("A < 500000").agg(F.avg("b"))
    (before,) = pyqbeast.explain(sample).scans
    add_up(before)
    files = pyqbeast.scan(path).sample(0.1).where("a < 500000").files()
    assert before.opened.files == sum(file.skipped is None for file in files) > 1
    assert before.opened.bytes == sum(file.size for file in files if file.skipped is None)
    assert before.opened.bytes < 0.1 * before.total.bytes
    assert before.total.rows == 7_999
    assert before.sample_share == pytest.approx(0.1)
    assert list(before.skipped) == ["weights", "statistics"]
    assert [(each.text, each.columns) for each in before.conditions] == [("(A < 500000)", ("a",))]
    assert before.conditions[0].skips.files > before.skipped["statistics"].files
    assert before.ran is None
    explanation = pyqbeast.explain(sample, run=True)
    (after,) = explanation.scans
    assert (after.ran.files, after.ran.bytes) == (before.opened.files, before.opened.bytes)
    assert 0 < after.ran.rows <= after.opened.rows + 1
    assert "has run" in str(explanation)
    assert "<table>" in explanation._repr_html_()


def test_a_join_has_a_scan_for_each_table(spark, tables):
    path, plain = tables
    numbers = spark.read.format("delta").load(plain).where("odd = 1 and id < 500")
    joined = load(spark, path).where("a < 100000").join(numbers, "id")
    joined.collect()
    by_table = {scan.table.rsplit("/", 1)[-1]: add_up(scan) for scan in pyqbeast.explain(joined).scans}
    assert set(by_table) == {"indexed", "plain"}
    assert list(by_table["plain"].skipped) == ["partitions"]
    read, groups = by_table["plain"].row_groups
    assert 0 < read < groups
    # Spark reads the row groups that the footers leave.
    assert by_table["plain"].ran.rows < by_table["plain"].opened.rows == 2000
    assert list(by_table["indexed"].skipped) == ["statistics"]


def test_weight_columns_are_hashed_and_not_indexed(spark, table_path):
    save(rows_2d(spark, 1_000), table_path, cubeSize=100, weightColumns="name")
    explanation = pyqbeast.explain(load(spark, table_path).where("name >= 'name'"))
    (scan,) = explanation.scans
    assert (scan.indexed_columns, scan.hashed_columns) == (("a", "b"), ("a", "b", "name"))
    assert "indexed by a, b, with the weightColumns name\n" in str(explanation)
    assert "as name is not among the indexed columns (a, b)" in str(explanation)
    (sample,) = pyqbeast.explain(load(spark, table_path).sample(0.1)).scans
    assert sample.sample_share == pytest.approx(0.1)


def test_samples_that_spark_draws_row_by_row_say_why(spark, tables, tmp_path):
    path, plain = tables
    twice = load(spark, path).sample(True, 0.01)
    grouped = load(spark, path).groupBy("name").count().sample(0.1)
    told = [
        pyqbeast.explain(query)
        for query in (twice, grouped, spark.read.format("delta").load(plain).sample(0.1))
    ]
    assert ["with replacement" in str(told[0]), "sample the table itself" in str(told[1])] == [True, True]
    assert "write its rows to a new table instead, with odd among columnsToIndex" in str(told[2])
    clustered = str(tmp_path / "clustered")
    spark.sql(f"CREATE TABLE delta.`{clustered}` (id LONG) USING delta CLUSTER BY (id)")
    for _ in range(2):
        spark.range(9).write.format("delta").mode("append").save(clustered)
    in_clusters = str(pyqbeast.explain(spark.read.format("delta").load(clustered).sample(0.1)))
    assert "after ALTER TABLE … CLUSTER BY NONE, pyqbeast.convert(" in in_clusters
    spark.sql(f"ALTER TABLE delta.`{clustered}` CLUSTER BY NONE")
    no_more = str(pyqbeast.explain(spark.read.format("delta").load(clustered).sample(0.1)))
    assert "as the table is not indexed: pyqbeast.convert(" in no_more
    assert all(scan.opened == scan.total for each in told for scan in each.scans)
    with under(spark, {"spark.qbeast.sample.pushdown": " TRUE "}):
        assert "with replacement" in str(pyqbeast.explain(load(spark, path).sample(True, 0.01)))


def test_other_queries(spark, tables, tmp_path):
    """Subqueries are told too; a cached scan says so; what the log answers opens nothing."""
    path, plain = tables
    subquery = f"SELECT max(a) FROM qbeast.`{path}`"
    largest = spark.sql(f"SELECT id FROM delta.`{plain}` WHERE id = ({subquery})")
    by_table = {scan.table.rsplit("/", 1)[-1]: scan for scan in pyqbeast.explain(largest).scans}
    assert set(by_table) == {"indexed", "plain"}
    (alone,) = pyqbeast.explain(spark.sql(subquery)).scans
    assert by_table["indexed"].row_groups == alone.row_groups
    assert pyqbeast.explain(spark.range(3)).scans == ()
    cached = load(spark, path).where("a = 1").cache()
    try:
        assert [scan.is_cached for scan in pyqbeast.explain(cached).scans] == [True]
    finally:
        cached.unpersist()
    files = str(tmp_path / "files")
    spark.range(10).selectExpr("id", "id % 2 as odd").write.partitionBy("odd").parquet(files)
    (scan,) = pyqbeast.explain(spark.read.parquet(files).where("odd = 1")).scans
    assert scan.version is None
    assert scan.opened.files < scan.total.files
    with pytest.raises(pyqbeast.InvalidInputError, match="takes a DataFrame"):
        pyqbeast.explain(path)


@since_spark("4.1", "WITH RECURSIVE")
def test_a_recursion_says_that_its_files_are_not_told(spark, tables):
    path, _ = tables
    table = f"qbeast.`{path}`"
    query = spark.sql(
        f"""WITH RECURSIVE up (id) AS (
            SELECT max(id) - 2 FROM {table} UNION ALL SELECT t.id FROM {table} t JOIN up ON t.id = up.id + 1
        ) SELECT * FROM up"""
    )
    (told,) = pyqbeast.explain(query).scans
    assert told.opened is None
    assert "UnionLoop: a recursion, whose files are not told" in str(pyqbeast.explain(query))
