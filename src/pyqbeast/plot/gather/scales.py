"""The steps of a slider over the values of a column."""

from __future__ import annotations

import datetime as dt
import math
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from typing import Any

from pyqbeast.core.format.types import Value, epoch_milliseconds

#: The most steps of a slider. Positions of steps take one byte.
MOST_STEPS = 101
#: The step of values that no step reaches.
NO_STEP = 255

#: The most letters of a label.
_LONGEST = 40
_PARTS = MOST_STEPS - 3
#: Room for all digits of what divides the largest decimals by the smallest.
_EXACT = Context(prec=100)
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
#: Round steps of time in microseconds, up to a day.
_TIME_STEPS = [
    *(m * 10**power for power in range(6) for m in (1, 2, 5)),
    *(_SECOND * seconds for seconds in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800)),
    *(_SECOND * 3600 * hours for hours in (1, 2, 3, 6, 12, 24)),
]


@dataclass(frozen=True)
class Scale:
    """Ascending values of one type, from the smallest of a column to its largest."""

    values: tuple[Any, ...]

    @classmethod
    def over(cls, bounds: Sequence[Any]) -> Scale | None:
        """A scale over values of one type; None where they have no order or are all the same."""
        finite = [value for value in bounds if not (isinstance(value, float) and not math.isfinite(value))]
        if not finite or isinstance(finite[0], bool):
            return None
        low, high = min(finite), max(finite)
        if low == high:
            return None
        values = _texts(finite) if isinstance(low, str) else _spaced(low, high)
        return cls(tuple(sorted({low, *(value for value in values if low < value < high), high})))

    @property
    def labels(self) -> tuple[str, ...]:
        """The values as people read them."""
        if isinstance(self.values[0], str):
            return _labels_of_texts(self.values)
        label = _label_of_times(self.values) if isinstance(self.values[0], dt.datetime) else _label
        for digits in (6, 10):
            labels = tuple(label(value, digits) for value in self.values)
            if len(set(labels)) == len(labels):
                return labels
        return tuple(label(value, 17) for value in self.values)

    @property
    def numbers(self) -> tuple[Value, ...]:
        """The values as transformations take them."""
        return tuple(map(_plain_value, self.values))

    def steps(self, low: Any, high: Any) -> tuple[int, int]:  # noqa: ANN401 (the scale's own type)
        """The first step that is not below `low`, and the last one that is not above `high`."""
        first, last = bisect_left(self.values, low), bisect_right(self.values, high) - 1
        # Infinities lie beyond the ends.
        return (first, last) if first < len(self.values) and last >= 0 else (NO_STEP, 0)


def _plain_value(value: Any) -> Value:  # noqa: ANN401 (a value of Arrow's as Python has it)
    """A value as transformations take it: dates and times as epoch milliseconds."""
    if isinstance(value, dt.datetime):
        return epoch_milliseconds(value if value.tzinfo else value.replace(tzinfo=dt.timezone.utc))
    return epoch_milliseconds(value) if isinstance(value, dt.date) else value


def _texts(texts: Sequence[str]) -> list[str]:
    distinct = sorted(set(texts))
    return distinct[:: -(-len(distinct) // MOST_STEPS)]


def _spaced(low: Any, high: Any) -> list[Any]:  # noqa: ANN401 (numbers, dates or times)
    """Round values from one value to another, as many as there is room for."""
    if isinstance(low, dt.datetime):
        start = dt.datetime(1970, 1, 1, tzinfo=low.tzinfo)
        micro = dt.timedelta(microseconds=1)
        ends = (low - start) // micro, (high - start) // micro
        return [start + at * micro for at in _multiples(*ends, _time_step((ends[1] - ends[0]) / _PARTS))]
    if isinstance(low, dt.date):
        days = _spaced(low.toordinal(), high.toordinal())
        return [dt.date.fromordinal(day) for day in days]
    if isinstance(low, int):
        return _multiples(low, high, _round_up_whole(-((low - high) // _PARTS)))
    if isinstance(low, Decimal):
        with localcontext(_EXACT):
            exact = Decimal(repr(_round_up(float((high - low) / _PARTS))))
            return [number * exact for number in _multiples(int(low // exact), int(high // exact), 1)]
    # The parts of two neighbours are one number, and the distance between the largest doubles is infinite.
    part = (high - low) / _PARTS if high - low < math.inf else high / _PARTS - low / _PARTS
    step = _round_up(max(sys.float_info.min, part))
    return [float(f"{n * step:.12g}") for n in _multiples(int(low // step), int(high // step), 1)]


def _multiples(low: int, high: int, step: int) -> list[int]:
    return [*range(-(-low // step) * step, high + 1, step)]


def _round_up(step: float) -> float:
    """1, 2 or 5 times a power of ten, the least that is not below a step."""
    power = math.floor(math.log10(step))
    return next(rounded for m in (1, 2, 5, 10) if (rounded := float(f"{m}e{power}")) >= step or m == 10)


def _round_up_whole(step: int) -> int:
    """The same of a whole number, to its last digit."""
    power: int = 10 ** (len(str(step)) - 1)
    return next(m * power for m in (1, 2, 5, 10) if m * power >= step)


def _time_step(step: float) -> int:
    """A round number of microseconds that is not below a step."""
    return next((t for t in _TIME_STEPS if t >= step), _DAY * int(_round_up(step / _DAY)))


def _label_of_times(times: Sequence[dt.datetime]) -> Callable[[dt.datetime, int], str]:
    """How to write times: no finer than the steps between the first and the last are."""
    inner = times[1:-1]
    if all(time.time() == dt.time() for time in inner):
        return lambda time, _: f"{time:%Y-%m-%d}"
    if all(not time.second and not time.microsecond for time in inner):
        return lambda time, _: f"{time:%Y-%m-%d %H:%M}"
    return lambda time, _: str(time.replace(tzinfo=None))


def _labels_of_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Texts with what is too long left out: at the end, or where that does not tell them apart, elsewhere."""
    # What the first and the last text have in common, those between them have too.
    ends = enumerate(zip(texts[0], texts[-1], strict=False))
    common = next((at for at, (one, other) in ends if one != other), len(texts[0]))
    ways: list[Callable[[str], str]] = [
        _without_end,
        lambda text: _without_end("…" + text[common:]),
        lambda text: (
            text if len(text) <= _LONGEST else text[: _LONGEST // 2 - 1] + "…" + text[-_LONGEST // 2 :]
        ),
    ]
    return max((tuple(map(way, texts)) for way in ways), key=lambda labels: len(set(labels)))


def _without_end(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _label(value: Any, digits: int) -> str:  # noqa: ANN401 (a value of any scale but of times and texts)
    if isinstance(value, float):
        return f"{value:,.{digits}g}"
    return f"{value:,}" if isinstance(value, (int, Decimal)) else str(value)
