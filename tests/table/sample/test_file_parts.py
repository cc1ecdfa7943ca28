"""Files begin with their lighter rows, and a sample that needs no others reads no more than the beginning."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from pyqbeast import bridge
from pyqbeast.core.format.constants import TAG_PARTS
from pyqbeast.core.format.file_parts import parse_parts_tag
from pyqbeast.core.format.weight import weight_of
from pyqbeast.core.otree import weight_bands
from tests.spark_session import under
from tests.table.help import holds, ids, ids_of_each, load, opened, rows_2d, samples_exactly, save
from tests.table.sample.conftest import lightest

ROWS = 12_000
HALF = weight_of(0.5)


def save_in_parts(spark, place, rows=ROWS, **options):
    """A table whose files have parts although they are small."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(weight_bands, "FEWEST_ROWS_OF_PART", 100)
        save(rows_2d(spark, rows), place, **{"cubeSize": 2_000, **options})


@pytest.fixture(scope="module")
def path(spark, tmp_path_factory):
    place = str(tmp_path_factory.mktemp("parts") / "table")
    save_in_parts(spark, place)
    return place


def added(path):
    """The files that the first commit added: paths in the log to entries."""
    lines = Path(path, "_delta_log", f"{0:020}.json").read_text().splitlines()
    return {entry["add"]["path"]: entry["add"] for entry in map(json.loads, lines) if "add" in entry}


def parts(path):
    """For each file the part that is not the first; None where there is one part."""
    return {name: parse_parts_tag(add["tags"], add["size"]) for name, add in added(path).items()}


def scans(query):
    """For each scan of a query without an exchange: the columns that it reads, the bytes, how many filters."""
    leaves = query._jdf.queryExecution().executedPlan().collectLeaves()
    found = (leaves.apply(i) for i in range(leaves.size()))
    return [
        (
            list(scan.requiredSchema().fieldNames()),
            scan.relation().location().sizeInBytes(),
            scan.dataFilters().size(),
        )
        for scan in found
    ]


def test_a_part_begins_with_a_row_group_and_is_heavier_than_the_rows_before(spark, path):
    rows = load(spark, path).select(
        F.col("_metadata.file_name").alias("file"),
        F.col("_metadata.row_index").alias("at"),
        F.hash("a", "b").alias("w"),
    )
    weights = {name: [] for name in added(path)}
    for row in rows.orderBy("file", "at").collect():
        weights[row["file"]].append(row["w"])
    parted = {name: part for name, part in parts(path).items() if part}
    assert len(parted) > 2
    for name, (part,) in parted.items():
        groups = [pq.read_metadata(Path(path, name)).row_group(i) for i in (0, 1)]
        assert groups[1].column(0).data_page_offset == part.begin
        before, behind = weights[name][: groups[0].num_rows], weights[name][groups[0].num_rows :]
        assert max(before) == part.heaviest_before < HALF <= part.lightest == min(behind)
    for name in set(weights) - set(parted):
        assert pq.read_metadata(Path(path, name)).num_row_groups == 1


def test_a_part_may_begin_where_parquet_has_ended_a_row_group_by_itself(spark, table_path, weights):
    lighter = len(lightest(weights[:3_000], 0.5))
    with under(spark, {"parquet.block.row.count.limit": str(lighter)}):
        save_in_parts(spark, table_path, 3_000, cubeSize=5_000)
    (name,) = parts(table_path)
    ((part,),) = parts(table_path).values()
    groups = pq.read_metadata(Path(table_path, name))
    assert groups.row_group(0).num_rows == lighter
    assert groups.row_group(1).column(0).data_page_offset == part.begin
    assert ids(load(spark, table_path).sample(0.5)) == lightest(weights[:3_000], 0.5)
    holds(spark, table_path)


def test_a_sample_of_a_half_reads_half_of_the_bytes_and_hashes_nothing(spark, path, weights):
    sizes = {name: add["size"] for name, add in added(path).items()}
    beginnings = sum(part[0].begin if part else sizes[name] for name, part in parts(path).items())
    assert beginnings < 0.6 * sum(sizes.values())
    sample = load(spark, path).sample(0.5)
    assert scans(sample.select("id")) == [(["id"], beginnings, 0)]
    found = lightest(weights[:ROWS], 0.5)
    assert opened(sample.select("id")).rows == len(found)
    assert ids(sample) == found


def test_other_samples_read_the_parts_that_they_need(spark, path, weights):
    whole = sum(add["size"] for add in added(path).values())
    fewer, more = load(spark, path).sample(0.4), load(spark, path).sample(0.6)
    assert sum(size for _, size, _ in scans(fewer)) < 0.6 * whole
    assert sum(size for _, size, _ in scans(more)) == whole
    fractions = (0.31, 0.4, 0.4999, 0.5001, 0.6, 0.99)
    found = ids_of_each([load(spark, path).sample(fraction) for fraction in fractions])
    for fraction, sampled in zip(fractions, found, strict=True):
        assert sampled == lightest(weights[:ROWS], fraction), fraction


def test_ranges_of_weights(spark, path, weights):
    of_rows = weights[:ROWS]
    ranges = {
        f"< {HALF}": of_rows < HALF,
        f"<= {HALF}": of_rows <= HALF,
        f">= {HALF}": of_rows >= HALF,
        f"BETWEEN {HALF - 10**8} AND {HALF + 10**8}": abs(of_rows.astype(int) - HALF) <= 10**8,
        "> 900000000": of_rows > 900_000_000,
    }
    found = ids_of_each([load(spark, path).where(f"hash(a, b) {each}") for each in ranges])
    for mine, (range_, are_meant) in zip(found, ranges.items(), strict=True):
        assert mine == np.flatnonzero(are_meant).tolist(), range_


def test_what_tells_of_whole_files_reads_whole_files(spark, path):
    sample = load(spark, path).sample(0.5).select("id", "_metadata.file_name", "_metadata.file_size")
    sizes = {name: add["size"] for name, add in added(path).items()}
    assert {row["file_name"]: row["file_size"] for row in sample.collect()} == sizes
    by_index = load(spark, path).select("id", "_metadata.row_index")
    assert set(load(spark, path).sample(0.5).select("id", "_metadata.row_index").collect()) <= set(
        by_index.collect()
    )


@pytest.fixture(scope="module")
def thinned(spark, path, tmp_path_factory):
    """The same table, of which vectors hide each third row."""
    place = shutil.copytree(path, str(tmp_path_factory.mktemp("parts") / "thinned"))
    spark.sql(f"DELETE FROM delta.`{place}` WHERE id % 3 = 0")
    assert all(file.deleted for file in bridge.TableLog(spark, place).files())
    return place


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.sql.parquet.enableVectorizedReader": "false"},
        {"spark.sql.files.maxPartitionBytes": "20000"},
        {"spark.databricks.delta.deletionVectors.useMetadataRowIndex": "false"},
    ],
    ids=str,
)
def test_however_files_are_read_deleted_rows_stay_deleted(spark, thinned, table_path, weights, settings):
    shutil.copytree(thinned, table_path)
    of_rows = weights[:ROWS]
    numbers = np.arange(ROWS)
    with under(spark, settings):
        spark.sql(f"DELETE FROM delta.`{table_path}` WHERE hash(a, b) < {HALF} AND id % 3 = 1")
        table, weight = load(spark, table_path), F.hash("a", "b")
        light, heavy = ids_of_each([table.where(weight < HALF), table.where(weight >= HALF)])
        assert light == np.flatnonzero((of_rows < HALF) & (numbers % 3 == 2)).tolist()
        assert heavy == np.flatnonzero((of_rows >= HALF) & (numbers % 3 != 0)).tolist()


def test_files_that_a_limit_of_rows_cuts(spark, table_path):
    save_in_parts(spark, table_path, maxRecordsPerFile=700)
    assert len(added(table_path)) > ROWS / 700
    assert any(parts(table_path).values())
    samples_exactly(spark, table_path, 0.5)


#: What files may say of their parts.
TOLD = ["x", "", "0,0,0", "5,0", "1000000000,0,0", "10,2147483648,0", "9,0,0,9,0,0", "-4,0,0"]


def test_parts_that_cannot_be_are_not_believed(spark, table_path, weights):
    """Each file says something else."""
    save_in_parts(spark, f"{table_path}-right", cubeSize=600)
    parted = [name for name, part in parts(f"{table_path}-right").items() if part]
    told = {name: TOLD[place % len(TOLD)] for place, name in enumerate(parted)}
    assert {*told.values()} == {*TOLD}
    shutil.copytree(f"{table_path}-right", table_path, ignore=shutil.ignore_patterns("*.crc"))
    log = Path(table_path, "_delta_log", f"{0:020}.json")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for add in (line["add"] for line in lines if "add" in line):
        if add["path"] in told:
            add["tags"][TAG_PARTS] = told[add["path"]]
    log.write_text("\n".join(map(json.dumps, lines)))
    table = load(spark, table_path)
    wrong = {*ids(table.sample(0.5))} ^ {*lightest(weights[:ROWS], 0.5)}
    files = table.select("id", "_metadata.file_name").collect()
    assert not {told[row["file_name"]] for row in files if row["id"] in wrong}
