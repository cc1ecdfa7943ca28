"""Weights: the signed 32-bit number of a row, and the fraction of the whole range that it stands for."""

from __future__ import annotations

import math
from typing import overload

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.format.constants import (
    COMMON_FRACTIONS,
    WEIGHT_MAX,
    WEIGHT_MIN,
    WEIGHT_OFFSET,
    WEIGHT_RANGE,
)


@overload
def fraction_of(weight: int) -> float: ...
@overload
def fraction_of(weight: NDArray[np.int32] | NDArray[np.int64]) -> NDArray[np.float64]: ...
def fraction_of(weight: int | NDArray[np.int32] | NDArray[np.int64]) -> float | NDArray[np.float64]:
    """The share of the weight range that lies below `weight`: 0.0 at its start, 1.0 at its end.

    Takes one weight or an array of them, and answers in the same shape. The way there and back is not exact:
    `fraction_of(weight_of(0.5))` is 0.5000000001164153.
    """
    if isinstance(weight, np.ndarray):
        return (weight.astype(np.float64) - WEIGHT_OFFSET) / WEIGHT_RANGE
    return (weight - WEIGHT_OFFSET) / WEIGHT_RANGE


@overload
def weight_of(fraction: float) -> int: ...
@overload
def weight_of(fraction: NDArray[np.float64]) -> NDArray[np.int32]: ...
def weight_of(fraction: float | NDArray[np.float64]) -> int | NDArray[np.int32]:
    """The weight at a fraction of the range: truncated toward zero, held inside 32 bits, 0 for NaN.

    A sample of fraction f holds the rows whose weight is below `weight_of(f)`. Where somebody has chosen the rows by
    their weight, `WeightProfile.weight_of` takes its place.
    """
    if isinstance(fraction, np.ndarray):
        scaled = np.trunc(fraction * WEIGHT_RANGE + WEIGHT_OFFSET)
        scaled = np.where(np.isnan(scaled), 0.0, scaled)
        return np.clip(scaled, WEIGHT_MIN, WEIGHT_MAX).astype(np.int32)
    scaled_one = fraction * WEIGHT_RANGE + WEIGHT_OFFSET
    if math.isnan(scaled_one):
        return 0
    return int(min(max(scaled_one, WEIGHT_MIN), WEIGHT_MAX))


#: The weights of the common fractions.
COMMON_WEIGHTS = weight_of(np.array([float(text) for text in COMMON_FRACTIONS.split()]))
