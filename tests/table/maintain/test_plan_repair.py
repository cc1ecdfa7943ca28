"""What a repair decides of problems that rows say nothing of, since nobody could compare or read them."""

from __future__ import annotations

import pytest

from pyqbeast.core.format.file_tags import parse_tags
from pyqbeast.core.problems import BLOCK_ROWS, READABLE, REPLICATED, ROW_COUNT, ROWS_BY_WEIGHT, Problem
from pyqbeast.core.revisions.revision import revisions_from_configuration
from pyqbeast.delta_log.log_entry import FileOnDisk, LogEntry
from pyqbeast.table.maintain import repair_texts
from pyqbeast.table.maintain.plan_repair import plan_repair
from pyqbeast.verification.log_checks import VerifiedFile
from tests.core.format.stored_texts import COLUMNS, revision_text

CONFIGURATION = {"qbeast.revision.1": revision_text(COLUMNS[0]), "qbeast.lastRevisionID": "1"}
BLOCK = '{"cubeId":"","minWeight":-5,"maxWeight":9,"elementCount":4,"replicated":false}'
TAGS = {"revision": "1", "blocks": f"[{BLOCK}]", "pyqbeast.weights": "3,3"}
MARKED = {"revision": "1", "blocks": f"[{BLOCK.replace('false', 'true')}]"}


def file(path="a", tags=TAGS):
    entry = LogEntry(path, 9, 3, 0, tags, False, None, None)
    return VerifiedFile(entry, FileOnDisk(path, path, 9, None, None), parse_tags(tags, lambda _: 1), None, ())


def plan(*rules, files=None, configuration=CONFIGURATION):
    files = [file()] if files is None else files
    problems = [Problem(rule, "" if rule == REPLICATED else "a", "", "") for rule in rules]
    stored = revisions_from_configuration(configuration)
    return plan_repair(problems, files, stored, configuration, {}, are_tags_compared=False)


def outcomes(of):
    return {each.problem.rule: each.text for each in of}


def test_blocks_that_count_other_rows_than_the_file_has_go_with_the_index():
    """Also where another tag does not agree with them: it is not the one that is wrong."""
    for rules in ([BLOCK_ROWS], [BLOCK_ROWS, ROWS_BY_WEIGHT]):
        found = plan(*rules)
        assert found.changes["a"].tags == {}
        assert outcomes(found.healed)[BLOCK_ROWS] == repair_texts.UNINDEXED
        assert not found.left


@pytest.mark.parametrize("rule", [ROW_COUNT, READABLE])
def test_blocks_stay_where_the_statistics_may_be_wrong(rule):
    found = plan(BLOCK_ROWS, rule)
    assert not found.changes
    assert outcomes(found.left)[BLOCK_ROWS] == repair_texts.FIRST_READ


def test_tags_stay_beside_copies_where_nobody_knows_which_of_them_lies():
    found = plan(BLOCK_ROWS, ROWS_BY_WEIGHT, files=[file(), file("b", MARKED)])
    assert not found.changes
    assert outcomes(found.left) == dict.fromkeys([BLOCK_ROWS, ROWS_BY_WEIGHT], repair_texts.COPIES)


def test_only_damage_that_is_told_is_healed():
    """Where nobody can tell which rows are copies, nothing else has been looked at."""
    found = plan(REPLICATED, files=[], configuration={**CONFIGURATION, "qbeast.revision.2": "{"})
    assert (found.changes, found.settings, found.healed) == ({}, {}, ())
