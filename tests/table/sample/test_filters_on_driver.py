"""Filters leave the same files, whether the driver looks at their statistics or Delta does so by a Spark job."""

from __future__ import annotations

import shutil
from functools import reduce
from pathlib import Path

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.spark_session import under
from tests.table.help import ids, ids_of_each, jobs_of, load, rows_written, save

COLUMNS = (
    "cast(hash(id, 1) as int) AS a",
    "id * 3.5 - 1000 AS b",
    "if(id % 100 = 0, double('NaN'), id / 7) AS maybe_nan",
    "cast(id AS float) / 3 AS narrow",
    "if(id < 3000, null, id % 50) AS rare",
    "cast(null AS string) AS never",
    "concat(char(97 + id div 200), repeat('x', 40), id) AS text",
    "id % 2 = 0 AS flag",
    "cast(id / 3 AS decimal(20, 4)) AS price",
    "date_add(DATE '2020-01-01', cast(id div 10 AS int)) AS day",
    "timestamp_micros(1600000000000000 + id * 1234567891) AS at",
    "cast(timestamp_micros(id * 99999999) AS timestamp_ntz) AS local",
    "named_struct('x', id div 100, 'y', named_struct('z', cast(id AS string))) AS nested",
    "array(id) AS list",
)
FILTERS = (
    "a < -1500000000",
    "b BETWEEN 0 AND 300 AND a > 0",
    "b < 0 OR b > 12000",
    "NOT (b < 5000)",
    "id IN (1, 17, 3999)",
    "id = 5 OR flag",
    "maybe_nan > 550",
    "narrow >= 1333",
    "rare IS NULL",
    "rare IS NOT NULL",
    "rare <=> null",
    "never IS NOT NULL",
    "text LIKE 'c%'",
    "startswith(text, 'q')",
    "text > 'k'",
    "text IN ('a', 'b')",
    "cost < 10.5",
    "day = DATE '2020-02-03'",
    "year(day) = 2021",
    "at < TIMESTAMP '2020-09-20 00:00:00Z'",
    "at >= TIMESTAMP '2021-01-01 00:00:00.001Z'",
    "local < TIMESTAMP_NTZ '1970-01-01 06:00:00'",
    "nested.x = 7",
    "nested.y.z = '77'",
    "size(list) = 1",
    "rand() < 0.5",
    "b < 100 AND rand(1) < 2",
    "b < (SELECT max(7))",
    "_metadata.file_size > 0 AND b < 100",
    "1 = 0",
    "b = null",
)


@pytest.fixture(scope="module")
def paths(spark, tmp_path_factory):
    """Two copies of one table. Only the first has checksums, and so files that the driver believes."""
    path = str(tmp_path_factory.mktemp("filters") / "table")
    table = f"delta.`{path}`"
    rows = spark.range(4_000).selectExpr("id", *COLUMNS)
    save(rows, path, columnsToIndex="a,b", cubeSize=200, **{"delta.columnMapping.mode": "name"})
    with under(spark, {"spark.databricks.delta.stats.collect": "false"}):
        save(rows.limit(10), path)
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES (delta.enableDeletionVectors = true)")
    spark.sql(f"DELETE FROM {table} WHERE id % 9 = 4")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN price TO cost")
    copy = path + "-copy"
    shutil.copytree(path, copy)
    delete_checksums(copy)
    return path, copy


@pytest.fixture(scope="module")
def tables(spark, paths):
    return [load(spark, path) for path in paths]


def delete_checksums(path):
    for checksum in Path(path, "_delta_log").glob("*.crc"):
        checksum.unlink()


def chosen(table, condition):
    return sorted(file.rsplit("/", 1)[-1] for file in table.filter(condition).inputFiles())


@pytest.mark.parametrize("condition", FILTERS)
def test_the_same_files_are_left(tables, condition):
    by_driver, by_job = tables
    assert chosen(by_driver, condition) == chosen(by_job, condition)


def test_some_files_are_left_out(tables):
    by_driver, _ = tables
    assert 0 < len(chosen(by_driver, "b BETWEEN 0 AND 300 AND a > 0")) < len(chosen(by_driver, "true"))


def test_the_driver_runs_no_job(spark, tables):
    by_driver, by_job = tables
    chosen(by_job, "true")  # what a first look at the table takes is another matter
    assert jobs_of(spark, lambda: chosen(by_driver, "b < 1")) == 0
    assert jobs_of(spark, lambda: chosen(by_job, "b < 1")) == 1


def test_plans_are_made_of_the_same_sizes(tables):
    def size(table):
        return table.filter("b < 1000")._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()

    assert size(tables[0]) == size(tables[1])


def test_each_session_evaluates_in_its_own_settings(spark, paths, tables):
    other = spark.newSession()
    other.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    condition = "at < TIMESTAMP '2020-09-20 00:00:00'"
    there, there_by_job = (chosen(load(other, path), condition) for path in paths)
    here, here_by_job = (chosen(table, condition) for table in tables)
    assert (there, here) == (there_by_job, here_by_job)


@pytest.fixture(scope="module")
def floats(spark, tmp_path_factory):
    """A table of floats that have become doubles.

    The shortest text of a float is another double: statistics tell 571.0469 for 571.046875.
    """
    path = str(tmp_path_factory.mktemp("filters") / "floats")
    columns = (
        "id",
        "cast(571.046875D - 5 * id AS float) AS x",
        "cast(571.046875D + 5 * id AS float) AS y",
        "struct(cast(571.046875D + 5 * id AS float) AS y) AS s",
        "cast(id AS double) AS e",
    )
    rows = spark.range(3).selectExpr(*columns)
    save(rows, path, columnsToIndex="id", **{"delta.enableTypeWidening": "true"})
    for column in ("x", "y", "s.y"):
        spark.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN {column} TYPE double")
    return path


@pytest.fixture(scope="module")
def floats_and_doubles(spark, floats, tmp_path_factory):
    """The same table with another row, of doubles."""
    path = shutil.copytree(floats, tmp_path_factory.mktemp("filters") / "doubles")
    x, y = "571.04691D AS x", "571.04685D AS y"
    doubles = spark.range(3, 4).selectExpr("id", x, y, f"struct({y}) AS s", "0D AS e")
    save(doubles, str(path), columnsToIndex="id")
    return path


def test_floats_that_have_become_doubles(spark, floats_and_doubles, table_path):
    """By the driver, and by a job where there are no checksums."""
    shutil.copytree(floats_and_doubles, table_path)
    delete_checksums(table_path)
    wanted = {
        "s.y <= 571.04688": [0, 3],
        "s.y < 571.04686": [3],
        "x BETWEEN 571.046874D AND 571.046876D": [0],
        "x > 571.0469": [3],
        "x = 571.046875D": [0],
    }
    tables = [load(spark, path) for path in (str(floats_and_doubles), table_path)]
    found = ids_of_each([table.filter(condition) for table in tables for condition in wanted])
    by_driver, by_job = found[: len(wanted)], found[len(wanted) :]
    assert dict(zip(wanted, by_driver, strict=True)) == wanted
    assert dict(zip(wanted, by_job, strict=True)) == wanted


def test_bounds_of_floats_that_have_become_doubles(spark, floats_and_doubles):
    """Delta would take them from the statistics."""
    path = str(floats_and_doubles)
    table = load(spark, path)
    only_floats = spark.read.format("qbeast").option("versionAsOf", 3).load(path)
    bounds = {
        (571.04685, 571.04691): table.selectExpr("min(s.y)", "max(x)"),
        (571.046875, 571.046875): table.filter("id < 3").selectExpr("min(s.y)", "max(x)"),
        (561.046875, 571.046875): only_floats.selectExpr("min(x)", "max(x)"),
    }
    assert list(map(tuple, reduce(DataFrame.union, bounds.values()).collect())) == list(bounds)


SHAPES = {
    "a filter on zero": lambda table, low: ids(table.filter(low).filter("e >= 0.0D")),
    "a subquery": lambda table, low: ids(table.filter(low).filter("e > (SELECT min(id) - 1 FROM range(1))")),
    "a union with itself": lambda table, low: sorted(
        set(ids(table.filter(low).union(table.filter(low)))),
    ),
    "a join with itself": lambda table, low: ids(
        table.filter(low).alias("l").join(table.filter(low).alias("r"), F.expr("l.id = r.id")).select("l.id")
    ),
    "a random condition": lambda table, low: ids(table.filter(low).filter("rand(1) < 2")),
    "a write to another source": lambda table, low: [0] * rows_written(table.filter(low)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_floats_that_have_become_doubles_in_each_shape_of_a_query(spark, floats, shape):
    """What is done to a query after its files were chosen does not choose them anew, by bounds cut short."""
    assert SHAPES[shape](load(spark, floats), "y <= 571.04688D") == [0]
