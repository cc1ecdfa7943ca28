"""The tree that a write uses: rows stay where readers look for them, and cubes hold about the cube size."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyqbeast.core.format.constants import WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.weight import weight_of
from pyqbeast.core.otree.status import CubeStatus
from pyqbeast.core.otree.tree import MAX_DEPTH, ROOM, SampledRows, build_tree
from tests.core.geometry import contains
from tests.core.otree.examples import cube_sizes, samples, uniform_rows

quick = settings(max_examples=30)


@st.composite
def new_trees(draw):
    rows = draw(samples())
    cube_size = draw(cube_sizes)
    return rows, cube_size, build_tree(rows, rows.points.shape[1], cube_size, ())


@st.composite
def grown_trees(draw):
    """A second write on top of the cubes of a first one, some of which others left out."""
    first = draw(samples())
    d = first.points.shape[1]
    cube_size = draw(cube_sizes)
    statuses = stored_cubes(first, build_tree(first, d, cube_size, ()))
    missing = draw(st.sets(st.sampled_from([status.cube for status in statuses]), max_size=3))
    stored = [status for status in statuses if status.cube not in missing]
    rows = draw(samples(d))
    return rows, cube_size, stored, build_tree(rows, d, cube_size, stored)


def stored_cubes(rows, tree):
    return [
        CubeStatus(
            tree.cube(node),
            int(tree.max_weight[node]),
            round(tree.expected[node]),
            int(rows.weights[tree.row_node == node].min()),
        )
        for node in range(len(tree))
    ]


def ancestors(tree, node):
    while node:
        node = tree.parent[node]
        yield node


def check_rows(rows, tree):
    cubes = [tree.cube(node) for node in range(len(tree))]
    for point, weight, node in zip(rows.points, rows.weights, tree.row_node, strict=True):
        assert contains(cubes[node], point)
        assert weight <= tree.max_weight[node]
        assert all(weight > tree.max_weight[above] for above in ancestors(tree, node))


def by_weight(*weights, at=0.3, stands_for=1.0):
    """Rows of one dimension, all at one point."""
    n = len(weights)
    return SampledRows.of(np.full((n, 1), at), np.array(weights, np.int32), np.full(n, stands_for))


def test_rows_in_any_order_are_put_in_order_of_weight():
    rows = SampledRows.of(np.array([[0.3], [0.1], [0.2]]), np.array([30, 10, 20], np.int32), np.arange(3.0))
    assert rows.points.ravel().tolist() == [0.1, 0.2, 0.3]
    assert rows.weights.tolist() == [10, 20, 30]
    assert rows.counts.tolist() == [1.0, 2.0, 0.0]


def test_a_small_tree():
    """The root keeps the two lightest rows; the others go to the lower left and the upper right quarter."""
    points = np.array([[0.9, 0.9], [0.1, 0.1], [0.2, 0.2], [0.5, 1.0]])
    rows = SampledRows(points, np.array([-9, 0, 5, 8], np.int32), np.ones(4))
    tree = build_tree(rows, 2, 2, ())
    assert [tree.cube(node).path for node in tree.row_node] == [(), (), (0,), (3,)]
    assert tree.max_weight.tolist() == [0, WEIGHT_MAX, WEIGHT_MAX]
    assert tree.expected.tolist() == [2.0, 1.0, 1.0]


@quick
@given(new_trees())
def test_rows_lie_in_their_cube_and_are_heavier_than_what_its_ancestors_keep(made):
    rows, _, tree = made
    check_rows(rows, tree)


@quick
@given(new_trees())
def test_expected_rows_are_those_that_the_sample_stands_for(made):
    rows, _, tree = made
    of_nodes = np.bincount(tree.row_node, weights=rows.counts, minlength=len(tree))
    assert tree.expected == pytest.approx(of_nodes)


@quick
@given(new_trees())
def test_a_new_tree_has_no_gaps_and_its_leaves_take_everything(made):
    _, _, tree = made
    assert set(tree.row_node) == set(range(len(tree)))
    assert all(tree.parent[node] < node for node in range(1, len(tree)))
    leaves = set(range(len(tree))) - set(tree.parent[1:].tolist())
    assert all(tree.max_weight[leaf] == WEIGHT_MAX for leaf in leaves)


@quick
@given(new_trees())
def test_inner_cubes_are_full_and_no_cube_is_much_more(made):
    """Rows of one weight stay together, however many they are."""
    rows, cube_size, tree = made
    inner = set(tree.parent[1:].tolist())
    for node in range(len(tree)):
        own = tree.row_node == node
        below_heaviest = own & (rows.weights < rows.weights[own].max())
        if tree.cube(node).depth < MAX_DEPTH:
            lighter = rows.counts[below_heaviest].sum()
            assert lighter < cube_size or tree.expected[node] <= ROOM * cube_size
        if node in inner:
            assert tree.expected[node] >= cube_size


@quick
@given(new_trees())
def test_no_cube_is_deeper_than_the_limit(made):
    _, _, tree = made
    assert max(tree.cube(node).depth for node in range(len(tree))) <= MAX_DEPTH


def test_equal_points_go_down_to_the_limit_and_stay_there():
    rows = by_weight(*range(100))
    tree = build_tree(rows, 1, 1, ())
    assert len(tree) == MAX_DEPTH + 1
    assert tree.expected.tolist() == [1.0] * MAX_DEPTH + [100.0 - MAX_DEPTH]
    assert tree.max_weight[-1] == WEIGHT_MAX


def test_identical_rows_end_in_one_cube():
    assert len(build_tree(by_weight(*[7] * 1000), 1, 10, ())) == 1
    tree = build_tree(by_weight(*range(10), *[50] * 1000), 1, 10, ())
    assert tree.expected.tolist() == [10.0, 1000.0]


def test_rows_of_one_weight_stay_together():
    tree = build_tree(by_weight(1, 2, 2, 2, 3), 1, 2, ())
    assert tree.max_weight.tolist() == [2, WEIGHT_MAX]
    assert tree.row_node.tolist() == [0, 0, 0, 0, 1]


def test_a_sampled_row_counts_as_the_rows_that_it_stands_for():
    tree = build_tree(by_weight(*range(10), stands_for=100.0), 1, 500, ())
    assert tree.expected.tolist() == [500.0, 500.0]


@pytest.mark.parametrize(("rows", "cubes"), [(1_300, 1), (1_301, 5)])
def test_a_cube_is_cut_where_it_would_hold_a_third_more_than_the_cube_size(rows, cubes):
    assert len(build_tree(uniform_rows(rows, 2), 2, 1_000, ())) == cubes


def test_a_cube_that_is_full_just_before_a_common_fraction_goes_on_to_it():
    """The root would be full at 0.0095, and a sample of one percent would need its children."""
    tree = build_tree(uniform_rows(100_000, 2), 2, 950, ())
    assert tree.max_weight[0] == weight_of(0.01) - 1
    assert tree.expected[0] == pytest.approx(1_000, rel=0.1)


def test_a_uniform_sample_fills_cubes_level_by_level():
    tree = build_tree(uniform_rows(4_000, 2), 2, 1_000, ())
    assert [tree.cube(node).depth for node in range(len(tree))] == [0, 1, 1, 1, 1]
    assert tree.expected[0] == 1_000
    assert all(650 < expected < 850 for expected in tree.expected[1:])


@quick
@given(grown_trees())
def test_rows_of_a_second_write_fit_the_stored_cubes_too(made):
    rows, _, stored, tree = made
    check_rows(rows, tree)
    assert tree.expected.sum() == pytest.approx(rows.counts.sum())
    cubes = {tree.cube(node): tree.max_weight[node] for node in range(len(tree))}
    for status in stored:
        assert cubes[status.cube] <= status.max_weight


@quick
@given(grown_trees())
def test_an_ancestor_that_others_left_out_takes_what_is_lighter_than_the_rows_below(made):
    _, _, stored, tree = made
    held = {status.cube for status in stored}
    lightest = defaultdict(lambda: WEIGHT_MAX)
    for status in stored:
        for above in status.cube.ancestors():
            lightest[above] = min(lightest[above], status.min_weight)
    for node in range(len(tree)):
        cube = tree.cube(node)
        if cube in lightest:
            assert tree.max_weight[node] <= lightest[cube]
        if cube in lightest and cube not in held:
            assert tree.max_weight[node] == lightest[cube] or tree.expected[node] >= 1


def test_a_cube_that_keeps_more_than_it_may_is_cut():
    """Another writer took it for a leaf, as the cube above the stored rows was missing when it appended."""
    root, child = CubeId.root(1), CubeId(1, (0,))
    stored = [CubeStatus(root, WEIGHT_MAX, 3, -50), CubeStatus(child, WEIGHT_MAX, 9, 5)]
    assert build_tree(by_weight(1, 5, 7), 1, 10, stored).max_weight.tolist() == [5, WEIGHT_MAX]


@pytest.mark.slow
@quick
@given(grown_trees())
def test_a_stored_cube_is_cut_only_where_it_would_hold_over_twice_the_cube_size(made):
    rows, cube_size, stored, tree = made
    reached = defaultdict(list)
    for row, node in enumerate(tree.row_node):
        for cube in (node, *ancestors(tree, node)):
            reached[tree.cube(cube)].append(row)
    cut = {tree.cube(node): tree.max_weight[node] for node in range(len(tree))}
    for status in stored:
        if cut[status.cube] < status.max_weight:
            may_stay = [row for row in reached[status.cube] if rows.weights[row] <= status.max_weight]
            assert status.element_count + rows.counts[may_stay].sum() > 2 * cube_size


@pytest.mark.parametrize(("appended", "cubes"), [(800, 1), (1_200, 3)])
def test_a_stored_leaf_takes_rows_until_it_is_twice_full(appended, cubes):
    """Its 1,000 rows lie evenly over all weights: at the cut it keeps the cube size of old and new rows together.

    A little more here, as the cut goes up to half of all weights.
    """
    stored = [CubeStatus(CubeId.root(1), WEIGHT_MAX, 1_000)]
    tree = build_tree(uniform_rows(appended, 1), 1, 1_000, stored)
    assert len(tree) == cubes
    if cubes > 1:
        share = (int(tree.max_weight[0]) - WEIGHT_MIN) / 2**32
        assert share == pytest.approx(0.5)
        assert 1_000 <= 1_000 * share + tree.expected[0] <= 1_100


def test_a_second_write_of_few_rows_makes_no_new_cubes():
    rows = uniform_rows(4_000, 2)
    first = build_tree(rows, 2, 1_000, ())
    second = build_tree(uniform_rows(400, 2, seed=1), 2, 1_000, stored_cubes(rows, first))
    assert second.max_weight.tolist() == first.max_weight.tolist()
    assert second.expected.sum() == 400
