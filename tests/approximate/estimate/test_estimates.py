"""Estimates in single cases: status, what is missing, what is certain."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from pyqbeast.approximate.estimate import (
    Aggregate,
    Combination,
    Completeness,
    Goal,
    KnownBounds,
    Operation,
    Part,
    State,
    Status,
    axes_for,
    estimate,
)
from pyqbeast.approximate.estimate.interval import bounds_of_few
from pyqbeast.approximate.estimate.stopping import met, wanted
from pyqbeast.approximate.selection import Comparison, Selection, verdict_of
from pyqbeast.core.errors import InvalidInputError
from tests.approximate.estimate.populations import one_group

AVG, COUNT, SD = Aggregate("avg", ("y",)), Aggregate("count"), Aggregate("stddev_samp", ("y",))
LARGEST, SMALLEST = Aggregate("max", ("y",)), Aggregate("min", ("y",))
ALL = [AVG, COUNT, SD, LARGEST, SMALLEST, Aggregate("count_if", ("c",))]


def sample(y, requested=ALL):
    """Rows of one group. `c` is whether y is above 0."""
    return one_group(requested, y=y, c=np.asarray(y) > 0)


Y = np.random.default_rng(4).normal(10, 2, 3_000)


def status(state, aggregate, known=None, fraction=0.1):
    return Status(int(estimate(state, aggregate, fraction, known=known).status[0]))


def test_without_facts_the_bounds_rest_on_the_sample_only():
    state = sample(Y)
    known = KnownBounds(1, {"y": (0.0, 20.0)})
    assert status(state, AVG) == Status.SAMPLE_ONLY
    assert status(state, AVG, KnownBounds(1)) == Status.SAMPLE_ONLY
    assert status(state, AVG, KnownBounds(None, known.bounds)) == Status.SAMPLE_ONLY
    assert status(state, AVG, known) == Status.BOUNDED
    assert status(state, COUNT, KnownBounds(1)) == Status.BOUNDED


def test_a_value_or_key_that_could_hide_is_a_heavy_tail():
    state = sample(Y)
    assert status(state, AVG, KnownBounds(1, {"y": (0.0, 1e6)})) == Status.HEAVY_TAIL
    assert status(state, AVG, KnownBounds(10_000, {"y": (0.0, 20.0)})) == Status.HEAVY_TAIL
    assert status(state, COUNT, KnownBounds(10_000)) == Status.HEAVY_TAIL


def test_what_could_hide_may_move_the_value_by_as_much_as_the_bounds_allow_on_one_side():
    """Three rows not seen, of the largest value, beside a margin of 0.07 on either side."""
    state = sample(Y)
    margin = estimate(state, AVG, 0.1).margin[0]
    for share, expected in ((0.9, Status.BOUNDED), (1.1, Status.HEAVY_TAIL)):
        beyond_seen = share * margin * len(Y) / 3
        known = KnownBounds(1, {"y": (Y.min(), Y.max() + beyond_seen)})
        assert status(state, AVG, known) == expected


def test_a_large_key_is_a_heavy_tail_though_nothing_bounds_the_column():
    """Such as the null that a fifth of the rows have: all of them come with one weight."""
    state, total = sample(Y), Aggregate("sum", ("y",))
    assert status(state, total, KnownBounds(10_000)) == Status.HEAVY_TAIL
    assert status(state, total, KnownBounds(2)) == Status.SAMPLE_ONLY


def test_few_keys_give_a_value_without_bounds():
    found = estimate(sample(Y[:60]), AVG, 0.1)
    assert Status(int(found.status[0])) == Status.FEW_KEYS
    assert found.value[0] == pytest.approx(Y[:60].mean())
    assert np.isnan(found.low[0])
    assert np.isnan(found.high[0])
    assert status(sample(Y), SD) == Status.FEW_KEYS


def test_a_count_of_few_keys_has_bounds_where_each_has_one_row():
    """It stops no query all the same: whether it meets an error hangs on how large it has come out."""
    for rows, low, high in ((1, 1, 54), (3, 7.4, 85), (60, 465.2, 764)):
        found = estimate(sample(Y[:rows]), COUNT, 0.1, known=KnownBounds(1))
        assert (found.low[0], found.high[0]) == pytest.approx((low, high), abs=0.1)
        assert found.status[0] == Status.BOUNDED
        assert not met(found, Goal(1e9, relative=False)).any()
        assert wanted(found, Goal(0.05), 0.1)[0] > 0.1
    nothing = estimate(State.empty(axes_for([COUNT]), [()]), COUNT, 0.1, known=KnownBounds(1))
    assert (nothing.low[0], nothing.high[0]) == (0, 35)
    for known in (None, KnownBounds(2)):
        assert status(sample(Y[:60]), COUNT, known) == Status.FEW_KEYS
    assert estimate(sample(Y[:60]), COUNT, 1.0, known=KnownBounds(1)).high[0] == 60


def test_bounds_of_counts_do_not_begin_where_the_sample_has_made_them_large():
    """Groups of 850 rows, of which a tenth is sampled: few come out above 100, and the bounds of these alone miss."""
    rng, groups = np.random.default_rng(2), 2_000
    axes = axes_for([COUNT])
    state = State.empty(axes, [(group,) for group in range(groups)])
    state.sums[..., 0] = rng.multinomial(rng.binomial(850, 0.1, groups), np.full(128, 1 / 128))
    found = estimate(state, COUNT, 0.1, known=KnownBounds(1))
    held = (found.low <= 850) & (found.high >= 850)
    assert held[found.keys >= 100].mean() < 0.8
    assert 0.94 <= held.mean() <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize("is_listed", [True, False])
@pytest.mark.parametrize("fraction", [0.2, 0.5, 0.8, 0.9, 0.95, 0.99, 0.995])
def test_bounds_of_few_keys_hold_where_most_rows_were_read(fraction, is_listed):
    """By the binomial distribution itself. From one whole number to the next the bounds of a few keys may be narrow."""
    for keys in (1, 2, 3, 7, 12, 27, 32, 49, 60, 85, 109):
        seen = np.arange(int(is_listed), keys + 1)
        chances = np.array([math.comb(keys, n) * fraction**n * (1 - fraction) ** (keys - n) for n in seen])
        shares = np.full(len(seen), fraction)
        low, high = bounds_of_few(seen.astype(float), shares, 0.95, is_listed=is_listed)
        assert chances[(low <= keys) & (keys <= high)].sum() >= 0.95 * chances.sum()
        assert (high == np.round(high)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "fraction"),
    [
        (np.r_[1_000_000, np.ones(200_000, int)], 0.001),
        (np.full(20_000, 20), 0.001),
        (np.full(20_000, 20), 0.1),
        (np.ceil(np.random.default_rng(1).pareto(0.8, 20_000)).astype(int).clip(1, 30_000), 0.003),
    ],
    ids=["one row each", "few of each", "a tenth", "of all sizes"],
)
def test_bounds_of_counts_allow_for_groups_being_listed_where_they_are_seen(sizes, fraction):
    """Of groups of one row each those are listed of which the sample has the row, and it must not count for many."""
    rng = np.random.default_rng(3)
    seen = rng.binomial(sizes, fraction)
    sizes, seen = sizes[seen > 0], seen[seen > 0]
    state = State.empty(axes_for([COUNT]), [(group,) for group in range(len(sizes))])
    state.sums[..., 0] = rng.multinomial(seen, np.full(128, 1 / 128))
    found = estimate(state, COUNT, fraction, known=KnownBounds(1))
    assert ((found.low <= sizes) & (sizes <= found.high)).mean() >= 0.95
    assert (found.low >= seen).all()
    above = Selection(Comparison(COUNT, ">", 1))
    each = above.confidence(len(sizes), 0.95)
    decided_by = {COUNT: estimate(state, COUNT, fraction, each, KnownBounds(1))}
    nulls, rows = {COUNT: np.zeros(len(sizes), dtype=bool)}, np.full(len(sizes), np.inf)
    sure = verdict_of(above, decided_by, nulls, rows, Completeness(complete=False)).sure
    assert (sizes[sure] > 1).all()


@pytest.mark.parametrize("kind", ["sum", "avg", "var_samp"])
def test_what_a_row_of_nan_has_made_nan_needs_no_more_rows(kind):
    aggregate, goal = Aggregate(kind, ("y",)), Goal(0.01)
    for odd in ([np.nan], [np.inf, -np.inf]):
        with np.errstate(invalid="ignore"):
            found = estimate(sample(np.r_[Y[:50], odd]), aggregate, 0.1, known=KnownBounds(1))
        assert np.isnan(found.value[0])
        assert found.status[0] == Status.CERTAIN
        assert met(found, goal).all()
        assert wanted(found, goal, 0.1)[0] == 0
    if kind != "var_samp":
        # An infinity of the other sign may come.
        for none in (sample([*Y[:50], np.inf]), State.empty(axes_for([aggregate]), [()])):
            assert not met(estimate(none, aggregate, 0.1, known=KnownBounds(1)), goal).any()


def test_a_constant_column_is_no_danger_where_its_bounds_say_so():
    state = sample(np.full(1_000, 3.0))
    assert status(state, AVG, KnownBounds(1, {"y": (3.0, 3.0)})) == Status.BOUNDED
    assert status(state, AVG, KnownBounds(1, {"y": (3.0, 4.0)})) == Status.HEAVY_TAIL


@pytest.mark.parametrize("seen", [0, 3, 60])
@pytest.mark.parametrize("other", [0.0, 5.0])
def test_values_that_most_keys_have_tell_nothing_of_the_others(seen, other):
    """Such as those of sum(CASE WHEN … THEN … ELSE 0 END) where the condition holds in few rows."""
    y = np.full(3_000, other)
    y[:seen] = np.linspace(1, 2, max(seen, 1))[:seen]
    for kind in ("sum", "avg", "var_pop"):
        aggregate = Aggregate(kind, ("y",))
        found = estimate(sample(y), aggregate, 0.1, known=KnownBounds(1))
        assert Status(int(found.status[0])) == Status.FEW_KEYS
        assert found.keys[0] == pytest.approx(seen, rel=0.25)
        assert not met(found, Goal(0.05)).any()
        assert not met(found, Goal(1e9, relative=False)).any()
    y[:200] = np.linspace(1, 2, 200)
    assert status(sample(y), Aggregate("sum", ("y",))) == Status.SAMPLE_ONLY


def test_where_statistics_tell_of_a_column_of_one_value_all_keys_count():
    state, known = sample(np.full(1_000, 3.0)), {"y": (3.0, 3.0)}
    for kind in ("sum", "avg"):
        aggregate = Aggregate(kind, ("y",))
        assert status(state, aggregate, KnownBounds(1, known)) == Status.BOUNDED
        assert status(state, aggregate, KnownBounds(None, known)) == Status.SAMPLE_ONLY
    # The price of one piece, of a table with others: what unseen keys can add to the sum is known.
    assert status(state, Aggregate("sum", ("y",)), KnownBounds(1, {"y": (3.0, 4.0)})) == Status.BOUNDED


def test_values_of_few_kinds_rest_on_all_keys():
    rng = np.random.default_rng(3)
    for p in (0.2, 0.5, 0.9):
        found = estimate(sample((rng.random(3_000) < p).astype(float)), AVG, 0.1)
        assert found.keys[0] > 500


def test_extremes_are_bounds_and_certain():
    state = sample(Y)
    found = estimate(state, LARGEST, 0.1, known=KnownBounds(1, {"y": (0.0, 20.0)}))
    assert (found.low[0], found.value[0], found.high[0]) == (Y.max(), Y.max(), 20.0)
    found = estimate(state, SMALLEST, 0.1)
    assert (found.low[0], found.value[0], found.high[0]) == (-np.inf, Y.min(), Y.min())
    assert status(state, SMALLEST) == Status.CERTAIN
    assert status(state, SMALLEST, fraction=1.0) == Status.EXACT


def test_a_largest_value_that_is_not_told_bounds_nothing():
    state, known = sample(Y), KnownBounds(1, {"y": (0.0, np.nan)})
    found = estimate(state, LARGEST, 0.1, known=known)
    assert (found.low[0], found.value[0], np.isnan(found.high[0])) == (Y.max(), Y.max(), True)
    assert estimate(state, SMALLEST, 0.1, known=known).low[0] == 0.0
    assert status(state, AVG, known) == Status.SAMPLE_ONLY
    assert status(state, AVG, KnownBounds(10_000, known.bounds)) == Status.HEAVY_TAIL
    assert status(sample(np.full(3_000, 3.0)), AVG, KnownBounds(1, {"y": (3.0, np.nan)})) != Status.BOUNDED


def test_no_row_tells_no_extreme():
    """A filter of few rows, of which the first step has none: what was not read may have some."""
    state, known = State.empty(axes_for(ALL), [()]), KnownBounds(1, {"y": (0.0, 20.0)})
    both = Combination((LARGEST, SMALLEST), Operation("-", Part(0), Part(1)))
    for aggregate in (LARGEST, SMALLEST, both):
        assert status(state, aggregate, known, fraction=0.01) == Status.FEW_KEYS
        assert not met(estimate(state, aggregate, 0.01, known=known), Goal(0.01)).any()
        assert status(state, aggregate, known, fraction=1.0) == Status.EXACT


def test_count_if_counts_what_holds():
    state = sample(np.where(np.arange(3_000) % 3 == 0, 1.0, -1.0))
    found = estimate(state, Aggregate("count_if", ("c",)), 0.1, known=KnownBounds(1))
    assert found.value[0] == pytest.approx(10_000)
    assert Status(int(found.status[0])) == Status.BOUNDED
    assert found.low[0] < 10_000 < found.high[0]


def test_bounds_stay_within_what_is_possible():
    rng = np.random.default_rng(6)
    found = estimate(sample(rng.lognormal(0, 3, 20_000)), SD, 0.01)
    assert found.low[0] >= 0


def test_more_confidence_is_wider_and_more_data_narrower():
    state = sample(Y)
    at = {c: estimate(state, AVG, 0.1, confidence=c).margin[0] for c in (0.9, 0.95, 0.99)}
    assert at[0.9] < at[0.95] < at[0.99]
    assert estimate(state, AVG, 0.5).margin[0] < at[0.95]


@pytest.mark.parametrize("magnitude", [-590, -540, -430, -360, 340, 480, 560, 900])
def test_bounds_have_the_scale_of_the_values(magnitude):
    """Powers of small and of large values are beyond what doubles hold."""
    y = np.random.default_rng(6).lognormal(0, 1, 300)
    unit, found = (estimate(sample(y * by, [AVG]), AVG, 0.1) for by in (1.0, 2.0**magnitude))
    for end in ("low", "value", "high"):
        expected = np.ldexp(getattr(unit, end)[0], magnitude)
        assert getattr(found, end)[0] == pytest.approx(expected, rel=1e-9, abs=0)


def test_not_a_number_is_never_answered_from_a_sample():
    found = estimate(sample([*Y, np.nan]), AVG, 0.1)
    assert np.isnan(found.value[0])


@pytest.mark.parametrize(
    ("kind", "columns", "p"),
    [("corr", ("y",), None), ("sum", (), None), ("avg", ("y",), 0.5), ("avg", ("y",), 1.5)]
    + [("percentile", ("y",), p) for p in (None, 1.5)],
)
def test_what_cannot_be_estimated_is_refused(kind, columns, p):
    with pytest.raises(InvalidInputError):
        Aggregate(kind, columns, p)


def test_an_exact_average_is_the_sum_divided_once():
    """Beside a spread the rows are summed about a centre, which costs no digit: Spark's average compares the same."""
    for seed in range(100):
        y = np.random.default_rng(seed).integers(0, 1000, 70)
        axes = replace(axes_for([AVG, SD]), centres={"y": 512.0})
        sums = [
            [1.0 if not sum(m.powers) else (each - 512.0) ** sum(m.powers) for m in axes.moments]
            for each in y
        ]
        state = State.from_rows(axes, [()] * len(y), [0] * len(y), sums, y[:, None], y[:, None])
        found = estimate(state, AVG, 1.0)
        assert found.low[0] == found.value[0] == found.high[0] == y.sum() / 70
