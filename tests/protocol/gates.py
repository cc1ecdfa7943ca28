"""The other side of `tests/jvm/faults/Gate.java`: holds writers before each commit, and says what becomes of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import SparkSession

from tests import jvm
from tests.spark_session import make_session

SCHEME = "gated"
#: Settings of a session that knows the scheme.
SETTINGS = {
    f"spark.hadoop.fs.{SCHEME}.impl": "faults.GatedFileSystem",
    f"spark.hadoop.fs.AbstractFileSystem.{SCHEME}.impl": "faults.GatedFileSystem$Context",
    f"spark.delta.logStore.{SCHEME}.impl": "faults.GatedLogStore",
}


def make_gated_session(folder: Path) -> SparkSession:
    """A session that knows the scheme, and writes what belongs to no test into a folder."""
    return make_session(folder, {**jvm.settings(folder), **SETTINGS})


#: Looks after which a writer counts as stuck: ten minutes on an idle machine.
_PATIENCE = 120_000


class Held:
    """One call of a writer: it runs in a thread of its own and stops before each commit."""

    def __init__(self, spark, folder: Path, name: str, task: Callable[[], object]) -> None:
        self._folder = folder
        self._name = name
        self._turn = 0
        gate = spark._jvm.faults.Gate

        def run() -> object:
            gate.enter(str(folder), name)
            try:
                return task()
            finally:
                gate.leave()

        pool = ThreadPoolExecutor(1)
        self.result: Future[object] = pool.submit(run)
        pool.shutdown(wait=False)
        self._wait()

    @property
    def is_over(self) -> bool:
        """Whether the call has returned or failed."""
        return self.result.done()

    def pass_gate(self, order: str) -> None:
        """Lets it go on, up to the next commit or to the end."""
        assert not self.is_over, f"{self._name} has ended and stands at no commit"
        go = self._folder / f"{self._name}.{self._turn}"
        go.with_suffix(go.suffix + ".tmp").write_text(order)
        go.with_suffix(go.suffix + ".tmp").rename(f"{go}.go")
        self._turn += 1
        self._wait()

    def _wait(self) -> None:
        at = self._folder / f"{self._name}.{self._turn}.at"
        waited = 0
        while not at.exists() and not self.is_over:
            time.sleep(0.005)
            waited += 1
            assert waited < _PATIENCE, f"{self._name} neither commits nor ends"
