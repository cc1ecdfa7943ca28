"""Moments about a centre near the mean.

In moments about 0, a variance that is far smaller than the mean would be lost to rounding.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace

from pyqbeast.approximate.estimate.state import Moment, State


def pilot_centres(state: State) -> dict[str, float]:
    """A centre near the mean for every column that is squared; one for all groups.

    Rounded to a power of two no larger than the standard deviation, so that sums of integers stay exact.
    """
    centres: dict[str, float] = {}
    totals = dict(zip(state.axes.moments, state.sums.sum(axis=(0, 1)).tolist(), strict=True))
    for columns, powers, *_ in state.axes.moments:
        if 2 not in powers or columns[powers.index(2)] in centres:
            continue
        ones = tuple(power // 2 for power in powers)
        rows = totals[Moment(columns, (0,) * len(columns))]
        if rows == 0:
            continue
        column, mean = columns[powers.index(2)], totals[Moment(columns, ones)] / rows
        variance = totals[Moment(columns, powers)] / rows - mean**2
        unit = 2.0 ** math.floor(math.log2(variance) / 2) if variance > 0 else 1.0
        centres[column] = state.axes.centres.get(column, 0.0) + round(mean / unit) * unit
    return centres


def recentre(state: State, centres: Mapping[str, float]) -> State:
    """The same rows with their moments about other centres (binomial theorem)."""
    axes = replace(state.axes, centres=dict(centres))
    sums = state.sums.copy()
    for at, (columns, powers, at_most, distinct) in enumerate(axes.moments):
        if at_most is not None or distinct:
            continue
        shifts = state.axes.centres_of(columns) - axes.centres_of(columns)
        sums[..., at] = 0.0
        for lower in itertools.product(*(range(power + 1) for power in powers)):
            factor = math.prod(
                math.comb(power, low) * shift ** (power - low)
                for power, low, shift in zip(powers, lower, shifts.tolist(), strict=True)
            )
            if factor != 0.0:
                sums[..., at] += factor * state.sums[..., axes.moments.index(Moment(columns, lower))]
    return State(axes, state.groups, sums, state.spans)
