"""The mergeable state: what rows become, and that steps add up."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyqbeast.approximate.estimate import (
    Aggregate,
    KnownBounds,
    Moment,
    State,
    StateAxes,
    about_centres,
    axes_for,
    centre_near,
    estimate,
)
from pyqbeast.approximate.estimate.estimates import is_null
from pyqbeast.approximate.estimate.rounding import exact_below, is_rounded
from pyqbeast.approximate.estimate.state import bucket_count, fold, merge

KINDS = ("count", "sum", "avg", "var_samp", "var_pop", "stddev_samp", "stddev_pop", "min", "max")
ALL = [Aggregate(kind, ("y",)) for kind in KINDS] + [Aggregate("count"), Aggregate("corr", ("x", "y"))]


def collect(axes: StateAxes, rows) -> State:
    """The state of (group, weight, x, y) rows, None for NULL: the work that Spark does."""
    groups, buckets, sums, lows, highs = [], [], [], [], []
    for group, weight, x, y in rows:
        values = {"x": x, "y": y}
        groups.append((group,))
        buckets.append(weight & (axes.buckets - 1))
        sums.append([term(axes, moment, values) for moment in axes.moments])
        lows.append([math.nan if values[c] is None else values[c] for c in axes.columns])
        highs.append([-math.inf if values[c] is None else values[c] for c in axes.columns])
    return State.from_rows(axes, groups, buckets, sums, lows, highs)


def term(axes, moment, values):
    if any(values[c] is None for c in moment.columns):
        return 0.0
    return math.prod(
        (values[c] - axes.centres.get(c, 0.0)) ** p
        for c, p in zip(moment.columns, moment.powers, strict=True)
    )


WHOLE_NUMBERS = st.one_of(st.none(), st.integers(-1000, 1000))
ROW = st.tuples(
    st.sampled_from(["a", "b", None, math.nan]),
    st.integers(-(2**31), 2**31 - 1),
    WHOLE_NUMBERS,
    WHOLE_NUMBERS,
)
ROWS = st.lists(ROW, max_size=12)


def content(state):
    return {
        # NaN is not equal to itself, but its text is.
        repr(group): (state.sums[at].tolist(), repr(state.spans[at].tolist()))
        for at, group in enumerate(state.groups)
    }


@pytest.mark.slow
@given(ROWS, ROWS, ROWS)
@settings(max_examples=60)
def test_steps_add_up_in_any_order(first, second, third):
    axes = axes_for(ALL, 8)
    a, b, c = (collect(axes, rows) for rows in (first, second, third))
    together = content(collect(axes, first + second + third))
    assert content(merge(merge(a, b), c)) == together
    assert content(merge(a, merge(b, c))) == together
    assert content(merge(merge(c, a), b)) == together


@pytest.mark.slow
@given(st.lists(ROW, min_size=1, max_size=30), st.integers(0, 30))
@settings(max_examples=60)
def test_all_rows_give_the_exact_answer(rows, cut):
    axes = axes_for(ALL)
    state = merge(collect(axes, rows[:cut]), collect(axes, rows[cut:]))
    found = {aggregate: estimate(state, aggregate, 1.0) for aggregate in ALL}
    for at, (group,) in enumerate(state.groups):
        pairs = [(x, y) for g, _, x, y in rows if repr(g) == repr(group)]
        y = np.array([y for _, y in pairs if y is not None], dtype=float)
        expected = {"count": len(y)}
        if len(y):
            expected |= {"sum": y.sum(), "avg": y.mean(), "var_pop": y.var(), "stddev_pop": y.std()}
            expected |= {"min": y.min(), "max": y.max()}
        if len(y) > 1:
            expected |= {"var_samp": y.var(ddof=1), "stddev_samp": y.std(ddof=1)}
        for aggregate in ALL:
            each = found[aggregate]
            if aggregate.columns == ("y",) and aggregate.kind in expected:
                assert each.value[at] == pytest.approx(expected[aggregate.kind], rel=1e-9, abs=1e-6)
            np.testing.assert_array_equal(each.low, each.value)
            np.testing.assert_array_equal(each.high, each.value)
        assert found[Aggregate("count")].value[at] == len(pairs)


def test_correlation_of_all_rows_skips_pairs_with_a_null():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 500))
    y += x
    rows = [("a", at, *pair) for at, pair in enumerate(zip(x, y, strict=True))]
    rows += [("a", 7, 100.0, None), ("a", 8, None, -100.0)]
    aggregate = Aggregate("corr", ("x", "y"))
    found = estimate(collect(axes_for([aggregate]), rows), aggregate, 1.0)
    assert found.value[0] == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-12)


def test_folding_keeps_low_bits():
    rng = np.random.default_rng(1)
    rows = [("a", int(w), 1, int(w) % 7) for w in rng.integers(-(2**31), 2**31, 300)] + [("b", 5, 1, 2)]
    wide, narrow = (axes_for(ALL, buckets) for buckets in (128, 32))
    assert content(fold(collect(wide, rows), 32)) == content(collect(narrow, rows))


def test_fewer_buckets_for_many_groups():
    assert [bucket_count(groups) for groups in (1, 2_001, 8_001)] == [128, 64, 32]


def test_many_groups_come_in_fewer_buckets_and_add_up_with_few():
    rng = np.random.default_rng(3)
    weights = rng.integers(-(2**31), 2**31, 2_100).tolist()
    many = [(group, weight, 1, group % 5) for group, weight in enumerate(weights)]
    few = [(group, weight, 2, 3) for group, weight in enumerate(weights[:50])]
    asked = [Aggregate("sum", ("y",)), Aggregate("max", ("x",))]
    wide, narrow = axes_for(asked), axes_for(asked, 64)
    state = collect(wide, many)
    both = merge(collect(wide, few), state)
    for found, rows in ((state, many), (both, few + many)):
        right = collect(narrow, rows)
        assert (found.axes, found.groups) == (narrow, right.groups)
        np.testing.assert_array_equal(found.sums, right.sums)
        np.testing.assert_array_equal(found.spans, right.spans)


@pytest.mark.slow
def test_a_centre_saves_a_small_variance_of_large_values():
    rng = np.random.default_rng(2)
    y = 1e9 + rng.normal(0, 0.01, 5_000)
    rows = [("a", at, None, value) for at, value in enumerate(y)]
    aggregate = Aggregate("stddev_samp", ("y",))
    axes = axes_for([aggregate])
    states = [collect(replace(axes, centres=centres), rows) for centres in ({}, {"y": 1e9})]
    lost, kept = (estimate(state, aggregate, 1.0) for state in states)
    assert kept.value[0] == pytest.approx(y.std(ddof=1), rel=1e-6)
    assert lost.value[0] != pytest.approx(y.std(ddof=1), rel=0.1)
    assert [is_rounded(*each, 1.0) for each in zip(states, (lost, kept), strict=True)] == [True, False]
    # Bounds of a part of the rows are wide enough for what was lost.
    part = estimate(collect(axes, [*rows, ("a", 0, None, 1e9)] * 3), aggregate, 0.5)
    assert part.low[0] <= y.std(ddof=1) <= part.high[0]


def test_sums_about_the_means_of_slots_become_sums_about_one_centre():
    """Spark's own moments are about the mean of each slot; what they become adds up with those of later steps."""
    rng = np.random.default_rng(3)
    axes, slots = axes_for(ALL), rng.integers(0, 4, 200)
    x, y = rng.integers(0, 1000, (2, 200)) + np.array([[0], [10**9]])
    inner = np.zeros((4, len(axes.moments)))
    for slot in range(4):
        here = {"x": x[slots == slot], "y": y[slots == slot]}
        for at, (columns, powers, *_) in enumerate(axes.moments):
            about = {c: here[c].mean() if sum(powers) == 2 else 0.0 for c in columns}
            terms = [(here[c] - about[c]) ** p for c, p in zip(columns, powers, strict=True)]
            inner[slot, at] = np.prod([np.ones(len(here["x"])), *terms], axis=0).sum()
    centred, sums = about_centres(axes, inner)
    # Centres of whole numbers are whole, so sums stay exact.
    assert set(centred.centres) == {"x", "y"}
    assert all(centre == round(centre) for centre in centred.centres.values())
    assert abs(centred.centres["y"] - 10**9 - 500) < 200
    rows = [("a", *row) for row in zip(slots.tolist(), x.tolist(), y.tolist(), strict=True)]
    np.testing.assert_allclose(sums, collect(centred, rows).sums[0, :4], rtol=1e-9)


def test_sums_without_finite_squares_warn_of_nothing():
    axes = axes_for([Aggregate("corr", ("x", "y"))])
    rows, x, y = (axes.moments.index(Moment(("x", "y"), powers)) for powers in ((0, 0), (1, 0), (0, 1)))
    sums = np.zeros((3, len(axes.moments)))
    sums[:, rows], sums[:, x], sums[:, y] = 2, [math.inf, 1e300, 1.0], [0.0, 1e300, math.nan]
    centred, moved = about_centres(axes, sums)
    assert centred.centres == {"x": 0.0, "y": 0.0}
    assert not np.isfinite(moved[:, axes.moments.index(Moment(("x", "y"), (1, 1)))]).any()


@pytest.mark.parametrize(
    ("mean", "variance", "centre"),
    [
        (7.3, 0.0, pytest.approx(7.3, rel=1e-14)), (517.0, 400.0, 512.0), (1e300, math.inf, pytest.approx(1e300)),
        (math.nan, 1.0, 0.0), (math.inf, math.nan, 0.0), (0.0, 0.0, 0.0), (-3.0, 1e-320, -3.0), (5e-324, 5e-324, 0.0),
        (1.7976931348623157e308, 0.0, 1.7976931348623157e308),
        (-1.7976931348623157e308, 1.0, -1.7976931348623157e308),
    ],
)  # fmt: skip
def test_a_centre_is_near_the_mean(mean, variance, centre):
    assert centre_near(mean, variance) == centre


@pytest.mark.slow
def test_a_column_of_one_value_does_not_vary():
    """The squares of 7.3 about another number would leave something of the order of 1e-8."""
    rows = [
        (group, at, at % 5, value) for at in range(2_000) for group, value in (("a", 7.3), ("b", 1e6 + 0.1))
    ]
    axes = replace(axes_for(ALL), centres={"y": 12.0, "x": 2.0})
    for kind in ("stddev_samp", "var_pop"):
        found = estimate(collect(axes, rows), Aggregate(kind, ("y",)), 1.0)
        assert found.value.tolist() == found.low.tolist() == found.high.tolist() == [0, 0]
    state = collect(axes, rows)
    assert is_null(state, estimate(state, Aggregate("corr", ("x", "y")), 1.0)).tolist() == [True, True]
    part = estimate(state, Aggregate("stddev_samp", ("y",)), 0.5, known=KnownBounds(1, {"y": (0.0, 1e7)}))
    # Rows not seen may have other values.
    assert part.unseen.tolist() == [math.inf, math.inf]


@pytest.mark.parametrize("kind", ["var_samp", "stddev_pop", "corr", "sum", "avg"])
@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_nan_and_infinities_make_a_value_and_too_few_rows_null(kind, odd):
    aggregate = Aggregate(kind, ("x", "y") if kind == "corr" else ("y",))
    axes = axes_for([aggregate])
    rows = [
        ("odd", 1, 1, odd),
        ("odd", 2, 2, 3),
        ("odd alone", 1, 1, odd),
        ("odd alone", 2, 2, odd),
        ("few", 1, 1, 5),
        ("none", 1, None, None),
    ]
    state = collect(axes, rows)
    found = estimate(state, aggregate, 1.0)
    assert state.groups == (("odd",), ("odd alone",), ("few",), ("none",))
    assert not is_rounded(state, found, 1.0).any()
    assert is_null(state, found).tolist() == [False, False, kind in ("var_samp", "corr"), True]
    for value in found.value[:2]:
        assert math.isnan(value) or (kind in ("sum", "avg") and value == odd)


def test_a_correlation_of_nearly_nothing_is_exact():
    """What rounding leaves of it is small beside 1, whatever the correlation is."""
    aggregate = Aggregate("corr", ("x", "y"))
    rows = [("a", at, at % 100, (at * at) % 101 + 1e5) for at in range(10_100)]
    state = collect(replace(axes_for([aggregate]), centres={"y": 1e5}), rows)
    found = estimate(state, aggregate, 1.0)
    assert abs(found.value[0]) < 0.02
    assert 0 < found.noise[0] < 1e-11
    assert not is_rounded(state, replace(found, value=found.noise), 1.0).any()
    assert is_rounded(state, replace(found, noise=np.array([1e-8])), 1.0)


@pytest.mark.parametrize(
    ("values", "scale", "is_lost"),
    [
        ([2**53 + 1, -(2**53)] * 50, 0, True),  # their sum is 50, and as doubles 0
        ([2**40, -(2**40)] * 50, 0, False),
        ([2**46] * 100, 0, False),
        ([2**47] * 100, 0, True),
        ([2**40 / 100] * 100, 2, True),
        ([2**30 / 100] * 100, 2, False),
    ],
)
def test_sums_whose_parts_doubles_do_not_hold_are_known_to_be_rounded(values, scale, is_lost):
    aggregate = Aggregate("sum", ("y",))
    state = collect(axes_for([aggregate]), [("a", at, None, value) for at, value in enumerate(values)])
    assert is_rounded(state, estimate(state, aggregate, 1.0), 1.0, exact_below(scale)) == is_lost
    assert not is_rounded(state, estimate(state, aggregate, 1.0), 1.0).any()


def test_squares_beyond_all_doubles_are_known_to_be_lost():
    aggregate = Aggregate("stddev_samp", ("y",))
    with np.errstate(over="ignore"):
        state = collect(axes_for([aggregate]), [("a", at, None, np.float64(at * 1e300)) for at in range(5)])
    assert is_rounded(state, estimate(state, aggregate, 1.0), 1.0)


def test_the_partial_aggregates_are_named_once():
    axes = axes_for([Aggregate("avg", ("y",)), Aggregate("stddev_samp", ("y",)), Aggregate("max", ("z",))])
    assert axes.moments == (
        Moment(),
        Moment(("y",), (0,)),
        Moment(("y",), (1,)),
        Moment(("y",), (2,)),
        Moment(("z",), (0,)),
    )
    assert axes.columns == ("y", "z")
