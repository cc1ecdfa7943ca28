"""Cubes whose ancestors lost their rows, or that another writer put a leaf above: writes and `optimize` mend them."""

from __future__ import annotations

import json
import shutil
from functools import reduce
from pathlib import Path

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import QbeastTable
from pyqbeast.core.format.constants import WEIGHT_MAX
from pyqbeast.core.format.weight import weight_of
from tests.table.help import count, holds, ids, load, log_entries, rows_2d, save

GAP, KEPT = "no gap between levels", "ancestors keep the lighter rows"
LOW_CARDINALITY = "id", "cast(id % 4 as int) AS a", "cast(id % 3 as int) AS b"


def rules(path):
    return {problem.rule for problem in pyqbeast.scan(path).verify().problems}


def golden_copy(golden, name, path):
    shutil.copytree(golden(f"qbeast/{name}") / "table", path)


def samples_are_whole(spark, path):
    """No row is missing among those that are as light as a sample's; returns how many rows there are."""
    table = QbeastTable.for_path(spark, path)
    weight = F.hash(*table.columns_to_index)
    frames = [table.df(), table.sample(0.02), table.sample(0.5)]
    told = reduce(
        DataFrame.union,
        (frame.select(F.lit(at).alias("at"), weight.alias("weight")) for at, frame in enumerate(frames)),
    )
    weights = [[] for _ in frames]
    for at, found in zip(*told.toArrow().to_pydict().values(), strict=True):
        weights[at].append(found)
    every, *samples = map(sorted, weights)
    for sample in samples:
        assert sample == every[: len(sample)]
    assert samples[-1]
    return len(every)


def test_an_append_closes_the_gaps_of_a_table_whose_inner_cubes_were_deleted(spark, golden, table_path):
    golden_copy(golden, "i_deleted", table_path)
    assert rules(table_path) == {GAP}
    more = rows_2d(spark, 50, first=100_000, columns="cast(id % 97 as int) AS payload").drop("name")
    save(more, table_path, columnsToIndex=None, cubeSize=None)
    table = holds(spark, table_path)
    # If no row of the append may stay in a missing cube, a block without rows stands for the cube.
    assert '"elementCount":0,' in log_entries(table_path, "add")[-1]["tags"]["blocks"]
    assert samples_are_whole(spark, table_path) == 27_087
    assert not table.optimize().changed


def test_a_table_of_few_keys_that_the_scala_project_wrote(spark, golden, table_path):
    """The Scala project left gaps in this table, and its next append fails because parents are missing.

    Leaves with estimated weights are no problem.
    """
    golden_copy(golden, "l2_low_cardinality", table_path)
    assert rules(table_path) == {GAP}
    save(spark.range(500).selectExpr(*LOW_CARDINALITY), table_path, columnsToIndex=None, cubeSize=None)
    assert count(holds(spark, table_path).df()) == 20_500


def put_a_leaf_above_stored_cubes(path):
    """Makes the log say that an inner cube keeps everything, as after an append of the Scala project above a gap."""
    log = Path(path, "_delta_log", f"{0:020}.json")
    log.with_name(f".{log.name}.crc").unlink(missing_ok=True)
    log.with_name(f"{0:020}.crc").unlink(missing_ok=True)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for tags in (line["add"]["tags"] for line in lines if "add" in line):
        blocks = json.loads(tags["blocks"])
        for block in blocks:
            if block["cubeId"] == "A":
                block["maxWeight"] = WEIGHT_MAX
        tags["blocks"] = json.dumps(blocks)
    log.write_text("\n".join(map(json.dumps, lines)))


def test_a_leaf_above_stored_cubes_is_cut_by_optimize_and_by_the_next_append(spark, tmp_path):
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    save(rows_2d(spark, 800), first, cubeSize=100)
    put_a_leaf_above_stored_cubes(first)
    shutil.copytree(first, second)
    assert rules(first) == {KEPT}
    table = QbeastTable.for_path(spark, first)
    assert table.optimize().changed
    assert ids(holds(spark, first).df()) == list(range(800))
    assert not table.optimize().changed
    save(rows_2d(spark, 20, first=800), second, cubeSize=100)
    # The files of before hold rows of the cubes below as well, which this made-up log gives to the leaf.
    assert rules(second) == set()
    assert ids(load(spark, second)) == list(range(820))
    samples_are_whole(spark, second)


@pytest.fixture(scope="module")
def with_gaps(spark, tmp_path_factory):
    """A table whose lightest rows were deleted without vectors; what was left of their files has no index."""
    path = str(tmp_path_factory.mktemp("gaps") / "table")
    save(rows_2d(spark, 1_000), path, cubeSize=100, **{"delta.enableDeletionVectors": "false"})
    spark.sql(f"DELETE FROM delta.`{path}` WHERE hash(a, b) < {weight_of(0.11)}")
    return path


@pytest.mark.parametrize("revision", [0, 1], ids=["rows without an index", "cubes below the gaps"])
def test_deletes_without_vectors_leave_gaps_that_optimize_closes(spark, with_gaps, table_path, revision):
    """By the rows that are left of the deleted cubes' files, or by building anew what lies below."""
    shutil.copytree(with_gaps, table_path)
    left = ids(load(spark, table_path))
    assert rules(table_path) == {GAP}
    table = QbeastTable.for_path(spark, table_path)
    assert table.optimize(revision=revision).changed
    assert ids(holds(spark, table_path).df()) == left
    assert not table.optimize(revision=revision).changed
    # Of rows that were chosen by weight, no sample goes by the weights before all of them have an index again.
    table.optimize(revision=0)
    samples_are_whole(spark, table_path)


def test_an_append_beside_a_cube_deeper_than_a_double_can_be_halved(spark, table_path):
    """Its file counts as not indexed, as everywhere."""
    save(rows_2d(spark, 500), table_path, cubeSize=1_000)
    log = Path(table_path, "_delta_log", f"{0:020}.json")
    text = log.read_text()
    assert r"\"cubeId\":\"\"" in text
    log.write_text(text.replace(r"\"cubeId\":\"\"", r"\"cubeId\":\"" + 1_075 * "A" + r"\""))
    log.with_name(f".{log.name}.crc").unlink()
    copy = table_path + "-copy"
    Path(table_path).rename(copy)
    save(rows_2d(spark, 500, first=500), copy)
    assert ids(load(spark, copy)) == list(range(1_000))
    assert "cube id of 2 columns has 0 to 1074" in str(pyqbeast.scan(copy).verify())
