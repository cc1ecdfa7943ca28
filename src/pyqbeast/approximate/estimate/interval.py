"""Bounds of a statistic from its sums per bucket.

The statistic is a function of the population's sums. Its value plugs in their estimates (sample sums over
fraction); its spread comes from leaving one bucket out at a time. For totals that is exactly the spread of
the bucket sums, for ratios and moments the delete-a-group jackknife, so one method serves all.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pyqbeast.approximate.estimate.quantiles import (
    mean_at_least,
    mean_at_least_seen,
    mean_at_most,
    t_quantile,
)
from pyqbeast.approximate.estimate.state import FloatArray
from pyqbeast.core.arguments import is_number
from pyqbeast.core.errors import InvalidInputError

#: A function of population sums: [..., moment] to [...] or [..., k].
Statistic = Callable[[FloatArray], FloatArray]

#: The largest confidence. Beyond it the formulas' tails cannot be trusted.
MOST_CONFIDENCE = 0.9999
#: The largest skewness of an estimate for which Hall's transformation is used as it is; larger ones count as
#: this.
MOST_SKEW = 1.2


def check_confidence(confidence: float) -> None:
    """Raises InvalidInputError for a confidence out of range."""
    if not (is_number(confidence) and 0.5 <= confidence <= MOST_CONFIDENCE):
        raise InvalidInputError(f"confidence has to be from 0.5 to {MOST_CONFIDENCE}, not {confidence!r}")


def leave_out(
    statistic: Statistic, sampled: FloatArray, fraction: float | FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The estimate, and by how much each bucket moves it.

    Args:
        statistic: of the population's sums.
        sampled: [group, bucket, moment] sums of the sampled rows; buckets without rows are zeros and count.
        fraction: of the rows, sampled; one number or one per group.

    Returns:
        The values [group, ...] and the influences [group, bucket, ...]: value minus value without the bucket.
    """
    share = np.asarray(fraction, dtype=np.float64).reshape(-1, 1)
    buckets = sampled.shape[1]
    with np.errstate(all="ignore"):
        totals = sampled.sum(axis=1)
        rest = (totals[:, None] - sampled) * (buckets / (buckets - 1)) / share[:, None]
        value = statistic(totals / share)
        return value, value[:, None] - statistic(rest)


def bounds(
    value: FloatArray, influence: FloatArray, fraction: float | FloatArray, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Low and high [group, ...]: on either side the wider of the t interval and Hall's for skewed estimates.

    The degrees of freedom follow from the kurtosis of the influences: a few large buckets say little of the
    spread, so the quantile grows. The factor 1 - fraction closes the interval when all is read.
    """
    buckets = influence.shape[1]
    share = np.asarray(fraction, dtype=np.float64).reshape(-1, *(1,) * (value.ndim - 1))
    with np.errstate(all="ignore"):
        # Doubles hold no powers of very small or very large numbers, so each counts as a share of the largest one.
        largest = np.abs(influence).max(axis=1)
        largest = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
        influence = influence / largest[:, None]
        squared = np.maximum(1 - share, 0) * (buckets - 1) / buckets * np.sum(influence**2, axis=1)
        error = largest * np.sqrt(squared)
        centred = influence - influence.mean(axis=1, keepdims=True)
        # NumPy takes ten times as long for a third or fourth power as for the products.
        squares = centred * centred
        square = np.mean(squares, axis=1)
        kurtosis = np.mean(squares * squares, axis=1) / square**2
        skew = np.mean(squares * centred, axis=1) / square**1.5 / np.sqrt(buckets)
        df = np.clip(2 * buckets / (kurtosis - 1), 3, buckets - 1)
    # Influences that are all equal have no kurtosis and no skewness; their spread is 0, so any quantile does.
    # Of many groups most are of a few rows, and have the same degrees of freedom.
    different, number = np.unique(np.nan_to_num(df, nan=buckets - 1), return_inverse=True)
    quantile = t_quantile((1 + confidence) / 2, different)[number.reshape(df.shape)]
    skew = np.clip(np.nan_to_num(skew), -MOST_SKEW, MOST_SKEW)
    low = np.minimum(value - quantile * error, value - error * hall(quantile, skew))
    high = np.maximum(value + quantile * error, value - error * hall(-quantile, skew))
    return low, high


def hall(x: FloatArray, skew: FloatArray) -> FloatArray:
    """Hall's (1992) monotone inverse transformation of a quantile for an estimate with the given skewness."""
    # Without skewness the result is x. A very small skewness gives nearly that, without a division by zero.
    skew = np.where(np.abs(skew) < 1e-6, 1e-6, skew)
    return np.asarray(3 / skew * (np.cbrt(1 + skew * (x - skew / 6)) - 1))


def distinct_keys(counts: FloatArray) -> FloatArray:
    """About how many distinct keys lie behind row counts per bucket [group, bucket]; [group].

    Few keys: from the number of buckets that are occupied. Once nearly all are, that says no more than "5 per
    bucket"; then from the spread of the counts, as n² / sum of squared key sizes: the number of keys where
    they are of one size, and less where few keys hold many rows, which is the side to err on.
    """
    buckets = counts.shape[1]
    occupied = np.count_nonzero(counts, axis=1).astype(np.float64)
    by_occupied = np.log1p(-np.minimum(occupied, buckets - 0.5) / buckets) / np.log1p(-1 / buckets)
    total = counts.sum(axis=1)
    spread = buckets * counts.var(axis=1, ddof=1)
    # A spread below that of single rows is chance.
    by_spread = total**2 / np.maximum(spread, np.maximum(total, 1))
    crowded = occupied > 0.95 * buckets
    return np.asarray(np.where(crowded, np.maximum(by_occupied, by_spread), np.minimum(by_occupied, total)))


def bounds_of_few(
    count: FloatArray, fraction: FloatArray, confidence: float, *, is_listed: bool
) -> tuple[FloatArray, FloatArray]:
    """Low and high [group] of a number of keys, where a sample has too few of them for the spread of its buckets.

    The keys in a sample are nearly a Poisson count (Garwood 1936). They vary less by the root of what was not read.
    There are as many as were seen. A number of keys is whole, and where nearly all rows were read the distance from one
    to the next is wider than these bounds: the upper one is the next whole number, or too few of them would hold.

    Args:
        count: [group], the keys in the sample.
        fraction: [group], of the rows, sampled.
        confidence: of the bounds.
        is_listed: whether a group is one of many that were seen, and others may have been missed. Of thousands of
            groups of one key each a sample shows those that it has a key of, which must not count as large for that.
    """
    different, number = np.unique(count, return_inverse=True)
    at_least = mean_at_least_seen if is_listed else mean_at_least
    least, most = (mean(different, (1 + confidence) / 2)[number] for mean in (at_least, mean_at_most))
    narrower = np.sqrt(np.maximum(1 - fraction, 0))
    low, high = (
        (count - (count - least) * narrower) / fraction,
        (count + (most - count) * narrower) / fraction,
    )
    # What rounding adds to a whole number is no further key.
    return np.maximum(low, count), np.ceil(high - 1e-9)
