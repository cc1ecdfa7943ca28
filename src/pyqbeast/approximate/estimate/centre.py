"""The centre of each column that is squared: a number near its mean, chosen by who reads the first rows.

In moments about 0, a variance that is far smaller than the mean would be lost to rounding. All steps have one centre,
so that their sums add up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pyqbeast.approximate.estimate.state import FloatArray, Moment, StateAxes


def squared_columns(axes: StateAxes) -> list[str]:
    """The columns whose squares, or products with another column, are summed."""
    columns: dict[str, None] = {}
    for moment in axes.moments:
        if sum(moment.powers) == 2:
            columns |= dict.fromkeys(moment.columns)
    return list(columns)


def centre_near(mean: float, variance: float) -> float:
    """A centre for rows with this mean and variance; 0 where the mean is not finite.

    It is a multiple of a power of two no larger than the standard deviation, so that sums of whole numbers stay exact.
    """
    if not math.isfinite(mean):
        return 0.0
    # Nothing that the 53 bits of a mean tell is rounded off where the deviation is smaller still.
    exponent = math.frexp(mean)[1] - 50
    if 0 < variance < math.inf:
        exponent = max(exponent, math.floor(math.log2(variance) / 2))
    try:
        return math.ldexp(round(math.ldexp(mean, -exponent)), exponent)
    except OverflowError:  # beside the largest of all doubles, which is none of these multiples
        return mean


def about_centres(axes: StateAxes, sums: FloatArray) -> tuple[StateAxes, FloatArray]:
    """Axes with centres that some rows tell, and the sums [slot, moment] of these rows about them.

    Args:
        axes: without centres.
        sums: [slot, moment]. Sums of squares and products are about the means of their own slot, the others about 0.
    """
    sums, centres = sums.copy(), dict[str, float]()
    for columns, powers, *_ in axes.moments:
        if 2 in powers and (column := columns[powers.index(2)]) not in centres:
            asked = [tuple(power // 2 * times for power in powers) for times in (0, 1, 2)]
            centres[column] = _centre(*(sums[:, axes.moments.index(Moment(columns, each))] for each in asked))
    for at, (columns, powers, *_) in enumerate(axes.moments):
        if sum(powers) == 1 and (column := columns[powers.index(1)]) in centres:
            sums[:, at] -= centres[column] * sums[:, _counted(axes, columns)]
    for at, (columns, powers, *_) in enumerate(axes.moments):
        if sum(powers) == 2:
            rows = sums[:, _counted(axes, columns)]
            factors = [number for number, power in enumerate(powers) for _ in range(power)]
            one, other = (sums[:, _summed(axes, columns, number)] for number in factors)
            # Infinite and very large numbers have no finite squares, of which NumPy warns.
            with np.errstate(invalid="ignore", over="ignore"):
                sums[:, at] += np.divide(one * other, rows, out=np.zeros_like(rows), where=rows > 0)
    return replace(axes, centres=centres), sums


def _centre(rows: FloatArray, first: FloatArray, inner: FloatArray) -> float:
    """The centre of a column, from its sums [slot]."""
    with np.errstate(all="ignore"):
        mean = first.sum() / rows.sum()
        between = np.nansum(rows * (first / rows - mean) ** 2)
        return centre_near(float(mean), float((inner.sum() + between) / rows.sum()))


def _counted(axes: StateAxes, columns: Sequence[str]) -> int:
    """Where the number of rows lies that have a value in each of the columns."""
    return axes.moments.index(Moment(tuple(columns), (0,) * len(columns)))


def _summed(axes: StateAxes, columns: Sequence[str], number: int) -> int:
    """Where the sum lies of one of the columns, by its number, over the same rows."""
    return axes.moments.index(Moment(tuple(columns), tuple(int(at == number) for at in range(len(columns)))))
