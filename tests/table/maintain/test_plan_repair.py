"""What a repair decides of what rows say nothing of: nobody could read or compare them, or files have changed since."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pyqbeast.core.format.constants import WEIGHT_MAX
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block, blocks_to_json, parse_tags
from pyqbeast.core.otree.invariants import check_tree
from pyqbeast.core.otree.status import IndexStatus
from pyqbeast.core.problems import (
    BLOCK_ROWS,
    ELEMENT_COUNT,
    GAP,
    READABLE,
    REPLICATED,
    ROW_COUNT,
    ROWS_BY_WEIGHT,
    Problem,
)
from pyqbeast.core.revisions.revision import revisions_from_configuration
from pyqbeast.delta_log.log_entry import FileOnDisk, LogEntry
from pyqbeast.table.maintain import repair_texts
from pyqbeast.table.maintain.plan_repair import plan_repair
from pyqbeast.table.maintain.repair import plan_for
from pyqbeast.table.maintain.verify import Verified
from pyqbeast.verification.log_checks import VerifiedFile
from pyqbeast.verification.report import VerifyReport
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


ROOT, LIGHT, HEAVY = CubeId(1), CubeId(1, (0,)), CubeId(1, (1,))


def block(cube, low, high=WEIGHT_MAX, rows=3):
    return Block(cube, low, high, rows)


def indexed(path, *blocks):
    return file(path, {"revision": "1", "blocks": blocks_to_json(blocks)})


def tree_of(files, changes=None):
    """What the rules of trees say of files once they are changed."""
    stored = revisions_from_configuration(CONFIGURATION)
    tags = [changes[f.path].tags if changes and f.path in changes else f.logged.true_tags for f in files]
    blocks = [block for each in tags for block in parse_tags(each, lambda _: 1).blocks]
    return check_tree(1, IndexStatus.from_blocks(stored.get(1), blocks))


def look(files, *found):
    problems = (*tree_of(files), *found)
    stored = revisions_from_configuration(CONFIGURATION)
    log = SimpleNamespace(configuration=CONFIGURATION)
    return Verified(log, stored, files, VerifyReport("data", len(files), problems), {}, True)


def deleted_from(of):
    return of._replace(logged=of.logged._replace(deleted=1, vector="{}"))


def test_a_tree_is_closed_where_the_file_that_was_to_do_so_is_gone():
    light, heavy = indexed("light", block(LIGHT, -100)), indexed("heavy", block(HEAVY, 50))
    seen = look([light, heavy])
    assert [*plan_for(seen, seen).changes] == ["light"]
    for now, closes in (([deleted_from(light), heavy], "light"), ([heavy], "heavy")):
        found = plan_for(seen, look(now))
        assert [*found.changes] == [closes]
        assert {each.problem.rule for each in found.healed} == {GAP}
        assert not found.left
        assert not tree_of(now, found.changes)


def test_a_tree_that_loses_tags_is_closed_where_the_file_that_was_to_do_so_is_gone():
    root, light = indexed("root", block(ROOT, -200, -100)), indexed("light", block(LIGHT, -50))
    heavy = indexed("heavy", block(HEAVY, 50))
    lies = Problem(ELEMENT_COUNT, "root", "", "")
    seen = look([root, light, heavy], lies)
    assert {*plan_for(seen, seen).changes} == {"root", "light"}
    now = [root, heavy]
    found = plan_for(seen, look(now))
    assert {*found.changes} == {"root", "heavy"}
    assert not tree_of(now, found.changes)


def test_a_file_that_another_writer_has_changed_is_left_and_its_tree_with_it():
    root, light = indexed("root", block(ROOT, -200, -100)), indexed("light", block(LIGHT, -50))
    seen = look([root, light], Problem(ELEMENT_COUNT, "root", "", ""))
    found = plan_for(seen, look([deleted_from(root), light]))
    assert not found.changes
    assert [each.problem.file for each in found.left] == ["root"]
