"""The error criterion and the prediction of the next fraction."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.approximate.estimate import Aggregate, Estimates, Goal, Status
from pyqbeast.approximate.estimate.interval import check_confidence
from pyqbeast.approximate.estimate.limit import Limit
from pyqbeast.approximate.estimate.stopping import goal_within, met, pilot_keys, wanted_fractions
from pyqbeast.core.errors import InvalidInputError


def made(margin=1.0, value=100.0, status=Status.BOUNDED, keys=5_000.0, unseen=0.0, kind="avg"):
    columns = ("x", "y") if kind == "corr" else ("y",)
    one = np.ones(1)
    return Estimates(
        Aggregate(kind, columns), value * one, (value - margin) * one, (value + margin) * one,
        np.array([status], dtype=np.int8), keys * one, unseen * one, 0 * one,
    )  # fmt: skip


def wanted_fraction(estimates, goal, fraction, steps):
    (found,) = wanted_fractions(estimates, goal, fraction, steps, np.array([False]))
    return found


@given(st.floats(0.001, 10), st.floats(-1e6, 1e6), st.floats(-1, 1))
def test_a_margin_that_is_met_keeps_the_distance_to_the_truth(error, value, place):
    margin = float(Goal(error).allowed(np.array([value]))[0])
    truth = value + place * margin
    assert abs(value - truth) <= error * abs(truth) * (1 + 1e-9) + 1e-9


def test_relative_and_absolute():
    assert met(made(margin=0.99), Goal(0.01)).all()
    assert not met(made(margin=1.0), Goal(0.01)).any()
    assert met(made(margin=1.0), Goal(1.0, relative=False)).all()
    # The farther bound counts.
    assert not met(made(value=0.0, margin=0.01), Goal(0.5)).any()


def test_what_is_done_and_what_is_not():
    done = [Status.EXACT, Status.CERTAIN, Status.BOUNDED, Status.SAMPLE_ONLY]
    for status in Status:
        assert met(made(0.1, status=status), Goal(0.01)).all() == (status in done)
    assert met(made(50, status=Status.EXACT), Goal(0.01)).all()
    assert wanted_fraction([made(0.1), made(0.2)], Goal(0.01), 0.01, 1) == 0
    assert wanted_fraction([made(0.1), made(50)], Goal(0.01), 0.01, 1) > 0


def test_a_correlation_needs_facts_for_a_small_error():
    estimates = made(1e-4, value=0.5, status=Status.SAMPLE_ONLY, kind="corr")
    assert not met(estimates, Goal(0.01)).any()
    assert met(estimates, Goal(0.05)).all()


def test_the_prediction_meets_the_error_with_some_head_room():
    fraction, margin = 0.01, 3.0
    wanted = wanted_fraction([made(margin)], Goal(0.01), fraction, 1)
    shrunk = margin * np.sqrt((1 - wanted) / wanted * fraction / (1 - fraction))
    assert 0.9 < shrunk / (1 / 1.01) < 0.95


def test_steps_are_neither_tiny_nor_leaps():
    assert wanted_fraction([made(1.0)], Goal(0.01), 0.01, 1) == pytest.approx(0.0117, abs=1e-4)
    assert wanted_fraction([made(0.991)], Goal(0.01), 0.4, 1) == pytest.approx(0.44)
    assert wanted_fraction([made(6.0)], Goal(0.01), 0.005, 1) == pytest.approx(0.08)


def test_what_takes_half_the_table_is_answered_exactly_at_once():
    assert wanted_fraction([made(10.0)], Goal(0.01), 0.01, 1) == 1.0
    assert wanted_fraction([made(np.inf)], Goal(0.01), 0.01, 1) == 1.0
    # Few matching keys: a filter that would need most of the table.
    assert wanted_fraction([made(status=Status.FEW_KEYS, keys=2)], Goal(0.01), 0.01, 1) == 1.0


def test_few_keys_and_heavy_tails_ask_for_more():
    assert wanted_fraction([made(status=Status.FEW_KEYS, keys=65)], Goal(0.01), 0.01, 1) == pytest.approx(
        0.02
    )
    assert wanted_fraction([made(status=Status.FEW_KEYS, keys=5)], Goal(0.01), 0.01, 1) == pytest.approx(0.08)
    heavy = made(0.5, status=Status.HEAVY_TAIL, unseen=3.0)
    assert wanted_fraction([heavy], Goal(0.01), 0.01, 1) == pytest.approx(0.09)


def test_the_neediest_decides_and_two_predictions_are_enough():
    goal = Goal(0.01)
    each = [made(0.1), made(2.0), made(1.5)]
    assert wanted_fraction(each, goal, 0.01, 2) == wanted_fraction([made(2.0)], goal, 0.01, 2)
    assert wanted_fraction(each, goal, 0.01, 3) == 1.0


def test_small_groups_ask_for_nothing():
    goal, estimates = Goal(0.01), [made(0.1), made(50)]
    assert wanted_fractions(estimates, goal, 0.01, 1, np.array([True])).tolist() == [0.0]
    assert wanted_fractions(estimates, goal, 0.01, 3, np.array([False])).tolist() == [1.0]


def test_the_pilot_holds_what_the_neediest_aggregate_needs():
    assert pilot_keys([Aggregate("avg", ("y",)), Aggregate("max", ("y",))]) == 3_000
    assert pilot_keys([Aggregate("avg", ("y",)), Aggregate("corr", ("x", "y"))]) == 10_000
    assert pilot_keys([Aggregate("percentile", ("y",), 0.99)]) == pytest.approx(10_101, abs=1)


@pytest.mark.parametrize("limit", [Limit(), Limit(bytes=10_000)])
@pytest.mark.parametrize("size", [-1, 2.5, True, "5"])
def test_a_size_of_groups_is_checked_beside_a_budget_too(limit, size):
    with pytest.raises(InvalidInputError, match="smallest_group is the number of rows"):
        goal_within(None, limit, relative=True, smallest_group=size)


@pytest.mark.parametrize("confidence", [1.0, 95, 0.1, float("nan"), "0.9", True])
def test_a_confidence_is_a_share_that_bounds_can_hold_with(confidence):
    with pytest.raises(InvalidInputError, match="confidence has to be from"):
        check_confidence(confidence)


@pytest.mark.parametrize("number", [np.float16, np.float32, np.float64])
def test_an_error_may_be_a_number_of_numpy(number):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        goal = goal_within(number(0.25), Limit(), relative=True)
        assert (goal, type(goal.error)) == (Goal(0.25), float)
        for wrong in (number(np.inf), number(np.nan), number(0), number(-1), np.bool_(True), np.str_("a")):
            with pytest.raises(InvalidInputError, match="error has to be a number above 0"):
                goal_within(wrong, Limit(), relative=False)


def test_an_error_is_judged_as_a_double():
    for wrong in (Fraction(1, 10**400), Fraction(1, 10**5000), Fraction(10**5000), -(10**400)):
        with pytest.raises(InvalidInputError, match="error has to be a number above 0"):
            goal_within(wrong, Limit(), relative=False)
    with pytest.raises(InvalidInputError, match="has to be below 1"):
        goal_within(1 - Fraction(1, 10**20), Limit(), relative=True)
