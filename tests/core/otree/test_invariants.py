"""The rules of a file's rows, as `verify` checks them."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.core.format.constants import TAG_MAX_ROW_WEIGHT
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block
from pyqbeast.core.otree import invariants
from pyqbeast.core.otree.invariants import blocks_of_rows, check_columns, check_counts, check_rows
from tests.core.geometry import contains
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


#: On borders of cubes, at both ends and beside them.
COORDINATES = (0.0, -0.0, 2.0**-53, 0.25, 0.3, math.nextafter(0.5, 0.0), 0.5, math.nextafter(1.0, 0.0), 1.0)
NO_COORDINATES = (-0.5, 1.5, math.nan, math.inf)


@st.composite
def files(draw):
    """Points of few values with few weights, and blocks of cubes at such points, also several of one cube."""
    dimensions = draw(st.sampled_from([1, 2, 3, 9, 65]))

    def points_of(*coordinates):
        return st.lists(st.sampled_from(coordinates), min_size=dimensions, max_size=dimensions)

    points = draw(st.lists(points_of(*COORDINATES, *NO_COORDINATES), max_size=12))
    weights = np.array([draw(st.integers(0, 4)) for _ in points], np.int32)
    within = [point for point in points if not set(point) & set(NO_COORDINATES)]
    at = st.sampled_from(within) if within else points_of(*COORDINATES)
    cubes = st.builds(CubeId.containing, at | points_of(*COORDINATES), st.sampled_from([0, 1, 2, 5, 53]))
    blocks = st.builds(Block, cubes, st.integers(0, 2), st.integers(2, 4), st.integers(0, 3))
    return draw(st.lists(blocks, max_size=8)), np.array(points).reshape(-1, dimensions), weights


@pytest.mark.slow
@given(files())
def test_rows_lie_where_their_coordinates_say(file):
    """Each block takes what no one before it took of the rows within its weights that its cube contains."""
    blocks, points, weights = file
    free = set(range(len(points)))
    expected = []
    for block in sorted(blocks, key=lambda each: (each.element_count == 0, each.cube.depth)):
        taken = {
            row
            for row in free
            if contains(block.cube, points[row]) and block.min_weight <= weights[row] <= block.max_weight
        }
        free -= taken
        if len(taken) != block.element_count:
            text = f"holds {len(taken)} rows, the log says {block.element_count}"
            expected.append((block.cube.to_string(), text))
    if free:
        expected.append(("", f"{len(free)} rows lie in none of its blocks"))
    for rows_at_once, few in ((100_000, 8), (5, 8), (5, 0)):
        with patch.multiple(invariants, _ROWS_AT_ONCE=rows_at_once, _FEW=few):
            found = check_rows("file", blocks, points, weights)
        assert [(each.cube, each.text) for each in found] == expected


def test_a_check_of_many_rows_takes_less_memory_than_their_points():
    cube = CubeId.containing((0.3, 0.3), 3)
    points = np.random.default_rng(1).random((1_000_000, 2)) * cube.width + cube.lower
    weights = np.zeros(len(points), np.int32)
    tracemalloc.start()
    try:
        assert check_rows("file", [Block(cube, 0, 0, len(points))], points, weights) == []
        assert tracemalloc.get_traced_memory()[1] < points.nbytes
    finally:
        tracemalloc.stop()


def test_a_cube_that_no_double_lies_in_has_no_rows():
    """A face of a cube deeper than doubles reach is rounded to the number beside it."""
    beside = Block(CubeId(1, (1, *[0] * 52, 1)), 5, 5, 1)
    points, weights = np.array([[0.5]]), np.array([5], np.int32)
    assert [problem.rule for problem in check_rows("file", [beside], points, weights)] == [
        "element count",
        "rows lie in blocks",
    ]


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
