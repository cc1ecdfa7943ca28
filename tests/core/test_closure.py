"""Cubes that a write left without a parent join the missing one, so that the stored tree has no gaps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.core.closure import close_gaps
from pyqbeast.core.cube import CubeId


def cube(*path):
    return CubeId(2, path)


#: Few children and levels, so that the cubes of a set lie above each other often.
small_cubes = st.lists(st.integers(0, 1), max_size=5).map(lambda path: cube(*path))
sets_of_cubes = st.sets(small_cubes, max_size=12)


def ancestors(of):
    return {cube(*of.path[:depth]) for depth in range(of.depth)}


def test_without_gaps_nothing_moves():
    assert close_gaps([], []) == {}
    assert close_gaps([cube(), cube(3), cube(3, 1), cube(0)], []) == {}
    assert close_gaps([cube(3, 1), cube(3, 1, 2)], [cube(), cube(3)]) == {}


def test_an_orphan_subtree_joins_in_the_topmost_missing_cube():
    written = [cube(), cube(1), cube(2, 0, 1), cube(2, 0, 1, 3), cube(2, 3)]
    assert close_gaps(written, []) == {
        cube(2, 0, 1): cube(2),
        cube(2, 0, 1, 3): cube(2),
        cube(2, 3): cube(2),
    }


def test_a_missing_root_takes_everything():
    assert close_gaps([cube(1), cube(2, 0)], []) == {cube(1): cube(), cube(2, 0): cube()}


def test_orphans_join_below_stored_cubes():
    assert close_gaps([cube(2, 0, 1)], [cube(), cube(1)]) == {cube(2, 0, 1): cube(2)}


def test_a_gap_above_stored_cubes_stays():
    stored = [cube(), cube(2, 0)]
    assert close_gaps([cube(2, 1), cube(2, 0, 3)], stored) == {}


def test_a_stored_cube_is_never_moved():
    stored = [cube(), cube(2, 0)]
    assert close_gaps(stored, stored) == {}


@given(sets_of_cubes, sets_of_cubes)
def test_after_the_moves_only_gaps_above_stored_cubes_are_left(written, stored):
    moves = close_gaps(written, stored)
    after = {moves.get(each, each) for each in written} | stored
    above_stored = set().union(*map(ancestors, stored))
    for each in after - stored:
        missing = ancestors(each) - after
        assert not missing or missing & above_stored


@given(sets_of_cubes, sets_of_cubes)
def test_rows_move_up_into_a_leaf_of_the_stored_tree(written, stored):
    """An inner cube of the tree would not keep rows that are heavier than those of its children."""
    moves = close_gaps(written, stored)
    after = {moves.get(each, each) for each in written} | stored
    for source, target in moves.items():
        assert source in written - stored
        assert target in ancestors(source) - written - stored
        assert not any(target in ancestors(each) for each in after)
