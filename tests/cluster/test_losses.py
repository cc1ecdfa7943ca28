"""What the checks of the cluster do where a loss did not happen: they fail."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

import pytest

from tests.cluster import drivers
from tests.cluster.losses import StageWatch


class Tracker:
    """Tells of a stage that runs, when it is asked for the second time."""

    def __init__(self):
        self.asked = 0

    def getActiveStageIds(self):  # noqa: N802
        self.asked += 1
        return [7] if self.asked > 1 else []

    def getStageInfo(self, _):  # noqa: N802
        return SimpleNamespace(numActiveTasks=1, name="writeFiles", numTasks=1)


class NoExecutor:
    """A cluster in which there is none to kill."""

    def kill_an_executor(self):
        raise IndexError("no executor")


def test_an_executor_that_could_not_be_killed_is_an_error():
    spark = SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=Tracker))
    watch = StageWatch(spark, NoExecutor(), kill_in=1)
    with pytest.raises(IndexError, match="no executor"), watch:
        watch.join()


@pytest.mark.slow
def test_a_driver_that_ends_by_itself_was_not_killed(tmp_path, monkeypatch):
    start = subprocess.Popen

    def end_at_once(_, **options):
        return start(["touch", str(tmp_path / "new.parquet")], **options)

    monkeypatch.setattr(drivers.subprocess, "Popen", end_at_once)
    monkeypatch.setattr(drivers, "read_snapshot", lambda _: SimpleNamespace(version=0))
    with pytest.raises(AssertionError, match="ended before it was killed"):
        drivers.kill_driver("spark://nowhere", tmp_path, 0, later=0.5)
