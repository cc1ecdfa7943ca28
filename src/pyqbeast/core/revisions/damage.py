"""Revisions that cannot be read, or of which none is the latest: what is wrong, and what a table can go on with."""

from __future__ import annotations

from collections.abc import Mapping

from pyqbeast.core.format.constants import LAST_REVISION, REVISION_PREFIX
from pyqbeast.core.problems import REVISIONS, Problem
from pyqbeast.core.revisions.revision import RevisionSet, revisions_from_configuration


def check_revisions(stored: RevisionSet) -> list[Problem]:
    """Every revision can be read, and the newest of them is the latest."""
    problems = [Problem(REVISIONS, "", "", text) for text in stored.problems]
    if stored.last_id >= 0 and stored.last_id not in stored.revisions:
        text = f"{LAST_REVISION} is {stored.last_id}, and there is no such revision that can be read"
        problems.append(Problem(REVISIONS, "", "", text))
    elif 0 <= stored.last_id < (newest := max(stored.revisions, default=-1)):
        text = f"{LAST_REVISION} is {stored.last_id}, and there is a newer revision {newest}"
        problems.append(Problem(REVISIONS, "", "", text))
    return problems


def without_damage(configuration: Mapping[str, str]) -> dict[str, str | None] | None:
    """The entries to change so that a table goes on with the revisions that can be read; None stands for a key to drop.

    Returns:
        empty where all is well; None where no revision is left.
    """
    stored = revisions_from_configuration(configuration)
    readable = {f"{REVISION_PREFIX}{number}" for number in stored.revisions}
    changes: dict[str, str | None] = {
        key: None for key in configuration if key.startswith(REVISION_PREFIX) and key not in readable
    }
    if not stored.revisions:
        return None if changes or LAST_REVISION in configuration else {}
    if stored.last_id == max(stored.revisions):
        return changes
    return {**changes, LAST_REVISION: str(max(stored.revisions))}
