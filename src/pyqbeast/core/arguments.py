"""Checks of what users give as arguments."""

from __future__ import annotations

import numbers
from typing import TypeGuard

import numpy as np

from pyqbeast.core.errors import InvalidInputError


def check_type(given: object, kind: type | tuple[type, ...], needed: str) -> None:
    """Raise `InvalidInputError` unless `given` is a `kind`: `needed` says in words what takes it, and what it takes."""
    if not isinstance(given, kind):
        raise InvalidInputError(f"{needed}, not {given!r}")


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
