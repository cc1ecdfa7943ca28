"""The ways in which a call to the storage fails."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

ALL = "open|stat|list|mkdirs|create|rename|delete"
CHANGING = "mkdirs|create|rename|delete"
#: What each failing call says.
CAUSES = ("disk is on fire", "No space left on device")


class Schedule(Protocol):
    """Says which call fails, and counts: `tests.faults.Faults` in the JVM, `PythonFaults` without one."""

    def fail(
        self, operation: str, path: str = "", *, k: int = 1, when: str = "before", onwards: bool = False
    ) -> None:
        """See `tests.faults.Faults.fail`."""

    def clear(self) -> None:
        """Nothing fails any more."""

    def record(self) -> None:
        """From now on each call is written down."""

    @property
    def calls(self) -> Sequence[tuple[str, str]]:
        """The calls since `record`: operation and path."""

    @property
    def failed(self) -> int:
        """How many calls failed."""


@dataclass(frozen=True)
class Way:
    """One way to fail.

    Attributes:
        name: for people.
        operations: a pattern of the calls among which the k-th fails.
        when: what a failing call has done by then.
        onwards: whether all later ones fail too.
    """

    name: str
    operations: str
    when: str
    onwards: bool = False

    def matches(self, calls: Sequence[tuple[str, str]]) -> int:
        """How many of these calls can fail this way."""
        return sum(re.fullmatch(self.operations, operation) is not None for operation, _ in calls)

    def arm(self, faults: Schedule, folder: str, k: int) -> None:
        """Makes the k-th call below a folder fail."""
        faults.fail(self.operations, re.escape(folder), k=k, when=self.when, onwards=self.onwards)


#: A call that only asks has done nothing either way, so it fails before.
WAYS = (
    Way("before", ALL, "before"),
    Way("after", CHANGING, "after"),
    Way("half", "create", "half"),
    Way("onwards", ALL, "before", onwards=True),
    Way("full", "mkdirs|create", "full", onwards=True),
)
