"""Ways in which the writers of frames bring rows into a table."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from pyspark.sql import DataFrame, DataFrameWriter
from pyspark.sql import functions as F

from tests.fuzz.shapes import KEY
from tests.fuzz.twin import Side


def _writer(rows: DataFrame, side: Side, mode: str = "append") -> DataFrameWriter:
    return rows.write.format(side.format).mode(mode)


def _cached(rows: DataFrame, side: Side, condition: str) -> None:
    rows.cache()
    try:
        _writer(rows, side).save(side.path)
    finally:
        rows.unpersist()


def _in_batch(rows: DataFrame, side: Side, condition: str) -> None:
    """By the function of a stream, which has a session of its own."""
    feed = f"{side.path}_feed{uuid4().hex}"
    rows.sparkSession.range(1).write.format("delta").save(feed)
    stream = rows.sparkSession.readStream.format("delta").load(feed).writeStream
    stream = stream.foreachBatch(lambda batch, number: _writer(rows, side).save(side.path))
    stream = stream.option("checkpointLocation", f"{feed}/_checkpoint").trigger(availableNow=True)
    stream.start().awaitTermination()


def _where(rows: DataFrame, side: Side, condition: str) -> None:
    writer = _writer(rows.where(condition), side, "overwrite")
    writer.option("replaceWhere", condition).save(side.path)


#: By what they are told as: the function, which is also given a condition ({c}), and whether they leave gaps, as
#: `Operation.leaves_gaps` says.
WAYS: dict[str, tuple[Callable[[DataFrame, Side, str], object], bool | None]] = {
    "append": (lambda rows, side, _: _writer(rows, side).save(side.path), None),
    "append cached rows": (_cached, None),
    "append by plain Delta": (
        lambda rows, side, _: _writer(rows, side).format("delta").save(side.path),
        None,
    ),
    "append with another column": (
        lambda rows, side, _: (
            _writer(rows.withColumn("late", F.struct(KEY)), side)
            .option("mergeSchema", "true")
            .save(side.path)
        ),
        None,
    ),
    "append by foreachBatch": (_in_batch, None),
    "overwrite": (lambda rows, side, _: _writer(rows, side, "overwrite").save(side.path), False),
    "overwrite the schema": (
        lambda rows, side, _: (
            _writer(rows, side, "overwrite").option("overwriteSchema", "true").save(side.path)
        ),
        False,
    ),
    "overwrite by rows where {c}": (_where, True),
    "overwrite by rows of a key": (
        lambda rows, side, _: _writer(rows, side, "overwrite").option("replaceUsing", KEY).save(side.path),
        True,
    ),
    "saveAsTable": (lambda rows, side, _: _writer(rows, side).saveAsTable(side.registered()), None),
    "saveAsTable in mode overwrite": (
        lambda rows, side, _: _writer(rows, side, "overwrite").saveAsTable(side.registered()),
        None,
    ),
    "insertInto": (lambda rows, side, _: rows.write.insertInto(side.registered()), None),
    "insertInto in mode overwrite": (
        lambda rows, side, _: rows.write.insertInto(side.registered(), overwrite=True),
        None,
    ),
    "writeTo append": (lambda rows, side, _: rows.writeTo(side.registered()).append(), None),
    "writeTo overwrite where {c}": (
        lambda rows, side, condition: (
            rows.where(condition).writeTo(side.registered()).overwrite(F.expr(condition))
        ),
        True,
    ),
    "writeTo overwritePartitions": (
        lambda rows, side, _: rows.writeTo(side.registered()).overwritePartitions(),
        True,
    ),
}
