"""The quantile of Student's t distribution, for arrays of degrees of freedom."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


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
