"""Delta's rules for two commits that began on the same version: may the later one follow the earlier?"""

from __future__ import annotations

from tests.protocol.table import Commit, Metadata


def conflict(
    ours: Commit, winner: Commit, begun_on: Metadata, *, lets_blind_appends_through: bool = False
) -> str:
    """Why a commit cannot follow one that came first; empty where it can.

    The rules are those of Delta's `ConflictChecker` for tables without partitions.

    Args:
        ours: the commit that comes later.
        winner: the one that came first.
        begun_on: the metadata of the version that `ours` began on. A RESTORE commits metadata that may be the same.
        lets_blind_appends_through: whether the table's isolation level is WriteSerializable, and not Serializable, the
            default.
    """
    if winner.metadata is not None and (ours.metadata is not None or winner.metadata != begun_on):
        return "metadata"
    if ours.app and ours.app == winner.app:
        return "the same application"
    looks_at_adds = winner.adds and not ours.is_blind and (ours.changes_rows or ours.metadata is not None)
    let_through = lets_blind_appends_through and winner.is_blind and ours.metadata is None
    if looks_at_adds and not let_through:
        return "added files"
    if ours.reads and ours.reads & winner.removes:
        return "files that were read"
    if ours.removes & winner.removes:
        return "files that were removed"
    return ""
