"""The statistics of written files, by which every reader skips files: the same as Delta itself would store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyqbeast import QbeastTable
from tests.spark_session import under
from tests.table.relogged import relogged

PLAIN = (
    "id",
    "cast(id - 5 as int) as whole",
    "cast(id % 100 as byte) as tiny",
    "cast(id * -50 as short) as small",
    "id % 2 = 0 as truth",
    "cast(-id as decimal(10, 3)) as short_decimal",
    "cast(id as decimal(38, 10)) as long_decimal",
    "case id when 3 then float('nan') when 4 then float('-infinity') else cast(id as float) end as single",
    "if(id = 2, double('infinity'), if(id = 7, null, -id / 3)) as fraction",
    "if(id % 3 = 0, -0.0d, 0.0d) as zero",
    "double('nan') as not_a_number",
    "timestamp_seconds(id) as moment",
    "cast(timestamp_seconds(-id) as timestamp_ntz) as local_moment",
    "date_from_unix_date(cast(id as int)) as day",
    "cast(999 - id as string) as text",
    "concat(cast(999 - id as string), repeat('ü', 40)) as long_text",
    "cast('x' as char(3)) as padded",
    "cast(null as string) as nothing",
    "if(id = 1, null, id) as gap",
    "array(id) as list",
    "map(id, id) as entries",
    "cast('x' as binary) as bytes",
)
NESTED = (
    "named_struct('a', id, 'b', named_struct('c', -id)) as struct",
    "parse_json('{\"a\": 1}') as variant",
)


def statistics(path):
    """Of each file of the table's newest version."""
    newest = max(Path(path, "_delta_log").glob("*.json"))
    added = [action["add"] for action in map(json.loads, newest.read_text().splitlines()) if "add" in action]
    return [json.loads(file["stats"]) for file in added]


def both(frame, tmp_path):
    """What Delta and what we store of the same rows in one file."""
    property_of_ours = {"delta.enableDeletionVectors": "true"}
    frame.coalesce(1).write.format("delta").options(**property_of_ours).save(str(tmp_path / "delta"))
    frame.write.format("qbeast").option("columnsToIndex", "id").save(str(tmp_path / "qbeast"))
    return statistics(tmp_path / "delta"), statistics(tmp_path / "qbeast")


@pytest.mark.parametrize(
    "columns", [PLAIN, PLAIN + NESTED], ids=["plain columns", "structs and variants too"]
)
def test_statistics_are_those_of_delta(spark, tmp_path, columns):
    deltas, ours = both(spark.range(300).selectExpr(*columns), tmp_path)
    assert ours == deltas
    assert ours[0]["minValues"]["whole"] == -5
    assert ours[0]["nullCount"]["gap"] == 1


def test_a_file_of_nulls_has_no_bounds(spark, tmp_path):
    columns = (
        "id",
        "cast(null as int) as a",
        "cast(null as string) as b",
        "cast(null as decimal(5, 2)) as c",
    )
    deltas, ours = both(spark.range(10).selectExpr(*columns), tmp_path)
    assert ours == deltas
    assert list(ours[0]["maxValues"]) == ["id"]


@pytest.mark.parametrize("others", [[], ["named_struct('a', id) as struct"]], ids=["plain", "with structs"])
def test_texts_that_are_no_utf8_are_no_bounds(spark, table_path, others):
    """JSON would hold other texts in their place, by which filters would leave the file out."""
    columns = ["id", "cast(X'80' as string) as low", "if(id = 1, 'a', cast(X'FF' as string)) as high"]
    spark.range(100).selectExpr(*columns, *others).write.format("qbeast").option("columnsToIndex", "id").save(
        table_path
    )
    (of_file,) = statistics(table_path)
    assert (of_file["minValues"].get("low"), of_file["minValues"]["high"]) == (None, "a")
    assert not {"low", "high"} & set(of_file["maxValues"])
    table = spark.read.format("qbeast").load(table_path)
    assert (table.where("low < 'ÿ'").count(), table.where("high > '\U00010000'").count()) == (100, 99)
    damaged = relogged(table_path, lambda add, _: add.update(stats="{"))
    QbeastTable.for_path(spark, damaged).repair(dry_run=False)
    assert statistics(damaged) == [of_file]


def test_only_the_columns_that_the_table_asks_for_have_statistics(spark, tmp_path, table_path):
    writer = spark.range(10).selectExpr("id", "-id as other").write.format("qbeast")
    asked = {"columnsToIndex": "id", "delta.dataSkippingStatsColumns": "other"}
    writer.options(**asked).save(table_path)
    (of_file,) = statistics(table_path)
    assert of_file["minValues"] == {"other": -9}


def test_each_file_has_its_own(spark, table_path):
    frame = spark.range(2_000)
    frame.write.format("qbeast").options(columnsToIndex="id", cubeSize=100).save(table_path)
    of_files = statistics(table_path)
    assert len(of_files) > 5
    assert sum(each["numRecords"] for each in of_files) == 2_000
    assert min(each["minValues"]["id"] for each in of_files) == 0
    assert len({each["minValues"]["id"] for each in of_files}) > 5


def test_no_statistics_where_the_session_wants_none(spark, table_path):
    with under(spark, {"spark.databricks.delta.stats.collect": "false"}):
        spark.range(10).write.format("qbeast").option("columnsToIndex", "id").save(table_path)
    newest = max(Path(table_path, "_delta_log").glob("*.json"))
    assert '"stats"' not in newest.read_text()
    assert spark.read.format("qbeast").load(table_path).count() == 10
