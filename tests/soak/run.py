"""Four writers, an optimizer, a deleter, a merger, two readers and a stream, each a process, on one table at once.

Run it with `make soak SECONDS=600`. It ends with 1 where a process fails, a version is not whole, the rows at the end
are not exactly those that the journals say, or a process takes more and more memory or open files.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median

from pyqbeast import QbeastTable
from tests.soak import journal
from tests.soak.worker import CONTENT, rows, session

#: The processes by their roles.
PROCESSES = (
    *(("writer", number) for number in range(4)),
    ("optimizer", 0),
    ("deleter", 0),
    ("merger", 0),
    ("reader", 0),
    ("deltalake", 0),
    ("stream", 0),
)
#: What has to be done at least once, or the soak shows nothing.
_KINDS = ("append", "optimize", "delete", "merge", "insert", "read", "stream")
#: How much more memory or files a process may hold in its last quarter than in its second, before it counts as growing.
_GROWTH = 1.3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--folder", type=Path, help="keep everything there")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pyqbeast-soak-") as name:
        folder = asked.folder or Path(name)
        folder.mkdir(exist_ok=True)
        sys.exit(_soak(folder, asked.seconds))


def _soak(folder: Path, seconds: int) -> int:
    spark = session(folder, "begin")
    frame = rows(spark, journal.WRITERS[0], 0)
    options = {"columnsToIndex": "a,b", "cubeSize": 500, "delta.enableDeletionVectors": "true"}
    frame.write.format("qbeast").options(**options).save(str(folder / "table"))
    journal.Journal(folder, "begin").say("append", journal.WRITERS[0], 0, "done")
    spark.stop()
    processes = {f"{role}{number}": _start(folder, role, number) for role, number in PROCESSES}
    _until_ready(folder, processes)
    print(f"{len(processes)} processes at work for {seconds} s", flush=True)
    taken = _watch(processes, seconds)
    (folder / "stop").touch()
    problems = [
        f"{name} ended with {p.wait(600)}: {_last_words(folder, name)}"
        for name, p in processes.items()
        if p.wait(600)
    ]
    problems += _grown(taken)
    problems += _checked(folder)
    counted = Counter((kind, outcome) for kind, _, _, outcome in journal.entries(folder))
    problems += [f"no {kind} has come through" for kind in _KINDS if not counted[kind, "done"]]
    for (kind, outcome), times in sorted(counted.items()):
        if outcome != "begun":
            print(f"{kind} {outcome}: {times}")
    print(
        "\n".join(problems)
        or "every row is where the journals say, every version read was whole, memory is flat"
    )
    return int(bool(problems))


def _start(folder: Path, role: str, number: int) -> subprocess.Popen[bytes]:
    log = (folder / f"{role}{number}.log").open("wb")
    command = [sys.executable, "-m", "tests.soak.worker", str(folder), role, str(number)]
    return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)


def _until_ready(folder: Path, processes: dict[str, subprocess.Popen[bytes]]) -> None:
    while sum(kind == "ready" for kind, *_ in journal.entries(folder)) < len(processes):
        failed = [name for name, process in processes.items() if process.poll()]
        assert not failed, f"{failed} did not start: {_last_words(folder, failed[0])}"
        time.sleep(1)


def _last_words(folder: Path, name: str) -> str:
    return (folder / f"{name}.log").read_text(errors="replace")[-2_000:]


def _family(pid: int) -> list[int]:
    """A process and those below it: the JVM."""
    family = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        family += [each for child in task.read_text().split() for each in _family(int(child))]
    return family


def _watch(processes: dict[str, subprocess.Popen[bytes]], seconds: int) -> dict[str, list[tuple[int, int]]]:
    """Megabytes and open files of each process, every five seconds; ends early where one has ended."""
    taken: dict[str, list[tuple[int, int]]] = {name: [] for name in processes}
    until = time.monotonic() + seconds
    while time.monotonic() < until and all(process.poll() is None for process in processes.values()):
        for name, process in processes.items():
            try:
                family = _family(process.pid)
                pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in family)
                files = sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in family)
            except OSError:
                continue  # it is ending just now
            taken[name].append((pages * 4096 // 2**20, files))
        time.sleep(5)
    return taken


def _grown(taken: dict[str, list[tuple[int, int]]]) -> list[str]:
    problems = []
    for name, measured in taken.items():
        quarter = max(1, len(measured) // 4)
        for place, unit, slack in ((0, "MB", 100), (1, "open files", 30)):
            early = median(each[place] for each in measured[quarter : 2 * quarter] or measured)
            late = median(each[place] for each in measured[-quarter:])
            print(f"{name}: {early:.0f}, then {late:.0f} {unit}")
            if late > early * _GROWTH + slack:
                problems.append(f"{name} grows: {early} {unit} in the second quarter, {late} in the last")
    return problems


def differences(read: list[tuple[int, int, bool | None]], expected: dict[int, int]) -> list[str]:
    """What is wrong with a table.

    Args:
        read: of each row its id, how often it is marked, and whether the rest of it is as it was written.
        expected: each id that has to be there, and how often it has to be marked.
    """
    found = {row: marks for row, marks, _ in read}
    wrong = {
        "are lost": expected.keys() - found.keys(),
        "are there and should not be": found.keys() - expected.keys(),
        "are merged too often or not at all": {
            row for row in expected.keys() & found.keys() if expected[row] != found[row]
        },
        "hold what nobody wrote": {row for row, _, is_right in read if not is_right},
    }
    problems = [] if len(read) == len(found) else ["a row is there twice"]
    return problems + [f"{len(ids)} rows {what}: {sorted(ids)[:10]}" for what, ids in wrong.items() if ids]


def _checked(folder: Path) -> list[str]:
    spark = session(folder, "end")
    table = QbeastTable.for_path(spark, str(folder / "table"))
    right = " and ".join(f"{name} = {text}" for name, text in CONTENT.items())
    read = [tuple(row) for row in table.df().selectExpr("id", "marks", right).collect()]
    problems = differences(read, journal.expected(folder))
    report = table.verify("data")
    problems += [] if report.ok else [str(report)]
    print(f"{len(read)} rows in {report.files} files at the end")
    spark.stop()
    return problems


if __name__ == "__main__":
    main()
