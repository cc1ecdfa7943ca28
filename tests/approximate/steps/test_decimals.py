"""Exact sums of decimals decide about groups as decimals do: doubles added up lie a last digit beside them."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import numpy as np
import pytest

from pyqbeast.approximate.estimate import Aggregate, FileCosts, GroupSpans, KnownBounds, State
from pyqbeast.approximate.estimate.combination import Combination, Operation, Part
from pyqbeast.approximate.estimate.rounding import NumberLimits, exact_below, half_up
from pyqbeast.approximate.estimate.selection import Comparison, Selection
from pyqbeast.approximate.steps.planning import step_to
from pyqbeast.approximate.steps.progress import Progress
from pyqbeast.core.format.constants import WEIGHT_END, WEIGHT_MIN
from pyqbeast.core.sampling.weight_scale import WeightScale
from tests.approximate.steps.rows import Columns

SUM = Aggregate("sum", ("price",))
SHARE = Combination((SUM, Aggregate("count", ("price",))), Operation("/", Part(0), Part(1)))
GROUPS, ROWS = 100, 300
EDGES = np.linspace(WEIGHT_MIN, WEIGHT_END, 11).astype(np.int64)


class Prices:
    """Groups of prices in cents, each of which adds up to 100.10, in files that are bands of weights."""

    requested = (SUM,)
    limits = NumberLimits(exact_below={SUM: exact_below(2)}, overflows_at={}, decimal_places={SUM: 2})
    files = FileCosts([1_000] * 10, EDGES[:-1], EDGES[1:] - 1)
    row_count = GROUPS * ROWS
    other_bytes = 0
    scale = WeightScale()
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


def test_a_share_of_many_rows_is_rounded_as_decimals_are():
    """It lies so little below a half of its last place that its double passes for the half."""

    class Shares(Prices):
        requested = (SHARE,)
        limits = NumberLimits(
            exact_below={SUM: exact_below(2), SHARE: exact_below(6)},
            overflows_at={},
            decimal_places={SUM: 2, SHARE: 6},
        )
        row_count = 999

        def __init__(self):
            super().__init__()
            self.group, self.weight = np.zeros(999, dtype=int), self.weight[:999]
            more = next(cents for cents in range(999) if cents * 10**4 % 999 == 499)
            self.price = (440_000_000 + more * (np.arange(999) == 0)) / 100

    progress = Progress(Shares())
    progress.read(step_to(progress, 1.0))
    (value,) = progress.estimates(0.95)[SHARE].value
    exact = Fraction(sum(round(100 * price) for price in progress.reader.price), 999 * 100)
    assert progress.is_mergeable
    assert value == float(Fraction(math.floor(exact * 10**6), 10**6))
    assert Fraction(499, 1000) < exact * 10**6 % 1 < Fraction(1, 2)


def test_an_average_of_both_signs_is_rounded_once():
    """Doubles that cancel leave more beside a half of the last place than those of one sign."""
    mean = Aggregate("avg", ("price",))

    class Balances(Prices):
        requested = (mean,)
        limits = NumberLimits(
            exact_below={SUM: exact_below(2), mean: exact_below(6)},
            overflows_at={},
            decimal_places={SUM: 2, mean: 6},
        )
        row_count = 50 * 3_200

        def __init__(self):
            super().__init__()
            rng = np.random.default_rng(1)
            self.group = np.repeat(np.arange(50), 3_200)
            self.weight = rng.integers(WEIGHT_MIN, WEIGHT_END, self.row_count)
            self.cents = rng.integers(-(10**6), 10**6, (50, 3_200))
            # Divided by 3,200 such a sum of cents ends with a half of a millionth.
            self.cents[:, 0] += 4 - self.cents.sum(axis=1) % 8
            self.price = self.cents.ravel() / 100

    progress = Progress(Balances())
    progress.read(step_to(progress, 1.0))
    values = progress.estimates(0.95)[mean].value
    exact = [half_up(Fraction(total, 320_000), 6) for total in progress.reader.cents.sum(axis=1).tolist()]
    assert progress.is_mergeable
    assert values.tolist() == [float(each) for each in exact]


@pytest.mark.parametrize("of_doubles", [True, False])
def test_an_average_of_few_digits_is_one_of_doubles_as_in_spark(of_doubles):
    """It divides cents by 320, and the quotient by 100: of some halves of the last place it makes less."""
    mean = Aggregate("avg", ("price",))
    totals = [total for total in range(2, 4_000, 4) if 320 * half_as_double(total) < total * 10**4]
    assert len(totals) > 10

    class Few(Prices):
        requested = (mean,)
        limits = NumberLimits(
            exact_below={SUM: exact_below(2), mean: exact_below(6)},
            overflows_at={},
            decimal_places={SUM: 2, mean: 6},
            of_doubles=frozenset([mean] if of_doubles else []),
        )
        row_count = 320 * len(totals)

        def __init__(self):
            super().__init__()
            self.group = np.repeat(np.arange(len(totals)), 320)
            self.weight = np.random.default_rng(1).integers(WEIGHT_MIN, WEIGHT_END, self.row_count)
            self.price = np.where(np.arange(self.row_count) % 320 == 0, np.repeat(totals, 320) / 100, 0.0)

    progress = Progress(Few())
    progress.read(step_to(progress, 1.0))
    values = progress.estimates(0.95)[mean].value
    assert progress.is_mergeable
    by_group = dict(zip(progress.state.groups, values.tolist(), strict=True))
    for number, total in enumerate(totals):
        last = half_as_double(total) if of_doubles else half_as_double(total) + 1
        assert by_group[(number,)] == last / 10**6


def half_as_double(total):
    """The average of 320 prices that add up to so many cents, in millionths, as Spark rounds its double."""
    mean = Decimal(repr(total / 320 / 100.0))
    return int(mean.scaleb(6).quantize(Decimal(1), ROUND_HALF_UP))


def test_an_average_that_its_type_rounds_is_left_to_the_query():
    """Spark rounds the average of decimals to the places of its type before it multiplies it by a double."""
    mean = Aggregate("avg", ("price",))

    class Scaled(Prices):
        requested = (Combination((mean,), Operation("*", Part(0), 1.5)),)
        limits = NumberLimits(exact_below={mean: 0.0}, overflows_at={}, decimal_places={})

    progress = Progress(Scaled())
    progress.read(step_to(progress, 1.0))
    progress.estimates(0.95)
    assert not progress.is_mergeable


@pytest.mark.parametrize("dividend", [0.0, 1.0])
def test_a_divisor_of_decimals_that_is_zero_is_left_to_the_query(dividend):
    """Sums of doubles leave about a millionth of a millionth of it, and Spark has NULL or an error."""
    dear, cheap, ones = (Aggregate("sum", (name,)) for name in ("dear", "cheap", "ones"))
    apart = Operation("-", Part(1), Part(2))
    ratio = Combination((ones, dear, cheap), Operation("/", Part(0), apart))

    limits = NumberLimits(
        exact_below={
            ones: exact_below(0),
            dear: exact_below(2),
            cheap: exact_below(2),
            ratio: exact_below(6),
        },
        overflows_at={},
        decimal_places={ones: 0, dear: 2, cheap: 2, ratio: 6},
    )
    row = np.arange(30_000)
    columns = {"ones": dividend * (row == 0), "dear": 101.0 * (row % 10 == 0), "cheap": 10.1 + 0.0 * row}
    progress = Progress(Columns((ratio,), limits, **columns))
    progress.read(step_to(progress, 1.0))
    progress.estimates(0.95)
    assert not progress.is_mergeable


def test_groups_of_equal_sums_may_all_be_the_first():
    said = verdict(Selection(first=SUM, ascending=False, limit=3))
    assert said.possible.all()
    assert not said.sure.any()
