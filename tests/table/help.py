"""What the tests of tables share."""

from __future__ import annotations

import json
import shutil
import uuid
from functools import reduce
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from pyqbeast import QbeastTable, bridge
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot

#: What the columns of `rows_2d` may hold, as `columnStats` takes it.
BOUNDS = '{"a_min": 0, "a_max": 1000000, "b_min": 0, "b_max": 1000}'


def since_spark(version, what):
    """Leaves a test, or a case of one, to the versions of Spark that have what it is about."""
    lacking = tuple(map(int, pyspark.__version__.split(".")[:2])) < tuple(map(int, version.split(".")))
    return pytest.mark.skipif(lacking, reason=f"{what} came with Spark {version}")


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


#: Where the tables of `save_copy` are, by their rows and options.
_WRITTEN = {}


def save_copy(spark, path, n=1_000, **options):
    """Puts at a path what `save(rows_2d(spark, n), path, **options)` makes there: written once, then copied."""
    key = (n, *sorted(options.items()))
    if key not in _WRITTEN:
        folder = Path(spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:")).parent
        original = folder / "written" / str(len(_WRITTEN))
        save(rows_2d(spark, n), str(original), **options)
        _WRITTEN[key] = original
    shutil.copytree(_WRITTEN[key], path)


def run_stream(spark, source, target, checkpoint, **options):
    """Writes what a plain Delta table has by now to an indexed one, as a stream, and stops."""
    given = {"columnsToIndex": "a,b", "cubeSize": 500, "checkpointLocation": checkpoint, **options}
    rows = spark.readStream.format("delta").load(source)
    query = rows.writeStream.format("qbeast").options(**given).trigger(availableNow=True).start(target)
    query.awaitTermination()
    return query


def load(spark, path):
    return spark.read.format("qbeast").load(path)


def log_entries(path, kind):
    """All entries of a kind in the commits of a table, the oldest first."""
    lines = [
        line for f in sorted(Path(path, "_delta_log").glob("*.json")) for line in f.read_text().splitlines()
    ]
    return [entry[kind] for entry in map(json.loads, lines) if kind in entry]


def log_of_name(spark, name):
    """What the log says of the indexed table that the session's catalog lists under a name: no job of Spark's."""
    identifier = spark._jvm.org.apache.spark.sql.catalyst.TableIdentifier(name)
    entry = spark._jsparkSession.sessionState().catalog().getTableMetadata(identifier)
    return IndexedSnapshot.read(entry.location().getPath())


def parquet_files(path):
    return sorted(file.name for file in Path(path).rglob("*.parquet"))


def newest(spark, path):
    """Delta's own snapshot of a table's newest version."""
    log = spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)
    no = spark._jvm.scala.Option.empty()
    return log.update(False, no, no)


def told_of(file):
    return file.path, file.size, file.rows, file.deleted, json.dumps(file.true_tags, sort_keys=True)


def agree(spark, path):
    """The files as the driver finds them are those that Delta finds; returns the log."""
    log = bridge.TableLog(spark, path)
    assert sorted(map(told_of, log.files())) == sorted(map(told_of, log.files(with_statistics=True)))
    return log


def ids(frame):
    return sorted(row[0] for row in frame.select("id").collect())


def ids_of_each(frames):
    """The ids of each frame: one query for all, each with a scan of its own."""
    told = [frame.select(F.lit(at), "id") for at, frame in enumerate(frames)]
    found = [[] for _ in told]
    for at, number in (row.values() for row in reduce(DataFrame.union, told).toArrow().to_pylist()):
        found[at].append(number)
    return [sorted(each) for each in found]


def ids_that_meet(frame, conditions):
    """For each condition the ids of the rows that meet it: one query for all, which filters nothing."""
    rows = frame.select("id", F.array(*map(F.expr, conditions)).alias("meets")).collect()
    return [sorted(row["id"] for row in rows if row["meets"][at]) for at in range(len(conditions))]


def holds(spark, path):
    """The table's index says the truth, row by row; returns the table."""
    table = QbeastTable.for_path(spark, path)
    report = table.verify("data")
    assert report.ok, str(report)
    return table


def samples_exactly(spark, path, fraction=0.1, rows=None):
    """A sample is the rows whose weights, as the columns of today hash, are the lowest; returns the table.

    With `rows`, so many rows there are.
    """
    table = QbeastTable.for_path(spark, path)
    columns = [f"`{column}`" for column in table.latest_revision.hashed_columns]
    limit = int(fraction * (2**32 - 1) - 2**31)
    weights = load(spark, path).select("id", F.hash(*columns).alias("weight")).collect()
    assert rows in (None, len(weights))
    assert ids(table.sample(fraction)) == sorted(row["id"] for row in weights if row["weight"] < limit)
    return table


def opened(query):
    """What the scans of a query opened, by Spark's own metrics."""
    query.collect()
    return bridge.scan_totals(query)


def jobs_of(spark, body):
    """How many Spark jobs a function runs."""
    return len(ids_of_jobs(spark, body))


def ids_of_jobs(spark, body):
    """The numbers of the Spark jobs that a function runs."""
    context = spark.sparkContext
    group = str(uuid.uuid4())
    context.setJobGroup(group, "counted")
    try:
        body()
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    # The tracker hears of a job after it has ended, when the events before it have been handled.
    context._jsc.sc().listenerBus().waitUntilEmpty(600_000)
    return context.statusTracker().getJobIdsForGroup(group)


def jobs(spark, query):
    """How many Spark jobs it takes to collect a query, planning included."""
    return jobs_of(spark, query.collect)


def counts_and_sums(frames):
    """How many rows each frame has and the sum of their ids: one query for all, each with a scan of its own."""
    told = [
        frame.agg(F.lit(place).alias("place"), F.count("*"), F.sum("id"))
        for place, frame in enumerate(frames)
    ]
    return [tuple(row)[1:] for row in sorted(reduce(DataFrame.union, told).collect())]


def count(frame):
    """How many rows an aggregate of Spark's counts. `rows_read` is quicker where the test is not about that."""
    return frame.agg(F.count("*").alias("n")).first()["n"]


def rows_read(frame):
    """How many rows a frame has, which are read. Delta tells a count by statistics, and takes several jobs for it."""
    return frame.select(F.lit(1)).toArrow().num_rows


def rows_written(frame):
    """How many rows a frame writes to a sink that keeps none, by DataSource V2."""
    told = Observation()
    frame.observe(told, F.count(F.lit(1)).alias("rows")).write.format("noop").mode("overwrite").save()
    return told.get["rows"]
