"""Which files of a revision are worth rewriting, judged by their blocks alone.

A file stays as it is if a rewrite would make a file like it. So a table that has just been optimized has no
files to rewrite, and a table of many small appends has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block, blocks_with_rows, has_copies, is_copy
from pyqbeast.core.otree.file_layout import FILE_ROWS
from pyqbeast.core.otree.invariants import broken_rules
from pyqbeast.core.otree.status import CubeStatus
from pyqbeast.core.problems import GAP

#: A file with fewer rows than this share of the cube size is small. A band of two files or more is cut into files of
#: three quarters of `FILE_ROWS` at least, and the layout goes by estimates.
SMALL = 0.9 * 0.75 * FILE_ROWS


@dataclass(frozen=True)
class StoredFile:
    """An indexed file: its blocks, the recorded largest weight of its rows, and how many of them are deleted."""

    path: str
    blocks: Sequence[Block]
    recorded: int | None
    deleted: int

    @property
    def lightest(self) -> int:
        """The smallest weight of its rows."""
        return min(block.min_weight for block in blocks_with_rows(self.blocks))

    @property
    def heaviest(self) -> int:
        """The largest weight of its rows. Where nobody recorded it, that of their cubes, which most writers keep to."""
        return max(block.max_weight for block in self.blocks) if self.recorded is None else self.recorded

    @property
    def rows(self) -> int:
        """Rows that are left in it."""
        return sum(block.element_count for block in self.blocks) - self.deleted

    @property
    def is_copy(self) -> bool:
        """Whether all its rows are stored a second time in other files."""
        return is_copy(self.blocks)

    @property
    def has_copies(self) -> bool:
        """Whether some of its rows are stored a second time in other files."""
        return has_copies(self.blocks)


def files_to_rewrite(files: Iterable[StoredFile], cube_size: int) -> set[str]:
    """Their paths: those with deleted rows or with copies, and small ones that can be joined."""
    files = list(files)
    due = {file.path for file in files if file.is_copy or (file.deleted and not file.has_copies)}
    return due | _small(files, cube_size)


def _small(files: Sequence[StoredFile], cube_size: int) -> set[str]:
    """Small files that share weights with another one. A band of few rows is one small file and shares none."""
    small = [file for file in files if file.rows < SMALL * cube_size and not file.has_copies]
    due: set[str] = set()
    farthest: StoredFile | None = None
    for file in sorted(small, key=lambda each: each.lightest):
        if farthest is not None and file.lightest <= farthest.heaviest:
            due |= {farthest.path, file.path}
        if farthest is None or file.heaviest > farthest.heaviest:
            farthest = file
    return due


def broken_cubes(cubes: Mapping[CubeId, CubeStatus]) -> set[CubeId]:
    """The stored cubes of a revision that have to be built anew: those that break a rule of `invariants`.

    They lie below a gap, or hold a row lighter than what an ancestor keeps. Deleted rows, files that plain Delta
    rewrote, and other writers that append above a gap leave such cubes behind.
    """
    broken = list(broken_rules(cubes))
    below_a_gap = {cube for cube, rule, _ in broken if rule == GAP}
    return {cube for cube, _, _ in broken} | {
        cube for cube in cubes if any(ancestor in below_a_gap for ancestor in cube.ancestors())
    }
