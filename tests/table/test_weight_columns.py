"""`weightColumns` are hashed and not indexed: what statements say of them."""

from __future__ import annotations

import pytest

from pyqbeast import QbeastTable, UnsupportedError

SCHEMA = "(id BIGINT NOT NULL, a INT, b DOUBLE, name STRING)"


@pytest.fixture
def name(spark):
    yield "weighted"
    spark.sql("DROP TABLE IF EXISTS weighted")


def test_a_statement_names_indexed_and_weight_columns_apart(spark, name, tmp_path):
    how, where = "columnsToIndex = 'a,b', weightColumns = 'id'", f"LOCATION '{tmp_path / 'here'}'"
    for columns in (SCHEMA, SCHEMA, ""):
        spark.sql(f"CREATE TABLE {name} {columns} USING qbeast OPTIONS ({how}) {where}")
        assert QbeastTable.for_name(spark, name).latest_revision.weight_columns == ("id",)
        spark.sql(f"DROP TABLE {name}")
    for other, told in (
        ("columnsToIndex = 'a,b'", r" has the weightColumns \[id\] and not \[\]: name its own"),
        (
            "columnsToIndex = 'a', weightColumns = 'id'",
            r" is indexed by \[a, b\] and not by \[a\]: name its own",
        ),
        (
            "columnsToIndex = 'a,b,id'",
            r" is indexed by \[a, b\] and not by \[a, b, id\], and has the weightColumns \[id\] and not \[\]",
        ),
    ):
        for columns in (SCHEMA, ""):
            with pytest.raises(UnsupportedError, match=told):
                spark.sql(f"CREATE TABLE {name} {columns} USING qbeast OPTIONS ({other}) {where}")
