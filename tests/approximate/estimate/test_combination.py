"""Numbers computed from several aggregates: their value, how each part moves them, and when there is none."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.approximate.estimate import (
    Aggregate,
    Combination,
    KnownBounds,
    Operation,
    Part,
    State,
    Status,
    axes_for,
    estimate,
    has_rows,
)
from pyqbeast.approximate.estimate.combination import combined, slopes
from pyqbeast.core.errors import InvalidInputError

SUM_A, SUM_B, COUNT = Aggregate("sum", ("a",)), Aggregate("sum", ("b",)), Aggregate("count")
RATIO = Combination((SUM_A, SUM_B), Operation("/", Part(0), Part(1)))
NUMBERS = st.floats(-50, 50).filter(lambda number: abs(number) > 0.1)
WRITTEN = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
TERMS = st.recursive(
    st.sampled_from([Part(0), Part(1)]) | NUMBERS,
    lambda inner: st.builds(Operation, st.sampled_from([*WRITTEN]), inner, inner),
    max_leaves=6,
)


def in_python(term, values):
    if isinstance(term, Operation):
        left, right = in_python(term.left, values), in_python(term.right, values)
        return WRITTEN[term.sign](left, right)
    return values[term.number] if isinstance(term, Part) else term


@given(TERMS, NUMBERS, NUMBERS)
def test_a_term_is_the_arithmetic_that_it_says(term, first, second):
    found = combined(term, [np.array([first]), np.array([second])])
    try:
        expected = in_python(term, [first, second])
    except ZeroDivisionError:
        assert np.isnan(found[0])
    else:
        assert found[0] == pytest.approx(expected, rel=1e-9)


@given(TERMS, NUMBERS, NUMBERS)
def test_slopes_are_those_of_small_steps(term, first, second):
    at = np.array([first, second])
    for part, slope in enumerate(slopes(term, list(at[:, None]))):
        step = 1e-6 * np.eye(2)[part]
        higher, lower = (combined(term, list((at + by)[:, None]))[0] for by in (step, -step))
        if np.isfinite(slope[0]) and abs(slope[0]) < 1e4 and abs(higher) + abs(lower) < 1e4:
            assert slope[0] == pytest.approx((higher - lower) / 2e-6, rel=1e-2, abs=1e-2)


def sample(a, b, requested):
    """One group; every row has a key of its own."""
    values = {"a": np.asarray(a, dtype=float), "b": np.asarray(b, dtype=float)}
    axes = axes_for(requested)
    sums = np.ones((len(a), len(axes.moments)))
    for at, moment in enumerate(axes.moments):
        for column, power in zip(moment.columns, moment.powers, strict=True):
            sums[:, at] *= values[column] ** power
    ends = np.stack([values[column] for column in axes.columns], axis=1)
    return State.from_rows(
        axes, [()] * len(a), np.random.default_rng(0).integers(0, 128, len(a)), sums, ends, ends
    )


A, B = np.random.default_rng(4).uniform(1, 3, (2, 3_000))


def test_a_ratio_of_parts_that_move_together_is_known_better_than_its_parts():
    state = sample(A, 2 * A, [SUM_A, RATIO])
    total, ratio = estimate(state, SUM_A, 0.1), estimate(state, RATIO, 0.1)
    assert ratio.value[0] == pytest.approx(0.5)
    assert (total.margin / total.value)[0] > 0.01
    assert (ratio.margin / ratio.value)[0] < 1e-9


def test_what_no_sample_has_seen_counts_for_each_part():
    state = sample(A, B, [RATIO])
    few = KnownBounds(1, {"a": (1.0, 3.0), "b": (1.0, 3.0)})
    rare = KnownBounds(1, {"a": (1.0, 3.0), "b": (1.0, 1e6)})
    status = [Status(int(estimate(state, RATIO, 0.1, known=known).status[0])) for known in (None, few, rare)]
    assert status == [Status.SAMPLE_ONLY, Status.BOUNDED, Status.HEAVY_TAIL]


def test_all_rows_give_the_exact_number():
    found = estimate(sample(A, B, [RATIO]), RATIO, 1.0)
    assert found.low[0] == found.high[0] == found.value[0] == pytest.approx(A.sum() / B.sum())


def test_there_is_no_number_without_rows_or_divided_by_zero():
    share = Combination((SUM_A, COUNT), Operation("/", Part(0), Part(1)))
    axes = axes_for([share])
    nothing = State.empty(axes, [()])
    assert has_rows(nothing, share).tolist() == [False]
    assert np.isnan(estimate(nothing, share, 1.0).value[0])
    assert np.isnan(estimate(sample(A, 0 * B, [RATIO]), RATIO, 0.5).value[0])


@pytest.mark.parametrize("kind", ["min", "max"])
def test_what_does_not_follow_from_sums_is_not_combined(kind):
    with pytest.raises(InvalidInputError, match=kind):
        Combination((Aggregate(kind, ("a",)),), Part(0))
    with pytest.raises(InvalidInputError, match="%"):
        Operation("%", 1.0, 2.0)
