"""Which files of a revision are worth rewriting, judged by their blocks alone.

A file stays as it is if a rewrite would make a file like it. So a table that has just been optimized has no
files to rewrite, and a table of many small appends has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyqbeast.core.format.constants import WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block
from pyqbeast.core.format.weight import fraction_of
from pyqbeast.core.otree.status import CubeStatus, kept_above
from pyqbeast.core.otree.weight_bands import LARGE, MOST_SHARED

#: A file with fewer rows than this share of the cube size is small. The layout goes by estimates, so this is a
#: little below the fewest rows that it plans for a shared file.
SMALL = 0.9 * (MOST_SHARED - LARGE)
#: A file with fewer rows than this share is small even if it holds one cube alone, because no band of a cube is
#: planned so small.
TINY = 1 / 16
#: A file holds the lowest band of its cube if its lightest row lies in this lowest share of the cube's weights.
BOTTOM = 1 / 32


@dataclass(frozen=True)
class StoredFile:
    """An indexed file: its blocks, and how many of its rows are deleted."""

    path: str
    blocks: Sequence[Block]
    deleted: int

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
        return any(block.replicated for block in self.blocks)


def is_copy(blocks: Sequence[Block]) -> bool:
    """Whether all rows of an indexed file with these blocks are stored a second time in other files."""
    return bool(blocks) and all(block.replicated for block in blocks)


def work(files: Iterable[StoredFile], cube_size: int) -> set[str]:
    """Paths of the files to rewrite: those with deleted rows or with copies, and small ones that can be joined."""
    files = list(files)
    due = {file.path for file in files if file.is_copy or (file.deleted and not file.has_copies)}
    small = _small(files, cube_size)
    return due | small if len(small | due) > 1 else due


def _small(files: Sequence[StoredFile], cube_size: int) -> set[str]:
    largest: dict[CubeId, int] = {}
    for file in files:
        for block in file.blocks:
            largest[block.cube] = min(block.max_weight, largest.get(block.cube, WEIGHT_MAX))
    small = set()
    bottoms: dict[CubeId, list[str]] = defaultdict(list)
    for file in files:
        if file.rows >= SMALL * cube_size or file.has_copies:
            continue
        if len(file.blocks) > 1 or file.rows < TINY * cube_size:
            small.add(file.path)
        elif _is_at_bottom(file.blocks[0], largest):
            bottoms[file.blocks[0].cube].append(file.path)
    # A cube has one file with its lowest band. A second one came with a later write.
    return small.union(*(paths for paths in bottoms.values() if len(paths) > 1))


def _is_at_bottom(block: Block, largest: Mapping[CubeId, int]) -> bool:
    kept = kept_above(block.cube, largest)
    lowest = WEIGHT_MIN if kept is None else kept
    above = fraction_of(block.min_weight) - fraction_of(lowest)
    return above < BOTTOM * (fraction_of(largest[block.cube]) - fraction_of(lowest))


def broken_cubes(cubes: Mapping[CubeId, CubeStatus]) -> set[CubeId]:
    """The stored cubes of a revision that have to be built anew: those that break a rule of `invariants`.

    They lie below a gap, or hold a row lighter than what an ancestor keeps. Deleted rows, files that plain Delta
    rewrote, and other writers that append above a gap leave such cubes behind.
    """
    max_weights = {cube: status.max_weight for cube, status in cubes.items()}

    def is_broken(status: CubeStatus) -> bool:
        kept = kept_above(status.cube, max_weights)
        return (kept is not None and status.min_weight < kept) or any(
            ancestor not in cubes for ancestor in status.cube.ancestors()
        )

    return {cube for cube, status in cubes.items() if is_broken(status)}
