"""One process of the soak: does the same over and over until the file `stop` is there."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import CommitConflictError, QbeastTable
from tests.protocol.replay import is_conflict
from tests.soak import journal
from tests.soak.journal import DELETED, MERGED, MERGER, ROWS, WRITERS, Journal

#: Seconds of a round. In its last ones some processes rest: an append is a conflict for every delete that has begun,
#: and both are one for every merge.
_ROUND = 60
#: What a row holds follows from its id, which tells its writer and its batch. One in twenty batches of a writer is,
#: as a rule, out of the range of all before, and the table gets a new revision for it.
CONTENT = {
    "a": "pmod(xxhash64(id), 1000)"
    f" + if(id div 1000000000 < {MERGER} and (id % 1000000000 div 100 + 5 * (id div 1000000000)) % 20 = 0,"
    " 5000 * (id % 1000000000 div 100), 0)",
    "b": "pmod(xxhash64(id, 2L), 10000) / 100.0D",
}


class Soak:
    """What a process knows."""

    def __init__(self, folder: Path, role: str, number: int) -> None:
        self.folder = folder
        self.path = str(folder / "table")
        self.number = number
        self.chance = random.Random(f"{role} {number}")
        self.journal = Journal(folder, f"{role}{number}")
        self.spark = session(folder, f"{role}{number}")
        self.turns = 0

    def rest_after(self, second: int) -> None:
        """Waits for the next round where this one is so old already."""
        while time.time() % _ROUND > second and not (self.folder / "stop").exists():
            time.sleep(0.5)

    def untouched(self) -> tuple[int, int] | None:
        """An appended batch that nobody has worked on."""
        taken = {(w, b) for kind, w, b, _ in journal.entries(self.folder) if kind in ("delete", "merge")}
        free = sorted(journal.done(self.folder, "append") - taken)
        return self.chance.choice(free) if free else None

    def told(self, kind: str, writer: int, batch: int, change: Callable[[], object]) -> None:
        """Does something and writes down what came of it; a conflict is an answer, all else ends the process."""
        self.journal.say(kind, writer, batch, "begun")
        try:
            change()
        except Exception as error:
            if not isinstance(error, CommitConflictError) and not is_conflict(error):
                raise
            self.journal.say(kind, writer, batch, "conflict")
        else:
            self.journal.say(kind, writer, batch, "done")


def session(folder: Path, name: str) -> SparkSession:
    """A small session: the machine runs ten of them."""
    builder = (
        SparkSession.builder.master("local[1]")
        .config("spark.driver.memory", "640m")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.databricks.delta.snapshotPartitions", "1")
        .config("spark.sql.warehouse.dir", str(folder / name))
        .config(
            "spark.driver.extraJavaOptions",
            f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dderby.system.home={folder / name}",
        )
    )
    spark = pyqbeast.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def rows(spark: SparkSession, writer: int, batch: int) -> DataFrame:
    """The rows of a batch."""
    batch_ids = journal.ids(writer, batch)
    content = [F.expr(text).alias(name) for name, text in CONTENT.items()]
    frame = spark.range(batch_ids.start, batch_ids.stop, 1, 1)
    return frame.select("id", *content, F.lit(0).alias("marks"))


def write(soak: Soak) -> None:
    """Appends a batch."""
    soak.rest_after(25)
    soak.turns += 1
    writer, batch = WRITERS[soak.number], soak.turns
    target = rows(soak.spark, writer, batch).write.format("qbeast").mode("append")
    soak.told("append", writer, batch, lambda: target.save(soak.path))


def optimize(soak: Soak) -> None:
    """Puts a part of the table in order."""
    soak.rest_after(35)
    table = QbeastTable.for_path(soak.spark, soak.path)
    share = soak.chance.choice([0.1, 0.5, 1.0])
    soak.told("optimize", 0, 0, lambda: table.optimize(fraction=share))
    time.sleep(2)


def delete(soak: Soak) -> None:
    """Deletes a part of the rows of a batch."""
    soak.rest_after(35)
    batch = soak.untouched()
    if batch is None:
        time.sleep(0.5)
        return
    gone = [journal.first_id(*batch) + place for place in sorted(DELETED)]
    table = QbeastTable.for_path(soak.spark, soak.path)
    soak.told("delete", *batch, lambda: table.delete(F.col("id").isin(gone)))


def merge(soak: Soak) -> None:
    """Marks a part of the rows of a batch, and inserts a batch of its own, in one statement."""
    batch = soak.untouched()
    if batch is None:
        time.sleep(0.5)
        return
    soak.turns += 1
    marked = [journal.first_id(*batch) + place for place in sorted(MERGED)]
    new = rows(soak.spark, MERGER, soak.turns)
    old = soak.spark.createDataFrame(
        [(each, 0, 0.0, 0) for each in marked], "id bigint, a bigint, b double, marks int"
    )
    old.unionByName(new).createOrReplaceTempView("source")
    statement = (
        f"MERGE INTO delta.`{soak.path}` t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET "
        "marks = t.marks + 1 WHEN NOT MATCHED THEN INSERT *"
    )

    def both() -> None:
        soak.spark.sql(statement)
        soak.journal.say("insert", MERGER, soak.turns, "done")

    soak.told("merge", *batch, both)


def read(soak: Soak) -> None:
    """A version holds each batch that was told of before it, whole but for what one delete takes, and no row twice."""
    told = journal.told(soak.folder)
    version = soak.spark.sql(f"DESCRIBE HISTORY delta.`{soak.path}` LIMIT 1").first()["version"]
    frame = soak.spark.read.format("qbeast").option("versionAsOf", version).load(soak.path)
    columns = QbeastTable.for_path(soak.spark, soak.path).latest_revision.hashed_columns
    # A filter by this hash would be a sample itself.
    weights = [tuple(row) for row in frame.select("id", F.hash(*columns)).collect()]
    whole([each for each, _ in weights], *told)
    sampled = [row["id"] for row in frame.sample(0.2).select("id").collect()]
    lightest(sampled, weights, 0.2)
    soak.journal.say("read", 0, version, "done")


def read_without_spark(soak: Soak) -> None:
    """The same by another reader of Delta tables."""
    told = journal.told(soak.folder)
    table = DeltaTable(soak.path)
    result = QueryBuilder().register("t", table).execute("select id from t").read_all()
    whole(result.column("id").to_pylist(), *told)
    soak.journal.say("read", 0, table.version(), "done")
    time.sleep(1)


def lightest(sampled: list[int], weights: list[tuple[int, int]], fraction: float) -> None:
    """A sample is the rows whose weights are below the fraction's, each once; of all rows there are ids and weights."""
    limit = int(fraction * (2**32 - 1) - 2**31)
    expected = sorted(each for each, weight in weights if weight < limit)
    assert sorted(sampled) == expected, (
        f"a sample has {len(sampled)} rows and not {len(expected)}, others are {sorted({*sampled} ^ {*expected})[:10]}"
    )


def whole(found: list[int], written: set[tuple[int, int]], deleted: set[tuple[int, int]]) -> None:
    """Each batch is there whole, but for the rows that one delete takes.

    Args:
        found: the ids of all rows.
        written: batches that have to be there.
        deleted: batches whose delete has to be there.
    """
    assert len(set(found)) == len(found), "a row is there twice"
    batches: dict[tuple[int, int], set[int]] = {batch: set() for batch in written}
    for each in found:
        batches.setdefault(journal.batch_of(each), set()).add(each % 100)
    everything = set(range(ROWS))
    for batch, places in batches.items():
        left = everything - DELETED
        assert places == left or (places == everything and batch not in deleted), (
            f"batch {batch} holds {sorted(places)}"
        )


def stream(soak: Soak) -> None:
    """Rows go through a stream into a table of their own; the query is stopped anywhere behind its first batch."""
    soak.turns += 1
    source, target = str(soak.folder / "stream-source"), str(soak.folder / "stream-table")
    rows(soak.spark, MERGER, soak.turns).write.format("delta").mode("append").save(source)
    query = (
        soak.spark.readStream.format("delta")
        .load(source)
        .writeStream.format("qbeast")
        .option("checkpointLocation", str(soak.folder / "stream-checkpoint"))
        .option("columnsToIndex", "a,b")
        .option("cubeSize", "500")
        .start(target)
    )
    if soak.turns == 1:
        # Spark refuses a checkpoint of which it has begun the first batch and not written what that is to read.
        query.processAllAvailable()
    time.sleep(soak.chance.random() * 4)
    query.stop()
    error = query.exception()
    assert error is None, error
    soak.journal.say("stream", MERGER, soak.turns, "done")


ROLES: dict[str, Callable[[Soak], None]] = {
    "writer": write,
    "optimizer": optimize,
    "deleter": delete,
    "merger": merge,
    "reader": read,
    "deltalake": read_without_spark,
    "stream": stream,
}


def main() -> None:
    """Runs a role in a folder until it is told to stop."""
    folder, role, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    soak = Soak(folder, role, number)
    soak.journal.say("ready", 0, 0, "done")
    while not (folder / "stop").exists():
        ROLES[role](soak)
    if role == "stream":
        finish_stream(soak)
    soak.journal.say("end", 0, 0, "done")
    soak.spark.stop()


def finish_stream(soak: Soak) -> None:
    """What has arrived goes through; then both tables hold the same."""
    source, target = str(soak.folder / "stream-source"), str(soak.folder / "stream-table")
    query = (
        soak.spark.readStream.format("delta")
        .load(source)
        .writeStream.format("qbeast")
        .option("checkpointLocation", str(soak.folder / "stream-checkpoint"))
        .option("columnsToIndex", "a,b")
        .trigger(availableNow=True)
        .start(target)
    )
    query.awaitTermination()
    read_ids = [
        sorted(row["id"] for row in soak.spark.read.format(kind).load(where).select("id").collect())
        for kind, where in (("delta", source), ("qbeast", target))
    ]
    assert read_ids[0] == read_ids[1], "the stream has lost or doubled rows"


if __name__ == "__main__":
    main()
