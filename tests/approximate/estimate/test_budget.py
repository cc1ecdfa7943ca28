"""Bytes: whatever the files, all steps and the exact answer cost at most 1.1 exact queries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyqbeast.approximate.estimate import FileCosts
from pyqbeast.approximate.estimate.budget import MOST_BYTES, next_step
from pyqbeast.core.format.constants import WEIGHT_END, WEIGHT_MIN
from pyqbeast.core.sampling.weight_scale import WeightScale

threshold, fraction = WeightScale().threshold, WeightScale().share

WEIGHT = st.one_of(st.integers(WEIGHT_MIN, WEIGHT_END - 1), st.integers(-5, 5))
FILE = st.tuples(st.integers(0, 10**9), WEIGHT, WEIGHT)
FILES = st.lists(FILE, max_size=40)
WANTED = st.lists(st.floats(0.0001, 1), min_size=1, max_size=6)


def step_to(files, wanted, start=WEIGHT_MIN, spent=0, mergeable=True):
    return next_step(files, wanted, start=start, spent=spent, mergeable=mergeable, scale=WeightScale())


def files_of(rows):
    rows = [(size, min(a, b), max(a, b)) for size, a, b in rows]
    return FileCosts(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)


@pytest.mark.slow
@given(FILES, WANTED, st.booleans())
@settings(max_examples=300)
def test_the_budget_holds_whatever_is_wanted(rows, wanted, mergeable):
    files = files_of(rows)
    start, spent = WEIGHT_MIN, 0
    for share in (*wanted, 1.0):
        step = step_to(files, share, start, spent, mergeable)
        assert step.start == (WEIGHT_MIN if step.restart else start)
        assert step.cost == files.cost(step.start, step.stop)
        assert step.stop > start
        spent += step.cost
        assert spent <= MOST_BYTES * files.total
        start = step.stop
        if step.exact:
            break
    assert step.exact
    assert mergeable or step.start == WEIGHT_MIN


@pytest.mark.slow
@given(FILES, st.floats(0.0001, 0.9999))
@settings(max_examples=200)
def test_a_step_reads_what_was_asked_and_all_that_comes_with_it(rows, share):
    files = files_of(rows)
    step = step_to(files, share)
    assert step.fraction >= share
    if not step.exact:
        assert files.cost(WEIGHT_MIN, step.stop + 1) > step.cost or (files.low == step.stop).any()


def level_files():
    """A root, 8 files below it, 64 below those, in bands of weights."""
    rows = [(100, 0.0, 0.02)] + [(140, 0.02, 0.2)] * 8 + [(140, 0.2, 0.9999)] * 64
    return FileCosts(
        [r[0] for r in rows], [threshold(r[1]) for r in rows], [threshold(r[2]) - 1 for r in rows]
    )


def test_a_step_ends_where_files_do():
    files = level_files()
    pilot = step_to(files, 0.01)
    assert pilot.fraction == pytest.approx(0.02)
    assert pilot.cost == 100
    # 0.05 would read the second level twice, which is more than a tenth of all bytes: its end is taken.
    second = step_to(files, 0.05, pilot.stop, pilot.cost)
    assert second.fraction == pytest.approx(0.2)
    assert second.cost == 8 * 140
    last = step_to(files, 0.4, second.stop, pilot.cost + second.cost)
    assert last.exact
    assert pilot.cost + second.cost + last.cost == files.total


def test_an_exact_answer_that_does_not_add_up_starts_again():
    files = level_files()
    pilot = step_to(files, 0.01, mergeable=False)
    last = step_to(files, 0.1, pilot.stop, pilot.cost, mergeable=False)
    assert last.restart
    assert (last.start, last.stop, last.cost) == (WEIGHT_MIN, WEIGHT_END, files.total)


def test_one_file_is_read_once():
    step = step_to(FileCosts([10], [WEIGHT_MIN], [WEIGHT_END - 1]), 0.01)
    assert step.exact
    assert step.cost == 10


def test_thresholds_and_fractions():
    assert (threshold(0), threshold(1), threshold(0.5)) == (WEIGHT_MIN, WEIGHT_END, 0)
    assert (fraction(WEIGHT_MIN), fraction(WEIGHT_END), fraction(0)) == (0, 1, 0.5)
