"""What came of one case of a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tests.sweep.ways import WAYS, Way


@dataclass(frozen=True)
class Outcome:
    """What came of one case.

    Attributes:
        result: "old", "new" or "uncertain"; "landed" where Delta says that its own change failed and it has landed;
            "none" where no call failed.
        strays: the kinds of files that stayed behind.
    """

    result: str
    strays: frozenset[str] = frozenset()


class Sweep(Protocol):
    """All cases of one operation."""

    @property
    def calls(self) -> Sequence[tuple[str, str]]:
        """The calls of the operation when nothing fails."""

    def run(self, way: Way, k: int) -> Outcome:
        """One case. Raises `AssertionError` for what is not as it should be."""

    def verified(self) -> None:
        """What the last case left is whole. Raises `AssertionError` where it is not."""

    def cleaned(self) -> None:
        """Nothing stays behind of the last case after `clean`. Raises `AssertionError` where something does."""


def cases(sweep: Sweep) -> Iterator[tuple[Way, int]]:
    """Every call in every way, as the calls were when nothing failed."""
    for way in WAYS:
        for k in range(1, way.matches(sweep.calls) + 1):
            yield way, k


def some_cases(sweep: Sweep, number: int, turn: int = 0) -> Iterator[tuple[Way, int]]:
    """So many of the cases, spread evenly; each turn begins elsewhere."""
    everything = list(cases(sweep))
    for i in range(number):
        # Multiples of the golden ratio lie evenly between 0 and 1, however many there are.
        yield everything[int((turn * 0.618 + i / number) % 1 * len(everything))]
