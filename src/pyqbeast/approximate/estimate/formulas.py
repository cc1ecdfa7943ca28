"""The aggregates that are functions of sums: which sums, which function, how far one row can move it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pyqbeast.approximate.estimate.state import FloatArray

#: The fewest keys for a bound. With fewer keys the error of the bound itself is not known. Fourth moments need
#: more keys.
FEW_KEYS, MANY_KEYS = 100, 10_000
#: Sums are merged and shifted some times, however few rows they have.
_FEWEST_ROUNDINGS = 64


@dataclass(frozen=True)
class Formula:
    """One aggregate.

    Attributes:
        powers: of each sum it needs, one power per column; the first sum tells how many rows take part.
        value: (sums [..., moment], centres [column]) to [...], the aggregate of a population with these sums.
        reach: (sums [group, moment], span [group, column, 2], centres) to two of [group]: the most that one row with
            values in the span (about the centres, like the sums) can move the value down, at most 0, and up.
        noise: sums [group, moment] to [group], how far the rounding of sums may have moved the value; None where it is
            no more than that of the value itself.
        bent: (sums [group, moment], margin [group]) to [group], how far the value is off beyond what slopes tell where
            the average of its column is off by the margin; None where it is by nothing to speak of.
        min_keys: distinct keys that a bound needs.
        lowest, highest: between them lies every possible value.
    """

    powers: tuple[tuple[int, ...], ...]
    value: Callable[[FloatArray, FloatArray], FloatArray]
    reach: Callable[[FloatArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
    noise: Callable[[FloatArray], FloatArray] | None = None
    bent: Callable[[FloatArray, FloatArray], FloatArray] | None = None
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
    found = (xy - x * y / rows) / np.sqrt((xx - x**2 / rows) * (yy - y**2 / rows))
    # What a single row leaves is rounding.
    return np.where(rows > 1, found, np.nan)


def _farthest(span: FloatArray, point: FloatArray) -> FloatArray:
    """The largest distance from a point to a value in the span [group, 2]."""
    return np.asarray(np.maximum(span[:, 1] - point, point - span[:, 0]))


def _reach_count(sums: FloatArray, span: FloatArray, centres: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.zeros(len(sums)), np.ones(len(sums))


def _reach_sum(sums: FloatArray, span: FloatArray, centres: FloatArray) -> tuple[FloatArray, FloatArray]:
    # A row that is null there adds 0.
    ends = span[:, 0] + centres[0]
    return np.minimum(ends[:, 0], 0), np.maximum(ends[:, 1], 0)


def _reach_avg(sums: FloatArray, span: FloatArray, centres: FloatArray) -> tuple[FloatArray, FloatArray]:
    ends = (span[:, 0] - (sums[:, 1] / sums[:, 0])[:, None]) / sums[:, :1]
    return np.minimum(ends[:, 0], 0), np.maximum(ends[:, 1], 0)


def _reach_variance(sums: FloatArray, span: FloatArray, centres: FloatArray) -> tuple[FloatArray, FloatArray]:
    far = _farthest(span[:, 0], sums[:, 1] / sums[:, 0])
    moved = np.maximum(far**2, _variance(0)(sums, centres)) / sums[:, 0]
    return -moved, moved


def _reach_stddev(sums: FloatArray, span: FloatArray, centres: FloatArray) -> tuple[FloatArray, FloatArray]:
    (_, moved), stddev = _reach_variance(sums, span, centres), _stddev(0)(sums, centres)
    moved = np.where(stddev > 0, moved / (2 * stddev), np.sqrt(moved))
    return -moved, moved


def _reach_corr(sums: FloatArray, span: FloatArray, centres: FloatArray) -> tuple[FloatArray, FloatArray]:
    rows = sums[:, 0]
    scaled = np.zeros(len(sums))
    for column in (0, 1):
        mean = sums[:, 1 + column] / rows
        variance = sums[:, 3 + column] / rows - mean**2
        scaled += _farthest(span[:, column], mean) ** 2 / variance
    moved = (1 + np.abs(_corr(sums, centres))) / 2 * scaled / rows
    return -moved, moved


def _bent_variance(sums: FloatArray, margin: FloatArray) -> FloatArray:
    """The square of the average that it holds, which is all where the squares of all rows are alike."""
    return np.asarray(margin**2)


def _bent_stddev(sums: FloatArray, margin: FloatArray) -> FloatArray:
    stddev = _stddev(0)(sums, sums)
    return np.where(stddev > 0, margin**2 / (2 * stddev), margin)


def _noise_of(squares: FloatArray, rows: FloatArray) -> FloatArray:
    """How far a sum of squares may be off: each addition rounds, to either side. Infinite where it has overflowed."""
    steps = np.sqrt(np.maximum(rows, _FEWEST_ROUNDINGS))
    return np.where(np.isfinite(squares), 2.0**-52 * steps * squares, np.inf)


def _noise_variance(sums: FloatArray) -> FloatArray:
    rows, _, squares = np.moveaxis(sums, -1, 0)
    return np.asarray(_noise_of(squares, rows) / rows)


def _noise_stddev(sums: FloatArray) -> FloatArray:
    noise, variance = _noise_variance(sums), _variance(0)(sums, sums)
    # The root of a variance near 0 is moved farther than in proportion.
    moved = np.sqrt(variance + noise) - np.sqrt(np.maximum(variance - noise, 0))
    return np.where(np.isinf(noise), np.inf, moved)


def _noise_corr(sums: FloatArray) -> FloatArray:
    rows, x, y, xx, yy, _ = np.moveaxis(sums, -1, 0)
    total = np.zeros(len(sums))
    for first, squares in ((x, xx), (y, yy)):
        share = _noise_of(squares, rows) / (squares - first**2 / rows)
        total += np.where((rows <= 1) | (squares == 0), 0.0, np.where(share >= 0, share, np.inf))
    return total


_COUNT = ((0,),)
_FIRST = ((0,), (1,))
_SECOND = ((0,), (1,), (2,))
_PAIR = ((0, 0), (1, 0), (0, 1), (2, 0), (0, 2), (1, 1))

#: What counts rows, or values that rows have.
COUNTS = ("count", "count_if", "count_distinct")
#: What one row has none of.
OF_SEVERAL = ("var_samp", "stddev_samp", "corr")
#: The formulas by Spark's names. `count_if` sums a boolean column as 0 and 1.
FORMULAS = {
    "count": Formula(_COUNT, _count, _reach_count, lowest=0),
    "count_if": Formula(((1,),), _count, _reach_count, lowest=0),
    "count_distinct": Formula(_COUNT, _count, _reach_count, lowest=0),
    "sum": Formula(_FIRST, _sum, _reach_sum),
    "avg": Formula(_FIRST, _avg, _reach_avg),
    "var_samp": Formula(
        _SECOND, _variance(1), _reach_variance, _noise_variance, _bent_variance, MANY_KEYS, lowest=0
    ),
    "var_pop": Formula(
        _SECOND, _variance(0), _reach_variance, _noise_variance, _bent_variance, MANY_KEYS, lowest=0
    ),
    "stddev_samp": Formula(
        _SECOND, _stddev(1), _reach_stddev, _noise_stddev, _bent_stddev, MANY_KEYS, lowest=0
    ),
    "stddev_pop": Formula(
        _SECOND, _stddev(0), _reach_stddev, _noise_stddev, _bent_stddev, MANY_KEYS, lowest=0
    ),
    "corr": Formula(_PAIR, _corr, _reach_corr, _noise_corr, None, MANY_KEYS, lowest=-1, highest=1),
}
#: The kinds of spreads: small differences of large sums, which lose digits where the values lie far from the centre.
SPREADS = tuple(kind for kind, formula in FORMULAS.items() if formula.noise is not None)
