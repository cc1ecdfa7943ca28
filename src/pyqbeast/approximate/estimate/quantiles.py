"""Quantiles for arrays: those of Student's t, and the mean that a Poisson count leaves."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
#: Beyond so many deviations the root of a gamma variable has no share that a double would tell.
_FAR = 9.0


def t_quantile(p: float, df: NDArray[np.float64]) -> NDArray[np.float64]:
    """The value below which a t variable with `df` (any shape) lies with probability `p`, 0.5 to 1.

    Newton's method on the integral of the density, by Gauss-Legendre: to 1e-8 for df >= 3, p <= 0.99999.
    """
    df = np.asarray(df, dtype=np.float64)
    log_scale = np.vectorize(math.lgamma, otypes=[np.float64])
    scale = np.exp(log_scale((df + 1) / 2) - log_scale(df / 2)) / np.sqrt(df * np.pi)

    def density(x: NDArray[np.float64], df: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((1 + x * x / df) ** (-(df + 1) / 2))

    # Newton's steps start at the normal quantile, which is too small, and rise to the root because the integral
    # is concave.
    x = np.full(df.shape, NormalDist().inv_cdf(p))
    for _ in range(30):
        inner = x[..., None] * (_NODES + 1) / 2
        area = scale * x / 2 * (density(inner, df[..., None]) @ _WEIGHTS)
        step = (p - 0.5 - area) / (scale * density(x, df))
        x = x + step
        if np.all(np.abs(step) < 1e-11 * (1 + x)):
            break
    return x


def mean_at_most(count: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    """The mean of which a count (any shape) is so small, or smaller, with the probability 1 - p; p from 0.5 on.

    It is the quantile of the gamma distribution of count + 1, half that of chi-square with twice as many degrees of
    freedom (Garwood 1936), so that counts need not be whole.
    """
    return _gamma_quantile(np.asarray(count, dtype=np.float64) + 1, p)


def mean_at_least(count: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    """The mean of which a count (any shape) is so large, or larger, with the probability 1 - p; p from 0.5 on."""
    counted = np.asarray(count, dtype=np.float64)
    return np.where(counted > 0, _gamma_quantile(np.where(counted > 0, counted, 1.0), 1 - p), 0.0)


def mean_at_least_seen(count: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    """As `mean_at_least`, of a count (any shape, at least 1) of which one hears only where it is not 0.

    That a count of 1 is not 0 says nothing of its mean, so it leaves any. By bisection.
    """
    counted = np.asarray(count, dtype=np.float64)
    low, high = np.zeros(counted.shape), mean_at_least(counted, p)
    for _ in range(60):
        middle = (low + high) / 2
        with np.errstate(invalid="ignore"):
            is_below = _as_many_or_more(counted, middle) < -(1 - p) * np.expm1(-middle)
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return np.where(counted > 1, low, 0.0)


def _as_many_or_more(count: NDArray[np.float64], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chance of a Poisson count to be so large, or larger, for means below it: the sum of its first terms."""
    log_factorial = np.vectorize(math.lgamma, otypes=[np.float64])(count + 1)
    with np.errstate(divide="ignore"):
        term = np.exp(count * np.log(mean) - mean - log_factorial)
    total, more = term, 1
    while np.any(term > 1e-17 * total):
        term = term * mean / (count + more)
        total, more = total + term, more + 1
    return np.asarray(total)


def _gamma_quantile(shape: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    """The value below which a gamma variable lies with probability `p`, for shapes from 1 on.

    Its third root is nearly normal (Wilson and Hilferty 1931): there Newton's steps begin, on the integral of its
    density by Gauss-Legendre, to 1e-8 for p from 0.00001 to 0.99999.
    """
    log_scale = math.log(3) - np.vectorize(math.lgamma, otypes=[np.float64])(shape)

    def density(root: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.exp(log_scale + (3 * shape - 1) * np.log(root) - root**3))

    centre, spread = np.cbrt(shape) * (1 - 1 / (9 * shape)), np.cbrt(shape) / (3 * np.sqrt(shape))
    low = np.maximum(centre - _FAR * spread, 0.0)
    # No variable is below 0, as a normal one may be.
    root = np.maximum(centre + NormalDist().inv_cdf(p) * spread, 0.1 * centre)
    for _ in range(30):
        half = (root - low) / 2
        area = half * np.tensordot(_WEIGHTS, density(low + np.multiply.outer(_NODES + 1, half)), axes=1)
        step = (p - area) / density(root)
        root = root + step
        if np.all(np.abs(step) < 1e-11 * root):
            break
    return np.asarray(root**3)
