"""Groups that a query keeps by their estimates: chance has chosen them too, and their bounds allow for that."""

from __future__ import annotations

import numpy as np
import pytest

from pyqbeast.approximate.estimate import (
    Aggregate,
    Goal,
    GroupKind,
    GroupSpans,
    KnownBounds,
    Status,
    Step,
)
from pyqbeast.approximate.estimate.limit import Limit
from pyqbeast.approximate.estimate.value_spans import ValueSpan
from pyqbeast.approximate.selection import Comparison, Selection, SortedBy
from pyqbeast.approximate.steps.loop import read_until
from pyqbeast.approximate.steps.progress import Progress
from pyqbeast.core.format.constants import WEIGHT_MIN
from tests.approximate.steps.rows import Groups

AVERAGE = Aggregate("avg", ("y",))
GROUPS, ROWS, FILES = 100, 120_000, 40
FIRST = Selection(order=(SortedBy(AVERAGE, ascending=False),), limit=10)
HIGH = Selection(Comparison(AVERAGE, ">", 10.2))


class Table(Groups):
    """Groups whose span the files tell. The first ten may be larger than the others."""

    known = KnownBounds(1, {"y": (0.0, 25.0)})

    def __init__(self, seed, first_larger_by=0.0):
        super().__init__(ROWS, GROUPS, FILES, seed)
        self.y += first_larger_by * (self.group < 10)
        self.truth = np.bincount(self.group, self.y) / np.bincount(self.group)
        span = ValueSpan(0, GROUPS - 1, has_null=False)
        self.group_spans = GroupSpans([GroupKind.INTEGER], [(span,)] * FILES, [ROWS // FILES] * FILES)


def sampled(table, selection):
    progress = Progress(table, selection)
    progress.read(Step(WEIGHT_MIN, int(table.edges[6]), 6_000, 0.15))
    return progress


def bounds_of(table, selection):
    """The bounds of averages by group, and which groups are in the answer."""
    progress = sampled(table, selection)
    found = progress.estimates(0.95)[AVERAGE]
    order = np.argsort([group for (group,) in progress.state.groups])
    value, low, high = found.value[order], found.low[order], found.high[order]
    if selection is HIGH:
        return low, high, value > 10.2
    return low, high, value >= np.sort(value)[-10]


@pytest.mark.slow
@pytest.mark.parametrize("selection", [FIRST, HIGH], ids=["first", "having"])
def test_bounds_of_chosen_groups_hold_as_often_as_they_say(selection):
    """All groups are alike, so that those in the answer are there by chance alone."""
    held, naive, shown = 0, 0, 0
    for seed in range(10):
        table = Table(seed)
        low, high, is_shown = bounds_of(table, selection)
        held += np.count_nonzero(((low <= table.truth) & (table.truth <= high))[is_shown])
        low, high, _ = bounds_of(table, None)
        naive += np.count_nonzero(((low <= table.truth) & (table.truth <= high))[is_shown])
        shown += np.count_nonzero(is_shown)
    assert shown >= 30
    assert held >= 0.95 * shown
    assert naive < 0.8 * shown


def test_nothing_gets_wider_where_the_choice_is_sure():
    table = Table(1, first_larger_by=5.0)
    for chosen, plain in zip(bounds_of(table, FIRST)[:2], bounds_of(table, None)[:2], strict=True):
        assert chosen.tolist() == plain.tolist()


def test_the_error_is_judged_by_the_bounds_that_are_shown():
    """Of groups that differ by chance more has to be read than of those that stand out."""
    fractions = []
    for larger in (0.0, 5.0):
        progress = Progress(Table(1, first_larger_by=larger), FIRST)
        (found,) = read_until(progress, Goal(0.05), Limit(), 0.95).values()
        shown = np.argsort(-found.value)[:10]
        assert (found.status[shown] == Status.BOUNDED).all()
        assert (found.margin[shown] <= 0.05 * found.value[shown]).all()
        fractions.append(progress.fraction)
    assert fractions[0] > fractions[1]
