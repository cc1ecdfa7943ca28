"""Cube ids: the worked examples, borders, order, and that an id leads back to its cube."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.format.cube import CubeId
from tests.core.geometry import children, contains
from tests.core.strategies import cubes, points_with_depth

DEEP = "wQgQgQAAgwwwQgQgwwQAAAgQgQAAgwwwQgQgwwQA"
EXAMPLES = [
    ((0.3,), 0, ""),
    ((0.3,), 1, "A"),
    ((0.3,), 5, "AgAAg"),
    ((1.0,), 3, "ggg"),
    ((0.66, 0.83), 1, "w"),
    ((0.66, 0.83), 3, "wQg"),
    ((1.0, 0.0), 3, "ggg"),
    ((0.66, 0.83), 40, DEEP),
    ((0.5, 0.5, 0.5), 1, "4"),
    ((0.1, 0.6, 0.9), 2, "YI"),
    ((0.1, 0.3, 0.7, 0.9), 2, "MU"),
    ((0.9, 0.1, 0.2, 0.8, 0.4, 0.6), 2, "lm"),
    ((0.9, 0.1, 0.2, 0.8, 0.4, 0.6, 0.7), 2, "lgmA"),
    ((0.66, 0.83, 0.2, 0.7, 0.4, 0.3, 0.1, 0.9), 3, "0QTQuQ"),
]


@pytest.mark.parametrize(("point", "depth", "text"), EXAMPLES)
def test_published_cubes(point, depth, text):
    cube = CubeId.containing(point, depth)
    assert cube.to_string() == text
    assert CubeId.from_string(text, len(point)) == cube


@pytest.mark.parametrize(
    ("dimensions", "names"),
    [(1, ["A", "g"]), (2, ["A", "Q", "g", "w"]), (3, ["A", "I", "Q", "Y", "g", "o", "w", "4"])],
)
def test_children_come_with_the_last_dimension_fastest(dimensions, names):
    assert [child.to_string() for child in children(CubeId.root(dimensions))] == names


def test_order_is_depth_first():
    ordered = ["", "A", "AA", "Aw", "Q", "QA", "g", "gg", "w", "ww"]
    found = sorted(CubeId.from_string(text, 2) for text in reversed(ordered))
    assert [cube.to_string() for cube in found] == ordered


def test_cubes_of_other_dimensions_have_no_order():
    with pytest.raises(TypeError):
        assert CubeId.root(2) < CubeId.root(3)


def test_unused_bits_and_an_incomplete_level_are_ignored():
    assert CubeId.from_string("B", 2) == CubeId.from_string("A", 2)
    assert CubeId.from_string("lgm", 7) == CubeId.from_string("lg", 7)


def test_a_foreign_character_is_refused_by_name():
    with pytest.raises(FormatError, match=r"'w\*' has the character '\*'"):
        CubeId.from_string("w*", 2)


@pytest.mark.parametrize("coordinate", [-1e-9, 1.0000001, math.nan])
def test_a_point_outside_the_unit_cube_has_no_cube(coordinate):
    with pytest.raises(InvalidInputError, match=r"0\.\.1"):
        CubeId.containing((0.5, coordinate), 1)


def test_a_path_has_to_fit_its_dimensions():
    with pytest.raises(InvalidInputError, match="0 to 3"):
        CubeId(2, (4,))
    with pytest.raises(InvalidInputError, match="at least 1"):
        CubeId(0)


def test_only_the_upper_face_of_the_space_belongs_to_a_cube():
    assert CubeId.from_string("A", 1).bounds() == ((0.0, 0.5),)
    assert CubeId.containing((0.5,), 1) == CubeId.containing((1.0,), 1) == CubeId.from_string("g", 1)


def test_bounds_of_a_published_cube():
    assert CubeId.containing((0.66, 0.83), 3).bounds() == ((0.625, 0.75), (0.75, 0.875))


@pytest.mark.slow
@given(points_with_depth())
def test_a_point_lies_in_its_cube_and_in_every_ancestor(case):
    point, depth = case
    cube = CubeId.containing(point, depth)
    assert cube.depth == depth
    while cube is not None:
        assert contains(cube, point)
        cube = cube.parent


@pytest.mark.parametrize("depth", [52, 53, 54, 60, 189, 1_074])
def test_a_cube_that_is_no_wider_than_a_number_holds_its_point(depth):
    for x in (0.0, 5e-324, 0.3, 0.7, math.nextafter(1.0, 0.0), 1.0):
        cube = CubeId.containing((x, 1.0 - x), depth)
        assert contains(cube, (x, 1.0 - x)), x
        assert not contains(cube, (0.123, 0.456)), x


@pytest.mark.slow
@given(points_with_depth())
def test_exactly_one_child_holds_a_point_of_its_parent(case):
    point, depth = case
    holding = [child for child in children(CubeId.containing(point, depth)) if contains(child, point)]
    assert holding == [CubeId.containing(point, depth + 1)]


@pytest.mark.slow
@given(cubes())
def test_an_id_leads_back(cube):
    assert CubeId.from_string(cube.to_string(), cube.dimensions) == cube


@given(cubes(), st.integers(0, 2**9))
def test_a_child_extends_its_parent(cube, index):
    child = cube.child(index % 2**cube.dimensions)
    assert child.parent == cube
    assert child.to_string().startswith(cube.to_string())
    assert child.width == cube.width / 2
    assert child.ancestors() == [cube, *cube.ancestors()]


@pytest.mark.slow
@given(st.lists(cubes(dimensions=2), max_size=30))
def test_an_ancestor_comes_right_before_its_subtree(found):
    ordered = sorted(set(found))
    for place, ancestor in enumerate(ordered):
        inside = [ancestor in (cube, *cube.ancestors()) for cube in ordered[place:]]
        assert inside == sorted(inside, reverse=True)
        assert not any(ancestor in cube.ancestors() for cube in ordered[:place])


def test_no_stored_id_makes_a_cube_that_no_double_reaches():
    """A level of 7 to 12 columns takes two symbols."""
    for dimensions, symbols in ((1, 1_074), (6, 1_074), (7, 2_148), (13, 3_222)):
        assert CubeId.from_string("A" * symbols, dimensions).depth == 1_074
        with pytest.raises(FormatError, match=f"{dimensions} columns has 0 to {symbols}"):
            CubeId.from_string("A" * (symbols + 1), dimensions)
