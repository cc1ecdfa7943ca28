"""Percentiles: coverage with and without clusters, ties, and the ends of the grid."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from pyqbeast.approximate.estimate import (
    Aggregate,
    Goal,
    KnownBounds,
    State,
    Status,
    axes_for,
    estimate,
    grid_from,
    grid_of_groups,
    grid_probabilities,
)
from pyqbeast.approximate.estimate.percentile import THRESHOLDS
from pyqbeast.approximate.estimate.rounding import known_numbers
from pyqbeast.approximate.estimate.stopping import met
from pyqbeast.approximate.row_sums import group_keys
from tests.approximate.estimate.populations import population

BUCKETS = 128


def repetition(y, first, last, fraction, pilot, p, rng):
    """Grid and counts [bucket, 1 + threshold] of one sample; key k has the rows first[k] to last[k]."""
    weight = rng.random(len(first))
    taken = np.flatnonzero(weight < fraction)
    lengths = last[taken] - first[taken]
    starts = np.repeat(first[taken] - np.append(0, np.cumsum(lengths)[:-1]), lengths)
    values = y[starts + np.arange(lengths.sum())]
    bucket = np.repeat(rng.integers(0, BUCKETS, len(taken)), lengths)
    in_pilot = np.repeat(weight[taken] < pilot, lengths)
    probabilities = grid_probabilities(p, (weight[taken] < pilot).sum())
    grid = grid_from(np.quantile(values[in_pilot], probabilities, method="inverted_cdf"))
    place = np.searchsorted(grid, values, side="left")
    counts = np.bincount(bucket * (len(grid) + 1) + place, minlength=BUCKETS * (len(grid) + 1))
    below = counts.reshape(BUCKETS, -1).cumsum(axis=1)
    return grid, np.column_stack([below[:, -1], below[:, :-1]])


def test_the_group_of_nan_finds_its_grid():
    """Each answer of Spark brings a NaN of its own."""
    first, later = (group_keys(pa.table({"g0": [np.nan, 1.0, None]}), ["g0"]) for _ in range(2))
    state = State.from_rows(axes_for([Aggregate("count")]), later, [0, 0, 0], [[1.0]] * 3)
    thresholds = {group: np.full(THRESHOLDS, float(at)) for at, group in enumerate(first)}
    assert grid_of_groups(thresholds, state.groups)[:, 0].tolist() == [0.0, 1.0, 2.0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "p", "keys"),
    [
        ("ln1", 0.5, 2_000),
        ("ln1", 0.95, 4_000),
        ("clmild", 0.5, 2_000),
        ("clmild", 0.95, 6_000),
        ("ties", 0.5, 2_000),
    ],
)
def test_percentile_bounds_hold(name, p, keys):
    pop = population("clmild" if name == "ties" else name)
    y = np.ceil(2 * pop.y) if name == "ties" else pop.y
    # A small population of the same kind: rows lie sorted by key.
    some = 15_000
    first = np.searchsorted(pop.key, np.arange(some + 1))
    y = y[: first[-1]]
    truth = np.quantile(y, p, method="inverted_cdf")
    rng, fraction, repetitions = np.random.default_rng(8), keys / some, 400
    grids, counts = zip(
        *(repetition(y, first[:-1], first[1:], fraction, fraction / 2, p, rng) for _ in range(repetitions)),
        strict=True,
    )
    aggregate = Aggregate("percentile", ("y",), p)
    axes = axes_for([aggregate])
    state = State.empty(axes, [(i,) for i in range(repetitions)])
    state.sums[:, :, state.index(aggregate.moments)] = np.stack(counts)
    found = estimate(state, aggregate, fraction, known=KnownBounds(1.0), grids={aggregate: np.stack(grids)})
    held = np.mean((found.low <= truth) & (truth <= found.high))
    print(f"{name} p{100 * p:.0f}: {held:.3f}, half-width {np.median(found.margin) / truth:.4f}")
    assert np.all(found.status == Status.BOUNDED)
    assert np.all((found.low <= found.value) & (found.value <= found.high))
    assert held >= 0.93


def one_group(p, values, grid):
    aggregate = Aggregate("percentile", ("y",), p)
    axes = axes_for([aggregate])
    sums = [[1.0, 1.0, *(value <= t for t in grid)] for value in values]
    state = State.from_rows(axes, [()] * len(values), np.arange(len(values)) % BUCKETS, sums)
    return aggregate, state


@pytest.mark.slow
def test_a_grid_beside_the_percentile_gives_no_answer():
    """Neither does a group without one, which came after the first step."""
    for grid in (np.linspace(2, 3, 41), np.linspace(-2, -1, 41), np.full(41, np.nan)):
        aggregate, state = one_group(0.5, np.linspace(0, 1, 10_000), grid)
        found = estimate(state, aggregate, 0.1, grids={aggregate: grid[None]})
        assert found.status[0] == Status.FEW_KEYS
        for values in (found.value, found.low, found.high):
            assert known_numbers(state, found, values) == [None]
        assert not met(found, Goal(0.5)).any()


def test_all_rows_do_not_make_it_exact():
    values = np.arange(10_000.0)
    grid = np.linspace(4_000, 6_000, 41)
    aggregate, state = one_group(0.5, values, grid)
    found = estimate(state, aggregate, 1.0, grids={aggregate: grid[None]})
    assert found.status[0] != Status.EXACT
    assert found.low[0] <= 4_999 <= found.high[0]


@pytest.mark.parametrize(("key_rows", "expected"), [(60, Status.BOUNDED), (80, Status.HEAVY_TAIL)])
def test_a_key_not_seen_may_move_the_share_below_by_as_much_as_its_bounds_allow_on_one_side(
    key_rows, expected
):
    """Of 10,000 rows the share is told to 0.01 on either side, by which three keys of 70 rows move it."""
    rng, grid = np.random.default_rng(3), np.linspace(0.4, 0.6, 41)
    aggregate, state = one_group(0.5, rng.random(10_000), grid)
    found = estimate(state, aggregate, 0.01, known=KnownBounds(key_rows), grids={aggregate: grid[None]})
    assert found.status[0] == expected


def test_few_keys_give_no_percentile():
    grid = np.linspace(0.9, 1, 41)
    aggregate, state = one_group(0.99, np.linspace(0, 1, 1_000), grid)
    found = estimate(state, aggregate, 0.1, grids={aggregate: grid[None]})
    assert found.status[0] == Status.FEW_KEYS
    assert np.isnan(found.low[0])
