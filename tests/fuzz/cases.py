"""One case: a table of a seed and the steps that follow from it, run on both tables and compared after each."""

from __future__ import annotations

import math
import random
import re
import shutil
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from tests.fuzz import alterations, checks, creation, scans, upkeep, writes
from tests.fuzz.choices import check_choice
from tests.fuzz.estimates import check_estimates
from tests.fuzz.judge import NoTableError, do
from tests.fuzz.sampled import statements
from tests.fuzz.settings import random_settings
from tests.fuzz.shapes import random_shape
from tests.fuzz.twin import FoundError, Operation, Pair

#: Function that makes an operation of what the tables are by now, and how often it is drawn.
OPERATIONS: dict[Callable[[Pair, random.Random], Operation], int] = {
    **writes.OPERATIONS,
    **statements.OPERATIONS,
    **upkeep.OPERATIONS,
    **alterations.OPERATIONS,
}
#: How the steps after which the tables were compared are counted, beside the samples.
COMPARED = "steps compared"


@dataclass(frozen=True)
class Case:
    """What runs: all of it follows from these few numbers.

    Attributes:
        seed: of the table and the steps.
        steps: numbers of the steps that are run; step 0 makes the tables.
        columns: places of the columns beside the key that the table begins with; None for all.
        rows: most rows of a step; None for as many as it draws.
    """

    seed: int
    steps: tuple[int, ...]
    columns: tuple[int, ...] | None = None
    rows: int | None = None

    @property
    def command(self) -> str:
        parts = [f"python -m tests.fuzz.run --seed {self.seed} --only {','.join(map(str, self.steps))}"]
        if self.columns is not None:
            parts.append(f"--columns '{','.join(map(str, self.columns))}'")
        if self.rows is not None:
            parts.append(f"--rows {self.rows}")
        return " ".join(parts)


@dataclass
class Outcome:
    """What came of a case."""

    case: Case
    told: list[str] = field(default_factory=list)
    steps: int = 0
    samples: Counter[str] = field(default_factory=Counter)
    refusals: list[str] = field(default_factory=list)
    failure: str | None = None

    @property
    def kind(self) -> str | None:
        """The kind of failure, to tell whether a smaller case fails alike."""
        return None if self.failure is None else re.sub(r"\d+", "#", self.failure.split("\n")[0])[:150]


def run_case(
    spark: SparkSession,
    folder: Path,
    case: Case,
    tell: Callable[[str], None] = lambda text: None,
    until: float = math.inf,
) -> Outcome:
    """Runs a case in a folder of its own, which is gone afterwards; begins no step after `until` (`time.monotonic`)."""
    outcome = Outcome(case)
    folder.mkdir(parents=True)
    pair = Pair(spark, folder, random_shape(random.Random(f"{case.seed} shape"), case.columns), case.rows)

    def say(text: str) -> None:
        outcome.told.append(text)
        tell(text)

    try:
        for number in case.steps:
            if time.monotonic() > until:
                break
            outcome.steps += 1
            _run_step(pair, case, number, outcome, say)
    except NoTableError:
        pass
    except FoundError as failure:
        outcome.failure = str(failure)
    except Exception:
        outcome.failure = _of_error(traceback.format_exc())
    finally:
        outcome.samples = pair.samples
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


def _of_error(text: str) -> str:
    lines = [line for line in text.strip().split("\n") if line]
    last = next((line for line in reversed(lines) if re.match(r"[\w.]+(Error|Exception)\b", line)), lines[-1])
    return f"error: {last}\n{text}"


def _run_step(pair: Pair, case: Case, number: int, outcome: Outcome, say: Callable[[str], None]) -> None:
    rng = random.Random(f"{case.seed} step {number}")
    settings = random_settings(rng) if number else {}
    make = creation.create if number == 0 else rng.choices([*OPERATIONS], [*OPERATIONS.values()])[0]
    operation = make(pair, rng)
    say(f"{number}: {operation.text}" + (f"  under {settings}" if settings else ""))
    carry_out(pair, operation, settings, rng, outcome.refusals, say)


def carry_out(
    pair: Pair,
    operation: Operation,
    settings: Mapping[str, str],
    rng: random.Random,
    refusals: list[str],
    say: Callable[[str], None] = lambda text: None,
) -> None:
    """Does one operation to both tables and compares them, also where it was refused; the first one makes them.

    Raises:
        FoundError: they differ.
        NoTableError: there is nothing to compare any more.
    """
    is_first = pair.ours.version < 0
    before = pair.ours.version, pair.twin.version
    ids = None if is_first else checks.row_ids(pair)
    is_done = do(pair, operation, settings, refusals, say)
    if is_first and not is_done:
        raise NoTableError
    checks.compare(pair, rng)
    if rng.random() < 0.5:
        check_choice(pair, rng)
    scans.check_scan(pair, rng)
    checks.check_index(pair)
    pair.samples[COMPARED] += 1
    # What was refused has left both tables as they were, and there is no new version to tell of.
    if not is_done:
        return
    if not is_first and not operation.moves:
        checks.check_changes(pair, before)
        checks.check_row_ids(ids, checks.row_ids(pair))
    pair.history.append((pair.ours.version, pair.twin.version))
    if rng.random() < 0.3:
        checks.check_earlier(pair, rng)
        scans.check_earlier_scan(pair, rng.choice(pair.history)[0])
    if rng.random() < 0.3:
        scans.check_log(pair)
    if rng.random() < 0.3:
        check_estimates(pair, rng)
