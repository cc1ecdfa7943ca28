"""What `verify` finds: problems, and the names of the rules that they break."""

from __future__ import annotations

from dataclasses import dataclass

#: Rules of the table's configuration.
REVISIONS = "revisions"
COLUMNS_EXIST = "indexed columns exist"
SAME_COLUMNS = "indexed columns are the same"

#: Rules of the tree of cubes.
GAP = "no gap between levels"
KEPT = "ancestors keep the lighter rows"

#: Rules of a file's tags.
TAGS = "tags"
REPLICATED = "replicated rows are stored twice"
BLOCK_ROWS = "rows of the blocks"
IN_BLOCKS = "rows lie in blocks"
ELEMENT_COUNT = "element count"
HEAVIEST = "heaviest row"
ROWS_BY_WEIGHT = "rows by weight"
KEY_ROWS = "rows of a key"
PARTS = "parts of a file"

#: Rules of what Delta's log says of a file.
LIVE_ONCE = "a file is live once"
EXISTS = "the file exists"
SIZE = "file size"
READABLE = "the file can be read"
STATISTICS_TEXT = "statistics can be read"
ROW_COUNT = "row count"
BOUNDS = "statistics hold"
#: Those that the statistics of a file are to blame for.
OF_STATISTICS = (STATISTICS_TEXT, ROW_COUNT, BOUNDS)

#: Rules of deletion vectors.
VECTOR = "the deletion vector can be read"
VECTOR_ROWS = "deleted rows are counted"
VECTOR_FITS = "deleted rows are rows of the file"


@dataclass(frozen=True)
class Problem:
    """A rule that something breaks. `file` and `cube` are empty where the problem is of none in particular.

    `truth` is what would have to stand there instead, as the log has it; empty where nobody knows that, or where there
    is more than one way.
    """

    rule: str
    file: str
    cube: str
    text: str
    truth: str = ""

    def __str__(self) -> str:
        return ": ".join(
            part for part in (self.file, f"cube {self.cube!r}" if self.cube else "", self.text) if part
        )
