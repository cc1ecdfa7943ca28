"""Percentiles from counts below fixed thresholds, which add up from step to step where sketches do not.

After the pilot a grid of thresholds is fixed around the pilot's quantile; each step then counts the rows at
or below every threshold. The bounds are the thresholds where the bounds of the share below cross p (Woodruff
1952): rounded outwards, so they hold for ties and integers too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyqbeast.approximate.estimate.interval import bounds, distinct_keys, leave_out
from pyqbeast.approximate.estimate.state import FloatArray, Group

#: Thresholds per grid, and how many naive standard errors (clusters make the true one larger) it spans.
THRESHOLDS, SPREAD = 41, 8.0


class PercentileBounds(NamedTuple):
    """[group]: the value, its bounds, and half the width of the bounds of the share of rows up to it.

    The value is NaN where it lies beyond the ends of the grid, or where there is none.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    half_share: FloatArray


def grid_probabilities(p: float, keys: float) -> list[float]:
    """The probabilities whose quantiles in a pilot of so many keys make the grid for percentile `p`."""
    half = SPREAD * math.sqrt(p * (1 - p) / max(keys, 1))
    return [float(q) for q in np.linspace(max(p - half, 0.0), min(p + half, 1.0), THRESHOLDS)]


def grid_from(quantiles: ArrayLike) -> FloatArray:
    """The grid [..., threshold], ascending, of a pilot's quantiles at `grid_probabilities`.

    A value that comes twice among the thresholds holds many rows. All but the last of these thresholds are
    moved just below the value. Then the rows below the value and the rows up to it are counted separately, and
    ties get narrow bounds.
    """
    grid = np.array(quantiles, dtype=np.float64)
    tied = grid[..., :-1] == grid[..., 1:]
    grid[..., :-1] = np.where(tied, np.nextafter(grid[..., :-1], -np.inf), grid[..., :-1])
    return grid


def grid_of_groups(thresholds: Mapping[Group, FloatArray], groups: Sequence[Group]) -> FloatArray:
    """The thresholds [group, threshold] of some groups; NaN where a group has none."""
    missing = np.full(THRESHOLDS, np.nan)
    return np.array([thresholds.get(group, missing) for group in groups]).reshape(len(groups), THRESHOLDS)


def fewest_keys(rows: FloatArray, least: float) -> float:
    """Keys of the smallest group that can get bounds soon. A grid for this group is wide enough for larger ones.

    Args:
        rows: [group, bucket], those of a pilot.
        least: the keys that bounds need.
    """
    return float(max(min(distinct_keys(rows), default=least), least / 8))


def min_keys(p: float) -> float:
    """Distinct keys that the bound of percentile `p` needs: 100 / (p (1 - p))."""
    return 100 / (p * (1 - p)) if 0 < p < 1 else math.inf


def percentile_bounds(
    p: float,
    sampled: FloatArray,
    fraction: float | FloatArray,
    confidence: float,
    grid: FloatArray,
) -> PercentileBounds:
    """The bounds of percentile `p`.

    Args:
        p: between 0 and 1.
        sampled: [group, bucket, 1 + threshold]: rows, and rows at or below each threshold.
        fraction: of the rows, sampled; one number or one per group.
        confidence: of the bounds.
        grid: [group, threshold], ascending. Bounds beyond its ends are infinite.
    """
    share, influence = leave_out(lambda sums: sums[..., 1:] / sums[..., :1], sampled, fraction)
    low_share, high_share = bounds(share, influence, fraction, confidence)
    inf = np.full((len(grid), 1), np.inf)
    first = _first(share >= p)
    is_beyond = (first == grid.shape[1]) | (low_share[:, 0] >= p)
    at = np.minimum(first, grid.shape[1] - 1)[:, None]
    half = np.take_along_axis((high_share - low_share) / 2, at, axis=1)[:, 0]
    # The p-quantile is the first value with at least the share p at or below it. The true one lies above the
    # last threshold whose share is surely below p, and not above the first whose share surely is not.
    return PercentileBounds(
        np.where(is_beyond, np.nan, _pick(np.hstack([grid, inf]), first)),
        _pick(np.hstack([-inf, grid]), _first(high_share >= p)),
        _pick(np.hstack([grid, inf]), _first(low_share >= p)),
        half,
    )


def _first(reached: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The first threshold that is reached [group, threshold], their number where none is; [group]."""
    return np.asarray(np.where(reached.any(axis=1), reached.argmax(axis=1), reached.shape[1]))


def _pick(values: FloatArray, at: NDArray[np.intp]) -> FloatArray:
    return np.asarray(np.take_along_axis(values, at[:, None], axis=1)[:, 0])
