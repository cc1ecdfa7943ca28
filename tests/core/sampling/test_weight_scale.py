"""Shares of keys by weight, where all rows are there and where some were chosen by their weight."""

from __future__ import annotations

import numpy as np

from pyqbeast.approximate.estimate import FileCosts
from pyqbeast.approximate.estimate.budget import largest_step, next_step
from pyqbeast.core.format.constants import WEIGHT_END, WEIGHT_MIN
from pyqbeast.core.sampling.weight_scale import WeightScale

#: Of a table whose lightest row has weight 0, and the heaviest 9,999.
CHOSEN = WeightScale(0, 10_000)


def test_keys_are_spread_evenly():
    assert WeightScale().threshold(0.5) == 0
    assert WeightScale().share(0) == 0.5
    assert WeightScale().share(WEIGHT_END) == 1.0
    assert WeightScale().stops(np.array([-5, 3, 9]), 0).tolist() == [3, 9, WEIGHT_END]


def test_chosen_keys_are_spread_evenly_between_the_lightest_and_the_heaviest():
    assert [CHOSEN.threshold(share) for share in (0.0, 0.00011, 0.5, 0.99995)] == [0, 2, 5_000, WEIGHT_END]
    assert [CHOSEN.share(stop) for stop in (WEIGHT_MIN, 0, 4_000, WEIGHT_END)] == [0.0, 0.0, 0.4, 1.0]
    assert CHOSEN.stops(np.array([0, 500, 9_000]), 1).tolist() == [500, 9_000, WEIGHT_END]


def test_steps_over_chosen_keys():
    files = FileCosts([100, 900], [0, 501], [500, 9_999])
    first = {"start": WEIGHT_MIN, "mergeable": True, "scale": CHOSEN}
    step = next_step(files, 0.01, spent=0, **first)
    assert (step.start, step.stop, step.cost, step.fraction) == (WEIGHT_MIN, 501, 100, 0.0501)
    assert next_step(files, 1.0, spent=0, **first).fraction == 1.0
    step = largest_step(files, 300, 1.0, **first)
    assert (step.stop, step.cost, step.fraction) == (501, 100, 0.0501)
    assert largest_step(files, 50, 1.0, **first) is None


def test_no_step_ends_before_the_lightest_row():
    """A file whose rows are deleted lies there, and costs what it did."""
    files = FileCosts([50, 100, 900], [-500, 0, 501], [-1, 500, 9_999])
    first = {"start": WEIGHT_MIN, "mergeable": True, "scale": CHOSEN}
    assert largest_step(files, 60, 1.0, **first) is None
    assert largest_step(files, 300, 1.0, **first).fraction == 0.0501
