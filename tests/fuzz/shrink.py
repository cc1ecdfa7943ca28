"""A failing case made smaller: fewer steps, then fewer rows, then fewer columns, as long as it fails alike."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from tests.fuzz.cases import Case, Outcome
from tests.fuzz.shapes import MOST_COLUMNS


def shrink(outcome: Outcome, run: Callable[[Case], Outcome], until: float) -> Outcome:
    """The smallest case found before the clock (`time.monotonic`) says `until`."""

    def fails(case: Case) -> bool:
        nonlocal outcome
        if time.monotonic() > until:
            return False
        found = run(case)
        if found.kind != outcome.kind:
            return False
        outcome = replace(found, case=replace(case, steps=case.steps[: found.steps]))
        return True

    outcome = replace(outcome, case=replace(outcome.case, steps=outcome.case.steps[: outcome.steps]))
    size = max(1, len(outcome.case.steps) // 2)
    while size >= 1:
        start = 1
        # The first step makes the tables, the last one shows the failure.
        while start < len(outcome.case.steps) - 1:
            steps = outcome.case.steps
            left = steps[:start] + steps[min(start + size, len(steps) - 1) :]
            if not fails(replace(outcome.case, steps=left)):
                start += size
        size //= 2
    for rows in (3, 10, 40, 100):
        if fails(replace(outcome.case, rows=rows)):
            break
    for column in range(MOST_COLUMNS):
        left = tuple(each for each in outcome.case.columns or range(MOST_COLUMNS) if each != column)
        fails(replace(outcome.case, columns=left))
    return outcome
