"""The sums that one request needs, cut into those of its parts: a single aggregate is a combination of one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from pyqbeast.approximate.estimate.aggregate import Aggregate
from pyqbeast.approximate.estimate.combination import (
    Combination,
    Part,
    Requested,
    Term,
    combined,
    curved,
    moved,
    slopes,
)
from pyqbeast.approximate.estimate.formulas import COUNTS, FORMULAS, OF_SEVERAL, SPREADS
from pyqbeast.approximate.estimate.interval import Statistic, distinct_keys
from pyqbeast.approximate.estimate.state import FloatArray, State

#: How far each addition may round a sum, as a share of the largest one.
_ROUNDED = 2.0**-52


class PartSums:
    """The sums of the rows read, for one request.

    Attributes:
        term: how the parts are combined.
        sampled: [group, bucket, moment], the moments of all parts one after the other.
    """

    def __init__(self, state: State, requested: Requested) -> None:
        self.term = requested.term if isinstance(requested, Combination) else Part(0)
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
        return combined(self.term, self._values(sums))

    def exact_value(self, sums: FloatArray) -> FloatArray:
        """The value [group] of all rows, whose sums [group, moment] these are. An average is divided once, as in Spark.

        A centre that is added after the division would cost the last digit.
        """
        values = self._values(sums)
        for number, (part, cut, centres) in enumerate(
            zip(self._parts, self._cuts, self._centres, strict=True)
        ):
            if part.kind == "avg":
                values[number] = FORMULAS["sum"].value(sums[..., cut], centres) / sums[..., cut.start]
        return combined(self.term, values)

    def of(self, term: Term) -> Statistic:
        """A term within the request's, as a function of sums [..., moment]."""
        return lambda sums: combined(term, self._values(sums))

    def curved(
        self,
        term: Term,
        population: FloatArray,
        moves: Callable[[Term], FloatArray],
        margin: Callable[[Statistic], FloatArray] | None = None,
    ) -> FloatArray:
        """How far [group] products move a term beyond what slopes tell; see `combination.curved`.

        Args:
            term: the request's, or one within it.
            population: sums [group, moment].
            moves: how far [group] a term moves by its slopes.
            margin: of a function of sums [group]; None where the formulas of parts move by their slopes alone.
        """
        bent = [np.zeros(len(population)) for _ in self._parts]
        for number, (part, cut) in enumerate(zip(self._parts, self._cuts, strict=True)):
            formula = FORMULAS[part.kind].bent
            if formula and margin:
                bent[number] = formula(population[:, cut], margin(_average_at(cut.start)))
        return curved(term, self._values(population), moves, bent)

    def _values(self, sums: FloatArray) -> list[FloatArray]:
        return [
            FORMULAS[part.kind].value(sums[..., cut], centres)
            for part, cut, centres in zip(self._parts, self._cuts, self._centres, strict=True)
        ]

    def reach(self, term: Term, population: FloatArray, span_of: Callable[[str], FloatArray]) -> FloatArray:
        """The most [group] that one row can move a term: what it moves each part, by how much that counts.

        It moves all parts at once, so that of a difference or a quotient of sums only the larger move counts.

        Args:
            term: the request's, or one within it.
            population: sums [group, moment].
            span_of: a column's smallest and largest possible value [group, 2], or [1, 2] for all groups.
        """
        down, up = np.zeros((2, len(population)))
        counts = slopes(term, self._values(population))
        each = zip(self._parts, self._cuts, self._centres, self._origins, counts, strict=True)
        for part, cut, centres, origins, slope in each:
            spans = [
                span_of(column) - origin[:, None]
                for column, origin in zip(part.extremes, origins.T, strict=False)
            ]
            span = np.stack(spans, axis=1) if spans else np.empty((1, 0, 2))
            ends = [slope * end for end in FORMULAS[part.kind].reach(population[:, cut], span, centres)]
            down, up = down + np.minimum(*ends), up + np.maximum(*ends)
        return np.maximum(-down, up)

    def noise(self, population: FloatArray) -> FloatArray:
        """How far [group] the rounding of the sums may have moved the value; `population` is sums [group, moment]."""
        noises = [FORMULAS[part.kind].noise for part in self._parts]
        nothing = np.zeros(len(population))
        if not any(noises):
            return nothing
        totals = self.sampled.sum(axis=1)
        return moved(
            self.term,
            self._values(population),
            [
                noise(totals[:, cut]) if noise else nothing
                for noise, cut in zip(noises, self._cuts, strict=True)
            ],
        )

    def keys(self, spans: Mapping[str, FloatArray], is_known: Mapping[str, NDArray[np.bool_]]) -> FloatArray:
        """About how many distinct keys [group] the value rests on: those of the part that has the fewest.

        Where most keys contribute the same to a part, or to the whole, the others are counted.

        Args:
            spans: smallest and largest value [group, 2] of each column in the rows read.
            is_known: by column the groups [group] of which is known what keys not seen can add to so many alike.
        """
        found = []
        for part, cut in zip(self._parts, self._cuts, strict=True):
            rows = self.sampled[..., cut.start]
            found.append(distinct_keys(rows))
            for column, at in _summed(part):
                largest = np.abs(np.nan_to_num(spans[column], posinf=0.0, neginf=0.0)).max(axis=1)
                means = self.sampled[..., cut.start + at] / rows
                others = _unlike_most(rows, means, _ROUNDED * rows * largest[:, None])
                found.append(np.where(is_known[column], np.inf, others))
        if len(self._parts) > 1:
            values = self._values(self.sampled)
            rows = np.max([self.sampled[..., cut.start] for cut in self._cuts], axis=0)
            rounded = moved(self.term, values, [_ROUNDED * rows * np.abs(each) for each in values])
            found.append(_unlike_most(rows, combined(self.term, values), rounded))
        return np.asarray(np.min(found, axis=0))

    def keys_off_both(self, spans: Mapping[str, FloatArray]) -> FloatArray:
        """About how many keys [group] differ from most rows in both columns of a correlation; infinite for many.

        Of two rare flags the correlation hangs on the few rows that have both, and a sample without one tells nothing
        of them. Most rows may have 0, the least or the largest value: products of what lies beyond are 0 there.

        Args:
            spans: smallest and largest value [group, 2] of each column in the rows read.
        """
        found = np.full(len(self.sampled), np.inf)
        for part, cut, origins in zip(self._parts, self._cuts, self._origins, strict=True):
            if part.kind != "corr":
                continue
            rows, x, y, _, _, xy = np.moveaxis(self.sampled[..., cut], -1, 0)
            usual = [
                np.column_stack([np.zeros(len(origins)), spans[column]]).T[..., None] - origin[:, None]
                for column, origin in zip(part.columns, origins.T, strict=True)
            ]
            largest = [np.abs(points).max(axis=0) for points in usual]
            rounded = 8 * _ROUNDED * rows * largest[0] * largest[1]
            for first, second in itertools.product(*usual):
                beyond = (xy - second * x - first * y) / rows + first * second
                found = np.minimum(found, _unlike_most(rows, beyond, rounded))
        return found


def _average_at(start: int) -> Statistic:
    """The average of the column whose rows and sum are these two of the sums [..., moment]."""
    return lambda sums: np.asarray(sums[..., start + 1] / sums[..., start])


def _summed(part: Aggregate) -> list[tuple[str, int]]:
    """The columns of which a part has sums of the values themselves, and the number of each sum."""
    powers = [] if part.kind in COUNTS else [moment.powers for moment in part.moments]
    return [(part.columns[each.index(1)], number) for number, each in enumerate(powers) if sum(each) == 1]


def _unlike_most(rows: FloatArray, values: FloatArray, rounded: FloatArray) -> FloatArray:
    """About how many keys [group] are unlike those that most buckets hold alone; infinite where those are not alike.

    Args:
        rows: [group, bucket].
        values: what the keys of a bucket are on the average; the same in each bucket whose keys are alike.
        rounded: how far rounding may have moved these.
    """
    values = np.where(rows > 0, values, np.nan)
    filled = np.count_nonzero(~np.isnan(values), axis=1)
    middle = np.take_along_axis(np.sort(values, axis=1), np.maximum(filled - 1, 0)[:, None] // 2, axis=1)
    is_unlike = np.abs(values - middle) > rounded
    others = np.count_nonzero(is_unlike, axis=1)
    return np.where(2 * others < filled, distinct_keys(np.where(is_unlike, rows, 0.0)), np.inf)


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
