"""Frames of a table in Spark's cache: they have the table's rows after each way to change these.

For a restore `test_upgrade.py` tells that.
"""

from __future__ import annotations

from pyqbeast import QbeastTable, bridge, scan
from tests.table.help import load, rows_2d, rows_read, run_stream, save_copy


def test_a_cached_table_sees_rows_come_and_go(spark, table_path):
    """By a stream, by their indexes in a file, and by a condition."""
    save_copy(spark, table_path, 100)
    table, (file,) = QbeastTable.for_path(spark, table_path), bridge.TableLog(spark, table_path).files()
    rows_2d(spark, 30, first=100).write.format("delta").save(f"{table_path}-more")
    cached = load(spark, table_path).cache()
    try:
        assert rows_read(cached) == 100
        run_stream(spark, f"{table_path}-more", table_path, f"{table_path}-checkpoint")
        assert rows_read(cached) == 130
        table.delete_rows(file.path, range(10))
        assert rows_read(cached) == 120
        table.delete("id >= 105")
        assert rows_read(cached) == 95
    finally:
        cached.unpersist()
    assert scan(table_path).verify().ok
