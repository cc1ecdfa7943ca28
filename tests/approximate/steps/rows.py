"""What a step of an estimate reads of rows that a test holds in arrays."""

from __future__ import annotations

import numpy as np

from pyqbeast.approximate.estimate import State


def state_of(step, axes, weights, values, groups=None):
    """The state of the rows whose weights a step reads; of one group where none are named."""
    chosen = (step.start <= weights) & (step.stop > weights)
    y = values[chosen]
    sums = np.stack([y ** (sum(moment.powers) if moment.columns else 0) for moment in axes.moments], axis=1)
    keys = [()] * len(y) if groups is None else [(group,) for group in groups[chosen].tolist()]
    return State.from_rows(axes, keys, weights[chosen] % axes.buckets, sums, y[:, None], y[:, None])
