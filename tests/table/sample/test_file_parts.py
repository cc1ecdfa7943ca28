"""Of a large table Spark's executors tell the driver what samples need: the same as it finds in whole files."""

from __future__ import annotations

import functools

import pytest
from pyspark.sql import functions as F

from pyqbeast import QbeastTable
from tests.table.help import jobs_of, newest, rows_2d, save


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
    return newest(spark, table_path)


def told(java, **index):
    """What samples ask of an index: that of some parts (`made_of`), or one that is there (`of`)."""
    sums = java("index.BlockIndex", "sums", **index)
    files = java("index.BlockIndex", "files", **index)
    assert all(file.tags() is None and file.stats() is None for file in files)
    weights = {
        file.path(): java("index.BlockIndex", "weightsOf", ("AddFile", file), **index).toString()
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
        list(java("index.BlockIndex", "copiesOfWeight", **index)),
    )


def test_executors_tell_what_the_driver_finds(java, snapshot):
    weighed = "Set", java("index.PrunableRevisions", "of", ("Metadata", snapshot.metadata()))
    whole = java("spark.LiveFiles", "of", ("Snapshot", snapshot))
    found = told(java, made_of=[java("index.FilePart", "of", ("List", whole), weighed), None, None])
    by_job = told(java, of=java("index.LargeTables", "index", ("Snapshot", snapshot), weighed))
    assert by_job[0] == found[0]
    assert by_job[1] == pytest.approx(found[1], abs=2)
    assert by_job[2:] == found[2:]
    weights, bounds, granularity, vectors, copies = found
    assert len(weights) > 5
    assert max(bounds) < 0
    assert granularity > 49 / 4_000
    assert vectors == 2
    assert copies == []


def test_an_append_is_added_to_what_is_known(spark, java, table_path):
    """Whatever else happens to files, or to the revisions, takes a job again."""
    save(rows_2d(spark, 2_000), table_path, cubeSize=300)
    more = functools.partial(save, path=table_path, cubeSize=300)
    for change, takes_job in (
        (lambda: None, True),
        (lambda: more(rows_2d(spark, 50, first=200)), False),
        (lambda: more(rows_2d(spark, 50, first=300)), False),
        (lambda: more(rows_2d(spark, 50, first=400).withColumn("a", F.col("a") + 10_000_000)), True),
        (lambda: spark.sql(f"DELETE FROM delta.`{table_path}` WHERE id < 100"), True),
        (lambda: more(rows_2d(spark, 50, first=500)), False),
    ):
        change()
        now = newest(spark, table_path)
        weighed = "Set", java("index.PrunableRevisions", "of", ("Metadata", now.metadata()))
        asked = []
        jobs = jobs_of(
            spark,
            lambda: asked.append(java("index.LargeTables", "index", ("Snapshot", now), weighed)),  # noqa: B023
        )
        whole = java("spark.LiveFiles", "of", ("Snapshot", now))
        parts = java("index.FilePart", "of", ("List", whole), weighed)
        assert told(java, of=asked[0]) == told(java, made_of=[parts, None, None])
        assert (jobs > 0) == takes_job
