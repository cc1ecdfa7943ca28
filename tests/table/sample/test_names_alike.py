"""Names that Java takes for one name in two cases, and Spark and Delta for two columns."""

from __future__ import annotations

from pyspark.sql import functions as F

from tests.table.help import ids_of_each, load, samples_exactly, save

#: Names of columns, and each with the one of an indexed column.
ALIKE = {"ad\u0131": "adi", "\u017f": "s", "\u03c2": "\u03c3"}


def test_the_indexed_columns_are_those_that_are_hashed(spark, table_path):
    indexed = list(ALIKE.values())
    others = [f"id * 7 AS `{other}`" for other in ALIKE]
    values = [f"id * {place + 2} AS `{each}`" for place, each in enumerate(indexed)]
    rows = spark.range(4_000).selectExpr("id", *others, *values)
    save(rows, table_path, columnsToIndex=",".join(indexed), cubeSize=200)
    samples_exactly(spark, table_path, 0.15)
    table, asked = load(spark, table_path), []
    for other, named in ALIKE.items():
        hashed = [other if each == named else each for each in indexed]
        light = F.hash(*(F.col(f"`{each}`") for each in hashed)) < -(2**30)
        asked += [table.where(light), rows.where(light)]
    found = ids_of_each(asked)
    for other, of_table, of_rows in zip(ALIKE, found[::2], found[1::2], strict=True):
        assert of_table == of_rows, other
