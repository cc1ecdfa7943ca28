"""Completeness of a list of groups, and the number of keys behind counts."""

from __future__ import annotations

import numpy as np
import pytest

from pyqbeast.approximate.estimate import Aggregate, State, axes_for
from pyqbeast.approximate.estimate.groups import (
    Unread,
    completeness,
    missed_keys,
    most_missing_keys,
    rows_at_most,
)
from pyqbeast.approximate.estimate.interval import distinct_keys

AXES = axes_for([Aggregate("count")])
#: Where groups may lie of which nothing is told.
ANYWHERE = Unread(np.inf, 0, None, {})


@pytest.mark.parametrize(("fraction", "keys"), [(0.01, 458), (0.05, 90), (0.1, 44), (0.3, 13)])
def test_the_size_of_a_group_that_is_seen_with_99_percent(fraction, keys):
    assert missed_keys(fraction, 0.99) == pytest.approx(keys, rel=0.01)


def test_groups_are_found_as_often_as_said():
    rng = np.random.default_rng(0)
    size = int(np.ceil(missed_keys(0.1, 0.99)))
    assert np.mean(rng.binomial(size, 0.1, 20_000) > 0) == pytest.approx(0.99, abs=0.003)


def sampled(fraction, rng):
    """2,000 groups, most of them with few keys; the state of a sample and the rows of groups it missed."""
    keys = rng.zipf(1.5, 2_000).clip(max=5_000)
    group = np.repeat(np.arange(len(keys)), keys)
    taken = rng.random(len(group)) < fraction
    found = group[taken]
    buckets = rng.integers(0, 128, len(found))
    state = State.from_rows(AXES, [(int(g),) for g in found], buckets, np.ones((len(found), 1)))
    return state, keys[~np.isin(np.arange(len(keys)), found)].sum() / keys.sum()


@pytest.mark.slow
def test_the_unseen_share_is_about_right():
    rng = np.random.default_rng(1)
    said, true = zip(
        *(
            (completeness(state, 0.1, 0.95, ANYWHERE).unseen_share, missed)
            for state, missed in (sampled(0.1, rng) for _ in range(20))
        ),
        strict=True,
    )
    assert np.mean(said) == pytest.approx(np.mean(true), rel=0.15)


def test_complete_only_where_no_file_may_hold_another_group():
    state, _ = sampled(0.5, np.random.default_rng(2))
    assert completeness(state, 0.5, 0.95, ANYWHERE._replace(rows=0)).complete
    assert not completeness(state, 0.5, 0.95, ANYWHERE).complete
    nothing = completeness(State.empty(AXES), 0.01, 0.95, ANYWHERE)
    assert not nothing.complete
    assert nothing.unseen_share == 1


@pytest.mark.parametrize("keys", [20, 100, 400, 5_000])
@pytest.mark.parametrize("rows", [1, 7])
def test_keys_are_counted_from_buckets(keys, rows):
    rng = np.random.default_rng(3)
    counts = rows * rng.multinomial(keys, np.full(128, 1 / 128), 200).astype(float)
    assert np.median(distinct_keys(counts)) == pytest.approx(keys, rel=0.1)


def test_few_large_keys_count_for_little():
    rng = np.random.default_rng(4)
    sizes = rng.zipf(2.2, (50, 20_000)).clip(max=2_000).astype(float)
    bucket = rng.integers(0, 128, sizes.shape)
    counts = np.stack([np.bincount(b, s, 128) for b, s in zip(bucket, sizes, strict=True)])
    assert np.median(distinct_keys(counts)) < 5_000


def test_no_rows_no_keys():
    assert distinct_keys(np.zeros((1, 128)))[0] == 0


#: Sizes in keys of the groups, and the rows of each key of a group. The first has the largest groups that may be
#: missed, and nothing else.
POPULATIONS = {
    "worst case": lambda rng: (np.full(2_000, 100), np.ones(2_000, int)),
    "heavy tail": lambda rng: (rng.zipf(1.5, 3_000).clip(max=5_000), np.ones(3_000, int)),
    "clusters": lambda rng: (rng.zipf(1.7, 3_000).clip(max=2_000), rng.geometric(0.2, 3_000)),
    "held out": lambda rng: (
        np.ceil(rng.lognormal(2, 1.5, 3_000)).astype(int),
        np.ceil(rng.lognormal(1, 1, 3_000)),
    ),
}
REPETITIONS, LEAST, MOST = 2_000, 1_844, 1_955


def largest_missing(keys, rows, fraction, rng):
    """[repetition]: keys and rows of the largest missing groups, each of which lacks all of its keys."""
    missing = rng.random((REPETITIONS, len(keys))) < (1 - fraction) ** keys
    return (missing * keys).max(axis=1), (missing * keys * rows).max(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", POPULATIONS)
def test_no_missing_group_is_larger_than_said(name):
    rng = np.random.default_rng(7)
    keys, rows = POPULATIONS[name](rng)
    all_rows = float((keys * rows).sum())
    # In the worst case groups are by a single key larger than what is said of the missing ones.
    fractions = (0.05, 0.2) if name != "worst case" else (fraction_for(99, all_rows),)
    for fraction in fractions:
        said = completeness(
            State.empty(AXES), fraction, 0.95, Unread(all_rows, all_rows, float(rows.max()), {})
        )
        missing_keys, missing_rows = largest_missing(keys, rows, fraction, rng)
        held = np.count_nonzero((missing_keys <= said.most_keys) & (missing_rows <= said.most_rows))
        print(name, fraction, said.most_keys, said.most_rows, held)
        assert held >= LEAST
        if name == "worst case":
            assert held <= MOST


def fraction_for(most, rows):
    """The smallest fraction of which is said that no group of more keys is missing."""
    tried = np.linspace(0.01, 0.5, 5_000)
    return next(float(f) for f in tried if most_missing_keys(f, rows, 0.95) <= most)


def test_a_join_makes_more_groups_than_the_table_has_rows():
    """Each of 100,000 rows meets 200 others and is a key, so that there can be 200 times as many groups of m keys."""
    rows, fraction, fan = 100_000, 0.02, 200
    rng = np.random.default_rng(9)
    counts = fan * rng.multinomial(int(rows * fraction), np.full(128, 1 / 128)).astype(float)
    state = State.from_rows(AXES, [("all",)] * 128, range(128), counts[:, None])
    said = completeness(state, fraction, 0.95, Unread(np.inf, rows, None, {})).most_keys
    groups = rows * fan // int(said)
    assert np.mean(rng.binomial(groups, (1 - fraction) ** said, 2_000) > 0) <= 0.06
    # A table alone has no more groups of so many keys than its rows make.
    alone = completeness(State.empty(AXES), fraction, 0.95, Unread(np.inf, rows, None, {})).most_keys
    assert alone < 0.7 * said


@pytest.mark.parametrize("name", ["heavy tail", "clusters"])
def test_the_size_that_one_group_is_missed_with_fails_for_all_of_them(name):
    rng = np.random.default_rng(8)
    keys, rows = POPULATIONS[name](rng)
    naive = missed_keys(0.05, 0.95) * (keys * rows).sum() / keys.sum()
    _, missing_rows = largest_missing(keys, rows, 0.05, rng)
    assert np.count_nonzero(missing_rows <= naive) < 0.8 * REPETITIONS


@pytest.mark.parametrize("size", [5, 30, 150, 2_000])
@pytest.mark.parametrize("name", ["rows", "clusters", "held out"])
def test_groups_are_not_taken_for_small_ones(name, size):
    """The upper bound of a group's rows, of those repetitions whose sample has the group."""
    rng, fraction = np.random.default_rng(size), 0.1
    rows = {
        "rows": lambda: np.ones(size),
        "clusters": lambda: rng.geometric(0.2, size),
        "held out": lambda: np.ceil(rng.lognormal(1, 0.7, size)),
    }[name]()
    taken = rng.random((REPETITIONS, size)) < fraction
    bucket = rng.integers(0, 128, (REPETITIONS, size))
    sums = np.stack([np.bincount(b[t], rows[t], 128) for b, t in zip(bucket, taken, strict=True)])[..., None]
    seen = sums.sum(axis=(1, 2)) > 0
    state = State(
        AXES, tuple((i,) for i in range(REPETITIONS)), sums, State.empty(AXES, [()] * REPETITIONS).spans
    )
    most = rows_at_most(state, np.full(REPETITIONS, fraction), 0.95, float(rows.max()))[seen]
    by_estimate = sums.sum(axis=(1, 2))[seen] / fraction
    print(
        name,
        size,
        np.mean(most >= rows.sum()),
        np.mean(by_estimate >= rows.sum()),
        np.median(most) / rows.sum(),
    )
    assert np.mean(most >= rows.sum()) >= LEAST / REPETITIONS
    # The estimate itself fails as a bound, but where a single key of few is all that a sample is seen by.
    assert size == 5 or np.mean(by_estimate >= rows.sum()) < 0.8
    for key_rows in (float(rows.max()), None):
        assert (
            rows_at_most(state, np.ones(REPETITIONS), 0.95, key_rows).tolist()
            == sums.sum(axis=(1, 2)).tolist()
        )


def test_a_key_that_was_missed_may_be_the_most_frequent_one():
    """Three of a hundred keys of one row were seen. A key of 40,000 rows lies beside them."""
    buckets = np.bincount([3, 50, 90], minlength=128).astype(float)
    state = State.from_rows(AXES, [("a",)] * 128, range(128), buckets[:, None])
    fraction = np.array([0.03])
    assert rows_at_most(state, fraction, 0.95, 40_000.0)[0] > 40_100
    assert rows_at_most(state, fraction, 0.95, None)[0] == np.inf
    # Of keys of one row each there are as many as a Poisson count of 3 leaves.
    assert rows_at_most(state, fraction, 0.95, 1.0)[0] == pytest.approx(8.767 / 0.03, rel=1e-4)
