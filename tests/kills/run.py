"""`make kills`: kills the driver of a workload again and again, and compares the table with the journal each time.

python -m tests.kills.run [--kills N] [--seed S]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from pyqbeast import QbeastTable
from tests.kills.workload import Change
from tests.spark_session import make_session
from tests.sweep.state import kind_of, state_of, strays

#: A driver is killed at some time of its first seconds of work; a change takes about one.
LONGEST = 10.0


class Checker:
    """What has to be in the table, from what the drivers told."""

    def __init__(self, table: Path) -> None:
        self.table = table
        self.ids: set[int] = set()
        self.rows: dict[int, tuple[Any, ...]] = {}
        self.outcomes: Counter[str] = Counter()

    def follow(self, journal: list[dict[str, Any]]) -> None:
        """Checks what one driver told, and what it left."""
        in_flight: Change | None = None
        for entry in journal:
            if "verified" in entry:
                assert entry["verified"], entry["text"]
            elif "read" in entry:
                assert entry["read"] == sorted(self.ids), "Spark reads other rows"
            elif "begun" in entry:
                in_flight = Change(**entry["begun"])
            elif "done" in entry:
                assert in_flight is not None
                self.ids = in_flight.applied(self.ids)
                self.outcomes["done"] += 1
                in_flight = None
        self._look(in_flight)

    def _look(self, in_flight: Change | None) -> None:
        state = state_of(self.table)
        found = [row[2] for row in state.rows]  # columns by name: a, b, id, name
        landed = self.ids if in_flight is None else in_flight.applied(self.ids)
        assert len(set(found)) == len(found), "rows are there twice"
        assert set(found) in (self.ids, landed), (
            f"{in_flight}: {len(self.ids - set(found))} rows of before are gone, "
            f"{len(set(found) - self.ids)} of {len(landed - self.ids)} new ones are there"
        )
        for row in state.rows:
            assert self.rows.setdefault(row[2], row) == row, "a row has changed"
        if in_flight is not None and landed != self.ids:
            self.outcomes[f"{in_flight.kind} {'landed' if set(found) == landed else 'left nothing'}"] += 1
        elif in_flight is not None:
            self.outcomes[f"{in_flight.kind} in flight"] += 1
        self.ids = set(found)


def kill_once(table: Path, journal: Path, seed: int, first: int, seconds: float) -> list[dict[str, Any]]:
    """Lets a driver work for so long and kills it with its JVM; what it told. Its new rows have ids from `first`."""
    command = [sys.executable, "-m", "tests.kills.workload", str(table), str(journal), str(seed), str(first)]
    with journal.with_suffix(".log").open("wb") as log:
        driver = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        while '"ready"' not in (journal.read_text() if journal.exists() else ""):
            told = journal.with_suffix(".log").read_text(errors="replace")
            assert driver.poll() is None, f"the driver ended by itself: {told[-3000:]}"
            time.sleep(0.05)
        time.sleep(seconds)
        assert driver.poll() is None, (
            f"the driver ended by itself: {journal.with_suffix('.log').read_text(errors='replace')[-3000:]}"
        )
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    lines = journal.read_text().splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def main() -> None:
    """Ends with an error where anything does not hold."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000)
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    chance = random.Random(asked.seed)
    with tempfile.TemporaryDirectory(prefix="pyqbeast-kills-") as name:
        folder = Path(name)
        checker = Checker(folder / "table")
        for number in range(1, asked.kills + 1):
            seconds = chance.uniform(0, LONGEST)
            journal, seed = folder / f"{number}.journal", chance.randrange(10**9)
            checker.follow(kill_once(checker.table, journal, seed, number * 1_000_000, seconds))
            if number % 10 == 0:
                print(f"{number} kills: {dict(sorted(checker.outcomes.items()))}", flush=True)
        left = Counter(map(kind_of, strays(checker.table)))
        print(f"stayed behind: {dict(left) or 'nothing'}", flush=True)
        spark = make_session(folder)
        spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
        table = QbeastTable.for_path(spark, str(checker.table))
        assert table.verify().ok
        time.sleep(1)  # what is cleaned is older than now
        print(f"cleaned: {len(table.clean(0, dry_run=False).files)} files", flush=True)
        remaining = strays(checker.table)
        assert not remaining, remaining
        assert sorted(row[0] for row in table.df().select("id").collect()) == sorted(checker.ids)
        assert table.verify().ok
        spark.stop()
    print(f"{asked.kills} kills lost nothing, doubled nothing and left nothing half done")


if __name__ == "__main__":
    main()
