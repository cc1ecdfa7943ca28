"""A live file as the rules of samples see it: what the log says of its rows, blocks and weights."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from pyqbeast.core.format.constants import STAGING_REVISION, WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.file_parts import parse_parts_tag
from pyqbeast.core.format.file_tags import Block, has_copies, parse_alone, recorded_weight, weight_bounds


class Needed(NamedTuple):
    """What some rows of a file need of it.

    Attributes:
        bytes: of its beginning that hold them all: all bytes, unless a later part has none of them.
        is_whole: whether they surely are all rows of that beginning, as far as the writer has looked at its rows.
    """

    bytes: int
    is_whole: bool


def counted_rows(in_statistics: int | None, blocks: Sequence[Block]) -> int | None:
    """How many rows are stored in a file, as its statistics say or else its blocks; None where neither does."""
    if in_statistics is not None or not blocks:
        return in_statistics
    return sum(block.element_count for block in blocks)


class LoggedFile(NamedTuple):
    """A live file whose tags have been read by the revisions of its table.

    `IndexedSnapshot` makes it of a `LiveFile`, and `QbeastTable` of a `LogEntry`. No other live file has blocks, and so
    weights. It has no statistics but the number of its rows.

    Attributes:
        path: as the log has it.
        size: its bytes.
        rows: rows stored in it, deleted ones too; None where the log has no statistics of the file.
        deleted: how many of them a deletion vector hides.
        tags: what writers noted beside it; of a `LogEntry` without marks that are not true.
        revision_id: its revision, 0 for a file that is not indexed.
        blocks: its blocks; none in a file that is not indexed.
        problem: why a file with index tags counts as not indexed; None if the tags are good, or there are none.
    """

    path: str
    size: int
    rows: int | None
    deleted: int
    tags: Mapping[str, str]
    revision_id: int
    blocks: tuple[Block, ...]
    problem: str | None = None

    @property
    def counted_rows(self) -> int | None:
        """The rows stored in it, deleted ones too; None where neither its statistics nor its blocks tell.

        `StoredRows.java` has the same rule. Blocks count rows also where the table has lost their revision.
        """
        if self.rows is not None:
            return self.rows
        return counted_rows(None, self.blocks or parse_alone(self.tags).blocks)

    @property
    def is_marked(self) -> bool:
        """Whether a block of the file is marked as replicated."""
        return has_copies(self.blocks)

    def weights(self, prunable: Collection[int]) -> tuple[int, int]:
        """The smallest and the largest weight that its rows can have today.

        Args:
            prunable: the revisions whose blocks tell today's weights.
        """
        if self.revision_id == STAGING_REVISION or not self.blocks or self.revision_id not in prunable:
            return WEIGHT_MIN, WEIGHT_MAX
        return weight_bounds(self.tags, self.blocks)

    def needed_below(self, weight: int | None, prunable: Collection[int]) -> Needed:
        """What the rows that are lighter than a weight need of the file. `BlockIndex.java` has the same rule.

        A file is whole only where a writer has recorded its heaviest row: blocks do not bound it.

        Args:
            weight: any; None for all rows.
            prunable: as for `weights`.
        """
        if weight is None:
            return Needed(self.size, is_whole=True)
        is_told = self.blocks and self.revision_id in prunable
        heaviest = recorded_weight(self.tags, self.blocks) if is_told else None
        if heaviest is None:
            return Needed(self.size, is_whole=False)
        for part in parse_parts_tag(self.tags, self.size) or ():
            if part.lightest >= weight:
                return Needed(part.begin, is_whole=part.heaviest_before < weight)
        return Needed(self.size, is_whole=heaviest < weight)
