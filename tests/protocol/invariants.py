"""What has to hold in every state of the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from tests.protocol.operations import Operation
from tests.protocol.table import STAGING, Commit, File, Snapshot, Vector, snapshot
from tests.protocol.world import World


def violations(world: World, operations: Mapping[str, Operation]) -> Iterator[str]:
    """Each rule that a state breaks, by the operations of its writers."""
    problems, needed = _of_log(world.log)
    yield from problems
    for version, file in needed:
        if file not in world.folder:
            yield f"version {version} needs {file.name}, which somebody has deleted"
    yield from _outcomes(world, operations)


@lru_cache(maxsize=10_000)
def _of_log(log: tuple[Commit, ...]) -> tuple[tuple[str, ...], tuple[tuple[int, File | Vector], ...]]:
    """The rules that a log breaks by itself, and the files that each of its versions needs. Many states share a log."""
    problems = [*_rows(log), *_revisions(log)]
    needed: list[tuple[int, File | Vector]] = []
    for version in range(len(log)):
        at = snapshot(log, version)
        problems += _tags(at)
        for add in at.files:
            needed.append((version, add.file))
            if add.vector:
                needed.append((version, add.vector))
    return tuple(problems), tuple(needed)


def _rows(log: tuple[Commit, ...]) -> Iterator[str]:
    """Every committed row is there once: a version holds what its commits have meant to add and not to take out."""
    expected: frozenset[str] = frozenset()
    for version, commit in enumerate(log):
        kept = expected - commit.lost
        if commit.lost - expected:
            yield f"version {version} takes out {sorted(commit.lost - expected)}, which is not there"
        if commit.gained & kept:
            yield f"version {version} adds {sorted(commit.gained & kept)} once more"
        expected = kept | commit.gained
        rows = snapshot(log, version).rows
        if rows != sorted(expected):
            yield f"version {version} shows {rows} instead of {sorted(expected)}"


def _revisions(log: tuple[Commit, ...]) -> Iterator[str]:
    """A revision keeps its number and its layout, and the latest is the one with the highest number."""
    for version in range(1, len(log)):
        before, after = snapshot(log, version - 1).metadata, snapshot(log, version).metadata
        if log[version].resets:
            continue
        if after.last < before.last:
            yield f"version {version} makes {after.last} the latest revision, and there is {before.last}"
        for number, layout in before.revisions:
            if after.layout(number) != layout:
                yield f"version {version} gives revision {number} another layout"


def _tags(at: Snapshot) -> Iterator[str]:
    for add in at.files:
        if add.tag is None or add.tag.revision == STAGING:
            continue
        if at.metadata.layout(add.tag.revision) != add.file.layout:
            layout = at.metadata.layout(add.tag.revision)
            yield f"{add.file.name}, laid out by {add.file.layout}, is tagged as laid out by {layout!r}"
        if add.tag.rows != add.file.rows:
            yield f"the tag of {add.file.name} counts other rows than it holds"


def _outcomes(world: World, operations: Mapping[str, Operation]) -> Iterator[str]:
    """Who says that nothing happened has committed nothing in that call; who says done has, or found it done."""
    landed = {commit.id for commit in world.log}
    adds = [add for commit in world.log for add in commit.adds]
    named = {add.file for add in adds} | {add.vector for add in adds}
    for writer in world.writers:
        own = writer.commit.id if writer.commit else ""
        if writer.outcome in ("conflict", "failed", "refused") and own in landed:
            yield f"{writer.name} says {writer.outcome} and has landed"
        if writer.at == "over" and writer.outcome == "conflict" and not writer.is_unlucky:
            of_writer = {file for file in world.folder if file.name.startswith(writer.name)}
            if of_writer - named:
                yield f"{writer.name} lost and left {sorted(file.name for file in of_writer - named)}"
        if writer.at == "over" and writer.outcome == "done" and own and own not in landed:
            again = writer.commit.app and any(writer.commit.app == commit.app for commit in world.log)
            if not again and not writer.is_behind:
                yield f"{writer.name} says done and has not landed"
        is_done = writer.at == "over" and writer.outcome == "done"
        if is_done and not operations[writer.name].can_be_done(world.log):
            yield f"{writer.name} says done, and no version shows it"
