"""Shares of rows by weight, where rows are spread evenly and where they were counted."""

from __future__ import annotations

import numpy as np

from pyqbeast.approximate.estimate import FileCosts
from pyqbeast.approximate.estimate.budget import next_step
from pyqbeast.core.format.constants import WEIGHT_END, WEIGHT_MIN
from pyqbeast.core.sampling.weight_scale import WeightScale

#: 1,000 rows, none of them below weight 0.
COUNTED = WeightScale([(-100, 0.0), (0, 0.0), (500, 10.0), (9_000, 400.0), (WEIGHT_END, 1_000.0)])


def test_evenly_spread_rows():
    assert WeightScale().threshold(0.5) == 0
    assert WeightScale().share(0) == 0.5
    assert WeightScale().share(WEIGHT_END) == 1.0
    assert WeightScale().stops(np.array([-5, 3, 9]), 0).tolist() == [3, 9, WEIGHT_END]


def test_counted_rows_are_told_at_the_weights_where_they_were_counted():
    assert [COUNTED.threshold(share) for share in (0.0, 0.01, 0.02, 0.4, 0.9)] == [
        500,
        500,
        9_000,
        9_000,
        WEIGHT_END,
    ]
    assert COUNTED.share(9_000) == 0.4
    assert COUNTED.stops(np.array([-5, 3]), 1).tolist() == [500, 9_000, WEIGHT_END]


def test_a_step_over_counted_rows_ends_where_they_were_counted():
    files = FileCosts([100, 900], [0, 501], [500, 20_000])
    first = {"start": WEIGHT_MIN, "spent": 0, "mergeable": True, "scale": COUNTED}
    step = next_step(files, 0.01, **first)
    assert (step.start, step.stop, step.fraction) == (WEIGHT_MIN, 500, 0.01)
    assert next_step(files, 1.0, **first).fraction == 1.0
