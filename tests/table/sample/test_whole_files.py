"""Files whose rows are all light enough for a sample are read as they are: without the hash and its columns."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import functions as F

from pyqbeast.core.format.constants import TAG_BLOCKS, TAG_MAX_ROW_WEIGHT, WEIGHT_MIN
from pyqbeast.core.format.weight import weight_of
from tests.table.help import count, ids, ids_of_each, load, rows_2d, samples_exactly, save
from tests.table.sample.conftest import LARGE, ROWS, lightest

#: A bound that no writer cuts files at.
UNCOMMON = 0.1234


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


@pytest.fixture(scope="module")
def held(spark, large):
    """The smallest and the largest weight of each file's rows, by the rows themselves."""
    rows = load(spark, large).select(F.hash("a", "b").alias("w"), F.col("_metadata.file_path").alias("file"))
    found = rows.groupBy("file").agg(F.min("w").alias("low"), F.max("w").alias("high")).collect()
    return [(row["low"], row["high"]) for row in found]


def test_only_files_that_the_bound_cuts_are_hashed(spark, large, held, weights):
    limit = weight_of(UNCOMMON)
    whole = sum(high < limit for _, high in held)
    cut = sum(low < limit <= high for low, high in held)
    assert whole
    assert cut
    sample = load(spark, large).sample(UNCOMMON).select("id")
    assert scans(sample) == [(["id"], whole, 0), (["id", "a", "b"], cut, 1)]
    assert ids(sample) == lightest(weights, UNCOMMON)


def test_a_sample_that_cuts_no_file_hashes_nothing(spark, table_path, weights):
    """Writers cut this table at a tenth, where enough rows lie on either side."""
    save(rows_2d(spark, LARGE), table_path, cubeSize=5_000)
    sample = load(spark, table_path).sample(0.1)
    assert scans(sample.select("id")) == [(["id"], 1, 0)]
    assert scans(sample.select("b", "name")) == [(["b", "name"], 1, 0)]
    assert ids(sample) == lightest(weights, 0.1)


def test_ranges_of_weights(spark, large, held, weights):
    low, high = max(each for each in held if each[1] < 0)
    table = load(spark, large)
    ranges = {
        f">= {low}": weights >= low,
        f"> {low}": weights > low,
        f"<= {high}": weights <= high,
        f"< {high}": weights < high,
        f"BETWEEN {low} AND {high}": (weights >= low) & (weights <= high),
        "< 0": weights < 0,
    }
    light = [table.where(f"hash(a, b) {each}").select("id") for each in ranges]
    for found, (range_, are_meant) in zip(ids_of_each(light), ranges.items(), strict=True):
        assert found == np.flatnonzero(are_meant).tolist(), range_
    assert all(["id"] in [columns for columns, *_ in scans(each)] for each in light)


def test_other_filters_stay(spark, large):
    table = load(spark, large)
    query = table.sample(UNCOMMON).where("name > 'name 3' AND a % 2 = 0").select("id")
    assert sorted(scans(query)[0][0]) == ["a", "id", "name"]
    by_hash = f"hash(a, b) < {weight_of(UNCOMMON)} AND name > 'name 3' AND a % 2 = 0"
    assert ids(query) == ids(rows_2d(spark, LARGE).where(by_hash))


def test_rows_know_where_they_come_from(spark, whole):
    """Numbers of rows and tasks count through all files, and columns about files are the same in both scans."""
    table = load(spark, whole)
    sample = table.sample(UNCOMMON)
    assert len(scans(sample.select("id"))) == 2
    places = ("id", "_metadata.file_name", "_metadata.row_index")
    every = {row["id"]: row for row in table.select(*places).collect()}
    assert all(every[row["id"]] == row for row in sample.select(*places).collect())
    of_files = sample.select("id", F.monotonically_increasing_id().alias("n"), F.input_file_name().alias("f"))
    numbered = of_files.collect()
    assert len({row["n"] for row in numbered}) == len(numbered)
    assert all(row["f"].endswith(every[row["id"]]["file_name"]) for row in numbered)
    names = sample.select("id", "_metadata.file_name").collect()
    assert all(every[row["id"]]["file_name"] == row["file_name"] for row in names)


def test_one_scan_serves_a_query_that_reads_a_sample_twice(spark, large):
    load(spark, large).sample(UNCOMMON).createOrReplaceTempView("twice")
    sums = "(SELECT name, sum(id) AS s FROM twice GROUP BY name)"
    query = spark.sql(f"SELECT x.name FROM {sums} x JOIN {sums} y ON x.name = y.name AND x.s = y.s")
    assert count(query) == 100
    query.collect()
    assert "ReusedExchange" in query._jdf.queryExecution().executedPlan().toString()
    spark.catalog.dropTempView("twice")


def test_deleted_rows_stay_deleted(spark, copied, weights):
    spark.sql(f"DELETE FROM delta.`{copied}` WHERE id % 3 = 0")
    table = load(spark, copied)
    sample = table.sample(UNCOMMON).select("id")
    assert len(scans(sample)) == 2
    assert all("a" not in columns for columns, *_ in scans(sample)[:1])
    light = lightest(weights[:ROWS], UNCOMMON)
    assert ids(sample) == [each for each in light if each % 3]
    is_light = F.hash("a", "b") < weight_of(UNCOMMON)
    spark.sql(f"DELETE FROM delta.`{copied}` WHERE hash(a, b) < {weight_of(UNCOMMON)} AND id % 3 = 1")
    assert ids(load(spark, copied).where(is_light)) == [each for each in light if each % 3 == 2]


def test_columns_that_are_named_otherwise_in_files(spark, table_path, weights):
    save(rows_2d(spark, 4_000), table_path, cubeSize=300, **{"delta.columnMapping.mode": "name"})
    spark.sql(f"ALTER TABLE delta.`{table_path}` RENAME COLUMN name TO title")
    sample = load(spark, table_path).sample(UNCOMMON).select("title", "id")
    assert len(scans(sample)) == 2
    wanted = [(f"name {each % 100}", each) for each in lightest(weights[:4_000], UNCOMMON)]
    assert sorted(map(tuple, sample.collect())) == sorted(wanted)


def test_weights_of_another_type_are_not_believed(spark, copied):
    spark.sql(f"ALTER TABLE delta.`{copied}` SET TBLPROPERTIES (delta.enableTypeWidening = true)")
    spark.sql(f"ALTER TABLE delta.`{copied}` ALTER COLUMN a TYPE bigint")
    samples_exactly(spark, copied, UNCOMMON)
    assert len(scans(load(spark, copied).sample(UNCOMMON).select("id"))) == 1


#: What files may say of the largest weight of their rows, none of which is below that of a block.
RECORDED = [None, "x", str(WEIGHT_MIN), str(2**31 - 1)]


def test_what_is_only_said_of_a_cube_is_not_believed(spark, whole, table_path, weights):
    """Other writers say the largest weight of a cube. Here it is wrong, and the rows are hashed as before."""
    shutil.copytree(whole, table_path, ignore=shutil.ignore_patterns("*.crc"))
    log = Path(table_path, "_delta_log", "00000000000000000000.json")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    adds = [line["add"] for line in lines if "add" in line]
    told = {add["path"]: RECORDED[place % len(RECORDED)] for place, add in enumerate(adds)}
    assert {*told.values()} == {*RECORDED}
    for add in adds:
        tags = add["tags"]
        blocks = json.loads(tags[TAG_BLOCKS])
        for block in blocks:
            block["maxWeight"] = block["minWeight"]
        tags[TAG_BLOCKS] = json.dumps(blocks)
        del tags[TAG_MAX_ROW_WEIGHT]
        if told[add["path"]] is not None:
            tags[TAG_MAX_ROW_WEIGHT] = told[add["path"]]
    log.write_text("\n".join(map(json.dumps, lines)))
    table = load(spark, table_path)
    sampled, heavy = ids_of_each([table.sample(0.4), table.where(F.hash("a", "b") >= 0)])
    of_rows = weights[:ROWS]
    wrong = {*sampled} ^ {*lightest(of_rows, 0.4)} | {*heavy} ^ {*np.flatnonzero(of_rows >= 0).tolist()}
    files = table.select("id", "_metadata.file_name").collect()
    assert not {told[row["file_name"]] for row in files if row["id"] in wrong}
