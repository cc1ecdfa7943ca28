"""What each operation commits, and what it does when another writer came first. The code's own modules are named."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.protocol.table import STAGING, Add, Commit, File, Metadata, Snapshot, Tag, Vector, snapshot

#: How often a writer begins again, here and in the replay.
RETRIES = 1


class Attempt(NamedTuple):
    """What an operation makes of a version.

    Attributes:
        commit: what it wants to commit; None where there is nothing to do.
        outcome: of the operation where there is nothing to commit: "done" or "refused".
    """

    commit: Commit | None = None
    outcome: str = "done"


REFUSED = Attempt(outcome="refused")
NOTHING = Attempt()


class Operation:
    """An operation of one writer."""

    #: Whether it commits on exactly the version that it has read, or not at all.
    is_strict = False
    #: How often it begins again by itself after it has lost.
    retries = 0

    def __init__(self, writer: str, app: str = "") -> None:
        self.writer = writer
        self.app = app

    @property
    def made_of(self) -> tuple[Any, ...]:
        """What the constructor was given."""
        return self.writer, self.app

    @property
    def own(self) -> frozenset[str]:
        """The rows that it writes."""
        return frozenset({f"{self.writer}'s"})

    def attempt(self, log: tuple[Commit, ...], name: str, first: int) -> Attempt:
        """What it makes of the newest version.

        Args:
            log: all of it.
            name: for the transaction and its files.
            first: the version that the operation began on for the first time.
        """
        raise NotImplementedError

    def rebased(
        self, commit: Commit, old: Snapshot, newer: Snapshot, name: str, *, may_rebuild: bool
    ) -> Commit | None:
        """The files of a commit on `old` as one on `newer`; None where they cannot join it."""
        return None

    def can_be_done(self, log: tuple[Commit, ...]) -> bool:
        """Whether a log lets the writer say "done": some version shows what was asked for."""
        return True

    def _gained(self, log: tuple[Commit, ...]) -> bool:
        """Whether its rows have come into the table, or those of the same application's name."""
        return any(self.own <= commit.gained or (self.app and self.app == commit.app) for commit in log)


class PlainAppend(Operation):
    """Delta's own append: files without an index."""

    def attempt(self, log: tuple[Commit, ...], name: str, first: int) -> Attempt:
        file = File(name, self.own)
        return Attempt(Commit(self.writer, name, adds=frozenset({Add(file)}), gained=self.own))

    def can_be_done(self, log: tuple[Commit, ...]) -> bool:
        return self._gained(log)


class Append(Operation):
    """`table/write/writer.py`: rows that fit the latest revision."""

    retries = RETRIES
    grows = False

    def attempt(self, log: tuple[Commit, ...], name: str, first: int) -> Attempt:
        newest = snapshot(log)
        if self.app and self.app in newest.apps:
            return NOTHING
        last = newest.metadata.last
        if last < STAGING or newest.is_legacy:
            return REFUSED
        is_new = self.grows or last == STAGING
        layout = f"{self.writer}'s layout" if is_new else newest.metadata.layout(last)
        commit = Commit(self.writer, name, gained=self.own, app=self.app)
        return Attempt(
            _tagged(commit, File(name, self.own, layout), last + is_new, newest.metadata, is_new=is_new)
        )

    def rebased(
        self, commit: Commit, old: Snapshot, newer: Snapshot, name: str, *, may_rebuild: bool
    ) -> Commit | None:
        (add,) = commit.adds
        assert add.tag is not None
        follows = commit._replace(id=name)
        if commit.metadata is None:
            return follows if newer.metadata.layout(add.tag.revision) == add.file.layout else None
        if newer.metadata.latest != old.metadata.latest and may_rebuild:
            return None
        return _tagged(follows, add.file, newer.metadata.last + 1, newer.metadata, is_new=True)

    def can_be_done(self, log: tuple[Commit, ...]) -> bool:
        return self._gained(log)


def _tagged(commit: Commit, file: File, revision: int, metadata: Metadata, *, is_new: bool) -> Commit:
    add = Add(file, None, Tag(revision, file.rows))
    return commit._replace(
        adds=frozenset({add}), metadata=metadata.plus(revision, file.layout) if is_new else None
    )


class Grow(Append):
    """The same with rows outside of the revision's range: they make a new one."""

    grows = True


class Overwrite(Operation):
    """`table/write/writer.py` with mode overwrite: all files and revisions go."""

    def attempt(self, log: tuple[Commit, ...], name: str, first: int) -> Attempt:
        newest = snapshot(log)
        if newest.metadata.last < STAGING or newest.is_legacy:
            return REFUSED
        file = File(name, self.own, f"{self.writer}'s layout")
        files = frozenset(add.file for add in newest.files)
        lost = frozenset(newest.rows)
        commit = Commit(
            self.writer, name, removes=files, reads=files, gained=self.own, lost=lost, resets=True
        )
        return Attempt(_tagged(commit, file, 1, Metadata(), is_new=True))

    def can_be_done(self, log: tuple[Commit, ...]) -> bool:
        return self._gained(log)


class Optimize(Operation):
    """`table/maintain/optimize.py`: the files of the latest revision become one, or unindexed ones get an index."""

    retries = RETRIES

    def attempt(self, log: tuple[Commit, ...], name: str, first: int) -> Attempt:
        newest, asked = snapshot(log), snapshot(log, first)
        metadata, revision = newest.metadata, asked.metadata.last
        if revision < STAGING or newest.is_legacy or (revision > STAGING and not metadata.layout(revision)):
            return REFUSED
        due = frozenset(add for add in newest.files if (add.tag.revision if add.tag else STAGING) == revision)
        if revision > STAGING:
            known = {add.file for add in asked.files}
            due = frozenset(add for add in due if add.file in known)
        if not due:
            return NOTHING
        commit = Commit(self.writer, name, removes=frozenset(add.file for add in due), changes_rows=False)
        rows = frozenset(row for add in due for row in add.live)
        if not rows:
            return Attempt(commit)
        target = revision if revision > STAGING else metadata.last
        is_new = target == STAGING
        file = File(name, rows, f"{self.writer}'s layout" if is_new else metadata.layout(target))
        return Attempt(_tagged(commit, file, target + is_new, metadata, is_new=is_new))


class Delete(Operation):
    """`table/maintain/delete.py`: rows are marked in vectors."""

    def __init__(self, writer: str, rows: frozenset[str]) -> None:
        super().__init__(writer)
        self.rows = rows

    @property
    def made_of(self) -> tuple[Any, ...]:
        return self.writer, self.rows

    def attempt(self, log: tuple[Commit, ...], name: str, first: int) -> Attempt:
        newest = snapshot(log)
        if newest.is_legacy:
            return REFUSED
        adds, removes = [], []
        for number, add in enumerate(sorted(newest.files)):
            gone = add.live & self.rows
            if not gone:
                continue
            removes.append(add.file)
            if gone != add.live:
                adds.append(add._replace(vector=Vector(f"{name}/{number}", add.file.rows - add.live | gone)))
        if not removes:
            return NOTHING
        files = frozenset(add.file for add in newest.files)
        lost = frozenset(newest.rows) & self.rows
        return Attempt(Commit(self.writer, name, frozenset(adds), frozenset(removes), reads=files, lost=lost))

    def can_be_done(self, log: tuple[Commit, ...]) -> bool:
        return any(self.rows.isdisjoint(snapshot(log, version).rows) for version in range(len(log)))


class Upgrade(Operation):
    """`table/maintain/upgrade.py`: files of before format 0.6 get the tags of today."""

    is_strict = True
    retries = RETRIES

    def attempt(self, log: tuple[Commit, ...], name: str, first: int) -> Attempt:
        newest = snapshot(log)
        if not newest.is_legacy:
            return NOTHING
        return Attempt(_retagged(self.writer, name, newest, is_legacy=False))

    def can_be_done(self, log: tuple[Commit, ...]) -> bool:
        return not all(snapshot(log, version).is_legacy for version in range(len(log)))


def _retagged(
    writer: str, name: str, newest: Snapshot, *, is_legacy: bool, of: frozenset[File] | None = None
) -> Commit:
    adds = frozenset(
        add._replace(tag=add.tag._replace(is_legacy=is_legacy))
        for add in newest.files
        if add.tag and add.tag.is_legacy != is_legacy and (of is None or add.file in of)
    )
    return Commit(writer, name, adds=adds, reads=frozenset(), changes_rows=False)


class Restore(Operation):
    """Delta's RESTORE of the first version, and `commands/IndexedRestore.java` behind it."""

    is_strict = True

    def attempt(self, log: tuple[Commit, ...], name: str, first: int) -> Attempt:
        newest, then = snapshot(log), snapshot(log, 0)
        vectors_then = {add.file: add.vector for add in then.files}
        vectors_now = {add.file: add.vector for add in newest.files}
        gone = frozenset(add.file for add in newest.files if vectors_then.get(add.file, "none") != add.vector)
        back = frozenset(add for add in then.files if vectors_now.get(add.file, "none") != add.vector)
        gained, lost = frozenset(then.rows), frozenset(newest.rows)
        return Attempt(
            Commit(
                self.writer,
                name,
                back,
                gone,
                then.metadata,
                frozenset(),
                gained=gained,
                lost=lost,
                resets=True,
            )
        )

    @property
    def behind(self) -> Operation:
        """What follows it."""
        return RestoreTags(self.writer)

    def can_be_done(self, log: tuple[Commit, ...]) -> bool:
        return any(commit.writer == self.writer and commit.resets for commit in log)


class RestoreTags(Operation):
    """What follows a RESTORE of a version of before format 0.6: its files get their old tags back."""

    is_strict = True
    retries = RETRIES

    def attempt(self, log: tuple[Commit, ...], name: str, first: int) -> Attempt:
        then = frozenset(add.file for add in snapshot(log, 0).files if add.tag and add.tag.is_legacy)
        commit = _retagged(self.writer, name, snapshot(log), is_legacy=True, of=then)
        return Attempt(commit) if commit.adds else NOTHING


class Convert(Operation):
    """`table/convert.py`: a plain Delta table gets a revision for files without an index."""

    retries = RETRIES

    def attempt(self, log: tuple[Commit, ...], name: str, first: int) -> Attempt:
        metadata = snapshot(log).metadata
        if metadata.last >= STAGING:
            return NOTHING
        return Attempt(Commit(self.writer, name, metadata=metadata.plus(STAGING, "none")))

    def can_be_done(self, log: tuple[Commit, ...]) -> bool:
        return any(snapshot(log, version).metadata.last >= STAGING for version in range(len(log)))
