"""Which files hold rows that other files hold too.

Releases before format 0.6 copied the rows of a full cube to the cubes below it, and marked its blocks as
replicated. A mark alone is not believed, because a damaged or foreign one would hide rows that are nowhere else.
`ReplicatedCubes.java` explains the evidence, and decides the same for Spark.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from pyqbeast.core.errors import UnsupportedError
from pyqbeast.core.format.constants import STAGING_REVISION, WEIGHT_MIN
from pyqbeast.core.format.file_tags import Block, FileTags, of_any_revision, say_marked, tell_blocks
from pyqbeast.core.sampling.logged_file import LoggedFile

#: A revision and the id of a cube, which begins with those of the cubes above it. A table need not have the revision.
_Name = tuple[int, str]


@dataclass
class _Marked:
    """The marked blocks of one cube, and what is seen of their rows below it."""

    path: str
    blocks: list[Block] = field(default_factory=list)
    rows: int = 0
    is_lightest_seen: bool = False
    seen: float = 0.0

    def add(self, block: Block, file: LoggedFile, *, is_only: bool) -> None:
        """Adds a block of a file, which holds no more rows than the file, and all of them if it is the only one."""
        self.blocks.append(block)
        if file.rows is None:
            self.rows += block.element_count
        else:
            self.rows += file.rows if is_only else min(block.element_count, file.rows)

    def see(self, below: Block) -> None:
        largest = max((block.max_weight for block in self.blocks), default=WEIGHT_MIN)
        self.is_lightest_seen |= any(block.min_weight == below.min_weight for block in self.blocks)
        self.seen += below.element_count if below.min_weight <= largest else 0


def _told(file: LoggedFile) -> FileTags:
    """What the tags of a file say, be it of a revision that the table has or not."""
    return of_any_revision(FileTags(file.revision_id, file.blocks), file.tags)


def _unreadable(file: LoggedFile) -> UnsupportedError:
    return UnsupportedError(
        f"the index tags of file {file.path} are damaged: its rows may be in other files too, and nobody can tell. "
        "RESTORE a version in which its tags can be read, and run pyqbeast upgrade --drop-replicated on it"
    )


class _Evidence:
    """What the files of a table show about its marked cubes, before the marks are judged."""

    def __init__(self, marked: dict[_Name, _Marked]) -> None:
        self._marked = marked
        self._lengths = {len(cube) for _, cube in marked}
        # Rows that no block tells of.
        self._untold = 0.0
        # Rows of revisions that the table does not have. A file whose number is damaged may hold copies of any other.
        self._of_lost: Counter[int] = Counter()
        self._hides_mark: LoggedFile | None = None

    def look_at(self, file: LoggedFile) -> None:
        """Shows the rows of a file to the marked cubes that they may be copied from."""
        tags = _told(file)
        if not tell_blocks(file.tags, tags.blocks) and say_marked(file.tags) is None:
            self._hides_mark = file
        told = sum(block.element_count for block in tags.blocks)
        if file.rows is not None:
            self._untold += max(0, file.rows - told)
        elif not told:
            self._untold = math.inf
        if file.revision_id == STAGING_REVISION:
            self._of_lost[tags.revision_id] += told
        for block in tags.blocks:
            if not block.replicated:
                self._show(tags.revision_id, block)

    def _show(self, revision_id: int, block: Block) -> None:
        """Shows a block to the marked cubes above it, unless the block has no rows."""
        if not block.element_count:
            return
        cube = block.cube.to_string()
        for length in self._lengths:
            above = self._marked.get((revision_id, cube[:length]))
            if above is not None and length < len(cube):
                above.see(block)

    def judged(self) -> frozenset[_Name]:
        """The marked cubes that were copied. Raises UnsupportedError where nobody can tell.

        The deepest come first: a block whose mark turned out to be false may hold the copies of a cube above it.
        """
        copied = set()
        for name in sorted(self._marked, key=lambda name: -len(name[1])):
            cube = self._marked[name]
            elsewhere = self._untold + self._of_lost.total() - self._of_lost[name[0]]
            is_enough = cube.seen + elsewhere >= cube.rows
            # A block without rows closes a gap, and begins like a block below it.
            if cube.rows and cube.is_lightest_seen and is_enough:
                copied.add(name)
            elif elsewhere > 0 and is_enough:
                raise UnsupportedError(
                    f"file {cube.path} is marked as replicated: its rows would be in other files too. No block holds "
                    "them, and files without an index or with damaged tags may, so nobody can tell. RESTORE a version "
                    "in which all files have an index, and run pyqbeast upgrade --drop-replicated before other writers "
                    "change it"
                )
            else:
                for block in cube.blocks:
                    self._show(name[0], block)
        if copied and self._hides_mark:
            raise _unreadable(self._hides_mark)
        return frozenset(copied)


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

        Raises UnsupportedError where a file is marked and rows that no block tells of may be its own, and where damaged
        tags may have marked a file.
        """
        files = list(files)
        marked: dict[_Name, _Marked] = {}
        for file in files:
            if file.tags and (file.is_marked or not tell_blocks(file.tags, file.blocks)):
                tags = _told(file)
                if not tell_blocks(file.tags, tags.blocks) and say_marked(file.tags):
                    raise _unreadable(file)
                for block in tags.blocks:
                    if block.replicated:
                        name = (tags.revision_id, block.cube.to_string())
                        is_only = len(tags.blocks) == 1
                        marked.setdefault(name, _Marked(file.path)).add(block, file, is_only=is_only)
        if not marked:
            return cls()
        evidence = _Evidence(marked)
        for file in files:
            evidence.look_at(file)
        return cls(evidence.judged(), has_marks=True)

    def hold_all_of(self, file: LoggedFile) -> bool:
        """Whether other files hold all rows of the file.

        Raises UnsupportedError where they hold the rows of some of its blocks only.
        """
        if not self.copied:
            return False
        tags = _told(file)
        copied = [self._is_copied(tags.revision_id, block) for block in tags.blocks]
        if any(copied) and not all(copied):
            raise UnsupportedError(
                f"file {file.path} holds replicated blocks beside others, so its rows cannot be read only once: "
                "write the table anew from its source"
            )
        return bool(copied) and all(copied)

    def read_files(self, files: Iterable[LoggedFile]) -> list[LoggedFile]:
        """The files that hold each row once. Raises as `hold_all_of`."""
        return [file for file in files if not self.hold_all_of(file)]

    def are_false(self, file: LoggedFile) -> bool:
        """Whether the file is marked, and none of its rows is seen in another file."""
        return (
            self.has_marks
            and file.is_marked
            and not any(self._is_copied(file.revision_id, block) for block in file.blocks)
        )

    def true_blocks(self, file: LoggedFile) -> tuple[Block, ...]:
        """The blocks of the file, without the marks of those whose rows are not seen in other files."""
        if not self.has_marks or not file.is_marked:
            return file.blocks
        return tuple(
            block._replace(replicated=self._is_copied(file.revision_id, block)) for block in file.blocks
        )

    def _is_copied(self, revision_id: int, block: Block) -> bool:
        return block.replicated and (revision_id, block.cube.to_string()) in self.copied
