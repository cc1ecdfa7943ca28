"""What a repair decides of problems that rows say nothing of, since nobody could compare or read them."""

from __future__ import annotations

from pyqbeast.core.format.file_tags import parse_tags
from pyqbeast.core.problems import REPLICATED, Problem
from pyqbeast.core.revisions.revision import revisions_from_configuration
from pyqbeast.delta_log.log_entry import FileOnDisk, LogEntry
from pyqbeast.table.maintain.plan_repair import plan_repair
from pyqbeast.verification.log_checks import VerifiedFile
from tests.core.format.stored_texts import COLUMNS, revision_text

CONFIGURATION = {"qbeast.revision.1": revision_text(COLUMNS[0]), "qbeast.lastRevisionID": "1"}
BLOCK = '{"cubeId":"","minWeight":-5,"maxWeight":9,"elementCount":4,"replicated":false}'
TAGS = {"revision": "1", "blocks": f"[{BLOCK}]", "pyqbeast.weights": "3,3"}


def file(path="a", tags=TAGS):
    entry = LogEntry(path, 9, 3, 0, tags, False, None, None)
    return VerifiedFile(entry, FileOnDisk(path, path, 9, None, None), parse_tags(tags, lambda _: 1), None, ())


def plan(*rules, files=None, configuration=CONFIGURATION):
    problems = [Problem(rule, "" if rule == REPLICATED else "a", "", "") for rule in rules]
    stored = revisions_from_configuration(configuration)
    return plan_repair(problems, [file()] if files is None else files, stored, configuration, {}, are_tags_compared=False)


def test_only_damage_that_is_told_is_healed():
    """Where nobody can tell which rows are copies, nothing else has been looked at."""
    found = plan(REPLICATED, files=[], configuration={**CONFIGURATION, "qbeast.revision.2": "{"})
    assert (found.changes, found.settings, found.healed) == ({}, {}, ())
