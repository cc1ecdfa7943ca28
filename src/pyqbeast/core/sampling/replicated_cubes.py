"""Which files hold rows that other files hold too.

Releases before format 0.6 copied the rows of a full cube to the cubes below it, and marked its blocks as
replicated. A mark alone is not believed, because a damaged or foreign one would hide rows that are nowhere else.
`ReplicatedCubes.java` explains the evidence, and decides the same for Spark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from pyqbeast.core.errors import UnsupportedError
from pyqbeast.core.format.constants import STAGING_REVISION, WEIGHT_MIN
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block
from pyqbeast.core.sampling.logged_file import LoggedFile

_Name = tuple[int, CubeId]


@dataclass
class _Marked:
    """The marked blocks of one cube, and what is seen of their rows below it."""

    path: str
    blocks: list[Block] = field(default_factory=list)
    is_lightest_seen: bool = False
    seen: float = 0.0

    @property
    def rows(self) -> int:
        return sum(block.element_count for block in self.blocks)

    def see(self, below: Block) -> None:
        largest = max((block.max_weight for block in self.blocks), default=WEIGHT_MIN)
        self.is_lightest_seen |= any(block.min_weight == below.min_weight for block in self.blocks)
        self.seen += below.element_count if below.min_weight <= largest else 0


@dataclass(frozen=True)
class ReplicatedCubes:
    """The cubes of a table whose rows are all stored a second time, below them.

    `has_marks` says whether any block of the table is marked.
    """

    copied: frozenset[_Name] = frozenset()
    has_marks: bool = False

    @classmethod
    def among(cls, files: Iterable[LoggedFile]) -> ReplicatedCubes:
        """The replicated cubes of a table of these files.

        Raises UnsupportedError where a file is marked and files without an index may hold its rows.
        """
        files = list(files)
        marked: dict[_Name, _Marked] = {}
        for file in files:
            for block in file.blocks:
                if block.replicated:
                    marked.setdefault((file.revision_id, block.cube), _Marked(file.path)).blocks.append(block)
        if not marked:
            return cls()
        unindexed = 0.0
        for file in files:
            if file.revision_id == STAGING_REVISION:
                unindexed += math.inf if file.rows is None else file.rows
            for block in file.blocks:
                if not block.replicated:
                    _show(marked, file.revision_id, block)
        return cls(_judged(marked, unindexed), has_marks=True)

    def hold_all_of(self, file: LoggedFile) -> bool:
        """Whether other files hold all rows of the file.

        Raises UnsupportedError where they hold the rows of some of its blocks only.
        """
        if not self.copied or not file.is_marked:
            return False
        copied = [self._is_copied(file.revision_id, block) for block in file.blocks]
        if any(copied) and not all(copied):
            raise UnsupportedError(
                f"file {file.path} holds replicated blocks beside others, so its rows cannot be read only once: "
                "write the table anew from its source"
            )
        return all(copied)

    def read_files(self, files: Iterable[LoggedFile]) -> list[LoggedFile]:
        """The files that hold each row once. Raises as `hold_all_of`."""
        return [file for file in files if not self.hold_all_of(file)]

    def true_blocks(self, file: LoggedFile) -> tuple[Block, ...]:
        """The blocks of the file, without marks where none of its rows is seen in another file."""
        if (
            not self.has_marks
            or not file.is_marked
            or any(self._is_copied(file.revision_id, block) for block in file.blocks)
        ):
            return file.blocks
        return tuple(block._replace(replicated=False) for block in file.blocks)

    def _is_copied(self, revision_id: int, block: Block) -> bool:
        return block.replicated and (revision_id, block.cube) in self.copied


def _show(marked: dict[_Name, _Marked], revision_id: int, block: Block) -> None:
    """Shows a block to the marked cubes above it, unless the block has no rows."""
    if block.element_count:
        for above in block.cube.ancestors():
            if (revision_id, above) in marked:
                marked[revision_id, above].see(block)


def _judged(marked: dict[_Name, _Marked], unindexed: float) -> frozenset[_Name]:
    """The marked cubes that were copied.

    The deepest come first, because a block whose mark turned out to be false may hold the copies of a cube above it.
    """
    copied = set()
    for name in sorted(marked, key=lambda name: -name[1].depth):
        cube = marked[name]
        is_enough = cube.seen + unindexed >= cube.rows
        if cube.is_lightest_seen and is_enough:
            copied.add(name)
        elif unindexed > 0 and is_enough:
            raise UnsupportedError(
                f"file {cube.path} is marked as replicated: its rows would be in other files too. No file with an "
                "index holds them, and files without one may, so nobody can tell. RESTORE a version in which all "
                "files have an index, and run pyqbeast upgrade --drop-replicated before other programs change it"
            )
        else:
            for block in cube.blocks:
                _show(marked, name[0], block)
    return frozenset(copied)
