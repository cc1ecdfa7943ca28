"""What the log says of a file's blocks is what its writer saw, whatever options and settings cut the files."""

from __future__ import annotations

import json
import shutil

import pytest
from pyspark.sql import functions as F

from pyqbeast import InvalidInputError, QbeastTable, bridge
from tests.spark_session import under
from tests.table.help import holds, load, log_entries, rows_2d, save
from tests.table.relogged import set_properties

NO_STATISTICS = {"spark.databricks.delta.stats.collect": "false"}
#: Settings that make Delta lay rows out in its own way, and compact files after a commit.
DELTAS_LAYOUT = {
    "spark.databricks.delta.optimizeWrite.enabled": "true",
    "spark.databricks.delta.autoCompact.enabled": "true",
    "spark.databricks.delta.autoCompact.minNumFiles": "2",
}


def is_indexed(spark, path, rows):
    table = holds(spark, path)
    metrics = table.metrics()
    assert (metrics.unindexed_files, metrics.element_count) == (0, rows)
    return table


def rows_of_files(spark, path):
    files = load(spark, path).groupBy(F.col("_metadata.file_name")).count().collect()
    return sorted(row["count"] for row in files)


def test_options_in_any_case_are_one_option(spark, table_path):
    given = {"MAXRECORDSPERFILE": 300, "OptimizeWrite": True, "DELTA.enableDeletionVectors": False}
    save(rows_2d(spark, 6_000), table_path, **given)
    is_indexed(spark, table_path, 6_000)
    assert max(rows_of_files(spark, table_path)) == 300
    assert bridge.TableLog(spark, table_path).configuration["delta.enableDeletionVectors"] == "false"
    with pytest.raises(InvalidInputError, match="maxRecordsPerFile has to be"):
        save(rows_2d(spark, 10), table_path, maxRecordsPerFile="many")


def test_no_setting_of_the_session_takes_files_their_blocks(spark, table_path):
    """Without statistics only the writer knows how many rows a file holds."""
    with under(spark, {**NO_STATISTICS, **DELTAS_LAYOUT, "spark.sql.files.maxRecordsPerFile": "300"}):
        save(rows_2d(spark, 4_000), table_path, **{"delta.autoOptimize.autoCompact": "true"})
        save(rows_2d(spark, 400, first=4_000), table_path)
        table = is_indexed(spark, table_path, 4_400)
        assert max(rows_of_files(spark, table_path)) == 300
        table.optimize(files=[row["file"] for row in table.blocks().select("file").distinct().collect()])
        is_indexed(spark, table_path, 4_400)
    assert all(add.get("stats") is None for add in log_entries(table_path, "add"))
    assert "OPTIMIZE" not in [info["operation"] for info in log_entries(table_path, "commitInfo")[:-1]]


@pytest.mark.parametrize("writers", ["0", "5"])
def test_rows_that_delta_sorts_into_change_data_are_counted_right(spark, with_changes, table_path, writers):
    """A task then has several files open at once, or its rows come in another order."""
    shutil.copytree(with_changes, table_path)
    with under(spark, {"spark.sql.maxConcurrentOutputFileWriters": writers}):
        replaced = "id >= 1000 AND id < 2000"
        save(rows_2d(spark, 500, first=1_000), table_path, "overwrite", replaceWhere=replaced)
    stored = {add["path"]: json.loads(add["stats"]) for add in log_entries(table_path, "add")}
    files = load(spark, table_path).groupBy(F.col("_metadata.file_name").alias("file"))
    counted = files.agg(
        F.count("*").alias("n"), F.min("id").alias("low"), F.max("id").alias("high")
    ).collect()
    for row in counted:
        told = stored[row["file"]]
        assert told["numRecords"] == row["n"]
        assert (told["minValues"]["id"], told["maxValues"]["id"]) == (row["low"], row["high"])
    assert sum(row["n"] for row in counted) == 4_500
    report = QbeastTable.for_path(spark, table_path).verify("data")
    assert {problem.rule for problem in report.problems} <= {"no gap between levels", "leaf weight"}


def test_there_are_no_blocks_where_no_revision_can_be_read(spark, table_path):
    save(rows_2d(spark, 10), table_path)
    set_properties(table_path, {"qbeast.revision.0": "{", "qbeast.revision.1": "{"})
    assert not QbeastTable.for_path(spark, table_path).blocks().collect()
