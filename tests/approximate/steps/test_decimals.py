"""Exact sums of decimals decide about groups as decimals do: doubles added up lie a last digit beside them."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import numpy as np
import pytest

from pyqbeast.approximate.estimate import Aggregate
from pyqbeast.approximate.estimate.combination import Combination, Operation, Part
from pyqbeast.approximate.estimate.rounding import NumberLimits, exact_below, half_up
from pyqbeast.approximate.selection import Comparison, Selection, SortedBy
from pyqbeast.approximate.steps.planning import step_to
from pyqbeast.approximate.steps.progress import Progress
from tests.approximate.steps.rows import HeldRows

SUM, MEAN = Aggregate("sum", ("price",)), Aggregate("avg", ("price",))
SHARE = Combination((SUM, Aggregate("count", ("price",))), Operation("/", Part(0), Part(1)))


def prices(cents, requested=SUM, **limits):
    """Groups of prices, each a row of these cents, in files that are bands of weights."""
    group = np.repeat(np.arange(len(cents)), cents.shape[1])
    limits = {"exact_below": {SUM: exact_below(2)}, "decimal_places": {SUM: 2}, **limits}
    table = {"price": cents.ravel() / 100}
    return HeldRows((requested,), table, group, limits=NumberLimits(**limits))


#: To a hundred groups of 300 prices that add up to 100.10.
ALIKE = 1 + np.random.default_rng(5).multinomial(10_010 - 300, np.ones(300) / 300, 100)


def rounded(requested):
    """The limits of what is told to 6 places and made of prices."""
    places = {"exact_below": {SUM: exact_below(2), requested: exact_below(6)}}
    return places | {"decimal_places": {SUM: 2, requested: 6}}


def all_read(table):
    """What all rows of a table tell of what it is asked for, by group."""
    progress = Progress(table)
    progress.read(step_to(progress, 1.0))
    values = progress.estimates(0.95)[table.requested[0]].value
    by_group = dict(zip(progress.state.groups, values.tolist(), strict=True))
    return [by_group[group,] for group in range(len(by_group))] if progress.is_mergeable else None


def verdict(selection):
    progress = Progress(prices(ALIKE), selection)
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


def test_an_average_of_decimals_stands_in_a_formula():
    """A sample tells it by its sum and its rows. All rows do not, as it is rounded before the formula is computed."""
    half = Combination((MEAN,), Operation("/", Part(0), 2.0))
    limits = {"exact_below": {SUM: exact_below(2), MEAN: 0.0}, "decimal_places": {SUM: 2, MEAN: 6}}
    table = prices(ALIKE, half, **limits, overflows_at={SUM: 1e20, MEAN: 1e10})
    progress = Progress(table)
    progress.read(step_to(progress, 0.3))
    sampled = np.bincount(table.group[read := table.weight < progress.stop], table.columns["price"][read])
    means = progress.estimates(0.95)[half].value * 2
    right = sampled / np.bincount(table.group[read])
    assert dict(zip(progress.state.groups, means, strict=True)) == pytest.approx(
        {(group,): mean for group, mean in enumerate(right)}
    )
    assert not progress.is_mergeable


def test_a_share_of_many_rows_is_rounded_as_decimals_are():
    """It lies so little below a half of its last place that its double passes for the half."""
    more = next(cents for cents in range(999) if cents * 10**4 % 999 == 499)
    cents = 440_000_000 + more * (np.arange(999) == 0)
    exact = Fraction(int(cents.sum()), 999 * 100)
    assert all_read(prices(cents[None], SHARE, **rounded(SHARE))) == [
        float(Fraction(math.floor(exact * 10**6), 10**6))
    ]
    assert Fraction(499, 1000) < exact * 10**6 % 1 < Fraction(1, 2)


def test_an_average_of_both_signs_is_rounded_once():
    """Doubles that cancel leave more beside a half of the last place than those of one sign."""
    cents = np.random.default_rng(1).integers(-(10**6), 10**6, (50, 3_200))
    # Divided by 3,200 such a sum of cents ends with a half of a millionth.
    cents[:, 0] += 4 - cents.sum(axis=1) % 8
    exact = [half_up(Fraction(total, 320_000), 6) for total in cents.sum(axis=1).tolist()]
    assert all_read(prices(cents, MEAN, **rounded(MEAN))) == [float(each) for each in exact]


@pytest.mark.parametrize("of_doubles", [True, False])
def test_an_average_of_few_digits_is_one_of_doubles_as_in_spark(of_doubles):
    """It divides cents by 320, and the quotient by 100: of some halves of the last place it makes less."""
    totals = [total for total in range(2, 4_000, 4) if 320 * half_as_double(total) < total * 10**4]
    assert len(totals) > 10
    cents = np.zeros((len(totals), 320))
    cents[:, 0] = totals
    few = prices(cents, MEAN, **rounded(MEAN), of_doubles={MEAN} if of_doubles else set())
    last = [half_as_double(total) + (not of_doubles) for total in totals]
    assert all_read(few) == [each / 10**6 for each in last]


def half_as_double(total):
    """The average of 320 prices that add up to so many cents, in millionths, as Spark rounds its double."""
    mean = Decimal(repr(total / 320 / 100.0))
    return int(mean.scaleb(6).quantize(Decimal(1), ROUND_HALF_UP))


def test_an_average_that_its_type_rounds_is_left_to_the_query():
    """Spark rounds the average of decimals to the places of its type before it multiplies it by a double."""
    scaled = Combination((MEAN,), Operation("*", Part(0), 1.5))
    assert all_read(prices(ALIKE, scaled, exact_below={MEAN: 0.0}, decimal_places={})) is None


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
        decimal_places={ones: 0, dear: 2, cheap: 2, ratio: 6},
    )
    row = np.arange(30_000)
    columns = {"ones": dividend * (row == 0), "dear": 101.0 * (row % 10 == 0), "cheap": 10.1 + 0.0 * row}
    assert all_read(HeldRows((ratio,), columns, limits=limits)) is None


def test_groups_of_equal_sums_may_all_be_the_first():
    said = verdict(Selection(order=(SortedBy(SUM, ascending=False),), limit=3))
    assert said.possible.all()
    assert not said.sure.any()
