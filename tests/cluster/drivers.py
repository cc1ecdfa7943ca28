"""Drivers that are killed while they append.

python -m tests.cluster.drivers MASTER FOLDER TABLE FIRST appends rows that are numbered from FIRST on.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from pyqbeast.delta_log.reader import read_snapshot
from tests.cluster.tables import rows, save, session


def kill_driver(master: str, place: Path, first: int, later: float) -> None:
    """Starts a driver that appends, and kills it so many seconds after the first file of the append is there.

    Raises:
        AssertionError: the append landed before, or the driver ended by itself.
    """
    before, version = set(place.rglob("*.parquet")), read_snapshot(str(place)).version
    arguments = [master, str(place.parent), str(place), str(first)]
    command = [sys.executable, "-m", "tests.cluster.drivers", *arguments]
    # The driver's JVM is a process of its own: both are killed, as a machine that goes away would.
    driver = subprocess.Popen(command, start_new_session=True)
    try:
        deadline = time.monotonic() + 600
        while True:
            # Asked before the look: a driver that ends behind it may have written its file in between.
            has_ended = driver.poll() is not None
            if set(place.rglob("*.parquet")) - before:
                break
            assert not has_ended, "the driver ended before it wrote a file"
            assert time.monotonic() < deadline, "the driver wrote no file"
            time.sleep(0.005)
        time.sleep(later)
        assert driver.poll() is None, "the driver ended before it was killed"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    assert read_snapshot(str(place)).version == version, "the append landed before the driver was killed"


def main(master: str, folder: Path, path: str, first: int) -> None:
    with session(master, folder) as spark:
        save(rows(spark, first), path)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
