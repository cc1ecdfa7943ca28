"""Progressive answers to many samples at once: pilot, prediction, stop or exact, as a reader would go about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyqbeast.approximate.estimate import Goal, estimate
from pyqbeast.approximate.estimate.stopping import PILOT_KEYS, PREDICTED_STEPS, met, wanted
from tests.approximate.estimate.populations import AGGREGATES, as_state, population, samples

# Files end at few thresholds; rounding up to steps of 20 % stands for that.
GRAIN = 1.2


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
    requested = [AGGREGATES[kind] for kind in kinds]
    rng = np.random.default_rng(11)
    for sums, spans in samples(name, stops, repetitions, rng, requested, spans=known is not None):
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
