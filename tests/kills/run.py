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

#: A driver is killed during one of its first changes.
MOST_CHANGES = 6
#: So many kills meet changes before their commits and behind them.
ENOUGH = 20
#: Seconds in which a driver at work makes a commit, also on a busy machine.
SLOWEST = 300
#: When, in shares of the time that changes take on this machine.
LONGEST = 1.2


class Checker:
    """What has to be in the table, from what the drivers told."""

    def __init__(self, table: Path) -> None:
        self.table = table
        self.ids: set[int] = set()
        #: All rows that a change has added or may have added, by their ids.
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
                self.rows.update((row[2], row) for row in in_flight.rows())
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
            assert self.rows[row[2]] == row, f"a row has changed: {row}, and not {self.rows[row[2]]}"
        if in_flight is not None and landed != self.ids:
            self.outcomes[f"{in_flight.kind} {'landed' if set(found) == landed else 'left nothing'}"] += 1
        elif in_flight is not None:
            self.outcomes[f"{in_flight.kind} in flight"] += 1
        self.ids = set(found)

    def check_met(self) -> None:
        """Kills have met changes before their commits and behind them, or nothing is shown."""
        for end in ("landed", "left nothing"):
            assert any(each.endswith(end) for each in self.outcomes), f"no change {end}: {self.outcomes}"


class Driver:
    """A driver at work, with the journal that it writes. Its new rows have ids from `first`."""

    def __init__(self, table: Path, journal: Path, seed: int, first: int) -> None:
        self.journal = journal
        self._table = table
        self._log = journal.with_suffix(".log")
        command = [sys.executable, "-m", "tests.kills.workload", *map(str, (table, journal, seed, first))]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def told(self) -> list[dict[str, Any]]:
        """What the journal says by now."""
        lines = self.journal.read_text().splitlines(keepends=True) if self.journal.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def wait_for(self, key: str, count: int = 1) -> None:
        """Until the journal has so many entries of a kind."""
        while sum(key in entry for entry in self.told()) < count:
            self.check_alive()
            time.sleep(0.02)

    def wait_for_commit(self) -> None:
        """Until the log has one more commit; what Delta still does behind its commit is cut off then."""
        before = _commits(self._table)
        deadline = time.monotonic() + SLOWEST
        while _commits(self._table) == before:
            self.check_alive()
            assert time.monotonic() < deadline, f"no commit in {SLOWEST} s"
            time.sleep(0.001)

    def check_alive(self) -> None:
        """Only a kill ends a driver."""
        assert self._process.poll() is None, (
            f"the driver ended by itself: {self._log.read_text(errors='replace')[-3000:]}"
        )

    def kill(self) -> None:
        """Ends the driver and its JVM as a crash would."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def _commits(table: Path) -> int:
    return sum(1 for _ in (table / "_delta_log").glob("*.json"))


def kill_once(
    driver: Driver, changes: int, share: float | None, usual: float
) -> tuple[list[dict[str, Any]], float]:
    """Kills a driver after so many changes.

    Args:
        share: how much of the next change's time it lives on; with None it lives until that change's commit.

    Returns:
        What the driver told, and the seconds that a change took; the usual time where none was made.
    """
    try:
        driver.wait_for("ready")
        started = time.monotonic()
        driver.wait_for("done", changes)
        if changes:
            usual = (time.monotonic() - started) / changes
        if share is None:
            driver.wait_for_commit()
        else:
            time.sleep(share * usual)
        driver.check_alive()
    finally:
        driver.kill()
    return driver.told(), usual


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
        checker, usual = Checker(folder / "table"), 5.0
        for number in range(1, asked.kills + 1):
            driver = Driver(
                checker.table, folder / f"{number}.journal", chance.randrange(10**9), number * 1_000_000
            )
            # Every other driver is killed at its commit: a random moment hardly ever meets what is done behind one.
            share = None if number % 2 else chance.uniform(0, LONGEST)
            journal, usual = kill_once(driver, chance.randrange(MOST_CHANGES), share, usual)
            checker.follow(journal)
            if number % 10 == 0:
                print(f"{number} kills: {dict(sorted(checker.outcomes.items()))}", flush=True)
        if asked.kills >= ENOUGH:
            checker.check_met()
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
