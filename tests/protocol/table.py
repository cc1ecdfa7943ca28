"""A table of the model: what a Delta log says of it, and what lies in its folder.

Everything here is a value: a step makes a new state and leaves the old one as it was.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

#: The revision of files without an index in a table that was converted.
STAGING = 0


class File(NamedTuple):
    """A data file. `layout` names what its rows were laid out by; it is empty where they were not."""

    name: str
    rows: frozenset[str]
    layout: str = ""


class Vector(NamedTuple):
    """The file of a deletion vector: rows that are gone."""

    name: str
    rows: frozenset[str]


class Tag(NamedTuple):
    """What the log says of a file's place in the index."""

    revision: int
    rows: frozenset[str]
    is_legacy: bool = False


class Add(NamedTuple):
    """A file of the table, its vector and its tag."""

    file: File
    vector: Vector | None = None
    tag: Tag | None = None

    @property
    def live(self) -> frozenset[str]:
        """The rows that a reader sees."""
        return self.file.rows - self.vector.rows if self.vector else self.file.rows


class Metadata(NamedTuple):
    """The part of a table's configuration that the index needs: revisions by their numbers, each with its layout."""

    revisions: tuple[tuple[int, str], ...] = ()

    @property
    def last(self) -> int:
        """The number of the latest revision; -1 where the table is not indexed."""
        return self.revisions[-1][0] if self.revisions else -1

    @property
    def latest(self) -> tuple[int, str] | None:
        """The latest revision."""
        return self.revisions[-1] if self.revisions else None

    def layout(self, revision: int) -> str:
        """What the rows of a revision are laid out by; empty where there is no such revision."""
        return dict(self.revisions).get(revision, "")

    def plus(self, revision: int, layout: str) -> Metadata:
        """With one revision more, or the same one defined anew, as the latest."""
        return Metadata((*(each for each in self.revisions if each[0] != revision), (revision, layout)))


class Commit(NamedTuple):
    """A file of the log.

    Attributes:
        writer: whose it is.
        id: the transaction's own.
        adds, removes: files that enter and leave.
        metadata: the new one; None where it stays.
        reads: files that the commit depends on; None where it depends on no row of the table.
        changes_rows: false for a commit that only moves rows.
        app: the application's own name for what it writes, by which a second attempt is known.
        gained, lost: rows that the writer means to add and to take out: not in any log, here to compare with.
        resets: whether the writer means to replace the revisions; the same.
    """

    writer: str
    id: str
    adds: frozenset[Add] = frozenset()
    removes: frozenset[File] = frozenset()
    metadata: Metadata | None = None
    reads: frozenset[File] | None = None
    changes_rows: bool = True
    app: str = ""
    gained: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    resets: bool = False

    @property
    def is_blind(self) -> bool:
        """Whether it adds files, if any, without having looked at others."""
        return self.reads is None and not self.removes


class Snapshot(NamedTuple):
    """A version of a table."""

    version: int
    files: frozenset[Add]
    metadata: Metadata
    apps: frozenset[str]

    @property
    def rows(self) -> list[str]:
        """All rows that a reader sees, one that is in two files twice."""
        return sorted(row for add in self.files for row in add.live)

    @property
    def is_legacy(self) -> bool:
        """Whether a file has tags of before format 0.6."""
        return any(add.tag and add.tag.is_legacy for add in self.files)


@lru_cache(maxsize=10_000)
def snapshot(log: tuple[Commit, ...], version: int | None = None) -> Snapshot:
    """The newest version of a log, or another one."""
    last = len(log) - 1 if version is None else version
    files: dict[File, Add] = {}
    metadata = Metadata()
    apps = set()
    for commit in log[: last + 1]:
        for removed in commit.removes:
            files.pop(removed, None)
        files.update((add.file, add) for add in commit.adds)
        metadata = metadata if commit.metadata is None else commit.metadata
        apps.add(commit.app)
    return Snapshot(last, frozenset(files.values()), metadata, frozenset(apps - {""}))
