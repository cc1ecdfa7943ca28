"""What `verify` has to say of a table."""

from __future__ import annotations

from dataclasses import dataclass

from pyqbeast.core.problems import Problem

#: What can be looked at, from the cheapest to the whole.
LEVELS = ("log", "sample", "data")


@dataclass(frozen=True)
class VerifyReport:
    """What `verify` found. `str()` tells it to a person.

    Attributes:
        level: what was looked at.
        files: how many there are.
        problems: rules that are broken.
        notes: what is in order and costs time or space.
        files_read: of how many files every row was looked at.
        rows_read: how many rows these are.
    """

    level: str
    files: int
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
    files_read: int = 0
    rows_read: int = 0

    @property
    def ok(self) -> bool:
        """Whether no rule is broken."""
        return not self.problems

    def __str__(self) -> str:
        read = f", and {self.rows_read} rows of {self.files_read} files" if self.level != "log" else ""
        count = "no problems" if self.ok else f"{len(self.problems)} problems"
        head = f"the log of {self.files} files checked{read}: {count}"
        return "\n".join([head, *map(str, self.problems), *self.notes])
