"""Which files a scan opens, and why it leaves out the others."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pyarrow as pa

from pyqbeast.core.format.logged_file import LoggedFile
from pyqbeast.core.visible import counted
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from pyqbeast.scanning.conditions.file_bounds import BoundsOfFiles
from pyqbeast.scanning.conditions.predicate import Predicate


@dataclass(frozen=True)
class ScannedFile:
    """A live file of a table, as users of a scan see it: whether it is opened, and nothing of its index.

    Attributes:
        path: as the log has it.
        size: its bytes.
        rows: rows stored in it, deleted ones too; None where the log does not say.
        skipped: why a scan does not open it; None if it does.
    """

    path: str
    size: int
    rows: int | None
    skipped: str | None


@dataclass(frozen=True)
class ScanPlan:
    """The files of a scan. `str()` tells a person what it opens."""

    version: int
    files: tuple[ScannedFile, ...]

    @property
    def opened(self) -> tuple[ScannedFile, ...]:
        """Those that the scan opens."""
        return tuple(file for file in self.files if file.skipped is None)

    def __str__(self) -> str:
        opened = self.opened
        size, whole = (sum(file.size for file in files) for files in (opened, self.files))
        lines = [
            f"version {self.version}: opens {len(opened):,} of {counted(len(self.files), 'file')}, "
            f"{size:,} of {whole:,} bytes"
        ]
        reasons = Counter(file.skipped for file in self.files if file.skipped is not None)
        lines += [f"  left out: {counted(count, 'file')}, {reason}" for reason, count in reasons.items()]
        lines += [f"  opened: {file.path}, {file.size:,} bytes" for file in opened]
        return "\n".join(lines)


def plan_files(
    index: IndexedSnapshot, bound: int | None, predicate: Predicate | None, schema: pa.Schema
) -> ScanPlan:
    """The files that a scan of these rows opens.

    Args:
        index: the version of the table.
        bound: the weight below which the rows lie; None for all weights.
        predicate: the condition on the rows.
        schema: the columns that a condition can name.

    Raises:
        UnsupportedError: nobody can tell which files hold each row once.
    """
    replicated = {file.path for file in index.files} - {file.path for file in index.files_to_read}
    ruled_out: frozenset[str] = frozenset()
    if predicate is not None:
        live, names = index.snapshot.files, index.names_in_statistics
        bounds = BoundsOfFiles(
            live, {name: names[name] for name in predicate.columns}, schema, holds_lists=index.holds_lists
        )
        may_hold = predicate.files(bounds).to_pylist()
        ruled_out = frozenset(file.path for file, may in zip(live, may_hold, strict=True) if may is False)

    def skipped(file: LoggedFile) -> str | None:
        if file.path in replicated:
            return "other files hold the same rows"
        if bound is not None and file.weights(index.prunable_revisions)[0] >= bound:
            return "all rows are too heavy for the sample"
        return "no row meets the condition, by the bounds of its columns" if file.path in ruled_out else None

    files = (ScannedFile(file.path, file.size, file.rows, skipped(file)) for file in index.files)
    return ScanPlan(index.snapshot.version, tuple(files))
