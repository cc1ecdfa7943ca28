"""Tables indexed by few distinct values, the columns that tell their rows apart, and samples with a seed."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import InvalidInputError, QbeastTable
from pyqbeast.core.format.constants import CLASS_PREFIX
from tests.spark_session import under
from tests.table.help import count, ids, load, opened, rows_2d, save, save_copy

ROWS = 4_000


def three_keys(spark, rows=ROWS, first=0):
    return (
        rows_2d(spark, rows, first).withColumn("a", F.expr("cast(id % 3 as int)")).withColumn("b", F.lit(1.0))
    )


def test_the_writer_warns_and_small_samples_are_left_to_spark(spark, table_path, caplog):
    with caplog.at_level(logging.WARNING):
        save(three_keys(spark), table_path, cubeSize=500)
    assert "one such key holds 0.33 of the rows (3 keys in 4000 rows looked at)" in caplog.text
    assert "weightColumns" in caplog.text
    # Five standard deviations of a binomial sample.
    assert abs(count(load(spark, table_path).sample(0.1)) - 400) < 95
    assert opened(load(spark, table_path).sample(0.5)).files <= opened(load(spark, table_path)).files
    metrics = QbeastTable.for_path(spark, table_path).metrics()
    assert metrics.key_granularity == pytest.approx(0.3333, abs=0.0002)
    assert "keyGranularity: 0.33" in str(metrics)


def test_a_table_without_statistics_has_coarse_keys_too(spark, table_path):
    """Files tell their rows beside their statistics as well."""
    with under(spark, {"spark.databricks.delta.stats.collect": "false"}):
        save(three_keys(spark, 1_000), table_path)
    assert QbeastTable.for_path(spark, table_path).metrics().key_granularity == pytest.approx(0.333)
    assert 0 < count(load(spark, table_path).sample(0.1)) < 300


def test_distinct_keys_do_not_warn(spark, table_path, caplog):
    with caplog.at_level(logging.WARNING):
        save(rows_2d(spark, 1_000), table_path)
    assert "sampled together" not in caplog.text
    assert QbeastTable.for_path(spark, table_path).metrics().key_granularity == 0


def test_weight_columns_make_samples_fine(spark, table_path, caplog):
    with caplog.at_level(logging.WARNING):
        save(three_keys(spark), table_path, cubeSize=200, weightColumns="id")
        save(three_keys(spark, 400, first=ROWS), table_path, cubeSize=200, columnsToIndex=None)
    assert "sampled together" not in caplog.text
    table = QbeastTable.for_path(spark, table_path)
    assert table.latest_revision.weight_columns == ("id",)
    assert table.columns_to_index == ["a", "b"]
    sample = load(spark, table_path).sample(0.1)
    expected = three_keys(spark, ROWS + 400).filter(F.hash("a", "b", "id") < int(0.1 * (2**32 - 1) - 2**31))
    assert ids(sample) == ids(expected)
    assert opened(sample).bytes < 0.5 * opened(load(spark, table_path)).bytes
    estimate = pyqbeast.tolerance(load(spark, table_path).agg(F.avg("id").alias("m")), error=0.2)
    row = estimate.df.first()
    assert row["m_low"] <= (ROWS + 400 - 1) / 2 <= row["m_high"]
    # Other readers would hash the indexed columns only. They fail instead, as they find no class of these names.
    log = Path(table_path, "_delta_log", f"{0:020}.json").read_text().splitlines()
    stored = next(json.loads(line)["metaData"]["configuration"] for line in log if "metaData" in line)
    revision = json.loads(stored["qbeast.revision.1"])
    assert revision["weightColumns"] == ["id"]
    for transformer in revision["columnTransformers"]:
        assert not transformer["className"].startswith(CLASS_PREFIX)


def test_weight_columns_that_cannot_be_used(spark, table_path):
    rows = three_keys(spark, 100).selectExpr("*", "parse_json('1') AS json", "array(map(1, 2)) AS nested")
    for columns, reason in (
        ("nothing", "have only"),
        ("a", "hashed already"),
        ("id,id", "hashed already"),
        ("json", "a variant cannot be hashed"),
        ("nested", "a map cannot be hashed"),
    ):
        with pytest.raises(InvalidInputError, match=reason):
            save(rows, table_path, weightColumns=columns)
        assert not Path(table_path).exists()


def test_the_weights_of_a_table_stay_as_they_are(spark, table_path):
    save(three_keys(spark, 100), table_path)
    with pytest.raises(InvalidInputError, match="overwrite the table"):
        save(three_keys(spark, 100), table_path, weightColumns="id")
    save(three_keys(spark, 100), table_path, mode="overwrite", weightColumns="id")
    save(three_keys(spark, 10), table_path, mode="overwrite", columnsToIndex=None)
    assert QbeastTable.for_path(spark, table_path).latest_revision.weight_columns == ("id",)


def test_a_seed_picks_another_sample(spark, table_path):
    save_copy(spark, table_path, 4_000)
    table = QbeastTable.for_path(spark, table_path)
    one, two = ids(table.sample(0.2, seed=1)), ids(table.sample(0.2, seed=2))
    assert one == ids(table.sample(0.2, seed=1))
    # Six standard deviations: sizes, and the overlap of independent samples (or the size of a nested one).
    for sample in (one, two):
        assert abs(len(sample) - 800) < 152
    assert abs(len({*one} & {*two}) - 160) < 75
    assert abs(count(table.sample(0.2, seed=1).sample(0.2)) - 160) < 75
    with pytest.raises(InvalidInputError):
        table.sample(1.5, seed=3)
