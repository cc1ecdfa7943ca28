"""The helper that finds the quantiles of a column: what it gives is what a write takes."""

from __future__ import annotations

import json

import pytest

from pyqbeast import InvalidInputError, compute_quantiles_for_column
from tests.table.help import holds, save


@pytest.fixture(scope="module")
def rows(spark):
    return spark.range(1_000).selectExpr(
        "id",
        "if(id % 10 = 0, null, double(id)) as a",
        "case id % 4 when 0 then double('NaN') when 1 then double('Infinity') when 2 then -1 else 7 end as odd",
        "date_add(date'1970-01-01', cast(id as int)) as day",
        "concat('n', lpad(id, 4, '0')) as name",
        "case id % 3 when 0 then '\\ufffd' when 1 then 'a' else '\\U0001f600' end as face",
        "'same' as same",
        "cast(null as int) as nothing",
        "array(1) as list",
    )


def test_numbers(rows):
    assert compute_quantiles_for_column(rows, "id", 4, relative_error=0.0) == [0, 249, 499, 749, 999]
    found = compute_quantiles_for_column(rows, "a")
    assert (len(found), found[0], found[-1]) == (51, 1.0, 999.0)
    assert found == sorted(found)
    assert compute_quantiles_for_column(rows, "odd", 2, relative_error=0.0) == [-1.0, -1.0, 7.0]
    day = 86_400_000.0
    assert compute_quantiles_for_column(rows, "day", 2, relative_error=0.0) == [0.0, 499 * day, 999 * day]


def test_texts(rows):
    found = compute_quantiles_for_column(rows, "name", 10)
    assert 5 <= len(found) <= 10
    assert (found, found[0]) == (sorted(found), "n0000")
    # In this order by UTF-16 units, and in another one by code points.
    assert compute_quantiles_for_column(rows, "face", 30) == ["a", "\U0001f600", "\ufffd"]


def test_a_write_takes_them(spark, rows, table_path):
    """Equal parts: every child of the root gets its share of rows however they are spread."""
    skewed = spark.range(2_000).selectExpr("id", "exp(id / 100.0) as a", "concat('n', id * id) as name")
    stats = {
        f"{c}_quantiles": compute_quantiles_for_column(skewed, c, relative_error=0.01) for c in ("a", "name")
    }
    save(
        skewed,
        table_path,
        columnsToIndex="a:quantiles,name:quantiles",
        columnStats=json.dumps(stats),
        cubeSize=200,
    )
    (level,) = [level for level in holds(spark, table_path).metrics().inner_levels if level.depth == 1]
    assert level.cube_count == 4


@pytest.mark.parametrize(
    ("column", "options"),
    [
        ("none", {}),
        ("list", {}),
        ("same", {}),
        ("nothing", {}),
        ("id", {"number_of_quantiles": 1}),
        ("id", {"relative_error": -0.1}),
    ],
)
def test_what_cannot_be_cut(rows, column, options):
    with pytest.raises(InvalidInputError):
        compute_quantiles_for_column(rows, column, **options)
