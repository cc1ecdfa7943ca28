"""Executors and Python workers that are lost or slow in the middle of an operation."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from tests.cluster.daemons import Cluster


class StageWatch(threading.Thread):
    """Counts the stages that run while a `with` block does, and kills an executor as soon as the n-th of them runs.

    Attributes:
        stages: how many there were; those that are over within milliseconds may be missed.
        killed: the name of the stage that ran when an executor was killed; empty where none was.
    """

    def __init__(self, spark: SparkSession, cluster: Cluster, kill_in: int | None = None) -> None:
        super().__init__(daemon=True)
        self.stages = 0
        self.killed = ""
        self._tracker = spark.sparkContext.statusTracker()
        self._cluster, self._kill_in = cluster, kill_in
        self._over = threading.Event()
        self._error: Exception | None = None

    def __enter__(self) -> StageWatch:
        self._seen = set(self._tracker.getActiveStageIds())
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()
        if self._error is not None:
            raise self._error

    def run(self) -> None:
        try:
            self._watch()
        except Exception as error:
            self._error = error

    def _watch(self) -> None:
        while not self._over.wait(0.002):
            for stage in self._tracker.getActiveStageIds():
                info = self._tracker.getStageInfo(stage)
                if stage in self._seen or info is None or not info.numActiveTasks:
                    continue
                self._seen.add(stage)
                self.stages += 1
                if self.stages == self._kill_in:
                    self._cluster.kill_an_executor()
                    self.killed = f"{info.name}, {info.numTasks} tasks"


#: How often a stage is tried until it loses an executor.
ATTEMPTS = 3


def each_stage(
    spark: SparkSession, cluster: Cluster, change: Callable[[], object], check: Callable[[], None]
) -> list[str]:
    """Makes a change once in peace, and then with an executor killed in its first stage, its second, and so on.

    Returns:
        For each stage what it was, or that it was over before an executor could be killed.
    """
    with StageWatch(spark, cluster) as watch:
        change()
    check()
    killed = []
    for number in range(1, watch.stages + 1):
        # A busy machine may look only when the stage is over.
        for _ in range(ATTEMPTS):
            with StageWatch(spark, cluster, number) as loss:
                change()
            check()
            if loss.killed:
                break
        killed.append(loss.killed or "one that was over too soon")
    return killed


def dying_workers(rows: DataFrame, deaths: Path) -> DataFrame:
    """The same rows through Python, whose worker dies at the first attempt of each stage's second task.

    Each death leaves a file in the folder `deaths`, which has the number of the stage.
    """

    def die() -> None:
        context = TaskContext.get()
        assert context is not None
        (deaths / str(context.stageId())).touch()
        os.kill(os.getpid(), signal.SIGKILL)

    return troubled(rows, die)


def slow_workers(rows: DataFrame) -> DataFrame:
    """The same rows through Python, where the second task of each stage takes a minute longer than its copy."""
    return troubled(rows, lambda: time.sleep(60))


def troubled(rows: DataFrame, trouble: Callable[[], None]) -> DataFrame:
    """The same rows through Python, with trouble for the first attempt of each stage's second task."""

    def pass_on(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        for batch in batches:
            yield batch
            if context.partitionId() == 1 and context.attemptNumber() == 0:
                trouble()

    return rows.mapInArrow(pass_on, rows.schema)
