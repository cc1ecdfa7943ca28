"""Where a table's rows are cut by weight: users name the fractions that they sample by."""

from __future__ import annotations

import pytest

from pyqbeast import InvalidInputError, QbeastTable, bridge
from pyqbeast.core.format.file_tags import parse_tags, weight_bounds
from pyqbeast.core.format.weight import weight_of
from tests.table.help import load, opened, rows_2d, samples_exactly, save

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


def test_a_table_remembers_where_it_is_cut(spark, table_path):
    save(rows_2d(spark, 20_000), table_path, sampleFractions="0.5")
    assert not straddles(spark, table_path, 0.5)
    assert straddles(spark, table_path, 0.1)
    assert (
        opened(load(spark, table_path).sample(0.5)).rows
        < 1.02 * samples_exactly(spark, table_path, 0.5).sample(0.5).count()
    )
    save(rows_2d(spark, 20_000, first=20_000), table_path)
    assert not straddles(spark, table_path, 0.5)
    assert settings(spark, table_path)["pyqbeast.sampleFractions"] == "0.5"


def test_an_append_and_optimize_go_by_what_the_table_says_today(spark, table_path):
    save(rows_2d(spark, 20_000), table_path, columnStats='{"a_min":0,"a_max":1000000,"b_min":0,"b_max":1000}')
    assert not straddles(spark, table_path, 0.1)
    spark.sql(f"ALTER TABLE delta.`{table_path}` SET TBLPROPERTIES ('pyqbeast.sampleFractions' = '')")
    save(rows_2d(spark, 5_000, first=20_000), table_path)
    assert straddles(spark, table_path, 0.1)
    spark.sql(f"ALTER TABLE delta.`{table_path}` SET TBLPROPERTIES ('pyqbeast.sampleFractions' = '0.1')")
    every = [file.path for file in bridge.TableLog(spark, table_path).files()]
    QbeastTable.for_path(spark, table_path).optimize(files=every)
    assert not straddles(spark, table_path, 0.1)
    samples_exactly(spark, table_path, 0.1)


@pytest.mark.parametrize(
    "how", ["OPTIONS (sampleFractions = '0.5', {})", "TBLPROPERTIES ('pyqbeast.sampleFractions' = '0.5', {})"]
)
@pytest.mark.parametrize("with_rows", [False, True])
def test_statements_name_fractions(spark, table_path, how, with_rows):
    index = "columnsToIndex = 'a,b', cubeSize = '1000'" if "OPTIONS" in how else (
        "'columnsToIndex' = 'a,b', 'cubeSize' = '1000'"
    )  # fmt: skip
    rows_2d(spark, 20_000).createOrReplaceTempView("twenty_thousand")
    location = f"USING qbeast {how.format(index)} LOCATION '{table_path}'"
    if with_rows:
        spark.sql(f"CREATE TABLE halves {location} AS SELECT * FROM twenty_thousand")
    else:
        spark.sql(f"CREATE TABLE halves {COLUMNS} {location}")
        spark.sql("INSERT INTO halves SELECT * FROM twenty_thousand")
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
