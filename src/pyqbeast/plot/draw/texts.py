"""Numbers as people read them, and as the page's script does."""

from __future__ import annotations

import base64
import datetime as dt
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.visible import counted

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")
_ARRAYS = {"u1": "Uint8Array", "u4": "Uint32Array", "f4": "Float32Array", "f8": "Float64Array"}
_WHOLE = 2**32 - 1


def unit_of(size: float) -> tuple[str, float]:
    """The unit that suits so many bytes, and how many it is."""
    power = 0
    while size / 1000**power >= 999.5 and power < len(_UNITS) - 1:
        power += 1
    return _UNITS[power], 1000.0**power


def size_text(size: float) -> str:
    """Bytes with a unit and three digits."""
    unit, bytes_of_it = unit_of(size)
    return f"{size / bytes_of_it:.3g} {unit}"


def rows_text(rows: int, uncounted_files: int) -> str:
    """So many rows, or more where the log does not count those of all files."""
    if not uncounted_files:
        return f"{rows:,}"
    return f"at least {rows:,}; the log does not count the rows of {counted(uncounted_files, 'file')}"


def share_text(share: float) -> str:
    """A share of one in percent."""
    return f"{100 * share:.3g} %"


def time_text(milliseconds: int | None) -> str:
    """A time in UTC, given in epoch milliseconds; empty where it is not known."""
    if milliseconds is None:
        return ""
    try:
        return f"{dt.datetime.fromtimestamp(milliseconds / 1000, dt.timezone.utc):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, OSError, ValueError):
        return str(milliseconds)


def log_ticks(least: float) -> list[float]:
    """Round numbers from `least` to 1, more of them to a power of ten where there are few."""
    powers = range(math.floor(math.log10(least)), 1)
    parts = (1, 2, 5) if len(powers) < 5 else (1,)
    return [tick for power in powers for m in parts if least <= (tick := float(f"{m}e{power}")) <= 1]


def packed(numbers: NDArray[Any], kind: str) -> dict[str, str]:
    """Numbers as the page's script unpacks them: `u1`, `u4`, `f4` or `f8`, what does not fit being cut to the ends."""
    if kind[0] == "u":
        numbers = np.clip(numbers, 0, 2 ** (8 * int(kind[1])) - 1)
    stored = np.ascontiguousarray(numbers.astype(f"<{kind}"))
    return {"type": _ARRAYS[kind], "data": base64.b64encode(stored.tobytes()).decode()}


def packed_shares(shares: NDArray[np.float64]) -> dict[str, str]:
    """Numbers from 0 to 1 as parts of 2^32 - 1."""
    return packed(np.round(shares * _WHOLE), "u4")
