"""Of a large table Spark's executors tell the driver what samples need: the same as it finds in whole files."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from pyqbeast import QbeastTable
from tests.table.help import rows_2d, save


@pytest.fixture
def snapshot(spark, table_path):
    """A table with rows chosen by their weight, a stored weight, deleted rows, and a file without an index."""
    weighed = rows_2d(spark, 6_000).withColumn("w", F.hash("a", "b"))
    save(weighed.where("w < 0"), table_path, cubeSize=500)
    table = QbeastTable.for_path(spark, table_path)
    table.delete_rows(table.blocks().orderBy("max_weight").first()["file"], [0, 2])
    repeated = rows_2d(spark, 1, first=6_000).withColumn("w", F.lit(1))
    save(repeated.crossJoin(spark.range(50).select()), table_path)
    weighed.limit(100).write.format("delta").mode("append").save(table_path)
    return spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(
        spark._jsparkSession, table_path
    ).unsafeVolatileSnapshot()


def told(java, parts):
    """What samples ask of an index that is made of these parts."""
    index = [parts, None, None]
    sums = java("index.BlockIndex", "sums", made_of=index)
    files = java("index.BlockIndex", "files", made_of=index)
    assert all(file.tags() is None and file.stats() is None for file in files)
    weights = {
        file.path(): java("index.BlockIndex", "weightsOf", ("AddFile", file), made_of=index).toString()
        for file in files
    }
    bounds = [
        java("index.WeightProfile", "weightOf", ("double", fraction), made_of=[sums, False, False])
        for fraction in (0.1, 0.3, 0.5, 0.9)
    ]
    granularity = java("index.WeightSums", "keyGranularity", of=sums)
    vectors = sum(file.numDeletedRecords() for file in files)
    return (
        weights,
        bounds,
        granularity,
        vectors,
        list(java("index.BlockIndex", "copiesOfWeight", made_of=index)),
    )


def test_executors_tell_what_the_driver_finds(java, snapshot):
    weighed = "Set", java("index.PrunableRevisions", "of", ("Metadata", snapshot.metadata()))
    whole = java("spark.LiveFiles", "of", ("Snapshot", snapshot))
    found = told(java, java("index.FilePart", "of", ("List", whole), weighed))
    by_job = told(java, java("index.FilePart", "byJob", ("Snapshot", snapshot), weighed))
    assert by_job[0] == found[0]
    assert by_job[1] == pytest.approx(found[1], abs=2)
    assert by_job[2:] == found[2:]
    weights, bounds, granularity, vectors, copies = found
    assert len(weights) > 5
    assert max(bounds) < 0
    assert granularity > 49 / 4_000
    assert vectors == 2
    assert copies == []
