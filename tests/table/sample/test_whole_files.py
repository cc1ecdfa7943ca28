"""Files whose rows are all light enough for a sample are read as they are: without the hash and its columns."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import functions as F

from pyqbeast.core.format.constants import TAG_BLOCKS, TAG_MAX_ROW_WEIGHT, WEIGHT_MIN
from pyqbeast.core.format.weight import weight_of
from tests.table.help import count, ids, ids_of_each, ids_that_meet, load, rows_2d, samples_exactly, save

ROWS = 40_000
#: A bound that no writer cuts files at.
UNCOMMON = 0.1234


@pytest.fixture(scope="module")
def path(spark, tmp_path_factory):
    place = str(tmp_path_factory.mktemp("whole") / "table")
    save(rows_2d(spark, ROWS), place, cubeSize=2_000)
    return place


def scans(query):
    """For each scan of a query without an exchange: the columns that it reads, how many files, how many filters."""
    leaves = query._jdf.queryExecution().executedPlan().collectLeaves()
    found = (leaves.apply(i) for i in range(leaves.size()))
    return [
        (
            list(scan.requiredSchema().fieldNames()),
            len(scan.relation().inputFiles()),
            scan.dataFilters().size(),
        )
        for scan in found
    ]


def weights(spark, path):
    """The smallest and the largest weight of each file's rows, by the rows themselves."""
    rows = load(spark, path).select(F.hash("a", "b").alias("w"), F.col("_metadata.file_path").alias("file"))
    return {row["file"]: (row["low"], row["high"]) for row in
            rows.groupBy("file").agg(F.min("w").alias("low"), F.max("w").alias("high")).collect()}  # fmt: skip


def test_only_files_that_the_bound_cuts_are_hashed(spark, path):
    limit = weight_of(UNCOMMON)
    held = weights(spark, path).values()
    whole = sum(high < limit for _, high in held)
    cut = sum(low < limit <= high for low, high in held)
    assert whole
    assert cut
    sample = load(spark, path).sample(UNCOMMON).select("id")
    assert scans(sample) == [(["id"], whole, 0), (["id", "a", "b"], cut, 1)]
    samples_exactly(spark, path, UNCOMMON)


def test_a_sample_that_cuts_no_file_hashes_nothing(spark, table_path):
    """Writers cut this table at a tenth, where enough rows lie on either side."""
    save(rows_2d(spark, ROWS), table_path, cubeSize=10_000)
    sample = load(spark, table_path).sample(0.1)
    assert scans(sample.select("id")) == [(["id"], 1, 0)]
    assert scans(sample.select("b", "name")) == [(["b", "name"], 1, 0)]
    samples_exactly(spark, table_path, 0.1)


def test_ranges_of_weights(spark, path):
    low, high = max(held for held in weights(spark, path).values() if held[1] < 0)
    table = load(spark, path)
    bounds = (f">= {low}", f"> {low}", f"<= {high}", f"< {high}", f"BETWEEN {low} AND {high}", "< 0")
    conditions = [f"hash(a, b) {each}" for each in bounds]
    light = [table.where(condition).select("id") for condition in conditions]
    assert ids_of_each(light) == ids_that_meet(rows_2d(spark, ROWS), conditions)
    assert all(["id"] in [columns for columns, *_ in scans(each)] for each in light)


def test_other_filters_stay(spark, path):
    table = load(spark, path)
    query = table.sample(UNCOMMON).where("name > 'name 3' AND a % 2 = 0").select("id")
    assert sorted(scans(query)[0][0]) == ["a", "id", "name"]
    by_hash = f"hash(a, b) < {weight_of(UNCOMMON)} AND name > 'name 3' AND a % 2 = 0"
    assert ids(query) == ids(rows_2d(spark, ROWS).where(by_hash))


def test_rows_know_where_they_come_from(spark, path):
    """Numbers of rows and tasks count through all files, and columns about files are the same in both scans."""
    table = load(spark, path)
    sample = table.sample(UNCOMMON)
    numbered = sample.select("id", F.monotonically_increasing_id().alias("n")).collect()
    assert len({row["n"] for row in numbered}) == len(numbered)
    files = dict(map(tuple, table.select("id", "_metadata.file_name").collect()))
    for name in (F.element_at(F.split(F.input_file_name(), "/"), -1), F.col("_metadata.file_name")):
        assert all(files[row[0]] == row[1] for row in sample.select("id", name).collect())
    by_index = table.select("id", "_metadata.file_name", "_metadata.row_index").collect()
    sampled = sample.select("id", "_metadata.file_name", "_metadata.row_index").collect()
    assert set(sampled) <= set(by_index)


def test_one_scan_serves_a_query_that_reads_a_sample_twice(spark, path):
    load(spark, path).sample(UNCOMMON).createOrReplaceTempView("twice")
    sums = "(SELECT name, sum(id) AS s FROM twice GROUP BY name)"
    query = spark.sql(f"SELECT x.name FROM {sums} x JOIN {sums} y ON x.name = y.name AND x.s = y.s")
    assert count(query) == 100
    query.collect()
    assert "ReusedExchange" in query._jdf.queryExecution().executedPlan().toString()
    spark.catalog.dropTempView("twice")


def test_deleted_rows_stay_deleted(spark, table_path):
    save(rows_2d(spark, 4_000), table_path, cubeSize=300)
    spark.sql(f"ALTER TABLE delta.`{table_path}` SET TBLPROPERTIES (delta.enableDeletionVectors = true)")
    spark.sql(f"DELETE FROM delta.`{table_path}` WHERE id % 3 = 0")
    table = load(spark, table_path)
    sample = table.sample(UNCOMMON).select("id")
    assert len(scans(sample)) == 2
    assert all("a" not in columns for columns, *_ in scans(sample)[:1])
    light = rows_2d(spark, 4_000).where(F.hash("a", "b") < weight_of(UNCOMMON))
    assert ids(sample) == ids(light.where("id % 3 != 0"))
    spark.sql(f"DELETE FROM delta.`{table_path}` WHERE hash(a, b) < {weight_of(UNCOMMON)} AND id % 3 = 1")
    left = load(spark, table_path).where(F.hash("a", "b") < weight_of(UNCOMMON))
    assert ids(left) == ids(light.where("id % 3 = 2"))


def test_columns_that_are_named_otherwise_in_files(spark, table_path):
    save(rows_2d(spark, 4_000), table_path, cubeSize=300, **{"delta.columnMapping.mode": "name"})
    spark.sql(f"ALTER TABLE delta.`{table_path}` RENAME COLUMN name TO title")
    sample = load(spark, table_path).sample(UNCOMMON).select("title", "id")
    assert len(scans(sample)) == 2
    wanted = rows_2d(spark, 4_000).where(F.hash("a", "b") < weight_of(UNCOMMON)).select("name", "id")
    assert sorted(map(tuple, sample.collect())) == sorted(map(tuple, wanted.collect()))


def test_weights_of_another_type_are_not_believed(spark, table_path):
    save(rows_2d(spark, 4_000), table_path, cubeSize=300)
    spark.sql(f"ALTER TABLE delta.`{table_path}` SET TBLPROPERTIES (delta.enableTypeWidening = true)")
    spark.sql(f"ALTER TABLE delta.`{table_path}` ALTER COLUMN a TYPE bigint")
    samples_exactly(spark, table_path, UNCOMMON)
    assert len(scans(load(spark, table_path).sample(UNCOMMON).select("id"))) == 1


@pytest.fixture(scope="module")
def small(spark, tmp_path_factory):
    place = str(tmp_path_factory.mktemp("whole") / "small")
    save(rows_2d(spark, 2_000), place, cubeSize=4_000)
    return place


@pytest.mark.parametrize("recorded", [None, "x", str(WEIGHT_MIN), str(2**31 - 1)])
def test_what_is_only_said_of_a_cube_is_not_believed(spark, small, table_path, recorded):
    """Other writers say the largest weight of a cube. Here it is wrong, and the rows are hashed as before."""
    shutil.copytree(small, table_path)
    log = Path(table_path, "_delta_log", "00000000000000000000.json")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for tags in (line["add"]["tags"] for line in lines if "add" in line):
        blocks = json.loads(tags[TAG_BLOCKS])
        for block in blocks:
            block["maxWeight"] = block["minWeight"]
        tags[TAG_BLOCKS] = json.dumps(blocks)
        del tags[TAG_MAX_ROW_WEIGHT]
        if recorded is not None:
            tags[TAG_MAX_ROW_WEIGHT] = recorded
    log.write_text("\n".join(map(json.dumps, lines)))
    for checksum in ("00000000000000000000.crc", ".00000000000000000000.json.crc"):
        log.with_name(checksum).unlink(missing_ok=True)
    samples_exactly(spark, table_path, 0.4)
    heavy = F.hash("a", "b") >= 0
    assert count(load(spark, table_path).where(heavy)) == count(rows_2d(spark, 2_000).where(heavy))
