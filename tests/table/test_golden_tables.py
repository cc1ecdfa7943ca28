"""Tables that the Scala project wrote read the same here: rows, filters, samples, cubes."""

from __future__ import annotations

import json
import re

import pytest

from pyqbeast import QbeastTable, scan
from pyqbeast.delta_log.reader import read_snapshot
from pyqbeast.scanning.row_weights import row_weights
from tests.table.help import counts_and_sums

CASES = [
    "a_linear2d",
    "b_linear_hash",
    "c_ts_decimal_nulls",
    "d_append_revisions",
    "e1_convert_delta",
    "e3_convert_only",
    "e4_staging_optimized",
    "f1_quantiles_numeric",
    "f2_quantiles_string",
    "f3_histogram_string",
    "g_date_float_long",
    "h_optimized",
    "i2_deleted_dv",
    "i_deleted",
    "j_columnstats",
    "k_4d",
    "l2_low_cardinality",
    "l3_empty_then_append",
    "l4_cubesize_change",
    "l_constant_column",
]


@pytest.fixture(params=CASES)
def case(request, golden):
    folder = golden(f"qbeast/{request.param}")
    return str(folder / "table"), json.loads((folder / "expected.json").read_text())


#: Samples of other fractions are another bound for the same weights; `scanning/test_scan.py` takes all of them.
FRACTION = 0.1


def test_rows_filters_and_samples_are_those_of_the_writer(spark, case):
    path, expected = case
    table = spark.read.format("qbeast").load(path)
    asked = {"all rows": (table, expected["full_delta"])}
    for sample in expected["samples"]:
        # Where the Scala project shows deleted rows, its samples count them too.
        if expected["case"] == "i2_deleted_dv":
            continue
        fraction, name = sample["fraction"], str(sample)
        if "filter" in sample:
            condition = sample["filter"]
            asked[f"filter, {name}"] = table.filter(condition).sample(fraction), sample["filter_then_sample"]
            asked[f"{name}, filter"] = table.sample(fraction).filter(condition), sample["sample_then_filter"]
        elif fraction == FRACTION:
            asked[name] = table.sample(fraction), sample
    filters = [query["sql"] for query in expected["filters"]]
    found = counts_and_sums([*(frame for frame, _ in asked.values()), *map(table.filter, filters)])
    sampled, filtered = found[: len(asked)], found[len(asked) :]
    wanted = {name: (told["count"], told["sum_id"]) for name, (_, told) in asked.items()}
    assert dict(zip(asked, sampled, strict=True)) == wanted
    counted = {condition: rows for condition, (rows, _) in zip(filters, filtered, strict=True)}
    assert counted == {query["sql"]: query["delta_count"] for query in expected["filters"]}


@pytest.mark.parametrize("name", ["d_append_revisions", "e3_convert_only", "k_4d"])
def test_spark_tells_of_an_index_what_a_scan_tells(spark, golden, name):
    path = str(golden(f"qbeast/{name}") / "table")
    table, scanned = QbeastTable.for_path(spark, path), scan(path)
    assert table.latest_revision.id == scanned.metrics().revision_id
    found = [row.asDict() for row in table.blocks().collect()]
    assert sorted(map(repr, found)) == sorted(map(repr, scanned.blocks().to_pylist()))
    for revision in {table.latest_revision.id, *(block["revision"] for block in found)}:
        assert table.metrics(revision) == scanned.metrics(revision)


def test_cubes(case):
    path, expected = case
    scanned = scan(path)
    assert scanned.metrics().revision_id == expected["latestRevisionID"]
    blocks = {}
    for block in scanned.blocks().to_pylist():
        blocks.setdefault((block["revision"], block["cube"]), []).append(block)
    found = {
        cube: (
            len(of_cube),
            min(block["min_weight"] for block in of_cube),
            min(block["max_weight"] for block in of_cube),
            sum(block["element_count"] for block in of_cube),
        )
        for cube, of_cube in blocks.items()
    }
    wanted = {
        (int(revision), cube): (c["blocks"], c["minWeight"], c["maxWeight"], c["elementCount"])
        for revision, info in expected["revision_info"].items()
        for cube, c in info["cubes"].items()
    }
    assert found == wanted


def levels_in(page):
    """Depth, mean, cubes, blocks, deviation, quartiles, mean weight of each level: inner cubes, then leaves."""
    rows = [line.split("|")[:7] for line in page.splitlines() if re.match(r"\s*\d+\|", line)]
    return [[json.loads(cell) for cell in row] for row in rows]


def test_metrics(case):
    """The page is the one of the Scala project, line by line, to which ours adds; its `bytes` are a rounded product."""
    path, expected = case
    files = read_snapshot(path).files
    for revision, info in expected["revision_info"].items():
        if "metrics" not in info:
            continue
        page, found = info["metrics"]["text"], scan(path).metrics(int(revision))
        head = str(found).split("fileCountPerCubeStats")[0].splitlines()
        wanted = page.split("Inner cubes")[0].splitlines()
        assert [line for line in head if not line.startswith("bytes") and line] == [
            line for line in wanted if not line.startswith("bytes") and line
        ]
        assert found.bytes == sum(file.size for file in files if belongs(file, revision))
        assert [
            [
                level.depth,
                level.cube_element_count.avg,
                level.cube_count,
                level.block_count,
                level.cube_element_count.stddev,
                list(level.cube_element_count.quartiles),
                pytest.approx(level.avg_weight, abs=1e-12),
            ]
            for level in (*found.inner_levels, *found.leaf_levels)
        ] == levels_in(page)


def belongs(file, revision):
    return file.tags.get("revision", "0") == revision


def test_weights_of_probed_rows(case):
    path, expected = case
    probe = expected.get("rows_probe")
    if not probe:
        pytest.skip(f"{expected['case']} states no probed rows")
    wanted = {row["id"]: row["weight"] for row in probe["rows"]}
    rows = scan(path).select(["id", *probe["columns"]]).to_arrow()
    weights = row_weights([rows[column].combine_chunks() for column in probe["columns"]])
    weight_of = dict(zip(rows["id"].to_pylist(), weights.tolist(), strict=True))
    found = {key: weight_of[key] for key in wanted if key in weight_of}
    assert found == {key: wanted[key] for key in found}
    assert found
