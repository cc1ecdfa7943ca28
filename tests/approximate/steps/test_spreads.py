"""Spreads that a condition compares with each other: where they are nearly equal, rounding would decide."""

from __future__ import annotations

import numpy as np
import pytest

from pyqbeast.approximate.estimate import Aggregate
from pyqbeast.approximate.selection import Comparison, Selection
from pyqbeast.approximate.steps.planning import step_to
from pyqbeast.approximate.steps.progress import Progress
from tests.approximate.steps.rows import HeldRows

OF_X, OF_Y = Aggregate("stddev_pop", ("x",)), Aggregate("stddev_pop", ("y",))
GROUPS, ROWS = 20, 50


def progress_of(y_of, condition):
    """All rows are read, of groups of two numbers a row."""
    x = np.random.default_rng(5).integers(0, 10_000, GROUPS * ROWS) / 100
    group = np.repeat(np.arange(GROUPS), ROWS)
    progress = Progress(HeldRows((OF_X, OF_Y), {"x": x, "y": y_of(x)}, group, files=1), Selection(condition))
    progress.read(step_to(progress, 1.0))
    return progress


@pytest.mark.parametrize(
    ("y_of", "is_told"),
    [
        (lambda x: 100 - x, False),
        (lambda x: x + 1_000, False),
        (lambda x: 2 * x, True),
        (lambda x: x * np.nan, True),
    ],
    ids=["mirrored", "moved", "twice", "no number"],
)
def test_spreads_that_are_nearly_equal_are_left_to_the_query(y_of, is_told):
    progress = progress_of(y_of, Comparison(OF_X, ">", OF_Y))
    progress.estimates(0.95)
    assert progress.is_mergeable == is_told


def test_a_spread_equals_itself():
    progress = progress_of(lambda x: x, Comparison(OF_X, ">=", OF_X))
    assert progress.verdict(0.95).sure.all()
    assert progress.is_mergeable
