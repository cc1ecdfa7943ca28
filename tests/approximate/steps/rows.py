"""What a step of an estimate reads of rows that a test holds in arrays."""

from __future__ import annotations

import numpy as np

from pyqbeast.approximate.estimate import Aggregate, FileCosts, GroupSpans, KnownBounds, State
from pyqbeast.approximate.estimate.rounding import NumberLimits
from pyqbeast.core.format.constants import WEIGHT_END, WEIGHT_MIN
from pyqbeast.core.sampling.weight_scale import WeightScale


def state_of(step, axes, weights, values, groups=None):
    """The state of the rows whose weights a step reads; of one group where none are named."""
    chosen = (step.start <= weights) & (step.stop > weights)
    y = values[chosen]
    sums = np.stack([y ** (sum(moment.powers) if moment.columns else 0) for moment in axes.moments], axis=1)
    keys = [()] * len(y) if groups is None else [(group,) for group in groups[chosen].tolist()]
    return State.from_rows(axes, keys, weights[chosen] % axes.buckets, sums, y[:, None], y[:, None])


class Columns:
    """A table of columns of numbers, in ten files of 1,000 bytes, each a band of weights."""

    edges = np.linspace(WEIGHT_MIN, WEIGHT_END, 11).astype(np.int64)
    files = FileCosts([1_000] * 10, edges[:-1], edges[1:] - 1)
    other_bytes = 0
    scale = WeightScale()
    known = KnownBounds()
    group_names = ()
    group_spans = GroupSpans((), [()] * 10, [None] * 10)

    def __init__(self, requested, limits, **columns):
        self.requested, self.limits, self.columns = requested, limits, columns
        self.row_count = len(next(iter(columns.values())))
        self.weights = np.random.default_rng(1).integers(WEIGHT_MIN, WEIGHT_END, self.row_count)

    def read(self, step, axes):
        chosen = (step.start <= self.weights) & (self.weights < step.stop)
        weights = self.weights[chosen]
        held = {name: np.asarray(values, np.float64)[chosen] for name, values in self.columns.items()}
        sums = np.ones((len(weights), len(axes.moments)))
        for at, moment in enumerate(axes.moments):
            for name, power in zip(moment.columns, moment.powers, strict=True):
                sums[:, at] *= held[name] ** power
        ends = np.stack([held[name] for name in axes.columns], axis=1)
        return State.from_rows(axes, [()] * len(weights), weights % axes.buckets, sums, ends, ends)

    def grid(self, aggregate, groups):
        return None


class Groups:
    """Rows of normal values with groups by turns, in files of 1,000 bytes that are bands of weights."""

    requested = (Aggregate("avg", ("y",)),)
    limits = NumberLimits({}, {}, {})
    other_bytes = 0
    scale = WeightScale()
    known = KnownBounds(1, {"y": (0.0, 20.0)})
    group_names = ("g",)

    def __init__(self, rows, groups, files, seed=1):
        rng = np.random.default_rng(seed)
        self.edges = np.linspace(WEIGHT_MIN, WEIGHT_END, files + 1).astype(np.int64)
        self.weight = rng.integers(WEIGHT_MIN, WEIGHT_END, rows)
        self.y = rng.normal(10, 2, rows)
        self.group = np.arange(rows) % groups
        self.row_count = rows
        self.files = FileCosts([1_000] * files, self.edges[:-1], self.edges[1:] - 1)
        self.group_spans = GroupSpans([None], [(None,)] * files, [None] * files)

    def read(self, step, axes):
        return state_of(step, axes, self.weight, self.y, self.group)

    def grid(self, aggregate, groups):
        return None
