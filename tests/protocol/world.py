"""The state of everybody at once, and each step that somebody can take next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tests.protocol.conflicts import conflict
from tests.protocol.operations import RETRIES, Operation, Restore
from tests.protocol.table import Commit, File, Snapshot, Vector, snapshot

#: What an operation tells its caller. "failed" and "conflict" say that the table is as it was.
OUTCOMES = ("done", "refused", "conflict", "failed", "uncertain")


class Writer(NamedTuple):
    """Where a writer stands.

    Attributes:
        name: its name.
        at: the step that comes next, or "over", or "crashed".
        number: of its transactions so far.
        begun: the version that the transaction began on.
        commit: what it wants to commit.
        version: the version that it tries next.
        tried: the version whose file may be its own, where it does not know; -1 for none.
        staged: what it has written into the folder, and will delete where it loses.
        first: the version that the operation began on for the first time; -1 before that.
        retries: how often the operation begins again by itself.
        runs: how often the caller calls it again.
        outcome: what the caller was told last.
        is_behind: whether it does what follows the operation.
        is_unlucky: whether the storage failed it, or it died: then files of it may stay behind.
    """

    name: str
    at: str = "begin"
    number: int = 0
    begun: int = -1
    commit: Commit | None = None
    version: int = -1
    tried: int = -1
    staged: frozenset[File | Vector] = frozenset()
    first: int = -1
    retries: int = 0
    runs: int = 0
    outcome: str = ""
    is_behind: bool = False
    is_unlucky: bool = False


class World(NamedTuple):
    """The table and its writers.

    Attributes:
        log: the commits.
        folder: the files in the table's folder.
        writers: who writes.
        faults: how many calls of the storage may still fail.
        crashes: how many writers may still die.
    """

    log: tuple[Commit, ...]
    folder: frozenset[File | Vector]
    writers: tuple[Writer, ...]
    faults: int = 0
    crashes: int = 0

    def snapshot(self, version: int | None = None) -> Snapshot:
        """The newest version of the table, or another one."""
        return snapshot(self.log, version)


class Protocol:
    """The steps of the code. A planted bug is a subclass that does one of them otherwise."""

    #: Whether the table's isolation level is WriteSerializable.
    lets_blind_appends_through = False

    def __init__(self, operations: Mapping[str, Operation]) -> None:
        self.operations = operations

    def steps(self, world: World) -> Iterator[tuple[str, World]]:
        """Each next step of each writer: its name, and the state behind it."""
        for place, writer in enumerate(world.writers):
            for label, after, changed in getattr(self, writer.at)(world, writer):
                yield f"{writer.name} {label}", _with(after, place, changed)
            if world.crashes and writer.at not in ("over", "crashed"):
                dead = writer._replace(at="crashed", staged=frozenset(), is_unlucky=True)
                yield f"{writer.name} dies", _with(world._replace(crashes=world.crashes - 1), place, dead)

    def operation(self, writer: Writer) -> Operation:
        """What a writer does."""
        operation = self.operations[writer.name]
        return operation.behind if writer.is_behind and isinstance(operation, Restore) else operation

    def begin(self, world: World, writer: Writer) -> Iterator[tuple[str, World, Writer]]:
        """Reads the newest version and decides on files and a commit."""
        number = writer.number + 1
        version = len(world.log)
        first = version - 1 if writer.first < 0 else writer.first
        attempt = self.operation(writer).attempt(world.log, f"{writer.name}{number}", first)
        then = writer._replace(
            number=number, begun=version - 1, version=version, first=first, commit=attempt.commit
        )
        yield (
            "begins",
            world,
            then._replace(at="stage") if attempt.commit else self.tell(then, attempt.outcome),
        )

    def stage(self, world: World, writer: Writer) -> Iterator[tuple[str, World, Writer]]:
        """Writes data files and vectors."""
        files = self.files(world, writer)
        then = writer._replace(at="put", staged=files)
        yield "writes files", world._replace(folder=world.folder | files), then
        if world.faults:
            failed = world._replace(faults=world.faults - 1, folder=world.folder | files)
            yield "cannot write files", failed, self.lost(then._replace(is_unlucky=True), "failed")

    def put(self, world: World, writer: Writer) -> Iterator[tuple[str, World, Writer]]:
        """Asks the log store to make the file of a version, if there is none: `commit/SureTransaction.java`."""
        assert writer.commit is not None
        less = world._replace(faults=world.faults - 1)
        tried = writer._replace(tried=writer.version)
        failed = tried._replace(at="look", is_unlucky=True)
        if world.faults:
            yield "puts and fails", less, failed
        if writer.version < len(world.log):
            yield "puts and comes second", world, tried._replace(at="check")
            return
        log = (*world.log, writer.commit)
        yield "puts and lands", world._replace(log=log), self.tell(writer, "done")
        if world.faults:
            yield "puts, lands and fails", less._replace(log=log), failed
            yield (
                "puts, lands and is told that it came second",
                less._replace(log=log),
                tried._replace(at="check"),
            )

    def check(self, world: World, writer: Writer) -> Iterator[tuple[str, World, Writer]]:
        """Compares its commit with those that came first, as Delta does, and tries the next version if it may."""
        assert writer.commit is not None
        winners = world.log[writer.version :]
        if winners[0].id == writer.commit.id:
            yield "finds that it has landed", world, self.tell(writer, "done")
        elif self.operation(writer).is_strict:
            yield "gives way", world, self.beaten(world, writer)
        elif any(self.conflict(writer, winner, world) for winner in winners):
            yield "is in conflict", world, self.beaten(world, writer)
        else:
            yield "may follow", world, writer._replace(at="put", version=len(world.log), tried=-1)

    def conflict(self, writer: Writer, winner: Commit, world: World) -> str:
        """Why a writer's commit cannot follow another; empty where it can."""
        assert writer.commit is not None
        begun_on = world.snapshot(writer.begun).metadata
        return conflict(
            writer.commit, winner, begun_on, lets_blind_appends_through=self.lets_blind_appends_through
        )

    def look(self, world: World, writer: Writer) -> Iterator[tuple[str, World, Writer]]:
        """Reads the file of the version that it tried, to find out whose it is."""
        assert writer.commit is not None
        if world.faults:
            yield "cannot look", world._replace(faults=world.faults - 1), self.tell(writer, "uncertain")
        if writer.tried < len(world.log) and world.log[writer.tried].id == writer.commit.id:
            yield "sees that it landed", world, self.tell(writer, "done")
        else:
            # What it wrote stays: nobody can exclude that a storage carries out later what it has failed to do.
            yield "sees that it did not land", world, self.tell(writer, "failed")

    def beaten(self, world: World, writer: Writer) -> Writer:
        """What a writer does whose commit stands against another one, which it knows: `table/write/writer.py`."""
        return writer._replace(at="join", tried=-1)

    def join(self, world: World, writer: Writer) -> Iterator[tuple[str, World, Writer]]:
        """Begins a new transaction for the files that it has, or gives them up."""
        assert writer.commit is not None
        newer = world.snapshot()
        operation, number = self.operation(writer), writer.number + 1
        name, old = f"{writer.name}{number}", world.snapshot(writer.begun)
        if writer.commit.app and writer.commit.app in newer.apps:
            yield "finds its rows in the table", world, self.lost(writer, "done")
            return
        follows = operation.rebased(writer.commit, old, newer, name, may_rebuild=writer.retries > 0)
        if follows is None:
            yield "cannot join", world, self.lost(writer, "" if writer.retries else "conflict")
        else:
            version = newer.version + 1
            joined = writer._replace(
                at="put", number=number, commit=follows, begun=newer.version, version=version
            )
            yield "joins", world, joined

    def lost(self, writer: Writer, outcome: str) -> Writer:
        """A writer that deletes what it wrote, and begins again where there is nothing yet to tell."""
        return writer._replace(at="discard", outcome=outcome)

    def discard(self, world: World, writer: Writer) -> Iterator[tuple[str, World, Writer]]:
        """Deletes what it wrote."""
        left = world._replace(folder=world.folder - writer.staged)
        then = writer._replace(staged=frozenset())
        if writer.outcome:
            yield "deletes its files", left, self.tell(then, writer.outcome)
        else:
            yield "deletes its files", left, then._replace(at="begin", retries=writer.retries - 1)

    def tell(self, writer: Writer, outcome: str) -> Writer:
        """A writer that tells its caller how it went."""
        then = writer._replace(at="over", outcome="done" if writer.is_behind else outcome, staged=frozenset())
        if outcome == "done" and writer.commit and isinstance(self.operation(writer), Restore):
            return then._replace(at="begin", commit=None, first=-1, is_behind=True, retries=RETRIES)
        return then

    def over(self, world: World, writer: Writer) -> Iterator[tuple[str, World, Writer]]:
        """The caller calls once more where that is safe, by what it was told."""
        operation = self.operation(writer)
        if writer.runs and (
            writer.outcome in ("conflict", "failed") or (writer.outcome == "uncertain" and operation.app)
        ):
            yield "is called again", world, self.again(writer)

    def crashed(self, world: World, writer: Writer) -> Iterator[tuple[str, World, Writer]]:
        """A writer that has died is started again where its rows have a name of the application's own."""
        if writer.runs and self.operation(writer).app:
            yield "is started again", world, self.again(writer)

    def again(self, writer: Writer) -> Writer:
        """The same call once more."""
        first = Writer(writer.name, retries=self.operation(writer).retries, is_unlucky=writer.is_unlucky)
        return first._replace(number=writer.number, runs=writer.runs - 1)

    def files(self, world: World, writer: Writer) -> frozenset[File | Vector]:
        """The files that a commit adds and that are not there yet."""
        assert writer.commit is not None
        adds = writer.commit.adds
        return (
            frozenset({add.file for add in adds} | {add.vector for add in adds if add.vector}) - world.folder
        )


class WriteSerializable(Protocol):
    """The same on a table of the lower isolation level."""

    lets_blind_appends_through = True


def _with(world: World, place: int, writer: Writer) -> World:
    writers = world.writers
    return world._replace(writers=(*writers[:place], writer, *writers[place + 1 :]))
