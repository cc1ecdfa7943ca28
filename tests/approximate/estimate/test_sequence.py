"""Whole progressive answers: pilot, prediction, stop or exact, as a reader would go about it."""

from __future__ import annotations

import numpy as np
import pytest

from pyqbeast.approximate.estimate import estimate
from pyqbeast.approximate.estimate.stopping import PILOT_KEYS
from tests.approximate.estimate.populations import AGGREGATES, as_state, population, samples
from tests.approximate.estimate.progressions import run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["ln1", "clz50", "hold"])
def test_looking_in_between_costs_no_coverage(name):
    repetitions, error, steps = (1_000, 0.1, 2) if name == "clz50" else (1_000, 0.05, 4)
    largest = steps * PILOT_KEYS / len(population(name).sums)
    tallies = run(name, ("count", "sum", "avg"), error, repetitions, largest, None)
    for kind, tally in tallies.items():
        share, read = tally.held / tally.sampled, tally.read / repetitions
        print(f"{name} {kind}: {share:.4f} of the sampled hold, read {read:.4f}")
        assert tally.sampled >= 0.95 * repetitions
        assert 0.922 * tally.sampled <= tally.held <= 0.9775 * tally.sampled


@pytest.mark.parametrize(
    ("name", "kinds"), [("par", AGGREGATES), ("cl", AGGREGATES), ("bent", ("sd", "corr"))]
)
def test_what_is_known_of_the_keys_sends_heavy_tails_on(name, kinds):
    repetitions = 200
    tallies = run(name, kinds, 0.1, repetitions, 0.5, population(name).known)
    for kind, tally in tallies.items():
        missed = (tally.sampled - tally.held) / repetitions
        print(f"{name} {kind}: sampled {tally.sampled / repetitions:.2f}, missed {missed:.3f} of all")
        assert missed <= 0.07


def test_no_answer_stops_for_having_seen_none_of_the_rare_large_values():
    """160 rows of 390,000 are far above the others. Samples without one have narrow bounds, of which half hold."""
    repetitions = 400
    tally = run("spikes", ("avg",), 0.035, repetitions, 0.03, population("spikes").known)["avg"]
    print(f"sampled {tally.sampled}, held {tally.held} of {repetitions}")
    assert tally.sampled - tally.held <= 0.02 * repetitions


def test_without_it_a_heavy_tail_is_believed():
    """Guards the test above, which would show nothing if the sample alone were enough."""
    tally = run("par", ("avg",), 0.1, 150, 0.5, None)["avg"]
    assert tally.sampled - tally.held > 0.1 * 150


@pytest.mark.parametrize(("name", "error"), [("ln1", 0.05), ("clmild", 0.02)])
def test_about_as_much_is_read_as_the_error_needs(name, error):
    """The ideal is the smallest fraction whose true standard error meets the error."""
    pop, aggregate = population(name), AGGREGATES["avg"]
    first = PILOT_KEYS / len(pop.sums)
    values = [
        estimate(as_state(sums[:, 0]), aggregate, first).value
        for sums, _ in samples(name, [first], 200, np.random.default_rng(2), [aggregate])
    ]
    odds = (1.96 * np.std(np.concatenate(values)) / (error * pop.truth(aggregate))) ** 2 * first / (1 - first)
    ideal = max(odds / (1 + odds), first)
    tally = run(name, ("avg",), error, 100, 10 * ideal, None)["avg"]
    print(f"{name} avg, error {error}: read {tally.read / 100 / ideal:.2f} of the ideal {ideal:.4f}")
    assert tally.sampled >= 0.95 * 100
