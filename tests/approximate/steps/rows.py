"""What a step of an estimate reads of rows that a test holds in arrays."""

from __future__ import annotations

import numpy as np

from pyqbeast.approximate.estimate import Aggregate, FileCosts, GroupSpans, KnownBounds, State
from pyqbeast.approximate.estimate.rounding import NumberLimits
from pyqbeast.core.format.constants import WEIGHT_END, WEIGHT_MIN
from pyqbeast.core.sampling.weight_scale import WeightScale


class HeldRows:
    """Rows by column, in files of 1,000 bytes that are bands of weights; of one group where none are named."""

    known = KnownBounds()
    other_bytes = 0
    scale = WeightScale()

    def __init__(self, requested, columns, group=None, weight=None, files=10, limits=None):
        self.requested, self.columns, self.group = requested, columns, group
        self.limits = limits or NumberLimits()
        self.row_count = len(next(iter(columns.values())))
        rng = np.random.default_rng(1)
        self.weight = rng.integers(WEIGHT_MIN, WEIGHT_END, self.row_count) if weight is None else weight
        self.edges = np.linspace(WEIGHT_MIN, WEIGHT_END, files + 1).astype(np.int64)
        self.files = FileCosts([1_000] * files, self.edges[:-1], self.edges[1:] - 1)
        self.group_names = () if group is None else ("g",)
        nothing = (None,) * len(self.group_names)
        self.group_spans = GroupSpans(nothing, [nothing] * files, [None] * files)

    def taken(self, step):
        """Which rows a step reads."""
        return (step.start <= self.weight) & (self.weight < step.stop)

    def read(self, step, axes):
        taken = self.taken(step)
        values = {name: np.asarray(held, np.float64)[taken] for name, held in self.columns.items()}
        group = 0 if self.group is None else self.group[taken]
        cell, at = np.unique(group * axes.buckets + self.weight[taken] % axes.buckets, return_inverse=True)
        sums = np.empty((len(cell), len(axes.moments)))
        for number, moment in enumerate(axes.moments):
            factors = [
                (values[name] - axes.centres.get(name, 0.0)) ** power
                for name, power in zip(moment.columns, moment.powers, strict=True)
            ]
            sums[:, number] = np.bincount(at, np.prod([np.ones(len(at)), *factors], axis=0), len(cell))
        low, high = (np.full((len(cell), len(axes.columns)), end) for end in (np.nan, -np.inf))
        for number, name in enumerate(axes.columns):
            with np.errstate(invalid="ignore"):  # NumPy warns of NaN
                np.fmin.at(low[:, number], at, values[name])
                np.maximum.at(high[:, number], at, values[name])
        named = [() if self.group is None else (group,) for group in (cell // axes.buckets).tolist()]
        return State.from_rows(axes, named, cell % axes.buckets, sums, low, high)

    def grid(self, aggregate, groups):
        return None


class Groups(HeldRows):
    """Rows of normal values with groups by turns."""

    known = KnownBounds(1, {"y": (0.0, 20.0)})

    def __init__(self, rows, groups, files, seed=1):
        rng = np.random.default_rng(seed)
        weight = rng.integers(WEIGHT_MIN, WEIGHT_END, rows)
        self.y = rng.normal(10, 2, rows)
        super().__init__((Aggregate("avg", ("y",)),), {"y": self.y}, np.arange(rows) % groups, weight, files)
