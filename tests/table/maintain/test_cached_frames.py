"""Frames of a table in Spark's cache: they have the table's rows after each way to change these."""

from __future__ import annotations

from pyqbeast import QbeastTable
from tests.table.help import count, load, rows_2d, run_stream, save


def test_a_cached_table_sees_rows_come_and_go(spark, table_path):
    save(rows_2d(spark, 100), table_path)
    rows_2d(spark, 30, first=100).write.format("delta").save(f"{table_path}-more")
    cached = load(spark, table_path).cache()
    try:
        assert count(cached) == 100
        run_stream(spark, f"{table_path}-more", table_path, f"{table_path}-checkpoint")
        assert count(cached) == 130
        QbeastTable.for_path(spark, table_path).delete("id < 10")
        assert count(cached) == 120
        spark.sql(f"RESTORE TABLE delta.`{table_path}` TO VERSION AS OF 0")
        assert count(cached) == 100
    finally:
        cached.unpersist()
