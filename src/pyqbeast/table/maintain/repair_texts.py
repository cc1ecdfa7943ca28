"""What becomes of each problem that `verify` finds when a table is repaired, in words, and what else users can do."""

from __future__ import annotations

from dataclasses import dataclass

from pyqbeast.core.problems import (
    COLUMNS_EXIST,
    EXISTS,
    GAP,
    KEPT,
    LIVE_ONCE,
    READABLE,
    REPLICATED,
    REVISIONS,
    SAME_COLUMNS,
    SIZE,
    VECTOR,
    VECTOR_FITS,
    VECTOR_ROWS,
    Problem,
)

#: What becomes of a problem.
UNINDEXED = "the file loses its index tags and is read whole, until optimize(revision=0) indexes it again"
UNMARKED = "the mark is taken out"
MARKED = (
    "marks and damaged tags stay where the rows of a marked file may lie in a file whose tags lie: RESTORE a version "
    "whose tags tell the truth, and run upgrade(drop_replicated=True) on it, or write the table anew from its source"
)
UNCOMPARED = (
    "marks and damaged tags stay where the rows of a marked file may lie in a file whose rows could not be compared "
    "with its tags: what verify notes says why"
)
CORRECTED = "the tag is corrected"
RECOUNTED = "its statistics are computed anew"
RESIZED = "the log gets its true size"
COUNTED = "the log gets the true number"
REVISED = "the table goes on with the revisions that can be read"
CLOSED = "a block without rows closes the tree"

_FILE_BACK = "bring the file back from a backup, or RESTORE a version that does not name it"
_UPGRADED = "upgrade the table to format 0.6 first; optimize() builds the tree anew then"
#: What users can do about the others.
ADVICE = {
    REVISIONS: "no revision is left: RESTORE a version that has one, or write the table anew",
    REPLICATED: "RESTORE a version in which all files have an index, and run upgrade(drop_replicated=True) on it",
    COLUMNS_EXIST: "add the column again, or call optimize(revision=…) after writing with other columnsToIndex or "
    "weightColumns",
    SAME_COLUMNS: "rename the columns back, or call optimize(revision=…)",
    LIVE_ONCE: "RESTORE a version in which it is there once, or, if the paths differ, delete the rows of one of the "
    "two by a condition on _metadata.file_path",
    EXISTS: f"{_FILE_BACK}; its rows are in no other",
    READABLE: _FILE_BACK,
    SIZE: _FILE_BACK,
    VECTOR: "bring the file of the vector back from a backup, or RESTORE the version before the rows were deleted, and "
    "delete them again",
    VECTOR_ROWS: "first mend what keeps the file or its vector from being read",
    VECTOR_FITS: "optimize(files=[…]) writes the file anew, without its deleted rows and its vector",
    GAP: _UPGRADED,
    KEPT: _UPGRADED,
}
FIRST_READ = "first mend what keeps the file from being read"
COPIES = "files that repeat rows of others are told by their tags: run upgrade(drop_replicated=True) first"


@dataclass(frozen=True)
class Remedy:
    """A problem, and what becomes of it or what can be done about it."""

    problem: Problem
    text: str

    def __str__(self) -> str:
        return f"{self.problem}: {self.text}"
