"""What the tests of tables share."""

from __future__ import annotations

from pyspark.sql import functions as F

from pyqbeast import QbeastTable
from pyqbeast.delta import bridge


def rows_2d(spark, n, first=0, columns=""):
    """n rows with an id, two columns worth indexing (all values distinct pairs) and a text."""
    extra = [columns] if columns else []
    return spark.range(first, first + n).selectExpr(
        "id",
        "cast(pmod(xxhash64(id, 1L), 1000000L) as int) as a",
        "pmod(xxhash64(id, 2L), 100000L) / 100.0D as b",
        "concat('name ', id % 100) as name",
        *extra,
    )


def save(frame, path, mode="append", **options):
    options = {"columnsToIndex": "a,b", "cubeSize": 1000, **options}
    given = {key: value for key, value in options.items() if value is not None}
    frame.write.format("qbeast").mode(mode).options(**given).save(path)


def load(spark, path):
    return spark.read.format("qbeast").load(path)


def ids(frame):
    return sorted(row[0] for row in frame.select("id").collect())


def holds(spark, path):
    """The table's index says the truth, row by row; returns the table."""
    table = QbeastTable.for_path(spark, path)
    report = table.verify("data")
    assert report.ok, str(report)
    return table


def opened(query):
    """What the scans of a query opened, by Spark's own metrics."""
    query.collect()
    return bridge.scan_totals(query)


def count(frame):
    return frame.agg(F.count("*").alias("n")).first()["n"]
