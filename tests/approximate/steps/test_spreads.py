"""Spreads that a condition compares with each other: where they are nearly equal, rounding would decide."""

from __future__ import annotations

import numpy as np
import pytest

from pyqbeast.approximate.estimate import Aggregate, FileCosts, GroupSpans, KnownBounds, State
from pyqbeast.approximate.estimate.rounding import NumberLimits
from pyqbeast.approximate.estimate.selection import Comparison, Selection
from pyqbeast.approximate.steps.planning import step_to
from pyqbeast.approximate.steps.progress import Progress
from pyqbeast.core.format.constants import WEIGHT_END, WEIGHT_MIN
from pyqbeast.core.sampling.weight_scale import WeightScale

OF_X, OF_Y = Aggregate("stddev_pop", ("x",)), Aggregate("stddev_pop", ("y",))
GROUPS, ROWS = 20, 50


class Numbers:
    """Groups of two numbers a row, in one file."""

    requested = (OF_X, OF_Y)
    limits = NumberLimits({}, {}, {})
    row_count = GROUPS * ROWS
    files = FileCosts([1_000], [WEIGHT_MIN], [WEIGHT_END - 1])
    other_bytes = 0
    scale = WeightScale()
    known = KnownBounds()
    group_names = ("shop",)
    group_spans = GroupSpans((None,), [(None,)], [None])

    def __init__(self, y_of):
        rng = np.random.default_rng(5)
        x = rng.integers(0, 10_000, self.row_count) / 100
        self.columns = {"x": x, "y": y_of(x)}
        self.weight = rng.integers(WEIGHT_MIN, WEIGHT_END, self.row_count)

    def read(self, step, axes):
        def moment_of(moment):
            values = np.ones(self.row_count)
            for column, power in zip(moment.columns, moment.powers, strict=True):
                values = values * (self.columns[column] - axes.centres.get(column, 0.0)) ** power
            return values

        sums = np.stack([moment_of(moment) for moment in axes.moments], axis=1)
        ends = np.stack([self.columns[column] for column in axes.columns], axis=1)
        groups = [(row // ROWS,) for row in range(self.row_count)]
        return State.from_rows(axes, groups, self.weight % axes.buckets, sums, ends, ends)

    def grid(self, aggregate, groups):
        return None


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
    progress = Progress(Numbers(y_of), Selection(Comparison(OF_X, ">", OF_Y)))
    progress.read(step_to(progress, 1.0))
    progress.estimates(0.95)
    assert progress.is_mergeable == is_told


def test_a_spread_equals_itself():
    progress = Progress(Numbers(lambda x: x), Selection(Comparison(OF_X, ">=", OF_X)))
    progress.read(step_to(progress, 1.0))
    assert progress.verdict(0.95).sure.all()
    assert progress.is_mergeable
