"""Whether the columns that a revision hashes are still those that its files were indexed by."""

from __future__ import annotations

from collections.abc import Iterable

from pyqbeast import bridge
from pyqbeast.core.format.hashed_layout import column_names
from pyqbeast.core.problems import SAME_COLUMNS, Problem
from pyqbeast.core.revisions.revision import Revision


def check_names(log: bridge.TableLog, revision: Revision) -> list[Problem]:
    """Checks that each column that a revision hashes still has the same name in the files."""
    today = log.names_in_files(revision.hashed_columns)
    recorded = column_names(revision.hashed_as) if revision.hashed_as else today
    return [
        Problem(
            SAME_COLUMNS,
            "",
            "",
            f"revision {revision.id}: {column!r} is another column today, so that samples read all files of the "
            f"revision; rename the columns back, or call optimize(revision={revision.id})",
        )
        for column, then, now in zip(revision.hashed_columns, recorded, today, strict=True)
        if now is not None and then != now
    ]


def unpruned(revision: Revision, files: int) -> str:
    """Why samples cannot use the weights that a revision's files have in the log."""
    why = (
        "no longer those of its hashed columns, one of which has another type or is another column"
        if revision.hashed_as
        else "of columns whose types or names in the files no writer recorded"
    )
    return (
        f"revision {revision.id}: its weights are {why}. Samples read all of its {files} files; "
        f"optimize(revision={revision.id}) indexes them anew"
    )


def types_are_lost(log: bridge.TableLog, revision: Revision, untold: Iterable[str]) -> bool:
    """Whether some column had another type when a revision's rows were hashed, and the table does not say which.

    `untold` are the columns whose former type the revision does not record: decimals, which share one name in
    the format, and weight columns.
    """
    return revision.hashed_as is None and any(log.has_widened(column) for column in untold)
