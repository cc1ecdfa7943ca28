"""Whole progressive answers: pilot, prediction, stop or exact, as a reader would go about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from pyqbeast.approximate.estimate import Goal, estimate
from pyqbeast.approximate.estimate.stopping import PILOT_KEYS, PREDICTED_STEPS, met, wanted
from tests.approximate.estimate.populations import AGGREGATES, as_state, population, samples

pytestmark = pytest.mark.repetitions

# Files end at few thresholds; rounding up to steps of 9 % stands for that.
GRAIN = 1.09


@dataclass
class Tally:
    """Sums over all repetitions: how many stopped early, in how many of those the bounds hold, and the
    fractions read.
    """

    sampled: int = 0
    held: int = 0
    read: float = 0.0


def run(name, kinds, error, repetitions, largest, known):
    """Let every repetition go its way; a call for more than the fraction `largest` counts as exact."""
    pop = population(name)
    stops = [PILOT_KEYS / len(pop.sums)]
    while stops[-1] * GRAIN < largest:
        stops.append(stops[-1] * GRAIN)
    tallies = {kind: Tally() for kind in kinds}
    for sums, spans in samples(name, stops, repetitions, np.random.default_rng(11), spans=known is not None):
        for kind, tally in tallies.items():
            sampled, held, read = progress(
                sums, spans, AGGREGATES[kind], Goal(error), np.array(stops), pop, known
            )
            tally.sampled += int(sampled.sum())
            tally.held += int(held.sum())
            tally.read += float(read.sum())
    return tallies


def progress(sums, spans, aggregate, goal, stops, pop, known):
    """[repetition]: whether it stopped on a sample, whether that holds the truth, the fraction read."""
    each = np.arange(len(sums))
    at, exact = np.zeros(len(sums), int), np.zeros(len(sums), bool)
    truth = pop.truth(aggregate)
    for step in range(1, PREDICTED_STEPS + 2):
        found = estimate(
            as_state(sums[each, at], None if spans is None else spans[each, at]),
            aggregate,
            stops[at],
            known=known,
        )
        going = ~met(found, goal) & ~exact
        asked = wanted(found, goal, stops[at])
        exact |= going & ((asked > stops[-1]) | (step > PREDICTED_STEPS))
        at = np.where(going & ~exact, np.searchsorted(stops, np.minimum(asked, stops[-1])), at)
    held = ~exact & (found.low <= truth) & (truth <= found.high)
    return ~exact, held, np.where(exact, 1.0, stops[at])


@pytest.mark.parametrize("name", ["ln1", "clmild", "clz50", "hold"])
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


def test_without_it_a_heavy_tail_is_believed():
    """Guards the test above, which would show nothing if the sample alone were enough."""
    tally = run("par", ("avg",), 0.1, 300, 0.5, None)["avg"]
    assert tally.sampled - tally.held > 0.1 * 300


@pytest.mark.parametrize(("name", "error"), [("ln1", 0.05), ("clmild", 0.02)])
def test_about_as_much_is_read_as_the_error_needs(name, error):
    """The ideal is the smallest fraction whose true standard error meets the error."""
    pop, aggregate = population(name), AGGREGATES["avg"]
    first = PILOT_KEYS / len(pop.sums)
    values = [
        estimate(as_state(sums[:, 0]), aggregate, first).value
        for sums, _ in samples(name, [first], 400, np.random.default_rng(2))
    ]
    odds = (1.96 * np.std(np.concatenate(values)) / (error * pop.truth(aggregate))) ** 2 * first / (1 - first)
    ideal = max(odds / (1 + odds), first)
    tally = run(name, ("avg",), error, 200, 10 * ideal, None)["avg"]
    print(f"{name} avg, error {error}: read {tally.read / 200 / ideal:.2f} of the ideal {ideal:.4f}")
    assert tally.sampled >= 0.95 * 200
