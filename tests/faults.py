"""A file system that fails on demand: the scheme `faulty` in front of a local path.

`tests/jvm/faults` knows it to Hadoop, and `tests/faulty_files.py` to fsspec; both count one row of calls.

A test asks for the fixture `faults`, writes its table below `faults.path(tmp_path)`, and says which call is to fail:

    faults.fail("rename", r"0001\\.json$")                   # the first one: before it does anything
    faults.fail("create", r"\\.parquet$", k=3, when="half")   # the third: half of the bytes are there
    faults.fail("list|stat", "_delta_log", onwards=True)     # all from now on
    faults.fail(".*", since=COMMITTED, onwards=True)         # everything after the next commit
    with faults.held("rename", r"\\.json$", lambda: save(…)):   # in a thread of its own, up to that call
        ...                                                  # what happens meanwhile
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from tests.faulty_files import FaultyFiles

SCHEME = "faulty"
#: The call that makes a commit of Delta's part of the table.
COMMITTED = r"rename .*_delta_log/\d{20}\.json$"
#: Settings of a session that knows the scheme.
SETTINGS = {
    "spark.hadoop.fs.faulty.impl": "faults.FaultyFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.faulty.impl": "faults.FaultyFileSystem$Context",
}


class Faults:
    """What the file system is to do to those who use it."""

    def __init__(self, spark) -> None:
        self._java = spark._jvm.faults.Faults
        FaultyFiles.next_call = self.next
        self.clear()

    @staticmethod
    def path(folder: Path) -> str:
        """A folder of the local file system as one of this."""
        return f"{SCHEME}:{folder}"

    def fail(
        self,
        operation: str,
        path: str = "",
        *,
        k: int = 1,
        when: str = "before",
        onwards: bool = False,
        since: str = "",
    ) -> None:
        """Makes the k-th of the calls that match fail.

        Args:
            operation: a pattern for one or more of open, stat, list, mkdirs, create, rename, delete.
            path: a pattern for a part of the path; of a rename, of where it goes.
            k: which one, from 1.
            when: what it has done by then: nothing ("before"), all of it ("after"), or, of a file that is created,
                half of its bytes ("half"); the same for want of space ("full").
            onwards: whether all that match later fail too.
            since: a pattern for a part of "operation path"; calls count after the first one that it matches, and
                from now on where it is empty.
        """
        self._java.fail(operation, path, k, when.upper(), onwards, since)

    @contextlib.contextmanager
    def held(
        self, operation: str, path: str, task: Callable[[], object], since: str = ""
    ) -> Iterator[Future[object]]:
        """Runs a task in a thread of its own up to a call, and on from there at the end of the block."""
        self._java.fail(operation, path, 1, "HELD", False, since)
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(task)
            try:
                while not self._java.isHeld():
                    assert not running.done(), (
                        f"no call was held, and the task is done: {running.exception()}"
                    )
                yield running
            finally:
                self._java.release()

    def clear(self) -> None:
        """Nothing fails any more, and what was recorded is forgotten."""
        self._java.clear()

    def next(self, operation: str, path: str) -> str:
        """Counts a call that Python makes; how it has to fail, empty where it does not."""
        return self._java.next(operation, path)

    def record(self) -> None:
        """From now on each call is written down."""
        self._java.record()

    @property
    def calls(self) -> list[tuple[str, str]]:
        """The calls since `record`: operation and path."""
        return [tuple(call.split(" ", 1)) for call in self._java.calls()]

    @property
    def failed(self) -> int:
        """How many calls failed: a test that saw none has tested nothing."""
        return self._java.failed()
