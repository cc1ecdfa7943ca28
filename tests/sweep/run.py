"""`make faults`: each call of each operation fails once, in every way; a line tells of each operation.

python -m tests.sweep.run [OPERATION …]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Collection
from pathlib import Path

from tests import jvm
from tests.faults import SETTINGS, Faults
from tests.spark_session import make_session
from tests.sweep import arrays, tables
from tests.sweep.operations import OPERATIONS
from tests.sweep.outcome import Outcome, Sweep, cases
from tests.sweep.ways import WAYS, Way


def main() -> int:
    """How many cases were not as they should be, as an exit code."""
    names = [each.name for each in (*OPERATIONS, *arrays.OPERATIONS)]
    chosen = sys.argv[1:] or names
    if unknown := sorted({*chosen} - {*names}):
        sys.exit(f"no operation is called {', '.join(unknown)}; there are {', '.join(names)}")
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="pyqbeast-faults-") as name:
        folder = Path(name)
        for operation in arrays.OPERATIONS:
            if operation.name in chosen:
                wrong += sweep(arrays.Sweep(operation, folder / operation.name), operation.name)
        if any(operation.name in chosen for operation in OPERATIONS):
            settings = {**jvm.settings(folder), **SETTINGS}
            spark = make_session(folder, settings)
            spark.sparkContext.setLogLevel("OFF")
            for operation in OPERATIONS:
                if operation.name in chosen:
                    one = tables.Sweep(
                        spark, Faults(spark), operation, folder / operation.name.replace(" ", "_")
                    )
                    wrong += sweep(one, operation.name)
            spark.stop()
    return as_an_ordinary_user() or min(wrong, 1)


def as_an_ordinary_user() -> int:
    """Runs the tests of read-only folders without the rights that root has; pytest's exit code."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "tests/table/write/storage/test_disks.py",
        "-k",
        "read_only",
    ]
    if os.geteuid() == 0:
        # Root without its capabilities is told by the rights of a folder like everybody.
        command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]
    return subprocess.run(command, check=False).returncode


def sweep(one: Sweep, name: str) -> int:
    """Runs all cases of an operation and prints what came of them; how many were wrong, ways without a failure too."""
    silent = {way.name for way in WAYS}
    outcomes: Counter[str] = Counter()
    left: Counter[str] = Counter()
    started, wrong = time.monotonic(), 0
    for way, k in cases(one):
        outcome = attempt(one, way, k, left)
        if isinstance(outcome, str) or outcome.result != "none":
            silent.discard(way.name)
        if isinstance(outcome, str):
            wrong += 1
            operation, path = [call for call in one.calls if way.matches([call])][k - 1]
            print(f"{name}: {way.name} {k} ({operation} …{path[-60:]}): {outcome}", flush=True)
        else:
            outcomes[f"{way.name} {outcome.result}"] += 1
            left.update(outcome.strays)
    for way_name in sorted(silent):
        wrong += 1
        print(f"{name}: {way_name}: no call failed", flush=True)
    told = ", ".join(f"{outcome} {count}" for outcome, count in sorted(outcomes.items()))
    seconds = time.monotonic() - started
    print(
        f"{name}: {len(one.calls)} calls, {sum(outcomes.values())} cases as they should be ({told}), {wrong} wrong; "
        f"stayed behind: {dict(left) or 'nothing'}; {seconds:.0f} s",
        flush=True,
    )
    return wrong


def attempt(one: Sweep, way: Way, k: int, known: Collection[str]) -> Outcome | str:
    """What came of a case, or what is wrong with it. Where unknown kinds of files stay behind, they are cleaned."""
    try:
        outcome = one.run(way, k)
        one.verified()
        if outcome.strays - set(known):
            one.cleaned()
    except AssertionError as error:
        return str(error)
    except Exception:
        return traceback.format_exc()
    return outcome


if __name__ == "__main__":
    sys.exit(main())
