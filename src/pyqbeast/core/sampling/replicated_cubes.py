"""Which files hold rows that other files hold too.

Releases before format 0.6 copied the rows of a full cube to the cubes below it, and marked its blocks as
replicated. A mark alone is not believed, because a damaged or foreign one would hide rows that are nowhere else.
`ReplicatedCubes.java` explains the evidence, and decides the same for Spark.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pyqbeast.core.errors import FormatError, UnsupportedError
from pyqbeast.core.format.constants import (
    LEGACY_REPLICATED_SET_PREFIX,
    STAGING_REVISION,
    TAG_MAX_ROW_WEIGHT,
    WEIGHT_MAX,
    WEIGHT_MIN,
)
from pyqbeast.core.format.file_tags import Block, FileTags, Mark, are_blocks_told, mark_of, of_any_revision
from pyqbeast.core.format.logged_file import LoggedFile
from pyqbeast.core.format.stored_text import read_json, whole_number

#: A revision and the id of a cube, which begins with those of the cubes above it. A table need not have the revision.
_Name = tuple[int, str]


@dataclass
class _Marked:
    """The marked blocks of one cube, and what is seen of their rows below it."""

    path: str
    blocks: list[Block] = field(default_factory=list)
    largest: int = WEIGHT_MIN
    rows: int = 0
    live: int = 0
    is_lightest_seen: bool = False
    seen: float = 0.0

    def add(self, block: Block, file: LoggedFile, *, is_only: bool) -> None:
        """Adds a block of a file, which holds no more rows than the file, and all of them if it is the only one."""
        if file.rows is None:
            rows = block.element_count
        else:
            rows = file.rows if is_only else min(block.element_count, file.rows)
        self.blocks.append(block)
        # Versions 0.3 to 0.5 of the Scala project joined blocks of a cube, whose rows may be heavier than it says.
        is_bounded = not is_only or TAG_MAX_ROW_WEIGHT in file.tags
        self.largest = max(self.largest, block.max_weight if is_bounded else WEIGHT_MAX)
        self.rows += rows
        self.live += max(0, rows - file.deleted)

    def may_be_copied(self, elsewhere: float) -> bool:
        """Whether enough rows may be copies for each of its live rows to have one.

        Its deleted rows need none, because a copy of a deleted row is deleted too. A cube without rows was not copied:
        its block closes a gap in the tree, and begins with the weight of a block below it though it has no row there.

        Args:
            elsewhere: rows beside those that were seen below it, of which nobody knows what cube they are of.
        """
        return self.rows > 0 and self.seen + elsewhere >= max(1, self.live)

    def see(self, below: Block) -> None:
        self.is_lightest_seen |= any(block.min_weight == below.min_weight for block in self.blocks)
        self.seen += below.element_count if below.min_weight <= self.largest else 0


def _listed(configuration: Mapping[str, str]) -> Iterator[_Name]:
    """The cubes that a table of before format 0.6 lists as copied."""
    for key, text in configuration.items():
        if key.startswith(LEGACY_REPLICATED_SET_PREFIX):
            try:
                revision_id = whole_number(key.removeprefix(LEGACY_REPLICATED_SET_PREFIX), key)
                cubes = read_json(text, key)
            except FormatError:
                continue
            if isinstance(cubes, list):
                yield from ((revision_id, cube) for cube in cubes if isinstance(cube, str))


def _told(file: LoggedFile) -> FileTags:
    """What the tags of a file say, be it of a revision that the table has or not."""
    return of_any_revision(FileTags(file.revision_id, file.blocks), file.tags)


def holds_both(path: str) -> UnsupportedError:
    """The refusal of a file that holds copies beside other rows."""
    return UnsupportedError(
        f"file {path} holds replicated blocks beside others, so its rows cannot be read only once: "
        "write the table anew from its source"
    )


def _unreadable(file: LoggedFile) -> UnsupportedError:
    return UnsupportedError(
        f"the index tags of file {file.path} are damaged: its rows may be in other files too, and nobody can tell. "
        "RESTORE a version in which its tags can be read, and run pyqbeast upgrade --drop-replicated on it"
    )


def _untellable(path: str) -> UnsupportedError:
    return UnsupportedError(
        f"file {path} is marked as replicated: its rows would be in other files too. Files without an index or with "
        "damaged tags may hold them, or those that showed it are deleted, so nobody can tell. RESTORE a version in "
        "which all files have an index and no row is deleted, and run pyqbeast upgrade --drop-replicated before other "
        "writers change it"
    )


def _unmarked(path: str, name: _Name) -> UnsupportedError:
    revision_id, cube = name
    key = f"{LEGACY_REPLICATED_SET_PREFIX}{revision_id}"
    return UnsupportedError(
        f"cube {cube!r} was copied to the cubes below it, and no file of it is marked: file {path}, which has no index "
        "or damaged tags, may hold its rows, and they would be in other files too, so nobody can tell. Where all rows "
        f"were replaced since, as an overwrite does, UNSET the table property {key} if there is one. Otherwise RESTORE "
        "the version before another writer changed the table, and run pyqbeast upgrade --drop-replicated on it"
    )


class _Evidence:
    """What the files of a table show about its marked cubes, before the marks are judged."""

    def __init__(self, marked: dict[_Name, _Marked], listed: set[_Name]) -> None:
        self._marked = marked
        self._listed = listed
        self._lengths = {len(cube) for _, cube in marked}
        # Rows that no block tells of.
        self._untold = 0.0
        # Rows of revisions that the table does not have. A file whose number is damaged may hold copies of any other.
        self._of_lost: Counter[int] = Counter()
        self._are_any_deleted = False
        self._hides_mark: LoggedFile | None = None
        self._untold_path = ""

    def look_at(self, file: LoggedFile) -> None:
        """Shows the rows of a file to the marked cubes that they may be copied from."""
        tags = _told(file)
        self._are_any_deleted |= file.deleted > 0
        if not are_blocks_told(file.tags, tags.blocks) and mark_of(file.tags) is Mark.UNKNOWN:
            self._hides_mark = file
        told = sum(block.element_count for block in tags.blocks)
        unknown = 0 if told else math.inf
        untold = unknown if file.rows is None else max(0, file.rows - told)
        self._untold += untold
        if untold:
            self._untold_path = file.path
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
            may_be_copied = cube.may_be_copied(elsewhere)
            # What shows that a cube was copied may be deleted or without an index. An update does both: it hides the
            # copies of a row, and writes each anew into a file without an index.
            is_untold, is_deleted = elsewhere > 0, self._are_any_deleted
            is_unsure = (is_untold and is_deleted) if cube.is_lightest_seen else (is_untold or is_deleted)
            if may_be_copied and is_unsure:
                raise _untellable(cube.path)
            if may_be_copied and cube.is_lightest_seen:
                copied.add(name)
            else:
                for block in cube.blocks:
                    self._show(name[0], block)
        if copied and self._hides_mark:
            raise _unreadable(self._hides_mark)
        # A cube was copied only after the one above it. So where any was, the root was.
        for name in sorted(self._listed | {(revision_id, "") for revision_id, _ in copied}):
            if self._untold and name not in self._marked:
                raise _unmarked(self._untold_path, name)
        return frozenset(copied)


@dataclass(frozen=True)
class ReplicatedCubes:
    """The cubes of a table whose rows are all stored a second time, below them.

    `has_marks` says whether any block of the table is marked.
    """

    copied: frozenset[_Name] = frozenset()
    has_marks: bool = False

    @classmethod
    def among(cls, files: Iterable[LoggedFile], configuration: Mapping[str, str]) -> ReplicatedCubes:
        """The replicated cubes of a table of these files and this configuration.

        Raises UnsupportedError where a file is marked and rows that no block tells of may be its own, and where damaged
        tags may have marked a file or another writer may have rewritten one without its mark.
        """
        files = list(files)
        marked: dict[_Name, _Marked] = {}
        for file in files:
            if file.tags and (file.is_marked or not are_blocks_told(file.tags, file.blocks)):
                tags = _told(file)
                if not are_blocks_told(file.tags, tags.blocks) and mark_of(file.tags) is Mark.SET:
                    raise _unreadable(file)
                for block in tags.blocks:
                    if block.replicated:
                        name = (tags.revision_id, block.cube.to_string())
                        is_only = len(tags.blocks) == 1
                        marked.setdefault(name, _Marked(file.path)).add(block, file, is_only=is_only)
        listed = set(_listed(configuration))
        if not (marked or listed):
            return cls()
        evidence = _Evidence(marked, listed)
        for file in files:
            evidence.look_at(file)
        return cls(evidence.judged(), has_marks=bool(marked))

    def holds_only_copies(self, file: LoggedFile) -> bool:
        """Whether other files hold all rows of the file.

        Raises UnsupportedError where they hold the rows of some of its blocks only.
        """
        if not self.copied:
            return False
        tags = _told(file)
        copied = [self._is_copied(tags.revision_id, block) for block in tags.blocks]
        if any(copied) and not all(copied):
            raise holds_both(file.path)
        return bool(copied) and all(copied)

    def files_to_read(self, files: Iterable[LoggedFile]) -> list[LoggedFile]:
        """The files that hold each row once. Raises as `holds_only_copies`."""
        return [file for file in files if not self.holds_only_copies(file)]

    def is_falsely_marked(self, file: LoggedFile) -> bool:
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
