"""What Delta's table features promise of a table's rows still holds after writes and rewrites of an indexed table."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from pyqbeast import QbeastTable, UnsupportedError, bridge, convert, scan
from tests.spark_session import under
from tests.table.help import holds, ids, ids_of_each, load, log_entries, rows_2d, samples_exactly, save

#: Of `rows_2d`: with them all rows go to one revision.
BOUNDS = '{"a_min": 0, "a_max": 1000000, "b_min": 0, "b_max": 1000}'


def tracked(spark, path):
    """For each row, by id, its row id and the version in which it last changed."""
    rows = load(spark, path).selectExpr("id", "_metadata.row_id", "_metadata.row_commit_version").collect()
    assert len({row["row_id"] for row in rows}) == len(rows)
    return {row["id"]: (row["row_id"], row["row_commit_version"]) for row in rows}


def test_a_tracked_row_stays_who_it_is(spark, table_path):
    given = {"delta.enableRowTracking": "true", "delta.columnMapping.mode": "name"}
    save(rows_2d(spark, 1_500), table_path, **given)
    save(rows_2d(spark, 100, first=1_500), table_path)
    spark.sql(f"UPDATE delta.`{table_path}` SET name = 'changed' WHERE id % 300 = 0")
    table = QbeastTable.for_path(spark, table_path)
    before = tracked(spark, table_path)
    assert before[0][1] > before[1][1]
    table.delete_rows(bridge.TableLog(spark, table_path).files()[0].path, [0])
    table.delete("id % 50 = 7")
    assert table.optimize(revision=0).changed
    assert table.optimize(files=[scan(table_path).blocks()["file"][0].as_py()]).changed
    done = [info for info in log_entries(table_path, "commitInfo") if info["operation"] != "WRITE"]
    assert all(info["tags"]["delta.rowTracking.preserved"] == "true" for info in done)
    save(rows_2d(spark, 10, first=5_000), table_path)
    left = {row: told for row, told in tracked(spark, table_path).items() if row < 5_000}
    assert left == {row: before[row] for row in left}
    assert 32 <= len(before) - len(left) <= 33  # the first row of a file may be one of the others


def test_rows_are_tracked_where_files_have_no_bounds_but_not_where_they_are_not_counted(spark, table_path):
    collects = "spark.databricks.delta.stats.collect"
    given = {
        "delta.enableRowTracking": "true",
        "delta.dataSkippingNumIndexedCols": "0",
        "columnStats": BOUNDS,
    }
    message = rf"table at .*{table_path} tracks its rows.*{collects}"
    with under(spark, {collects: "false"}), pytest.raises(UnsupportedError, match=message):
        save(rows_2d(spark, 500), table_path, cubeSize=200, **given)
    assert not list(Path(table_path).rglob("*.parquet"))
    save(rows_2d(spark, 500), table_path, cubeSize=200, **given)
    rows = tracked(spark, table_path)
    table = QbeastTable.for_path(spark, table_path)
    everything = scan(table_path).blocks()["file"].unique().to_pylist()
    with under(spark, {collects: "false"}):
        for change in (
            lambda: table.optimize(files=everything),
            lambda: save(rows_2d(spark, 10, first=900), table_path),
        ):
            with pytest.raises(UnsupportedError, match=message):
                change()
    assert table.optimize(files=everything).changed
    assert tracked(spark, table_path) == rows
    holds(spark, table_path)


def test_the_rows_of_a_converted_table_stay_who_they_are(spark, table_path):
    rows = rows_2d(spark, 500)
    rows.write.format("delta").option("delta.enableRowTracking", "true").save(table_path)
    before = tracked(spark, table_path)
    table = convert(spark, f"delta.`{table_path}`", columns_to_index=["a", "b"])
    assert table.optimize(revision=0).changed
    done = log_entries(table_path, "commitInfo")[1:]
    assert all(info["tags"]["delta.rowTracking.preserved"] == "true" for info in done)
    assert tracked(spark, table_path) == before
    holds(spark, table_path)


def test_features_that_a_rewrite_has_to_respect(spark, table_path):
    """Checks, generated columns, identities, defaults, change data, commit timestamps, variants, append-only tables."""
    spark.sql(
        f"CREATE TABLE delta.`{table_path}` (id BIGINT, a INT, b DOUBLE, "
        "twice BIGINT GENERATED ALWAYS AS (id * 2), number BIGINT GENERATED ALWAYS AS IDENTITY, "
        "level INT DEFAULT 7, doc VARIANT) USING qbeast OPTIONS (columnsToIndex = 'a,b', cubeSize = 500) TBLPROPERTIES "
        "(delta.enableChangeDataFeed = true, delta.enableInCommitTimestamps = true, delta.appendOnly = true, "
        "'delta.feature.allowColumnDefaults' = 'supported')"
    )
    spark.sql(f"ALTER TABLE delta.`{table_path}` ADD CONSTRAINT positive CHECK (id >= 0)")
    for first in (0, 200):
        part = rows_2d(spark, 200, first=first).selectExpr(
            "id", "a", "b", "parse_json(concat('[', id, ']')) AS doc"
        )
        save(part, table_path, columnsToIndex=None, cubeSize=None, columnStats=BOUNDS)
    before = load(spark, table_path).selectExpr("* except (doc)", "to_json(doc) AS doc").collect()
    assert all(row["twice"] == 2 * row["id"] and row["level"] == 7 for row in before)
    assert len({row["number"] for row in before}) == 400
    table = QbeastTable.for_path(spark, table_path)
    assert table.optimize().changed
    after = load(spark, table_path).selectExpr("* except (doc)", "to_json(doc) AS doc").collect()
    assert sorted(after) == sorted(before)
    version = bridge.TableLog(spark, table_path).version
    feed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", version)
    assert feed.load(table_path).count() == 0
    assert all("inCommitTimestamp" in info for info in log_entries(table_path, "commitInfo"))
    with pytest.raises(Exception, match="positive"):
        spark.sql(f"INSERT INTO delta.`{table_path}` (id, a, b) VALUES (-1, 1, 1.0)")
    with pytest.raises(UnsupportedError, match="append"):
        table.delete("id = 1")
    holds(spark, table_path)


def test_times_that_commits_keep(spark, table_path):
    """They are those of versions, here and in Spark, from the version on that began to keep them."""
    save(rows_2d(spark, 1), table_path)
    spark.sql(
        f"ALTER TABLE delta.`{table_path}` SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')"
    )
    for first in (2, 3):
        save(rows_2d(spark, 1, first=first), table_path)
    made = [info.get("inCommitTimestamp") for info in log_entries(table_path, "commitInfo")]
    made[0] = made[1] - 60_000
    for version, time in enumerate(made):
        written = time / 1000 + 100 * (version > 0)
        os.utime(Path(table_path, "_delta_log", f"{version:020d}.json"), (written, written))
    asked = [*made, *(time - 1 for time in made[1:])]
    moments = [datetime.fromtimestamp(time / 1000, timezone.utc).isoformat() for time in asked]
    at = [spark.read.format("delta").option("timestampAsOf", moment).load(table_path) for moment in moments]
    found = [scan(table_path, timestamp=moment) for moment in moments]
    assert [each.version for each in found] == [0, 1, 2, 3, 0, 1, 2]
    assert [sorted(each.to_arrow()["id"].to_pylist()) for each in found] == ids_of_each(at)


#: What is told of the rows that the next test replaces.
CHANGES = {"delete": range(500, 1_000), "insert": range(600, 900)}


def test_a_part_is_replaced_where_changes_are_told_and_no_vectors_taken(spark, table_path):
    """Delta then rewrites the rows that stay in the touched files, and sorts the new rows in between.

    No such file is indexed.
    """
    given = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "false"}
    save(rows_2d(spark, 1_500), table_path, cubeSize=300, columnStats=BOUNDS, **given)
    fresh = rows_2d(spark, 900).filter("id >= 600").withColumn("name", F.lit("new"))
    save(
        fresh,
        table_path,
        "overwrite",
        cubeSize=None,
        columnsToIndex=None,
        replaceWhere="id >= 500 AND id < 1000",
    )
    left = [*range(500), *range(600, 900), *range(1_000, 1_500)]
    stored = {row["id"]: row["name"] for row in load(spark, table_path).select("id", "name").collect()}
    assert sorted(stored) == left
    assert [row for row in left if stored[row] == "new"] == list(range(600, 900))
    feed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 1)
    changes = sorted(map(tuple, feed.load(table_path).select("_change_type", "id").collect()))
    deleted, inserted = ([(kind, row) for row in rows] for kind, rows in CHANGES.items())
    assert changes == [*deleted, *inserted]
    table = samples_exactly(spark, table_path)
    assert table.metrics().unindexed_rows == len(left)
    assert table.optimize(revision=0).changed
    assert holds(spark, table_path).metrics().unindexed_rows == 0


def test_an_indexed_table_is_not_clustered_too(spark, table_path):
    """Clustering lays the same files out in another way."""
    spark.sql(f"CREATE TABLE delta.`{table_path}` (id BIGINT, a INT) USING delta CLUSTER BY (a)")
    with pytest.raises(UnsupportedError, match="is clustered"):
        convert(spark, f"delta.`{table_path}`", columns_to_index=["a"])
    spark.sql(f"ALTER TABLE delta.`{table_path}` CLUSTER BY NONE")
    convert(spark, f"delta.`{table_path}`", columns_to_index=["a"])
    with pytest.raises(UnsupportedError, match="cannot be clustered as well"):
        spark.sql(f"ALTER TABLE delta.`{table_path}` CLUSTER BY (a)")
    spark.sql(f"ALTER TABLE delta.`{table_path}` CLUSTER BY NONE")


def test_readers_of_iceberg_find_the_numbers_of_nested_fields(spark, table_path, tmp_path):
    """Delta writes them into the files of such a table; its files in parts have them as well."""
    columns = "id BIGINT, a INT, tags ARRAY<INT>, sizes MAP<STRING, INT>"
    asked = (
        "'delta.enableIcebergCompatV2' = 'true', 'delta.columnMapping.mode' = 'name', "
        "'delta.enableDeletionVectors' = 'false'"
    )
    numbers = {}
    plain = str(tmp_path / "plain")
    for path, using in ((plain, "delta"), (table_path, "qbeast OPTIONS (columnsToIndex = 'a,id')")):
        spark.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING {using} TBLPROPERTIES ({asked})")
        spark.sql(
            f"""INSERT INTO delta.`{path}`
                SELECT id, CAST(id % 100 AS INT), array(1, 2), map('x', 1) FROM range(1000)"""
        )
        file = Path(path, bridge.TableLog(spark, path).files()[0].path)
        _, _, tags, sizes = pq.ParquetFile(file).schema_arrow
        nested = (tags.type.value_field, sizes.type.key_field, sizes.type.item_field)
        numbers[path] = [(field.metadata or {}).get(b"PARQUET:field_id") for field in nested]
    assert None not in numbers[plain]
    assert numbers[table_path] == numbers[plain]


def test_a_table_for_readers_of_iceberg_is_made_of_rows(spark, table_path):
    """Delta maps its columns by name without being told, also in a statement with a query."""
    spark.sql(
        f"CREATE TABLE delta.`{table_path}` USING qbeast OPTIONS (columnsToIndex = 'id') "
        "TBLPROPERTIES ('delta.enableIcebergCompatV2' = 'true') AS SELECT id, id % 7 AS a FROM range(100)"
    )
    more = spark.range(100, 200).selectExpr("id", "id % 7 AS a")
    save(more, table_path, columnsToIndex=None, cubeSize=None)
    configuration = bridge.TableLog(spark, table_path).configuration
    assert configuration["delta.columnMapping.mode"] == "name"
    assert configuration["delta.enableIcebergCompatV2"] == "true"
    assert holds(spark, table_path).metrics().unindexed_files == 0
    assert ids(load(spark, table_path)) == list(range(200))
