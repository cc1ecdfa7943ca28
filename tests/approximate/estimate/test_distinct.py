"""Counts of distinct values from which the key follows: 2,000 repetitions each, by the rule of `test_coverage`."""

from __future__ import annotations

import numpy as np
import pytest

from pyqbeast.approximate.estimate import Aggregate, KnownBounds, State, Status, axes_for, estimate
from pyqbeast.approximate.estimate.state import merge

USERS = Aggregate("count_distinct", ("user",), one_per_key=True)
PAIRS = Aggregate("count_distinct", ("user", "day"))
AXES = axes_for([USERS, PAIRS])
REPETITIONS, LEAST, MOST, KEYS, FRACTION = 2_000, 1_844, 1_955, 6_000, 0.1

#: Distinct days of each user, and how often each pair of both comes.
POPULATIONS = {
    "heavy": lambda rng: (rng.zipf(2.2, KEYS).clip(max=50), rng.geometric(0.5, KEYS)),
    "clusters": lambda rng: (rng.geometric(0.2, KEYS), rng.geometric(0.2, KEYS)),
    "held out": lambda rng: (np.ceil(rng.lognormal(1, 0.7, KEYS)), np.ceil(rng.lognormal(1, 1, KEYS))),
}


def states(days, rng):
    """One group for each repetition."""
    for _ in range(20):
        taken = rng.random((REPETITIONS // 20, KEYS)) < FRACTION
        slot = (np.arange(len(taken))[:, None] * 128 + rng.integers(0, 128, taken.shape))[taken]
        counts = {None: 1, USERS.moments[0]: 1, PAIRS.moments[0]: days}
        sums = np.stack(
            [
                np.bincount(
                    slot, np.broadcast_to(counts.get(moment, 1), taken.shape)[taken], len(taken) * 128
                )
                for moment in AXES.moments
            ],
            axis=1,
        ).reshape(len(taken), 128, -1)
        empty = State.empty(AXES, [(i,) for i in range(len(taken))])
        yield State(AXES, empty.groups, sums, empty.spans)


@pytest.mark.slow
@pytest.mark.parametrize("name", POPULATIONS)
def test_the_bounds_hold_as_often_as_they_say(name):
    rng = np.random.default_rng(5)
    days, repeats = POPULATIONS[name](rng)
    held = {USERS: 0, PAIRS: 0}
    values = []
    for state in states(days, rng):
        for each, truth in ((USERS, KEYS), (PAIRS, days.sum())):
            found = estimate(state, each, FRACTION)
            held[each] += np.count_nonzero((found.low <= truth) & (truth <= found.high))
            values += found.value.tolist() if each is USERS else []
    print(name, held)
    assert all(LEAST <= count <= MOST for count in held.values())
    assert np.mean(values) == pytest.approx(KEYS, rel=0.005)
    # Rows that are drawn one by one have nearly every user of many rows, and the number says nothing of the rest.
    rows = days * repeats
    drawn = np.mean(1 - (1 - FRACTION) ** rows) * KEYS
    assert drawn / FRACTION > 2 * KEYS
    assert drawn < 0.8 * KEYS


def test_steps_add_up_and_a_key_counts_once_at_the_most():
    sums = np.ones((3, len(AXES.moments)))
    first = State.from_rows(AXES, [()] * 3, [0, 1, 2], sums)
    second = State.from_rows(AXES, [()] * 3, [0, 5, 2], sums)
    found = estimate(merge(first, second), USERS, 1.0)
    assert (found.value[0], found.low[0], found.high[0]) == (6, 6, 6)
    many = State.from_rows(AXES, [()] * 640, np.arange(640) % 128, np.ones((640, len(AXES.moments))))
    # A key of a million rows has one user, but may have a million pairs of user and day.
    known = KnownBounds(1_000_000)
    assert estimate(many, USERS, 0.1, known=known).status[0] == Status.BOUNDED
    assert estimate(many, PAIRS, 0.1, known=known).status[0] == Status.HEAVY_TAIL
