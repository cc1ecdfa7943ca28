"""The rules of a file's rows, as `verify` checks them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pyqbeast.core.format.constants import TAG_MAX_ROW_WEIGHT
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block
from pyqbeast.core.otree.invariants import blocks_of_rows, check_columns, check_counts, check_rows
from tests.core.otree.examples import REVISION

ROOT = CubeId.root(1)
POINTS = np.array([[0.1], [0.2], [0.3]])
WEIGHTS = np.array([-5, 7, 9], np.int32)


def rules(*blocks):
    return [problem.rule for problem in check_rows("file", blocks, POINTS, WEIGHTS)]


def test_a_table_has_the_columns_that_are_hashed():
    weighted = replace(REVISION, weight_columns=("id",))
    assert check_columns(weighted, ["A", "b", "id"]) == []
    assert [problem.text for problem in check_columns(weighted, ["b"])] == [
        "revision 1: the table has no column 'a'",
        "revision 1: the table has no column 'id'",
    ]


def test_rows_lie_in_the_blocks_that_count_them():
    assert rules(Block(ROOT, -5, -5, 1), Block(ROOT.child(0), 7, 9, 2)) == []
    assert rules(Block(ROOT, -5, -5, 1), Block(ROOT.child(0), 7, 9, 1)) == ["element count"]
    assert rules(Block(ROOT, -5, -5, 1), Block(ROOT.child(0), 7, 8, 1)) == ["rows lie in blocks"]


def test_rows_of_one_point_lie_in_cubes_however_deep():
    """The Scala project makes cubes of 189 levels of them."""
    for depth in (53, 54, 189):
        block = Block(CubeId.containing((0.3, 0.7), depth), 5, 5, 3)
        points, weights = np.array([[0.3, 0.7]] * 3), np.full(3, 5, np.int32)
        assert check_rows("file", [block], points, weights) == []


def test_a_block_that_closes_a_gap_takes_no_row_from_one_below():
    assert rules(Block(ROOT, -5, -5, 0), Block(ROOT.child(0), -5, 9, 3)) == []
    assert rules(Block(ROOT, -5, -5, 0), Block(ROOT.child(0), 7, 9, 2)) == ["element count"]


def test_rows_may_be_heavier_than_their_cube_where_nobody_recorded_the_heaviest():
    """Scala 0.3 to 0.5 joins blocks of a cube under the smallest of their weights."""
    joined = [Block(ROOT, -5, 7, 3)]
    closing = Block(ROOT.child(1), 5, 5, 0)
    for check in (check_rows, check_counts):
        assert check("file", blocks_of_rows({}, joined), POINTS, WEIGHTS) == []
        assert check("file", blocks_of_rows({}, [closing, *joined]), POINTS, WEIGHTS) == []
        found = check("file", blocks_of_rows({TAG_MAX_ROW_WEIGHT: "7"}, joined), POINTS, WEIGHTS)
        assert {problem.rule for problem in found} == {"element count", "rows lie in blocks"}
    several = [Block(ROOT, -5, -5, 1), Block(ROOT.child(0), 7, 8, 1)]
    assert blocks_of_rows({}, several) == several
