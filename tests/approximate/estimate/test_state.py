"""The mergeable state: what rows become, and that steps add up."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyqbeast.approximate.estimate import (
    Aggregate,
    Moment,
    State,
    StateAxes,
    axes_for,
    bucket_count,
    estimate,
    fold,
    merge,
    pilot_centres,
    recentre,
)
from pyqbeast.core.errors import InvalidInputError

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
        lows.append([math.inf if values[c] is None else values[c] for c in axes.columns])
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
        repr(group): (state.sums[at].tolist(), state.spans[at].tolist())
        for at, group in enumerate(state.groups)
    }


@given(ROWS, ROWS, ROWS)
@settings(max_examples=60)
def test_steps_add_up_in_any_order(first, second, third):
    axes = axes_for(ALL, 8)
    a, b, c = (collect(axes, rows) for rows in (first, second, third))
    together = content(collect(axes, first + second + third))
    assert content(merge(merge(a, b), c)) == together
    assert content(merge(a, merge(b, c))) == together
    assert content(merge(merge(c, a), b)) == together


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
    with pytest.raises(InvalidInputError, match="cannot be folded"):
        fold(collect(wide, rows), 48)


def test_fewer_buckets_for_many_groups():
    assert [bucket_count(groups) for groups in (1, 2_001, 8_001)] == [128, 64, 32]


def test_many_groups_come_in_fewer_buckets_and_add_up_with_few():
    rng = np.random.default_rng(3)
    weights = rng.integers(-(2**31), 2**31, 9_000).tolist()
    many = [(group, weight, 1, group % 5) for group, weight in enumerate(weights)]
    few = [(group, weight, 2, 3) for group, weight in enumerate(weights[:50])]
    wide, narrow = axes_for(ALL), axes_for(ALL, 32)
    state = collect(wide, many)
    assert state.axes == narrow
    assert content(state) == content(collect(narrow, many))
    both = merge(collect(wide, few), state)
    assert both.axes == narrow
    assert content(both) == content(collect(narrow, few + many))


def test_a_centre_saves_a_small_variance_of_large_values():
    rng = np.random.default_rng(2)
    y = 1e9 + rng.normal(0, 0.01, 5_000)
    rows = [("a", at, None, value) for at, value in enumerate(y)]
    aggregate = Aggregate("stddev_samp", ("y",))
    axes = axes_for([aggregate])
    assert estimate(collect(axes, rows), aggregate, 1.0).value[0] != pytest.approx(y.std(ddof=1), rel=0.1)
    centred = StateAxes(axes.moments, axes.columns, axes.buckets, {"y": 1e9})
    assert estimate(collect(centred, rows), aggregate, 1.0).value[0] == pytest.approx(y.std(ddof=1), rel=1e-6)


def test_recentred_moments_are_those_about_the_new_centre():
    rng = np.random.default_rng(3)
    rows = [("a", at, int(x), int(y)) for at, (x, y) in enumerate(rng.integers(0, 1000, (200, 2)))]
    state = collect(axes_for(ALL), rows)
    centres = pilot_centres(state)
    # Centres of whole numbers are whole, so sums stay exact.
    assert set(centres) == {"x", "y"}
    assert all(centre == round(centre) and 300 < centre < 700 for centre in centres.values())
    moved = recentre(state, centres)
    assert content(moved) == content(collect(moved.axes, rows))
    assert pilot_centres(moved) == centres
    for aggregate in ALL:
        one, other = (estimate(each, aggregate, 0.2) for each in (state, moved))
        np.testing.assert_allclose(one.value, other.value, rtol=1e-9)
        np.testing.assert_allclose(one.high, other.high, rtol=1e-6)
        np.testing.assert_allclose(one.unseen, other.unseen, rtol=1e-6)


def test_no_centre_without_values():
    assert pilot_centres(State.empty(axes_for(ALL))) == {}
    assert pilot_centres(collect(axes_for(ALL), [("a", 1, 5, None)])) == {}
    assert pilot_centres(collect(axes_for(ALL), [("a", 1, None, 5), ("a", 2, None, 5)])) == {"y": 5.0}


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


def test_buckets_outside_and_unlike_layouts_are_refused():
    axes = axes_for([Aggregate("count")])
    with pytest.raises(InvalidInputError, match="buckets run"):
        State.from_rows(axes, [()], [128], [[1.0]])
    with pytest.raises(InvalidInputError, match="different layouts"):
        merge(State.empty(axes), State.empty(axes_for([Aggregate("count", ("y",))])))
