"""The steps of an estimate: how its bounds shrink while more is read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from pyqbeast.approximate.estimate.outcome import HIGH, LOW, Outcome
from pyqbeast.core.errors import InvalidInputError

_Number = float | None
#: The most numbers of an answer that a picture shows.
_MOST_SERIES = 24


@dataclass(frozen=True)
class AnswerStep:
    """One number of an answer after a step: the estimate and its bounds, None where there is none."""

    fraction: float
    bytes_read: int
    value: float | None
    low: float | None
    high: float | None


class _Name(NamedTuple):
    """What a number is called: as people read it, and so that no two groups have one name.

    NULL reads like the text "None", and texts may hold commas.
    """

    plain: str
    exact: str


@dataclass(frozen=True)
class Answers:
    """An answer as it got better.

    Attributes:
        confidence: with which each bound holds.
        exact_bytes: what the exact query opens.
        series: the steps of each number, by its name and that of its group.
    """

    confidence: float
    exact_bytes: int
    series: dict[str, list[AnswerStep]]


def answers_of(estimates: Outcome | Iterable[Outcome]) -> Answers | None:
    """The numbers of estimates of one query, in the order in which they were made; None without estimates.

    Of many groups only those that the last answer begins with are kept. Raises InvalidInputError for what is neither an
    estimate nor a list of estimates.
    """
    steps = list(estimates) if isinstance(estimates, Iterable) else [estimates]
    if not all(hasattr(step, "exact_bytes") for step in steps):
        raise InvalidInputError(
            f"estimates takes what tolerance gives, or a list of it, or what refine gives, not {estimates!r}"
        )
    if not steps:
        return None
    series: dict[_Name, list[AnswerStep]] = {}
    names: list[_Name] = []
    for step in steps:
        numbers = _numbers(*step.shown_rows(None), keeps_some=step.choice is not None)
        names = list(numbers)
        for name, bounds in numbers.items():
            series.setdefault(name, []).append(AnswerStep(step.fraction, step.bytes_read, *bounds))
    kept = names[:_MOST_SERIES]
    shown = [name.plain for name in kept]
    if len(set(shown)) < len(kept):
        shown = [name.exact for name in kept]
    named = {text: series[name] for text, name in zip(shown, kept, strict=True)}
    return Answers(steps[-1].confidence, steps[-1].exact_bytes, named)


def _numbers(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, keeps_some: bool
) -> dict[_Name, tuple[_Number, _Number, _Number]]:
    """Each estimated number of an answer and its bounds, by the names of its group and its column.

    An answer that keeps some of its groups has a last column that tells how sure that is.
    """
    bounded = [
        at
        for at in range(len(columns) - 2)
        if [*columns[at + 1 : at + 3]] == [columns[at] + LOW, columns[at] + HIGH]
    ]
    beside = {at + part for at in bounded for part in range(3)}
    if keeps_some:
        beside.add(len(columns) - 1)
    numbers = {}
    for row in rows:
        group = [(columns[at], row[at]) for at in range(len(columns)) if at not in beside]
        plain, exact = ([f"{name} = {show(value)}" for name, value in group] for show in (str, repr))
        for at in bounded:
            value, low, high = (_number(row[at + part]) for part in range(3))
            name = _Name(", ".join([columns[at], *plain]), ", ".join([columns[at], *exact]))
            numbers[name] = (value, low, high)
    return numbers


def _number(value: object) -> float | None:
    number = float(value) if isinstance(value, (int, float, Decimal)) else math.nan
    return number if math.isfinite(number) else None
