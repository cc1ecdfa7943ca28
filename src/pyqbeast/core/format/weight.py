"""Weights: the signed 32-bit number of a row, and the fraction of the whole range that it stands for."""

from __future__ import annotations

import math
import numbers
from typing import TypeGuard, overload

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.constants import (
    COMMON_FRACTIONS,
    WEIGHT_MAX,
    WEIGHT_MIN,
    WEIGHT_OFFSET,
    WEIGHT_RANGE,
)


def is_number(given: object) -> bool:
    """Whether a user has given a number, one of NumPy's for instance. Python counts with booleans too."""
    return isinstance(given, numbers.Real) and not isinstance(given, bool | np.bool_)


def is_whole_number(given: object) -> TypeGuard[int]:
    """Whether a user has given a whole number, one of NumPy's for instance."""
    return isinstance(given, numbers.Integral) and not isinstance(given, bool)


def checked_fraction(fraction: object) -> float:
    """A share of all rows, as users state it. Raises InvalidInputError for what is no number from 0 to 1."""
    if not is_number(fraction) or not 0 <= fraction <= 1:  # type: ignore[operator]
        raise InvalidInputError(f"fraction has to be a number from 0 to 1, not {fraction!r}")
    return float(fraction)  # type: ignore[arg-type]


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
