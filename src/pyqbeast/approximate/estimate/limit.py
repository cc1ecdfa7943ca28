"""What an answer may cost, in bytes or in seconds, as a user states it."""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import dataclass

import numpy as np

from pyqbeast.core.arguments import is_whole_number
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.stored_text import shown

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_TEXT = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([a-z]+)\s*", re.IGNORECASE)
_WAYS = "bytes as a whole number or a text such as '200 MB', or seconds as a float, a timedelta or a text such as '2 s'"


@dataclass(frozen=True)
class Limit:
    """The most that may be spent.

    Attributes:
        bytes: of the files that are opened.
        seconds: from the first step to the last.
    """

    bytes: float = math.inf
    seconds: float = math.inf

    @property
    def is_stated(self) -> bool:
        """Whether there is any."""
        return min(self.bytes, self.seconds) < math.inf

    @classmethod
    def of(cls, budget: object) -> Limit:
        """Reads what a caller states; None for no limit. Raises InvalidInputError for anything else."""
        if budget is None:
            return cls()
        if isinstance(budget, dt.timedelta):
            return cls._seconds(budget.total_seconds(), budget)
        if isinstance(budget, str):
            return cls._of_text(budget)
        if isinstance(budget, (float, np.floating)):
            return cls._seconds(float(budget), budget)
        if not is_whole_number(budget) or budget <= 0:
            raise _refused(budget)
        return cls(bytes=int(budget))

    @classmethod
    def _of_text(cls, text: str) -> Limit:
        found = _TEXT.fullmatch(text)
        unit = found[2].upper() if found else ""
        if found and unit == "S":
            return cls._seconds(float(found[1]), text)
        size = float(found[1]) * _UNITS.get(unit, 0) if found else 0
        if not 0 < size < math.inf:
            raise _refused(text)
        return cls(bytes=size)

    @classmethod
    def _seconds(cls, seconds: float, given: object) -> Limit:
        if not (math.isfinite(seconds) and seconds > 0):
            raise _refused(given)
        return cls(seconds=seconds)


def _refused(budget: object) -> InvalidInputError:
    return InvalidInputError(f"budget takes {_WAYS}, above 0, not {shown(budget)}")
