"""Tables to begin with, and who may work on each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations_with_replacement

from tests.protocol.operations import (
    Append,
    Convert,
    Delete,
    Grow,
    Operation,
    Optimize,
    Overwrite,
    PlainAppend,
    Restore,
    Upgrade,
)
from tests.protocol.table import Add, Commit, File, Metadata, Tag
from tests.protocol.world import World, Writer


def _start(layout: str, *, is_legacy: bool = False) -> tuple[Commit, ...]:
    """A table of two versions: one file with rows a, b and x, and another with row c."""
    first, second = File("first", frozenset("abx"), layout), File("second", frozenset("c"), layout)
    metadata = Metadata(((1, layout),)) if layout else Metadata()
    adds = [Add(file, None, Tag(1, file.rows, is_legacy) if layout else None) for file in (first, second)]
    return (
        Commit("", "v0", frozenset(adds[:1]), metadata=metadata, gained=first.rows),
        Commit("", "v1", frozenset(adds[1:]), gained=second.rows),
    )


STARTS: Mapping[str, tuple[Commit, ...]] = {
    "indexed": _start("the layout"),
    "legacy": _start("the layout", is_legacy=True),
    "plain": _start(""),
}

#: Each operation by name, of a writer of a name.
OPERATIONS: Mapping[str, Callable[[str], Operation]] = {
    "append": Append,
    "append once": lambda writer: Append(writer, "once"),
    "grow": Grow,
    "overwrite": Overwrite,
    "optimize": Optimize,
    "delete": lambda writer: Delete(writer, frozenset("a")),
    "delete others": lambda writer: Delete(writer, frozenset("bc")),
    "restore": Restore,
    "upgrade": Upgrade,
    "convert": Convert,
    "plain append": PlainAppend,
}

#: What is tried on each table.
TRIED: Mapping[str, tuple[str, ...]] = {
    "indexed": (
        "append", "append once", "grow", "overwrite", "optimize", "delete", "delete others", "restore",
        "plain append",
    ),
    "legacy": ("upgrade", "append", "optimize", "delete", "restore"),
    "plain": ("convert", "append", "grow", "optimize", "delete", "restore", "plain append"),
}  # fmt: skip


def groups(table: str, size: int) -> Iterable[tuple[str, ...]]:
    """Each choice of so many operations on a table, the same one more than once too."""
    return combinations_with_replacement(TRIED[table], size)


def world(
    table: str, names: Iterable[str], *, faults: int, crashes: int, runs: int
) -> tuple[World, dict[str, Operation]]:
    """The state to begin with, and the operation of each writer: A, B and C.

    Args:
        table: which one of `STARTS`.
        names: of the operations.
        faults: how many calls of the storage fail, at most.
        crashes: how many writers die, at most.
        runs: how often each caller calls once more where that is safe.
    """
    log = STARTS[table]
    folder = frozenset(add.file for commit in log for add in commit.adds)
    operations = {writer: OPERATIONS[name](writer) for writer, name in zip("ABC", names, strict=False)}
    writers = tuple(Writer(name, retries=each.retries, runs=runs) for name, each in operations.items())
    return World(log, folder, writers, faults, crashes), operations
