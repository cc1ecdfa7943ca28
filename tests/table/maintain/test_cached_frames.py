"""Frames of a table in Spark's cache: they have the table's rows after each way to change these."""

from __future__ import annotations

from pyqbeast import QbeastTable, scan
from tests.table.help import ids, load, rows_2d, rows_read, run_stream, save


def test_a_cached_table_sees_rows_come_and_go(spark, table_path):
    """By a stream, a delete, and a restore, which brings the deleted rows back."""
    save(rows_2d(spark, 100), table_path)
    rows_2d(spark, 30, first=100).write.format("delta").save(f"{table_path}-more")
    cached = load(spark, table_path).cache()
    try:
        assert rows_read(cached) == 100
        run_stream(spark, f"{table_path}-more", table_path, f"{table_path}-checkpoint")
        assert rows_read(cached) == 130
        QbeastTable.for_path(spark, table_path).delete("id < 10")
        assert rows_read(cached) == 120
        spark.sql(f"RESTORE TABLE delta.`{table_path}` TO VERSION AS OF 0")
        assert rows_read(cached) == 100
    finally:
        cached.unpersist()
    assert QbeastTable.for_path(spark, table_path).metrics().deleted_rows == 0
    assert ids(load(spark, table_path)) == list(range(100))
    assert scan(table_path).verify().ok
