"""Joins of two tables that are sampled by key: bounds hold as often as they say.

A sample takes all rows of a key or none, on both sides, so the join has a key's rows in full or not at all.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from pyqbeast.approximate.estimate import KnownBounds
from tests.approximate.estimate.intervals import LEAST, MOST, NAIVE, REPETITIONS, holds, naive
from tests.approximate.estimate.populations import (
    AGGREGATES,
    COMBINED,
    COUNT,
    JOINS,
    KEYS_OF_JOINS,
    SUM,
    population,
    samples,
)
from tests.approximate.estimate.progressions import run

pytestmark = pytest.mark.slow

KINDS = {kind: aggregate for kind, aggregate in (AGGREGATES | COMBINED).items() if kind not in ("sd", "corr")}
EVEN_KEYS = [name for name in JOINS if name != "heavy join"]


@pytest.mark.parametrize("name", EVEN_KEYS)
def test_the_bounds_hold_as_often_as_they_say(name):
    pop, keys = population(name), (1_000, 4_000)
    stops = [count / len(pop.sums) for count in keys]
    hits = Counter()
    for sums, _ in samples(name, stops, REPETITIONS, np.random.default_rng(33), KINDS.values(), batch=200):
        for step, fraction in enumerate(stops):
            for each, aggregate in KINDS.items():
                found = holds(sums[:, step], aggregate, fraction, pop.truth(aggregate))
                hits[each, keys[step]] += int(found.sum())
    print(name, {f"{each} {count}": held / REPETITIONS for (each, count), held in hits.items()})
    assert {cell: count for cell, count in hits.items() if not LEAST <= count <= MOST} == {}


@pytest.mark.parametrize("name", EVEN_KEYS)
def test_rows_of_the_join_taken_for_independent_fail(name):
    pop = population(name)
    fraction = 3_000 / len(pop.sums)
    hits = Counter()
    for sums, _ in samples(name, [fraction], 500, np.random.default_rng(34), NAIVE):
        for aggregate in (COUNT, SUM):
            value, error = naive(sums[:, 0], aggregate, fraction)
            hits[aggregate.kind] += int((np.abs(value - pop.truth(aggregate)) <= 1.96 * error).sum())
    print(name, {kind: count / 500 for kind, count in hits.items()})
    assert max(hits.values()) < 0.8 * 500


def known_of_two_tables(name):
    """The largest key of a join may have as many rows as the largest of one side times that of the other."""
    left, right = JOINS[name](np.random.default_rng(sum(map(ord, name))), KEYS_OF_JOINS[name])
    exact, product = population(name).known, float(left.max() * right.max())
    assert exact.key_rows <= product
    return KnownBounds(product, exact.bounds)


def test_the_product_of_the_largest_keys_sends_heavy_tails_on():
    tallies = run("heavy join", ("count", "sum", "avg"), 0.1, 200, 0.5, known_of_two_tables("heavy join"))
    for kind, tally in tallies.items():
        print(kind, tally)
        assert tally.sampled - tally.held <= 0.07 * 200


def test_without_it_a_heavy_join_is_believed():
    """Guards the test above, which would show nothing if the sample alone were enough."""
    tally = run("heavy join", ("count",), 0.1, 300, 0.5, None)["count"]
    print(tally)
    assert tally.held < 0.9 * tally.sampled


@pytest.mark.parametrize(("name", "least", "most_read"), [("alike", 1.0, 0.05), ("many", 0.9, 0.2)])
def test_keys_of_like_size_are_not_sent_on(name, least, most_read):
    """A key of many may have 576 rows as far as is known; those of the largest are 170."""
    tally = run(name, ("count",), 0.1, 100, 0.4, known_of_two_tables(name))["count"]
    assert tally.sampled >= least * 100
    assert tally.read < most_read * 100
