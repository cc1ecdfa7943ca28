"""The sums that one request needs, cut into those of its parts: a single aggregate is a combination of one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pyqbeast.approximate.estimate.combination import Combination, Part, Requested, combined, moved
from pyqbeast.approximate.estimate.formulas import COUNTS, FORMULAS, OF_SEVERAL, SPREADS
from pyqbeast.approximate.estimate.interval import distinct_keys
from pyqbeast.approximate.estimate.request import Aggregate
from pyqbeast.approximate.estimate.state import FloatArray, State


class PartSums:
    """The sums of the rows read, for one request.

    Attributes:
        sampled: [group, bucket, moment], the moments of all parts one after the other.
    """

    def __init__(self, state: State, requested: Requested) -> None:
        self._term = requested.term if isinstance(requested, Combination) else Part(0)
        self._parts = requested.parts
        self._centres = [state.axes.centres_of(part.columns) for part in self._parts]
        self._origins = [np.tile(centres, (len(state.groups), 1)) for centres in self._centres]
        ends = np.cumsum([len(part.moments) for part in self._parts])
        self._cuts = [
            slice(end - len(part.moments), end) for part, end in zip(self._parts, ends, strict=True)
        ]
        self.sampled = state.sums[..., state.index(requested.moments)]
        for part, cut, origins in zip(self._parts, self._cuts, self._origins, strict=True):
            if part.kind in SPREADS:
                self._settle(state, part, self.sampled[..., cut], origins)

    @staticmethod
    def _settle(state: State, part: Aggregate, sums: FloatArray, origins: FloatArray) -> None:
        """Takes moments of a column that has one value in a group about that value, where they are exactly 0."""
        for at, column in enumerate(part.columns):
            ends = state.span([column])[:, 0]
            is_one = np.isfinite(ends[:, 0]) & (ends[:, 0] == ends[:, 1])
            origins[is_one, at] = ends[is_one, 0]
            for number, moment in enumerate(part.moments):
                if moment.powers[at]:
                    sums[is_one, :, number] = 0.0

    def value(self, sums: FloatArray) -> FloatArray:
        """The request's value [...] in a population with these sums [..., moment]."""
        return combined(self._term, self._values(sums))

    def _values(self, sums: FloatArray) -> list[FloatArray]:
        return [
            FORMULAS[part.kind].value(sums[..., cut], centres)
            for part, cut, centres in zip(self._parts, self._cuts, self._centres, strict=True)
        ]

    def reach(self, population: FloatArray, span_of: Callable[[str], FloatArray]) -> FloatArray:
        """The most [group] that one row can move the value: what it moves each part, by how much that counts.

        Args:
            population: sums [group, moment].
            span_of: a column's smallest and largest possible value [group, 2], or [1, 2] for all groups.
        """
        reaches = []
        each = zip(self._parts, self._cuts, self._centres, self._origins, strict=True)
        for part, cut, centres, origins in each:
            spans = [
                span_of(column) - origin[:, None]
                for column, origin in zip(part.extremes, origins.T, strict=False)
            ]
            span = np.stack(spans, axis=1) if spans else np.empty((1, 0, 2))
            reaches.append(FORMULAS[part.kind].reach(population[:, cut], span, centres))
        return moved(self._term, self._values(population), reaches)

    def noise(self, population: FloatArray) -> FloatArray:
        """How far [group] the rounding of the sums may have moved the value; `population` is sums [group, moment]."""
        noises = [FORMULAS[part.kind].noise for part in self._parts]
        nothing = np.zeros(len(population))
        if not any(noises):
            return nothing
        totals = self.sampled.sum(axis=1)
        return moved(
            self._term,
            self._values(population),
            [
                noise(totals[:, cut]) if noise else nothing
                for noise, cut in zip(noises, self._cuts, strict=True)
            ],
        )

    def keys(self) -> FloatArray:
        """About how many distinct keys [group] the value rests on: those of the part that has the fewest."""
        return np.asarray(np.min([distinct_keys(self.sampled[..., cut.start]) for cut in self._cuts], axis=0))


def holds_nonfinite(state: State, requested: Requested) -> NDArray[np.bool_]:
    """Whether [group] rows hold a NaN or an infinity in a column that is summed or compared."""
    ends = state.span(requested.extremes)
    is_empty = np.isnan(ends[..., 0]) & np.isneginf(ends[..., 1])
    return np.asarray((~np.isfinite(ends).all(axis=2) & ~is_empty).any(axis=1))


def has_rows(state: State, requested: Requested) -> NDArray[np.bool_]:
    """Whether [group] there is a value: every part has the rows that it needs, but for counts, which are 0 without."""
    found = np.ones(len(state.groups), dtype=bool)
    for part in requested.parts:
        if part.kind not in COUNTS:
            counted = Aggregate("count", part.columns[:1]) if part.kind == "percentile" else part
            rows = state.sums[..., state.index(counted.moments)[0]].sum(axis=1)
            found &= rows > int(part.kind in OF_SEVERAL)
    return found
