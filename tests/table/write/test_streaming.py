"""Streams into and out of an indexed table."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import functions as F

from pyqbeast import QbeastTable, UnsupportedError, bridge, convert
from tests.machine import sockets_of
from tests.spark_session import under
from tests.sweep.ways import ALL, CAUSES
from tests.table.help import ids, load, rows_2d, run_stream, save, save_copy


@pytest.fixture(scope="module")
def plain(spark, tmp_path_factory):
    """A plain Delta table of 1,000 rows; tests stream from copies."""
    path = tmp_path_factory.mktemp("plain") / "source"
    rows_2d(spark, 1_000).write.format("delta").save(str(path))
    return path


@pytest.fixture
def source(spark, plain, tmp_path):
    """A plain Delta table to stream from: its path, and a function that adds rows."""
    path = str(shutil.copytree(plain, tmp_path / "source"))

    def add(n, first):
        rows_2d(spark, n, first=first).write.format("delta").mode("append").save(path)

    return path, add


@pytest.fixture
def stream_of(spark, tmp_path):
    """A function that makes a stream of one row, which lies in a file: from the types of its columns and the row."""

    def made(types, row):
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        (folder / "row.json").write_text(json.dumps(row))
        return spark.readStream.schema(types).json(str(folder))

    return made


def test_batches_are_indexed_and_a_restart_goes_on(spark, source, table_path, tmp_path):
    """A batch that is replayed changes nothing. Each start is a thread of the JVM, which calls Python and hangs up."""
    path, add = source
    checkpoint = tmp_path / "checkpoint"

    def sockets():
        processes = os.getpid(), spark._jvm.java.lang.ProcessHandle.current().pid()
        return sum(len(sockets_of(process)) for process in processes)

    def commits():
        return len(list(Path(table_path, "_delta_log").glob("*.json")))

    query = run_stream(spark, path, table_path, str(checkpoint))
    # The last one may tell of nothing: a slow machine asks once more before the stream ends.
    assert sum(progress["numInputRows"] for progress in query.recentProgress) == 1_000
    before = sockets()
    add(500, 1_000)
    run_stream(spark, path, table_path, str(checkpoint))
    assert ids(load(spark, table_path)) == list(range(1_500))
    assert QbeastTable.for_path(spark, table_path).metrics().unindexed_files == 0
    deadline = time.monotonic() + 60
    while sockets() > before and time.monotonic() < deadline:
        time.sleep(0.1)  # the other side closes a moment later
    assert sockets() <= before
    # Without its commit the batch counts as unfinished, as if the driver had died behind Delta's commit.
    for commit in Path(checkpoint, "commits").glob("*1*"):
        commit.unlink()
    assert commits() == 2
    run_stream(spark, path, table_path, str(checkpoint))
    assert commits() == 2
    assert ids(load(spark, table_path)) == list(range(1_500))


def test_a_stream_that_may_change_the_schema_gets_the_types_that_deltas_sink_gives_it(
    spark, stream_of, tmp_path
):
    """They are those of the table, or the wider ones where it widens types and the stream may change them."""
    source = stream_of(
        """id BIGINT, small INT, wide INT, cents DECIMAL(2, 1), at DATE, widened BIGINT,
           s STRUCT<x: INT, more: INT>, more STRING""",
        {"id": 1, "small": 7, "wide": 5, "cents": 1.5, "at": "2024-02-03", "widened": 3_000_000_000}
        | {"s": {"x": 2, "more": 3}, "more": "new"},
    )
    types = "BIGINT, small TINYINT, wide BIGINT, cents DECIMAL(10, 4), at TIMESTAMP, s STRUCT<x: BIGINT>"
    known = ["id", "small", "wide", "cents", "at"]
    widens = "TBLPROPERTIES (delta.enableTypeWidening = true)"
    auto = "spark.databricks.delta.schema.autoMerge.enabled"
    for case, (columns, properties, settings, options) in enumerate(
        [
            ([*known, "s", "more"], "", {}, {"mergeSchema": "true"}),
            (source.columns, widens, {auto: "true"}, {}),
            (known, widens, {}, {"overwriteSchema": "true"}),
        ]
    ):
        found = {}
        for sink in ("delta", "qbeast"):
            path = str(tmp_path / f"{sink} {case}")
            index = "OPTIONS (columnsToIndex = 'id')" if sink == "qbeast" else ""
            spark.sql(
                f"CREATE TABLE delta.`{path}` (id {types}, widened INT) USING {sink} {index} {properties}"
            )
            given = {"checkpointLocation": f"{path} done", **options}
            with under(spark, settings):
                rows = source.select(columns).writeStream.format(sink)
                writer = rows.options(**given).trigger(availableNow=True)
                writer.start(path).awaitTermination()
            table = load(spark, path)
            found[sink] = (table.schema.simpleString(), table.collect())
        assert found["qbeast"] == found["delta"]


def test_texts_of_a_stream_become_what_deltas_sink_makes_of_them(spark, stream_of, tmp_path):
    """Numbers and moments of a CSV or of Kafka come as texts: the policy of assignments says what becomes of them.

    Delta's sink is asked for the rows, and not once more for what it refuses.
    """
    policy = "spark.sql.storeAssignmentPolicy"
    streams = {
        text: stream_of(
            "id STRING, at STRING, s STRUCT<x: STRING>", {"id": text, "at": "2024-02-03", "s": {"x": text}}
        )
        for text in ("7", "seven")
    }
    cases = [
        ("ANSI", "7", "written"),
        ("ANSI", "seven", "refused"),
        ("LEGACY", "seven", "written"),
        ("STRICT", "7", "refused"),
    ]
    found = {}
    for sink in ("delta", "qbeast"):
        table = str(tmp_path / sink)
        index = "OPTIONS (columnsToIndex = 'id')" if sink == "qbeast" else ""
        columns = "id INT, at DATE, s STRUCT<x: SMALLINT, y: INT>"
        spark.sql(f"CREATE TABLE delta.`{table}` ({columns}) USING {sink} {index}")
        for case, (given, text, outcome) in enumerate(cases):
            if sink == "delta" and outcome == "refused":
                continue
            stream = streams[text].writeStream.format(sink).trigger(availableNow=True)
            stream = stream.option("checkpointLocation", f"{table} done {case}")
            refused = pytest.raises(PySparkException) if outcome == "refused" else contextlib.nullcontext()
            with under(spark, {policy: given}), refused:
                stream.start(table).awaitTermination()
        found[sink] = {*load(spark, table).collect()}
    assert found["qbeast"] == found["delta"]
    assert len(found["delta"]) == 2


def test_the_inner_fields_of_a_stream_are_those_of_the_table(spark, stream_of, table_path, tmp_path):
    """In any case of their names and without nulls where the table takes none; fields of no column are refused."""

    def run(name, types, row):
        given = {"columnsToIndex": "id", "checkpointLocation": str(tmp_path / name)}
        writer = stream_of(types, row).writeStream.format("qbeast").options(**given)
        writer.trigger(availableNow=True).start(table_path).awaitTermination()

    types = "id BIGINT, s STRUCT<x: INT NOT NULL, y: INT>, m ARRAY<STRUCT<x: INT>>"
    spark.sql(f"CREATE TABLE delta.`{table_path}` ({types}) USING qbeast OPTIONS (columnsToIndex = 'id')")
    before = load(spark, table_path).schema
    with under(spark, {"spark.sql.caseSensitive": "true"}):
        types = "id INT, s STRUCT<Y: BIGINT, X: INT>, M ARRAY<STRUCT<X: INT>>"
        run("upper", types, {"id": 1, "s": {"Y": 2, "X": 1}, "M": [{"X": 3}]})
    more = {
        "s STRUCT<x: INT, z: INT>": {"x": 1, "z": 2},
        "m ARRAY<STRUCT<x: INT, z: INT>>": [{"x": 1, "z": 2}],
    }
    for column, value in more.items():
        with pytest.raises(AnalysisException, match="schema mismatch"):
            run(column[0], f"id BIGINT, {column}", {"id": 2, column[0]: value})
    assert load(spark, table_path).schema == before
    assert load(spark, table_path).collect() == [(1, (1, 2), [(3,)])]


def test_a_stream_that_is_stopped_amid_a_batch_has_not_failed(spark, source, table_path, tmp_path):
    path, _ = source
    seen = f"seen by {table_path}"
    mark = f"java_method('java.lang.System', 'setProperty', '{seen}', 'x')"
    slow = F.expr(f"concat(java_method('java.lang.Thread', 'sleep', 5L), {mark})")
    rows = spark.readStream.format("delta").load(path).withColumn("name", slow)
    given = {"columnsToIndex": "a,b", "checkpointLocation": str(tmp_path / "checkpoint")}
    query = rows.writeStream.format("qbeast").options(**given).start(table_path)
    while spark._jvm.java.lang.System.getProperty(seen) is None:
        assert query.isActive, query.exception()
        time.sleep(0.05)
    query.stop()
    assert query.exception() is None, str(query.exception())
    run_stream(spark, path, table_path, str(tmp_path / "checkpoint"))
    assert len(ids(load(spark, table_path))) == 1_000


def test_a_log_that_cannot_be_read_is_an_error_that_says_what_became_of_the_table(
    spark, faults, source, tmp_path
):
    """The types of the table are read before anything is written. Here nothing works from an early call on."""
    for k in (2, 3):
        table, checkpoint = tmp_path / f"table{k}", str(tmp_path / f"checkpoint{k}")
        save_copy(spark, table)
        faults.fail(ALL, re.escape(str(table)), k=k, onwards=True)
        with pytest.raises(Exception, match=CAUSES[0]) as told:
            run_stream(spark, source[0], faults.path(table), checkpoint)
        assert faults.failed
        faults.clear()
        assert str(table) in str(told.value)
        assert re.search("as it was|nothing was", str(told.value)), str(told.value)
        assert ids(load(spark, faults.path(table))) == list(range(1_000))
    run_stream(spark, source[0], faults.path(table), checkpoint)
    assert len(ids(load(spark, faults.path(table)))) == 2_000


def test_complete_mode_replaces_the_rows(spark, source, table_path, tmp_path):
    path, add = source
    rows = spark.readStream.format("delta").load(path).groupBy("name").count()
    writer = (
        rows.writeStream.format("qbeast").outputMode("complete").trigger(availableNow=True)
        .options(columnsToIndex="count", checkpointLocation=str(tmp_path / "checkpoint"))
    )  # fmt: skip
    writer.start(table_path).awaitTermination()
    add(500, 1_000)
    writer.start(table_path).awaitTermination()
    counted = load(spark, table_path).selectExpr("count(name)", "sum(count)").collect()
    assert [tuple(row) for row in counted] == [(100, 1_500)]


def test_a_stream_into_a_table_that_was_converted_goes_on(spark, source, tmp_path):
    """Also with a batch of which its checkpoint does not know that it has landed."""
    path, add = source
    checkpoint = tmp_path / "checkpoint"

    def run(kind):
        writer = spark.readStream.format("delta").load(path).writeStream.format(kind)
        writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        writer.toTable("turned").awaitTermination()

    try:
        run("delta")
        convert(spark, "turned", columns_to_index=["a"])
        with pytest.raises(AnalysisException, match="qbeast"):
            run("delta")
        for commit in Path(checkpoint, "commits").glob("*0*"):
            commit.unlink()
        add(500, 1_000)
        run("qbeast")
        assert ids(spark.table("turned")) == list(range(1_500))
        assert QbeastTable.for_name(spark, "turned").metrics().element_count == 500
    finally:
        spark.sql("DROP TABLE IF EXISTS turned")


def test_out_of_an_indexed_table(spark, table_path, tmp_path):
    """Rows far outside the known range: a new revision changes the table's metadata under the stream."""

    def streamed():
        stream = spark.readStream.format("qbeast").load(table_path)
        writer = stream.writeStream.format("delta").option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()
        return ids(spark.read.format("delta").load(str(tmp_path / "out")))

    save_copy(spark, table_path)
    assert streamed() == list(range(1_000))
    more = rows_2d(spark, 400, first=1_000)
    save(more.withColumn("a", more["a"] + 5_000_000), table_path)
    assert streamed() == list(range(1_400))


def test_the_change_data_feed(spark, table_path):
    save_copy(spark, table_path, **{"delta.enableChangeDataFeed": "true"})
    save(rows_2d(spark, 100, first=1_000), table_path)
    spark.sql(f"DELETE FROM delta.`{table_path}` WHERE id < 10")
    feed = spark.read.format("qbeast").option("readChangeFeed", "true").option("startingVersion", 0)
    kinds = feed.load(table_path).select("_change_type").toArrow()["_change_type"]
    assert Counter(kinds.to_pylist()) == {"insert": 1_100, "delete": 10}


def test_a_batch_that_reads_its_table_conflicts_with_what_came_first(
    spark, source, table_path, tmp_path, monkeypatch
):
    """Its rows are worked out once, from the version it was planned for, and anew when the stream is started again.

    What comes first does so before the batch begins its transaction, and the other time before it commits.
    """
    save_copy(spark, table_path, 100)
    missing = (
        spark.readStream.format("delta").load(source[0]).join(load(spark, table_path), "id", "left_anti")
    )
    writer = missing.writeStream.format("qbeast").option("checkpointLocation", str(tmp_path / "checkpoint"))
    stream = writer.trigger(availableNow=True)
    for step, first in (("__init__", 100), ("commit", 200)):
        taken, waiting = getattr(bridge.Transaction, step), [rows_2d(spark, 100, first=first)]

        def interrupted(transaction, *arguments, taken=taken, waiting=waiting):
            if waiting:
                save(waiting.pop(), table_path)
            return taken(transaction, *arguments)

        with monkeypatch.context() as patch:
            patch.setattr(bridge.Transaction, step, interrupted)
            with pytest.raises(Exception, match="run it again"):
                stream.start(table_path).awaitTermination()
        assert ids(load(spark, table_path)) == list(range(first + 100)), step
    stream.start(table_path).awaitTermination()
    assert ids(load(spark, table_path)) == list(range(1_000))


def test_what_a_stream_cannot_do(spark, source, table_path, tmp_path):
    rows = spark.readStream.format("delta").load(source[0])
    writer = rows.writeStream.format("qbeast").option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(UnsupportedError, match="cannot be partitioned"):
        writer.partitionBy("name").start(table_path)
    clustered = rows.writeStream.format("qbeast").option("checkpointLocation", str(tmp_path / "another"))
    with pytest.raises(UnsupportedError, match="leave partitionBy and clusterBy out"):
        clustered.clusterBy("name").start(table_path)
    with pytest.raises(UnsupportedError, match="append or complete, not update"):
        writer.partitionBy().outputMode("update").start(table_path)
    assert not Path(table_path).exists()
