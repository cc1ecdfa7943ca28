"""Completeness of a list of groups, and the number of keys behind counts."""

from __future__ import annotations

import numpy as np
import pytest

from pyqbeast.approximate.estimate import Aggregate, State, axes_for, completeness
from pyqbeast.approximate.estimate.groups import missed_keys
from pyqbeast.approximate.estimate.interval import distinct_keys

AXES = axes_for([Aggregate("count")])


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


def test_the_unseen_share_is_about_right():
    rng = np.random.default_rng(1)
    said, true = zip(
        *(
            (completeness(state, 0.1).unseen_share, missed)
            for state, missed in (sampled(0.1, rng) for _ in range(20))
        ),
        strict=True,
    )
    assert np.mean(said) == pytest.approx(np.mean(true), rel=0.15)


def test_complete_only_when_exact():
    state, _ = sampled(0.5, np.random.default_rng(2))
    assert completeness(state, 1.0).complete
    half = completeness(state, 0.5)
    assert not half.complete
    assert half.missed_rows == pytest.approx(half.missed_keys, rel=0.5)
    nothing = completeness(State.empty(AXES), 0.01)
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
