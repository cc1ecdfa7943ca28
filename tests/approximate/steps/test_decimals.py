"""Exact sums of decimals decide about groups as decimals do: doubles added up lie a last digit beside them."""

from __future__ import annotations

import numpy as np
import pytest

from pyqbeast.approximate.estimate import Aggregate, FileCosts, GroupSpans, KnownBounds, State
from pyqbeast.approximate.estimate.rounding import NumberLimits
from pyqbeast.approximate.estimate.selection import Comparison, Selection
from pyqbeast.approximate.steps.planning import step_to
from pyqbeast.approximate.steps.progress import Progress
from pyqbeast.core.format.constants import WEIGHT_END, WEIGHT_MIN
from pyqbeast.core.sampling.weight_scale import EVEN

SUM = Aggregate("sum", ("price",))
GROUPS, ROWS = 100, 300
EDGES = np.linspace(WEIGHT_MIN, WEIGHT_END, 11).astype(np.int64)


class Prices:
    """Groups of prices in cents, each of which adds up to 100.10, in files that are bands of weights."""

    requested = (SUM,)
    limits = NumberLimits(exact_below={SUM: 2.0**53 / 100}, overflows_at={}, decimal_places={SUM: 2})
    files = FileCosts([1_000] * 10, EDGES[:-1], EDGES[1:] - 1)
    row_count = GROUPS * ROWS
    other_bytes = 0
    scale = EVEN
    known = KnownBounds()
    group_names = ("shop",)
    group_spans = GroupSpans((None,), [(None,)] * 10, [None] * 10)

    def __init__(self):
        rng = np.random.default_rng(5)
        self.group = np.repeat(np.arange(GROUPS), ROWS)
        self.weight = rng.integers(WEIGHT_MIN, WEIGHT_END, self.row_count)
        cents = 1 + rng.multinomial(10_010 - ROWS, np.ones(ROWS) / ROWS, GROUPS)
        self.price = cents.ravel() / 100

    def read(self, step, axes):
        chosen = (step.start <= self.weight) & (self.weight < step.stop)
        price = self.price[chosen]
        sums = np.stack([price ** sum(moment.powers) for moment in axes.moments], axis=1)
        groups = [(group,) for group in self.group[chosen].tolist()]
        return State.from_rows(
            axes, groups, self.weight[chosen] % axes.buckets, sums, price[:, None], price[:, None]
        )

    def grid(self, aggregate, groups):
        return None


def verdict(selection):
    progress = Progress(Prices(), selection)
    for fraction in (0.3, 1.0):
        progress.read(step_to(progress, fraction))
    assert progress.is_mergeable
    assert set(progress.estimates(0.95)[SUM].value) == {100.1}
    return progress.verdict(0.95)


@pytest.mark.parametrize(
    ("sign", "is_kept"), [("=", True), (">=", True), ("<=", True), (">", False), ("<", False)]
)
def test_a_condition_holds_for_an_exact_sum_or_does_not(sign, is_kept):
    said = verdict(Selection(Comparison(SUM, sign, 100.1)))
    for mask in (said.having, said.sure, said.possible):
        assert (mask == is_kept).all()


def test_groups_of_equal_sums_may_all_be_the_first():
    said = verdict(Selection(first=SUM, ascending=False, limit=3))
    assert said.possible.all()
    assert not said.sure.any()
