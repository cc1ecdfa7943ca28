"""The operations that are swept: the table before, the change, and what may be done again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import QbeastTable
from pyqbeast.delta_log.reader import read_snapshot
from tests.conftest import GOLDEN_ROOTS
from tests.faults import SCHEME
from tests.table.help import BOUNDS, rows_2d, save
from tests.table.legacy import copy_of

Step = Callable[[SparkSession, str], object]


@dataclass(frozen=True)
class Operation:
    """One way to change a table.

    Attributes:
        name: for people.
        prepare: makes the table as it is before, at a local path whose folder is there.
        change: changes the table at a path.
        repeatable: whether a change that has landed can be made again and changes no more.
        between: of a change by two commits, what the message says where one of them has landed.
        by_delta: whether Delta makes the change alone: errors have its words, also where the change has landed.
    """

    name: str
    prepare: Step
    change: Step
    repeatable: bool = True
    between: str = ""
    by_delta: bool = False


def _table(spark: SparkSession, path: str) -> None:
    save(rows_2d(spark, 300), path, cubeSize=100)


def _scattered(spark: SparkSession, path: str) -> None:
    save(rows_2d(spark, 300), path, cubeSize=100, columnStats=BOUNDS)
    for first in (300, 320):
        save(rows_2d(spark, 20, first=first), path, cubeSize=None)


def _two_revisions(spark: SparkSession, path: str) -> None:
    _table(spark, path)
    _growing_append(spark, path)


def _append(spark: SparkSession, path: str) -> None:
    save(rows_2d(spark, 50, first=1_000), path, cubeSize=None)


def _growing_append(spark: SparkSession, path: str) -> None:
    save(rows_2d(spark, 50, first=1_000).selectExpr("id", "a * 10 as a", "b", "name"), path, cubeSize=None)


def _overwrite(spark: SparkSession, path: str) -> None:
    save(rows_2d(spark, 50, first=1_000), path, "overwrite", cubeSize=100)


def _two_versions(spark: SparkSession, path: str) -> None:
    _table(spark, path)
    _overwrite(spark, path)


def _overwrite_part(spark: SparkSession, path: str) -> None:
    save(rows_2d(spark, 50, first=200), path, "overwrite", cubeSize=None, replaceWhere="id >= 200")


def _merge(spark: SparkSession, path: str) -> None:
    """50 rows are changed and 50 are new."""
    rows_2d(spark, 100, first=250).withColumn("name", F.lit("merged")).createOrReplaceTempView("merged")
    spark.sql(
        f"MERGE INTO delta.`{path}` t USING merged ON t.id = merged.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


def _update(spark: SparkSession, path: str) -> None:
    spark.sql(f"UPDATE delta.`{path}` SET a = 7, name = 'updated' WHERE id % 3 = 0")


def _restore(spark: SparkSession, path: str) -> None:
    spark.sql(f"RESTORE TABLE delta.`{path}` TO VERSION AS OF 0")


def _files(path: str) -> list[str]:
    """The live files, asked for where nothing fails."""
    return [file.path for file in read_snapshot(path.removeprefix(f"{SCHEME}:")).files]


def _optimize(spark: SparkSession, path: str) -> None:
    QbeastTable(spark, path).optimize(files=_files(path))


def _delete(spark: SparkSession, path: str) -> None:
    QbeastTable(spark, path).delete("id % 3 = 0")


def _delete_rows(spark: SparkSession, path: str) -> None:
    QbeastTable(spark, path).delete_rows(min(_files(path)), [0, 1])


def _legacy(spark: SparkSession, path: str) -> None:
    def find(name: str) -> Path:
        return next(root / name for root in GOLDEN_ROOTS if (root / name).exists())

    copy_of(find, "o6_identity_nulls", path)


def _plain(kind: str) -> Step:
    return lambda spark, path: rows_2d(spark, 100).coalesce(1).write.format(kind).save(path)


def _convert(kind: str) -> Step:
    return lambda spark, path: pyqbeast.convert(spark, f"{kind}.`{path}`", columns_to_index=["a", "b"])


def _stream_source(spark: SparkSession, path: str) -> None:
    _table(spark, path)
    rows_2d(spark, 50, first=1_000).coalesce(1).write.format("delta").save(f"{path}/../source")


def _stream_batch(spark: SparkSession, path: str) -> None:
    """The stream's own files lie where nothing fails."""
    beside = Path(path.removeprefix(f"{SCHEME}:")).parent
    rows: DataFrame = spark.readStream.format("delta").load(str(beside / "source"))
    stream = rows.writeStream.format("qbeast").trigger(availableNow=True)
    stream.option("checkpointLocation", str(beside / "checkpoint")).start(path).awaitTermination()


OPERATIONS = (
    Operation("write", lambda spark, path: None, _overwrite),
    Operation("append", _table, _append, repeatable=False),
    Operation("growing append", _table, _growing_append, repeatable=False),
    Operation("overwrite", _table, _overwrite),
    Operation("overwrite a part", _table, _overwrite_part),
    Operation("merge", _table, _merge, by_delta=True),
    Operation("update", _table, _update, by_delta=True),
    Operation("restore", _two_versions, _restore, by_delta=True),
    Operation("optimize", _scattered, _optimize),
    Operation("optimize two revisions", _two_revisions, _optimize, between="have been rewritten"),
    Operation("delete", _table, _delete),
    Operation("delete rows", _table, _delete_rows),
    Operation("upgrade", _legacy, pyqbeast.upgrade),
    Operation("convert parquet", _plain("parquet"), _convert("parquet"), between="a Delta table now"),
    Operation("convert delta", _plain("delta"), _convert("delta")),
    Operation("stream batch", _stream_source, _stream_batch),
)
