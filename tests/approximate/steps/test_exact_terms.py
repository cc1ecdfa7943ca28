"""What Spark computes in whole numbers and decimals on the way to a double is exact, and its double tells it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pyqbeast.approximate.estimate import Aggregate
from pyqbeast.approximate.estimate.combination import Combination, Operation, Part
from pyqbeast.approximate.estimate.rounding import NumberLimits, exact_below
from pyqbeast.approximate.steps.planning import step_to
from pyqbeast.approximate.steps.progress import Progress
from tests.approximate.steps.rows import HeldRows

LAST, FIRST = Aggregate("max", ("end",)), Aggregate("min", ("start",))
ENDS, STARTS, COUNT = Aggregate("sum", ("end",)), Aggregate("sum", ("start",)), Aggregate("count", ("end",))
APART, CENTS_APART = (
    Operation("-", Part(0), Part(1), "bigint"),
    Operation("-", Part(0), Part(1), "decimal(29,2)"),
)
SPAN = Combination((LAST, FIRST), Operation("/", APART, 1e9))
MEAN = Combination((ENDS, STARTS, COUNT), Operation("/", APART, Part(2)))
HUNDREDFOLD = Combination((ENDS, STARTS), Operation("*", CENTS_APART, 100.0))
SHARE = Combination((ENDS, STARTS, COUNT), Operation("/", Part(2), Operation("*", 2.0, CENTS_APART)))


def answer(requested, start, end, places=None):
    """The exact value from sums, None where the query has to tell it."""
    typed = [Combination(requested.parts, APART if places is None else CENTS_APART)]
    typed += [part for part in requested.parts if part != COUNT]
    limits = NumberLimits(
        exact_below=dict.fromkeys(typed, exact_below(places or 0)),
        decimal_places={} if places is None else dict.fromkeys(typed, places),
    )
    progress = Progress(HeldRows((requested,), {"start": start, "end": end}, limits=limits))
    progress.read(step_to(progress, 1.0))
    (value,) = progress.estimates(0.95)[requested].value
    return value if progress.is_mergeable else None


@pytest.mark.parametrize(
    ("requested", "began", "is_told"),
    [
        (SPAN, 1_764_000_000_000_000_000, False),
        (SPAN, 1_764_000_000_000_000, True),
        (MEAN, 1_764_000_000_000, False),
        (MEAN, 1_764_000_000, True),
    ],
)
def test_a_difference_of_whole_numbers_that_doubles_do_not_hold_is_left_to_the_query(
    requested, began, is_told
):
    rng = np.random.default_rng(0)
    start = began + rng.integers(0, 86_400, 20_000)
    end = start + rng.integers(0, 100, 20_000)
    if requested == SPAN:
        exact = Fraction(int(end.max()) - int(start.min()), 10**9)
    else:
        exact = Fraction(sum(end.tolist()) - sum(start.tolist()), 20_000)
    found = answer(requested, start, end)
    assert found == pytest.approx(float(exact), rel=1e-15) if is_told else found is None


def test_what_decimals_leave_nothing_of_is_nothing_in_doubles():
    """Debit and credit of balanced books, whose sums of doubles differ."""
    debit = np.random.default_rng(0).integers(0, 10**5, 20_000) / 100
    credit = np.sort(debit)
    assert np.add.reduceat(debit, [0]) != np.cumsum(credit)[-1]
    assert answer(HUNDREDFOLD, start=credit, end=debit, places=2) == 0
    credit[0] += 0.01
    assert answer(HUNDREDFOLD, start=credit, end=debit, places=2) == -1
    assert answer(HUNDREDFOLD, start=1e8 + credit, end=1e8 + debit, places=2) is None


def test_a_double_made_of_decimals_that_are_equal_divides_by_zero():
    debit = np.random.default_rng(0).integers(0, 10**5, 20_000) / 100
    assert answer(SHARE, start=np.sort(debit), end=debit, places=2) is None


def test_a_sum_of_both_signs_that_doubles_do_not_hold_is_left_to_the_query():
    """Its average is a double of Spark's, and its sum none: rounding is of the size of the sum."""
    mean = Combination((ENDS, COUNT), Operation("/", Part(0), Part(1)))
    values = np.random.default_rng(0).integers(-(10**15), 10**15, 20_000)
    balanced = np.concatenate([values, -values[:-1], [-values[-1] + 1]])
    assert answer(mean, start=balanced, end=balanced) is None
    assert answer(mean, start=values, end=np.abs(values)) == pytest.approx(np.abs(values).mean(), rel=1e-12)
    assert answer(mean, start=values, end=values) == pytest.approx(float(Fraction(int(values.sum()), 20_000)))
