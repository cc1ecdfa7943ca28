"""Mistakes that a commit protocol can make. Each is planted into the model, which has to find it."""

from __future__ import annotations

from collections.abc import Iterator

from tests.protocol.operations import (
    NOTHING,
    Append,
    Attempt,
    Convert,
    Delete,
    Grow,
    Operation,
    Optimize,
    Upgrade,
)
from tests.protocol.table import STAGING, Commit, Snapshot, Vector, snapshot
from tests.protocol.world import Protocol, World, Writer


class NeverLooks(Protocol):
    """Takes every failure of a commit for one that did not land."""

    def look(self, world: World, writer: Writer) -> Iterator[tuple[str, World, Writer]]:
        yield "does not look", world, self.tell(writer, "failed")


class DeletesInDoubt(Protocol):
    """Deletes what it wrote where it could not find out whether it has landed."""

    def look(self, world: World, writer: Writer) -> Iterator[tuple[str, World, Writer]]:
        yield "cannot look and deletes", world, self.lost(writer, "uncertain")


class DeletesAtFirstConflict(Protocol):
    """Deletes its files when it loses, and joins the newer version with them nevertheless."""

    def join(self, world: World, writer: Writer) -> Iterator[tuple[str, World, Writer]]:
        yield from super().join(world._replace(folder=world.folder - writer.staged), writer)


class Overwrites(Protocol):
    """A log store that puts a file where there is one already."""

    def put(self, world: World, writer: Writer) -> Iterator[tuple[str, World, Writer]]:
        assert writer.commit is not None
        log = (*world.log[: writer.version], writer.commit, *world.log[writer.version + 1 :])
        yield "puts and lands", world._replace(log=log), self.tell(writer, "done")


class FollowsAll(Protocol):
    """Lets every commit follow every other, but for its own."""

    def check(self, world: World, writer: Writer) -> Iterator[tuple[str, World, Writer]]:
        assert writer.commit is not None
        if world.log[writer.version].id == writer.commit.id:
            yield from super().check(world, writer)
        else:
            yield "follows", world, writer._replace(at="put", version=len(world.log))


class IgnoresRemovedFiles(FollowsAll):
    """Lets a rewrite follow whatever leaves the metadata alone, though what it replaces may have changed."""

    def check(self, world: World, writer: Writer) -> Iterator[tuple[str, World, Writer]]:
        is_rewrite = isinstance(self.operation(writer), Optimize)
        if is_rewrite and not any(winner.metadata for winner in world.log[writer.version :]):
            yield from super().check(world, writer)
        else:
            yield from Protocol.check(self, world, writer)


class JoinsAnyRevision(Append):
    """Keeps the number of its revision, whatever that stands for by now."""

    def rebased(
        self, commit: Commit, old: Snapshot, newer: Snapshot, name: str, *, may_rebuild: bool
    ) -> Commit | None:
        return commit._replace(id=name)


class KeepsItsNumber(Grow):
    """Stores its revision under the number that it chose, over another writer's."""

    def rebased(
        self, commit: Commit, old: Snapshot, newer: Snapshot, name: str, *, may_rebuild: bool
    ) -> Commit | None:
        (add,) = commit.adds
        assert add.tag is not None
        metadata = newer.metadata.plus(add.tag.revision, add.file.layout)
        return commit._replace(id=name, metadata=metadata)


class ForgetsOldVectors(Delete):
    """Writes a vector of the rows that it deletes, without those that were gone."""

    def attempt(self, log: tuple[Commit, ...], name: str, first: int) -> Attempt:
        attempt = super().attempt(log, name, first)
        if attempt.commit is None:
            return attempt
        adds = frozenset(
            add._replace(vector=Vector(add.vector.name, add.vector.rows & self.rows)) if add.vector else add
            for add in attempt.commit.adds
        )
        return Attempt(attempt.commit._replace(adds=adds))


class RetagsBlindly(Upgrade):
    """Commits the files that it has listed, whatever has become of them."""

    is_strict = False

    def attempt(self, log: tuple[Commit, ...], name: str, first: int) -> Attempt:
        attempt = super().attempt(log, name, first)
        blind = attempt.commit._replace(reads=None) if attempt.commit else None
        return attempt._replace(commit=blind)


class ConvertsWhatItSawBefore(Convert):
    """Looks whether the table is indexed, and begins its transaction later."""

    def attempt(self, log: tuple[Commit, ...], name: str, first: int) -> Attempt:
        return Attempt(Commit(self.writer, name, metadata=snapshot(log).metadata.plus(STAGING, "none")))


class WritesNothing(Append):
    """Says that its rows are written, and has not begun."""

    def attempt(self, log: tuple[Commit, ...], name: str, first: int) -> Attempt:
        return NOTHING


class DeletesNothing(Delete):
    """Says that its rows are gone, and has not begun."""

    def attempt(self, log: tuple[Commit, ...], name: str, first: int) -> Attempt:
        return NOTHING


#: Mistakes in what everybody does.
PROTOCOLS: tuple[type[Protocol], ...] = (
    NeverLooks,
    DeletesInDoubt,
    DeletesAtFirstConflict,
    Overwrites,
    FollowsAll,
    IgnoresRemovedFiles,
)
#: Mistakes of one operation, each with the table and the name of the operation that it stands for.
OPERATIONS: tuple[tuple[type[Operation], str, str], ...] = (
    (JoinsAnyRevision, "indexed", "append"),
    (KeepsItsNumber, "indexed", "grow"),
    (ForgetsOldVectors, "indexed", "delete"),
    (RetagsBlindly, "legacy", "upgrade"),
    (ConvertsWhatItSawBefore, "plain", "convert"),
    (WritesNothing, "indexed", "append"),
    (DeletesNothing, "indexed", "delete"),
)
