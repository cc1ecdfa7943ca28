"""Where a table's rows are cut by weight: users name the fractions that they sample by."""

from __future__ import annotations

import pytest

from pyqbeast import InvalidInputError, QbeastTable, bridge
from pyqbeast.core.format.file_tags import parse_tags, weight_bounds
from pyqbeast.core.format.weight import weight_of
from tests.table.help import BOUNDS, load, rows_2d, samples_exactly, save
from tests.table.sample.conftest import lightest

#: Rows of a table that is cut at a half or a tenth, if its cubes hold 250.
ROWS = 5_000
COLUMNS = "(id BIGINT, a INT, b DOUBLE, name STRING)"


def straddles(spark, path, fraction):
    """Whether a file has rows on both sides of a fraction."""
    weight = weight_of(fraction)
    for file in bridge.TableLog(spark, path).files():
        blocks = parse_tags(file.true_tags, lambda _: 2).blocks
        lightest = min(block.min_weight for block in blocks if block.element_count)
        if lightest < weight <= weight_bounds(file.true_tags, blocks)[1]:
            return True
    return False


def settings(spark, path):
    return {row["key"]: row["value"] for row in spark.sql(f"SHOW TBLPROPERTIES delta.`{path}`").collect()}


def test_a_table_remembers_where_it_is_cut(spark, table_path, weights):
    save(rows_2d(spark, ROWS), table_path, cubeSize=250, sampleFractions="0.5")
    assert not straddles(spark, table_path, 0.5)
    assert straddles(spark, table_path, 0.1)
    half = load(spark, table_path).sample(0.5)
    wanted = lightest(weights[:ROWS], 0.5)
    assert sorted(row["id"] for row in half.collect()) == wanted
    assert bridge.scan_totals(half).rows < 1.02 * len(wanted)
    save(rows_2d(spark, ROWS, first=ROWS), table_path, cubeSize=250)
    assert not straddles(spark, table_path, 0.5)
    assert settings(spark, table_path)["pyqbeast.sampleFractions"] == "0.5"


def test_an_append_and_optimize_go_by_what_the_table_says_today(spark, table_path):
    save(rows_2d(spark, ROWS), table_path, cubeSize=250, columnStats=BOUNDS)
    assert not straddles(spark, table_path, 0.1)
    spark.sql(f"ALTER TABLE delta.`{table_path}` SET TBLPROPERTIES ('pyqbeast.sampleFractions' = '')")
    save(rows_2d(spark, ROWS, first=ROWS), table_path, cubeSize=250)
    assert straddles(spark, table_path, 0.1)
    spark.sql(f"ALTER TABLE delta.`{table_path}` SET TBLPROPERTIES ('pyqbeast.sampleFractions' = '0.1')")
    every = [file.path for file in bridge.TableLog(spark, table_path).files()]
    QbeastTable.for_path(spark, table_path).optimize(files=every)
    assert not straddles(spark, table_path, 0.1)
    samples_exactly(spark, table_path, 0.1)


#: Options have to reach the index of a table without rows, and properties the write of one with rows.
STATEMENTS = [
    f"CREATE TABLE halves {COLUMNS} USING qbeast OPTIONS (sampleFractions = '0.5', columnsToIndex = 'a,b', "
    "cubeSize = '250') LOCATION '{}'; INSERT INTO halves SELECT * FROM unwritten",
    "CREATE TABLE halves USING qbeast TBLPROPERTIES ('pyqbeast.sampleFractions' = '0.5', 'columnsToIndex' = 'a,b', "
    "'cubeSize' = '250') LOCATION '{}' AS SELECT * FROM unwritten",
]


@pytest.mark.parametrize("statements", STATEMENTS, ids=["options", "properties"])
def test_statements_name_fractions(spark, table_path, statements):
    rows_2d(spark, ROWS).createOrReplaceTempView("unwritten")
    for statement in statements.format(table_path).split("; "):
        spark.sql(statement)
    try:
        assert settings(spark, table_path)["pyqbeast.sampleFractions"] == "0.5"
        assert not straddles(spark, table_path, 0.5)
    finally:
        spark.sql("DROP TABLE halves")


def test_what_is_no_fraction_is_refused_before_a_row_is_written(spark, table_path):
    with pytest.raises(InvalidInputError, match="sampleFractions has to be fractions between 0 and 1"):
        save(rows_2d(spark, 10), table_path, sampleFractions="10 %")
    save(rows_2d(spark, 10), table_path)
    spark.sql(f"ALTER TABLE delta.`{table_path}` SET TBLPROPERTIES ('pyqbeast.sampleFractions' = '2')")
    with pytest.raises(InvalidInputError, match=r"property pyqbeast.sampleFractions .* not '2'"):
        save(rows_2d(spark, 10), table_path)
    assert load(spark, table_path).count() == 10
