"""Which files of a revision are worth rewriting, told from their blocks alone.

A file is left as it is where a rewrite would bring forth one like it: so a table that has just been optimized has no
work, and one that is written in small appends has.
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

#: A file of less than this share of the cube size is small. A little below what the layout closes a shared file with,
#: as that goes by estimates.
SMALL = 0.9 * (MOST_SHARED - LARGE)
#: A file of less than this share is small also where it holds one cube alone: no band of a cube is planned so small.
TINY = 1 / 16
#: A file whose lightest row lies in this share of its cube's weights is not an upper band of the cube.
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
    # One file at the bottom of a cube is its first band; a second one came later.
    return small.union(*(paths for paths in bottoms.values() if len(paths) > 1))


def _is_at_bottom(block: Block, largest: Mapping[CubeId, int]) -> bool:
    kept = kept_above(block.cube, largest)
    lowest = WEIGHT_MIN if kept is None else kept
    above = fraction_of(block.min_weight) - fraction_of(lowest)
    return above < BOTTOM * (fraction_of(largest[block.cube]) - fraction_of(lowest))


def broken_cubes(cubes: Mapping[CubeId, CubeStatus]) -> set[CubeId]:
    """The stored cubes of a revision that have to be built anew: those that `invariants` names.

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
