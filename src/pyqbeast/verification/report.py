"""What `verify` has to say of a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pyqbeast.core.errors import InvalidInputError, UnsupportedError
from pyqbeast.core.html import block_html, first_rows_html, texts_html
from pyqbeast.core.problems import REPLICATED, Problem
from pyqbeast.core.visible import counted

#: What can be looked at, from the cheapest to the whole.
LEVELS = ("log", "sample", "data")


def check_level(level: str) -> None:
    """Raises InvalidInputError for a level that there is not."""
    if level not in LEVELS:
        raise InvalidInputError(f"level has to be one of {', '.join(LEVELS)}, not {level!r}")


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

    @property
    def summary(self) -> str:
        """What was looked at, and how much is wrong, as a line."""
        read = (
            f", and {counted(self.rows_read, 'row')} of {counted(self.files_read, 'file')}"
            if self.level != "log"
            else ""
        )
        count = "no problems" if self.ok else counted(len(self.problems), "problem")
        return f"the log of {counted(self.files, 'file')} checked{read}: {count}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"ok": self.ok, **asdict(self)}

    def __str__(self) -> str:
        return "\n".join([self.summary, *map(str, self.problems), *self.notes])

    def _repr_html_(self) -> str:
        rows = [(each.rule, each.file, each.cube, each.text) for each in self.problems]
        table = first_rows_html("problem", ("rule", "file", "cube", "problem"), rows)
        return block_html(self.summary, table, texts_html(self.notes))


def untellable(level: str, error: UnsupportedError) -> VerifyReport:
    """The report of a table that nobody can read, because nobody can tell which files repeat the rows of others.

    Args:
        level: what was to be looked at.
        error: the refusal. One of the JVM may have more lines than the first, which tells it.
    """
    return VerifyReport(level, 0, (Problem(REPLICATED, "", "", str(error).strip().split("\n")[0]),))
