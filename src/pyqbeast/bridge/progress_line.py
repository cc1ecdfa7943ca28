"""One line in a terminal or a notebook that says how far a long operation is, by Spark's counts of its tasks.

`spark.qbeast.progress=false` turns it off. There is none either where nobody would see it: the standard error goes to a
file, the operation runs in a thread of its own, or Spark draws bars itself (`spark.ui.showConsoleProgress=true`).
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple, TextIO

from pyspark import InheritableThread
from pyspark.sql import SparkSession

from pyqbeast.core.visible import places, shortened, visible

SETTING = "spark.qbeast.progress"
#: How long an operation takes at the least before it gets a line, and between two looks at Spark's counts.
_SECONDS_BEFORE = 0.5
_SECONDS_BETWEEN = 0.25
_BAR = 20
#: The least of the operation's name that is shown beside its progress.
_LEAST_NAME = 20
_one_at_a_time = threading.Lock()


@contextlib.contextmanager
def line_while(spark: SparkSession, doing: str) -> Iterator[None]:
    """Shows the line while its body runs; an operation inside another one has none of its own.

    Args:
        spark: the session that runs the operation's jobs.
        doing: what is going on, as the beginning of the line.
    """
    stream: TextIO | None = sys.stderr
    if stream is None or not (
        _is_seen(stream) and _is_wanted(spark) and _one_at_a_time.acquire(blocking=False)
    ):
        yield
        return
    line = _Line(spark, doing, stream)
    try:
        with line:
            yield
    finally:
        _one_at_a_time.release()


class Tasks(NamedTuple):
    """The jobs that have begun so far, and the tasks of the stages that run now."""

    jobs: int
    done: int
    all: int


def line_of(doing: str, tasks: Tasks, seconds: float, width: int) -> str:
    """The text of the line. A terminal breaks a longer one, and never takes back what it has broken.

    Args:
        doing: what is going on; shortened where the line is too long.
        tasks: how far it is. What does not fit beside the beginning of `doing` is left out.
        seconds: for how long these stages have run.
        width: the most places that the line may take.
    """
    doing = visible(doing)
    if tasks.all:
        full = _BAR * tasks.done // tasks.all
        bar = f" [{'#' * full}{'-' * (_BAR - full)}]"
        count = f" step {tasks.jobs}: {tasks.done} of {tasks.all} tasks"
        left = ""
        if tasks.done:
            left = f", about {_duration(seconds * (tasks.all - tasks.done) / tasks.done)} left of it"
        for progress in (bar + count + left, count + left, count):
            room = width - len(progress)
            if room >= min(places(doing), _LEAST_NAME):
                return shortened(doing, room) + progress
    return shortened(doing, width)


def _duration(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < 120 else f"{round(whole / 60)} min"


def _is_seen(stream: TextIO) -> bool:
    if threading.current_thread() is not threading.main_thread():
        return False
    # Users put objects of their own in its place, and close it.
    with contextlib.suppress(Exception):
        return type(stream).__module__.startswith("ipykernel") or stream.isatty()
    return False


def _is_wanted(spark: SparkSession) -> bool:
    if not hasattr(spark, "_jvm"):  # a client of Spark Connect, which the operation itself refuses
        return False
    by_spark = spark.sparkContext.getConf().get("spark.ui.showConsoleProgress", "false")
    return str(by_spark).lower() != "true" and str(spark.conf.get(SETTING, "true")).lower() != "false"


class _Line:
    """The line, written anew by a thread until the operation ends, however it does."""

    def __init__(self, spark: SparkSession, doing: str, stream: TextIO) -> None:
        self._context = spark.sparkContext
        self._doing = doing
        self._stream = stream
        self._tag = f"pyqbeast-{uuid.uuid4()}"
        self._is_over = threading.Event()
        self._thread = InheritableThread(target=self._run, name="pyqbeast-progress", daemon=True)
        self._written = 0

    def __enter__(self) -> None:
        self._context.addJobTag(self._tag)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(2)
        # An operation that has landed reports no failure because its line stays.
        with contextlib.suppress(Exception):
            self._write("")
        with contextlib.suppress(Exception):
            self._context.removeJobTag(self._tag)

    def _run(self) -> None:
        # A line that cannot be told any more is no reason for an error: the operation raises its own.
        with contextlib.suppress(Exception):
            jobs = _Jobs(self._context._jsc.sc().statusTracker(), self._tag)
            begun, stages = time.monotonic(), frozenset[int]()
            wait = _SECONDS_BEFORE
            while not self._is_over.wait(wait):
                wait = _SECONDS_BETWEEN
                tasks, running = jobs.look()
                if running != stages:
                    begun, stages = time.monotonic(), running
                width = shutil.get_terminal_size().columns - 1
                self._write(line_of(self._doing, tasks, time.monotonic() - begun, width))

    def _write(self, text: str) -> None:
        if text or self._written:
            rest = " " * (self._written - places(text))
            self._stream.write(f"\r{text}{rest}" if text else f"\r{rest}\r")
            self._stream.flush()
            self._written = places(text)


class _Jobs:
    """The jobs with a tag, in Spark's status tracker."""

    def __init__(self, tracker: Any, tag: str) -> None:  # noqa: ANN401 (a py4j object)
        self._tracker = tracker
        self._tag = tag
        self._ended: set[int] = set()

    def look(self) -> tuple[Tasks, frozenset[int]]:
        """How far they are now, and the stages that run."""
        jobs = list(self._tracker.getJobIdsForTag(self._tag))
        stages: set[int] = set()
        for job in jobs:
            info = None if job in self._ended else self._tracker.getJobInfo(job)
            if info is not None and info.isDefined():
                if str(info.get().status()) == "RUNNING":
                    stages.update(info.get().stageIds())
                else:
                    self._ended.add(job)
        running = frozenset(stages.intersection(self._tracker.getActiveStageIds()))
        infos = [info.get() for stage in running if (info := self._tracker.getStageInfo(stage)).isDefined()]
        done, number = sum(info.numCompletedTasks() for info in infos), sum(info.numTasks() for info in infos)
        return Tasks(len(jobs), done, number), running
