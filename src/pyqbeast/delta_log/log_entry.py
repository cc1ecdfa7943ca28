"""A live file as the log tells of it, and as storage lists it: what rules of the log are checked on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class LogEntry(NamedTuple):
    """A live file of a table as the log tells of it, for `verify`, `repair`, writes and `optimize`.

    The JVM makes it, or `verify_log` of a `LiveFile`. Unlike those of a `LiveFile` its tags have been judged beside the
    tags of all other files: the marks of a file whose marks are all false are gone. Of a file with true and false ones
    the JVM keeps the true ones, `verify_log` all.

    Attributes:
        path: as the log has it.
        size: in bytes.
        rows: deleted ones too; None where no statistics were collected.
        deleted: how many of them a deletion vector hides.
        true_tags: what writers noted beside it, without false marks of replicated blocks.
        falsely_replicated: whether it had marks, and all of them were false.
        statistics: their JSON text; None without any, or where nobody asked for it.
        vector: the JSON text of the deletion vector's descriptor, the same.
        modified: when, in milliseconds since 1970; 0 where nobody asked for it.
    """

    path: str
    size: int
    rows: int | None
    deleted: int
    true_tags: Mapping[str, str]
    falsely_replicated: bool
    statistics: str | None = None
    vector: str | None = None
    modified: int = 0


class FileOnDisk(NamedTuple):
    """A live file as storage has it.

    Attributes:
        path: in the log.
        location: the whole one.
        size: in bytes; None where the file is missing.
        vector: the whole location of the file that its deletion vector lies in; None where that lies in none.
        vector_size: bytes of that file; None where it is missing.
    """

    path: str
    location: str
    size: int | None
    vector: str | None
    vector_size: int | None
