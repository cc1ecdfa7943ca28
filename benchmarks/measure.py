"""The frame of all benchmarks: peers answer the same questions in turn, by wall clock and by CPU time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.processes import cpu_seconds

#: The count of rows in an answer. It is the same for all peers.
SELECTED = "selected"
#: What a peer counts beside the times: files, bytes, rows.
Counts = Mapping[str, float]


def _nothing(number: int) -> None:
    """Prepares nothing."""


def _no_counts(result: object) -> Counts:
    return {}


@dataclass(frozen=True)
class Reading:
    """One run: seconds by the wall clock, seconds of CPU of all processes, and what was counted."""

    wall: float
    cpu: float
    counts: Counts = field(default_factory=dict)

    @property
    def figures(self) -> dict[str, float]:
        """All figures by name."""
        return {"wall": self.wall, "cpu": self.cpu, **self.counts}


@dataclass(frozen=True)
class Peer:
    """How one system answers the question of a case.

    Attributes:
        run: what is timed. It takes the number of the round. If it returns a `Reading`, that one counts: it was
            taken in another process.
        before: prepares a round and is not timed.
        counts: counts from what `run` returned; not timed.
    """

    run: Callable[[int], Any]
    before: Callable[[int], object] = _nothing
    counts: Callable[[Any], Counts] = _no_counts


@dataclass(frozen=True)
class Case:
    """One question to several peers.

    Attributes:
        name: unique in its workload.
        peers: by name. The first is the one that the others are compared with.
        goal: what is wanted of the first peer.
        rounds: how often all are asked after the first call; None for as often as the suite was told.
        is_class: every round asks another question, so that only ratios within a round say something.
        has_first: whether there is a first call. Where nothing is warmed up, it is left out.
    """

    name: str
    peers: Mapping[str, Peer]
    goal: str = ""
    rounds: int | None = None
    is_class: bool = False
    has_first: bool = True


@dataclass(frozen=True)
class Measured:
    """The readings of a case, by peer: the first call alone, and the warm calls round by round."""

    name: str
    goal: str
    is_class: bool
    first: Mapping[str, Reading]
    warm: Mapping[str, Sequence[Reading]]


def measure(case: Case, rounds: int, clock: Callable[[], tuple[float, float]] | None = None) -> Measured:
    """Runs a case: each round asks every peer once, and each round begins with another peer.

    Args:
        case: the case.
        rounds: how many rounds count where the case does not say.
        clock: gives seconds by the wall clock and of CPU.
    """
    names = list(case.peers)
    skipped = 1 if case.has_first else 0
    readings: dict[str, list[Reading]] = {name: [] for name in names}
    for number in range(skipped + (rounds if case.rounds is None else case.rounds)):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            readings[name].append(_read(case.peers[name], number, clock or _clock))
    first = {name: of_peer[0] for name, of_peer in readings.items()} if case.has_first else {}
    warm = {name: of_peer[skipped:] for name, of_peer in readings.items()}
    return Measured(case.name, case.goal, case.is_class, first, warm)


def _clock() -> tuple[float, float]:
    return time.perf_counter(), cpu_seconds()


def _read(peer: Peer, number: int, clock: Callable[[], tuple[float, float]]) -> Reading:
    peer.before(number)
    begun = clock()
    result = peer.run(number)
    ended = clock()
    if isinstance(result, Reading):
        return result
    return Reading(ended[0] - begun[0], ended[1] - begun[1], dict(peer.counts(result)))


@dataclass(frozen=True)
class Spread:
    """The median of some figures, the quartiles around it, and the border of the worst tenth."""

    median: float
    low: float
    high: float
    worst: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of at least one figure; larger figures are worse."""
        if len(values) == 1:
            return cls(*[values[0]] * 4)
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
        worst = statistics.quantiles(values, n=10, method="inclusive")[-1]
        return cls(statistics.median(values), low, high, worst)


def figures(measured: Measured) -> list[str]:
    """Names of the figures that every reading of some peer has, wall and CPU first."""
    names: dict[str, None] = {}
    for readings in measured.warm.values():
        names.update(dict.fromkeys(name for reading in readings for name in reading.figures))
    return list(names)


def values(measured: Measured, peer: str, figure: str) -> list[float]:
    """One figure of a peer, round by round; empty where it has none."""
    return [r.figures[figure] for r in measured.warm.get(peer, ()) if figure in r.figures]


def ratios(measured: Measured, figure: str) -> Iterator[tuple[str, Spread]]:
    """For each other peer, the first peer's figure over that one's, round by round."""
    ours, *others = measured.warm
    for other in others:
        pairs = zip(values(measured, ours, figure), values(measured, other, figure), strict=False)
        quotients = [a / b for a, b in pairs if b > 0]
        if quotients:
            yield other, Spread.of(quotients)
