"""`python -m tests.fuzz.run`: cases one after the other until the time is up.

It ends with 1 where one has failed, and where too little was compared to tell.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import math
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.fuzz.cases import COMPARED, Case, Outcome, run_case
from tests.fuzz.settings import QUICK
from tests.fuzz.shrink import shrink
from tests.machine import RUNS_ONCE
from tests.spark_session import make_session

#: The Java compiler's second stage takes longer than it saves with tables so small. Without it the JVM reserves 48 MB
#: for compiled code; a long run fills them, and all that comes later is interpreted.
JAVA_OPTIONS = f"{RUNS_ONCE} -XX:ReservedCodeCacheSize=400m"

#: What has to happen in a run, and how many steps it may take at the most until it does.
EXPECTED = {"pruned": 100, "scanned": 100, "sampled and written": 300, "estimated": 1_000}


def main() -> int:
    asked = _arguments()
    with tempfile.TemporaryDirectory(prefix="pyqbeast-fuzz-", ignore_cleanup_errors=True) as folder:
        return _run(asked, Path(folder))


def _run(asked: argparse.Namespace, folder: Path) -> int:
    spark = make_session(folder, java_options=JAVA_OPTIONS)
    spark.sparkContext.setLogLevel("OFF")
    for name, value in QUICK.items():
        spark.conf.set(name, value)
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    numbers = itertools.count()

    def run(case: Case, until: float = math.inf) -> Outcome:
        tell = (lambda text: print(text, flush=True)) if asked.verbose else lambda _: None
        return run_case(spark, folder / f"case{next(numbers)}", case, tell, until)

    try:
        if asked.only is not None:
            case = Case(asked.seed, asked.only, asked.columns, asked.rows)
            outcome = run(case)
            print("\n".join([*outcome.told, outcome.failure or "no failure"]))
            return int(outcome.failure is not None)
        return _search(run, asked)
    finally:
        spark.stop()


def _search(run: Callable[..., Outcome], asked: argparse.Namespace) -> int:
    start = time.monotonic()
    made, steps, failures, refusals, samples = 0, 0, [], Counter(), Counter()
    for seed in itertools.count(asked.seed):
        if time.monotonic() - start > asked.seconds:
            break
        outcome = run(Case(seed, tuple(range(asked.steps + 1))), start + asked.seconds)
        steps += outcome.steps
        made += outcome.samples[COMPARED] > 0
        samples.update(outcome.samples)
        refusals.update(outcome.refusals)
        if outcome.failure is None:
            continue
        print(
            f"seed {seed} fails in step {outcome.case.steps[outcome.steps - 1]}: {outcome.kind}", flush=True
        )
        if outcome.kind in {each.kind for each in failures}:
            continue
        if asked.shrink:
            outcome = shrink(outcome, run, time.monotonic() + asked.shrink)
        failures.append(outcome)
        print("\n".join([outcome.case.command, *outcome.told, outcome.failure]), flush=True)
    minutes = (time.monotonic() - start) / 60
    pace = f"{steps / minutes:.0f} a minute"
    print(f"{seed - asked.seed} cases, {steps} steps, {pace}; {len(failures)} kinds of failures")
    print(f"samples: {dict(samples)}")
    for text, times in refusals.most_common():
        print(f"{times} × {text}")
    missing = _missing(seed - asked.seed, made, samples)
    for text in missing:
        print(f"too little was compared: {text}")
    return int(bool(failures or missing))


def _missing(cases: int, made: int, samples: Counter[str]) -> list[str]:
    """What a run had to compare and has not: no failure says little then."""
    compared = samples[COMPARED]
    missing = [
        f"{compared} steps, and nothing was {kind}"
        for kind, most in EXPECTED.items()
        if compared >= most and not samples[kind]
    ]
    if not made or 2 * made < cases:
        missing.append(f"the tables of {made} of {cases} cases could be made")
    return missing


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="begin no case after so many")
    parser.add_argument(
        "--seed", type=int, default=int(time.time()), help="of the first case; the others follow"
    )
    parser.add_argument("--steps", type=int, default=12, help="of a case")
    parser.add_argument("--only", type=_numbers, help="run these steps of one case, for example 0,3,7")
    parser.add_argument(
        "--columns", type=_numbers, help="with --only: the columns that the table begins with"
    )
    parser.add_argument("--rows", type=int, help="with --only: most rows of a step")
    parser.add_argument(
        "--shrink", type=float, default=60, help="seconds to make a failure smaller; 0 leaves it"
    )
    parser.add_argument("--verbose", action="store_true", help="tell each step when it runs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
