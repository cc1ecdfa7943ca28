"""Carries a trace of the model out on a real table, and tells where the two come apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from pyqbeast import (
    CommitConflictError,
    NotIndexedError,
    QbeastError,
    QbeastTable,
    UncertainWriteError,
    UnsupportedError,
    bridge,
)
from tests.protocol.gates import SCHEME, Held
from tests.protocol.real import CALLS, IDS, Tables
from tests.protocol.walks import CALL, CRASHED, Move
from tests.protocol.world import World
from tests.spark_session import under

_CONFLICT = re.compile(
    r"io\.delta\.exceptions\.|DELTA_CONCURRENT|DELTA_METADATA_CHANGED|DELTA_PROTOCOL_CHANGED"
)
_RETRIES = "spark.qbeast.index.numberOfRetries"


def outcome(held: Held) -> str:
    """What a call told its caller, in the model's words."""
    return word_of(held.result.exception())


def word_of(error: BaseException | None) -> str:
    """The model's word for what a call raised."""
    if error is None:
        return "done"
    if isinstance(error, UncertainWriteError):
        return "uncertain"
    if isinstance(error, NotIndexedError | UnsupportedError):
        return "refused"
    if isinstance(error, CommitConflictError) or is_conflict(error):
        return "conflict"
    # A statement of SQL raises what storage says as PySpark gets it from Java.
    if isinstance(error, QbeastError | PySparkException | Py4JJavaError):
        return "failed"
    raise error


def is_conflict(error: BaseException) -> bool:
    """Whether a command of Delta's own lost to another writer. PySpark knows none of its exceptions."""
    return isinstance(error, PySparkException | Py4JJavaError) and bool(_CONFLICT.search(str(error)))


def replay(
    spark: SparkSession,
    tables: Tables,
    folder: Path,
    table: str,
    names: Sequence[str],
    moves: Sequence[Move],
    end: World,
) -> list[str]:
    """Carries moves out, up to the first behind which a writer does not stand where the model's does.

    Args:
        spark: a session with the settings of `gates`.
        tables: the tables to begin with.
        folder: an empty one.
        table: the kind of table.
        names: the operations of the writers A, B and C.
        moves: what happens, in this order.
        end: the state that the model comes to.

    Returns:
        Each way in which the real table and its writers differ from the model's.
    """
    tables.copy(table, folder / "table")
    path = f"{SCHEME}:{folder}/table"
    operations = dict(zip("ABC", names, strict=False))
    calls: dict[str, Held] = {}
    apart = ""
    with under(spark, {_RETRIES: "1"}):
        for number, move in enumerate(moves):
            writer = move.writer
            if move.order.startswith(CALL):
                gate = folder / f"gate{number}"
                gate.mkdir()
                call = CALLS[operations[writer]]
                calls[writer] = Held(spark, gate, writer, lambda c=call, w=writer: c(spark, path, w))
            else:
                calls[writer].pass_gate(move.order)
            apart = comes_apart(move, calls[writer])
            if apart:
                break
    for call in calls.values():
        if not call.is_over:
            call.pass_gate("DIE")
    return [apart] if apart else list(_differences(spark, path, end))


def comes_apart(move: Move, call: Held) -> str:
    """How a call differs from the model's behind a move; empty where it does not."""
    answer = outcome(call) if call.is_over else ""
    is_same = call.is_over if move.answer == CRASHED else answer == move.answer
    if is_same:
        return ""
    return f"{move.writer} {_words(answer)} behind {move.order}, and in the model it {_words(move.answer)}"


def _words(answer: str) -> str:
    return f"said {answer}" if answer else "stands at a commit"


def _differences(spark: SparkSession, path: str, end: World) -> Iterator[str]:
    """Each way in which a real table differs from the one that the model came to."""
    log = bridge.TableLog(spark, path)
    if log.version != len(end.log) - 1:
        yield f"the log has {log.version + 1} versions, and in the model {len(end.log)}"
        return
    rows = reduce(DataFrame.union, (_version(spark, path, each) for each in range(len(end.log)))).collect()
    for version in range(len(end.log)):
        found = sorted(row["id"] for row in rows if row["version"] == version)
        expected = sorted(IDS[row] for row in end.snapshot(version).rows)
        if found != expected:
            yield f"version {version} has the ids {found}, and in the model {expected}"
    last = end.snapshot().metadata.last
    if last >= 0:
        table = QbeastTable.for_path(spark, path)
        if table.latest_revision.id != last:
            yield f"the latest revision is {table.latest_revision.id}, and in the model {last}"
        yield from map(str, table.verify("data").problems)


def _version(spark: SparkSession, path: str, version: int) -> DataFrame:
    frame = spark.read.format("delta").option("versionAsOf", version).load(path)
    return frame.selectExpr("id", f"{version} AS version")
