"""A budget in bytes or seconds: how it is stated, and how much is read for it."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pytest

from pyqbeast.approximate.estimate import Aggregate, FileCosts, Goal, KnownBounds
from pyqbeast.approximate.estimate.limit import Limit
from pyqbeast.approximate.steps.loop import read_until
from pyqbeast.approximate.steps.progress import Progress
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.constants import WEIGHT_END
from tests.approximate.steps.rows import HeldRows

VALUES = np.random.default_rng(2).normal(10, 2, 200_000)


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        (10_000, Limit(bytes=10_000)),
        (np.int64(10_000), Limit(bytes=10_000)),
        (np.float32(2.5), Limit(seconds=2.5)),
        ("1.5 MB", Limit(bytes=1_500_000)),
        ("2GB", Limit(bytes=2_000_000_000)),
        (2.5, Limit(seconds=2.5)),
        ("2 s", Limit(seconds=2)),
        (dt.timedelta(minutes=1), Limit(seconds=60)),
    ],
)
def test_a_budget_is_bytes_or_seconds(given, limit):
    assert Limit.of(given) == limit


@pytest.mark.parametrize(
    "given", [0, -5, 0.0, math.nan, math.inf, True, "", "5", "5 apples", "0 s", "0 MB", [5]]
)
def test_other_budgets_are_refused(given):
    with pytest.raises(InvalidInputError, match=r"budget takes bytes .* or seconds"):
        Limit.of(given)


class Table(HeldRows):
    """Normal values; a step takes a second for each thousand bytes."""

    known = KnownBounds(1, {"y": (0.0, 20.0)})
    seconds = 0.0
    seconds_a_step = 0.0

    def __init__(self, weight=None):
        super().__init__((Aggregate("avg", ("y",)),), {"y": VALUES}, weight=weight)

    def clock(self):
        return self.seconds

    def read(self, step, axes):
        self.seconds += self.seconds_a_step + step.cost / 1_000
        return super().read(step, axes)


def read_within(limit, goal=None, table=None):
    table = table or Table()
    progress = Progress(table)
    return progress, read_until(progress, goal, limit, 0.95, table.clock)


@pytest.mark.parametrize(("most", "files"), [(1_000, 1), (3_500, 3), (9_999, 9)])
def test_as_many_files_are_read_as_the_bytes_allow(most, files):
    progress, found = read_within(Limit(bytes=most))
    assert progress.bytes_read == files * 1_000
    assert len(progress.readings) == 1
    (estimates,) = found.values()
    assert estimates.low[0] <= VALUES.mean() <= estimates.high[0]


def test_what_fits_in_full_is_run_in_full():
    progress, found = read_within(Limit(bytes=10_000))
    assert found is None
    assert not progress.readings


def test_a_budget_for_no_file_is_an_error():
    with pytest.raises(
        InvalidInputError, match="opens more bytes than the budget; the exact query opens 10,000"
    ):
        read_within(Limit(bytes=999))


@pytest.mark.parametrize(("seconds", "files"), [(0.1, 1), (4.5, 4), (7.0, 7)])
def test_as_much_is_read_as_the_time_allows(seconds, files):
    """The first step tells how long a byte takes."""
    progress, found = read_within(Limit(seconds=seconds))
    assert progress.bytes_read == files * 1_000
    assert found is not None


def test_an_error_that_is_met_ends_it_sooner():
    progress, _ = read_within(Limit(bytes=9_999), Goal(0.05))
    assert progress.bytes_read == 1_000
    wider, found = read_within(Limit(bytes=3_000), Goal(0.0001))
    (estimates,) = found.values()
    assert wider.bytes_read == 3_000
    assert estimates.margin[0] > 0.0001 * 10


@pytest.mark.parametrize(
    ("limit", "goal", "files"),
    [
        (Limit(seconds=4.5), None, 4),
        (Limit(seconds=4.5), Goal(0.05), 1),
        (Limit(bytes=4_500), None, 4),
        (Limit(), Goal(0.05), 1),
    ],
)
def test_no_step_ends_before_the_lightest_row_that_a_filter_leaves(limit, goal, files):
    """Statistics leave the heavier files alone. A step before them would tell neither of rows nor of the pace."""
    table = Table(np.random.default_rng(1).integers(0, WEIGHT_END, len(VALUES)))
    edges = np.linspace(0, WEIGHT_END, 11).astype(np.int64)
    table.files = FileCosts([1_000] * 10, edges[:-1], edges[1:] - 1)
    progress, found = read_within(limit, goal, table)
    assert progress.bytes_read == files * 1_000
    (estimates,) = found.values()
    assert estimates.low[0] <= VALUES.mean() <= estimates.high[0]


@pytest.mark.parametrize(("seconds", "most"), [(3.0, 10), (5.0, 3_010), (10.0, 8_010)])
def test_a_small_first_file_tells_of_no_pace(seconds, most):
    """While less than a tenth of the time is spent, a file more is read whatever it takes, but no more than one."""
    table = Table()
    table.seconds_a_step = 0.3
    table.files.size[0] = 10
    progress, _ = read_within(Limit(seconds=seconds), table=table)
    assert progress.bytes_read == most
    assert table.seconds <= seconds
    at_once = Table()
    at_once.seconds_a_step = 0.3
    at_once.files = FileCosts([10] + [1_000] * 9, at_once.edges[[0] + [1] * 9], at_once.edges[1:] - 1)
    progress, _ = read_within(Limit(seconds=seconds), table=at_once)
    assert progress.bytes_read == 10
