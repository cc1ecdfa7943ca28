"""The aggregates that are functions of sums: which sums, which function, how far one row can move it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pyqbeast.approximate.estimate.state import FloatArray

#: The fewest keys for a bound. With fewer keys the error of the bound itself is not known. Fourth moments need
#: more keys.
FEW_KEYS, MANY_KEYS = 100, 10_000


@dataclass(frozen=True)
class Formula:
    """One aggregate.

    Attributes:
        powers: of each sum it needs, one power per column; the first sum tells how many rows take part.
        value: (sums [..., moment], centres [column]) to [...], the aggregate of a population with these sums.
        reach: (sums [group, moment], span [group, column, 2], centres) to [group]: the most that one row with
            values in the span (about the centres, like the sums) can move the value.
        min_keys: distinct keys that a bound needs.
        lowest, highest: between them lies every possible value.
    """

    powers: tuple[tuple[int, ...], ...]
    value: Callable[[FloatArray, FloatArray], FloatArray]
    reach: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
    min_keys: int = FEW_KEYS
    lowest: float = -np.inf
    highest: float = np.inf


def _count(sums: FloatArray, centres: FloatArray) -> FloatArray:
    return np.asarray(sums[..., 0])


def _sum(sums: FloatArray, centres: FloatArray) -> FloatArray:
    return np.asarray(sums[..., 1] + centres[0] * sums[..., 0])


def _avg(sums: FloatArray, centres: FloatArray) -> FloatArray:
    return np.asarray(sums[..., 1] / sums[..., 0] + centres[0])


def _variance(less: int) -> Callable[[FloatArray, FloatArray], FloatArray]:
    def variance(sums: FloatArray, centres: FloatArray) -> FloatArray:
        rows, first, second = np.moveaxis(sums, -1, 0)
        # Rounding may leave a constant column slightly below zero.
        return np.asarray(np.maximum(second - first**2 / rows, 0) / (rows - less))

    return variance


def _stddev(less: int) -> Callable[[FloatArray, FloatArray], FloatArray]:
    variance = _variance(less)
    return lambda sums, centres: np.sqrt(variance(sums, centres))


def _corr(sums: FloatArray, centres: FloatArray) -> FloatArray:
    rows, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    return np.asarray((xy - x * y / rows) / np.sqrt((xx - x**2 / rows) * (yy - y**2 / rows)))


def _farthest(span: FloatArray, point: FloatArray | float = 0.0) -> FloatArray:
    """The largest distance from a point to a value in the span [group, 2]."""
    return np.asarray(np.maximum(span[:, 1] - point, point - span[:, 0]))


def _reach_count(sums: FloatArray, span: FloatArray, centres: FloatArray) -> FloatArray:
    return np.ones(len(sums))


def _reach_sum(sums: FloatArray, span: FloatArray, centres: FloatArray) -> FloatArray:
    return _farthest(span[:, 0] + centres[0])


def _reach_avg(sums: FloatArray, span: FloatArray, centres: FloatArray) -> FloatArray:
    return _farthest(span[:, 0], sums[:, 1] / sums[:, 0]) / sums[:, 0]


def _reach_variance(sums: FloatArray, span: FloatArray, centres: FloatArray) -> FloatArray:
    far = _farthest(span[:, 0], sums[:, 1] / sums[:, 0])
    return np.maximum(far**2, _variance(0)(sums, centres)) / sums[:, 0]


def _reach_stddev(sums: FloatArray, span: FloatArray, centres: FloatArray) -> FloatArray:
    return _reach_variance(sums, span, centres) / (2 * _stddev(0)(sums, centres))


def _reach_corr(sums: FloatArray, span: FloatArray, centres: FloatArray) -> FloatArray:
    rows = sums[:, 0]
    scaled = np.zeros(len(sums))
    for column in (0, 1):
        mean = sums[:, 1 + column] / rows
        variance = sums[:, 3 + column] / rows - mean**2
        scaled += _farthest(span[:, column], mean) ** 2 / variance
    return np.asarray((1 + np.abs(_corr(sums, centres))) / 2 * scaled / rows)


_COUNT = ((0,),)
_FIRST = ((0,), (1,))
_SECOND = ((0,), (1,), (2,))
_PAIR = ((0, 0), (1, 0), (0, 1), (2, 0), (0, 2), (1, 1))

#: What counts rows, or values that rows have.
COUNTS = ("count", "count_if", "count_distinct")
#: The formulas by Spark's names. `count_if` sums a boolean column as 0 and 1.
FORMULAS = {
    "count": Formula(_COUNT, _count, _reach_count, lowest=0),
    "count_if": Formula(((1,),), _count, _reach_count, lowest=0),
    "count_distinct": Formula(_COUNT, _count, _reach_count, lowest=0),
    "sum": Formula(_FIRST, _sum, _reach_sum),
    "avg": Formula(_FIRST, _avg, _reach_avg),
    "var_samp": Formula(_SECOND, _variance(1), _reach_variance, MANY_KEYS, lowest=0),
    "var_pop": Formula(_SECOND, _variance(0), _reach_variance, MANY_KEYS, lowest=0),
    "stddev_samp": Formula(_SECOND, _stddev(1), _reach_stddev, MANY_KEYS, lowest=0),
    "stddev_pop": Formula(_SECOND, _stddev(0), _reach_stddev, MANY_KEYS, lowest=0),
    "corr": Formula(_PAIR, _corr, _reach_corr, MANY_KEYS, lowest=-1, highest=1),
}
