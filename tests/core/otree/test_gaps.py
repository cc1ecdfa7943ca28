"""A write announces the cubes that hold no row while there are some below: no cube is without its parent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.core.format.constants import WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block
from pyqbeast.core.otree.compaction import broken_cubes
from pyqbeast.core.otree.gaps import announcements
from pyqbeast.core.otree.invariants import check_tree
from pyqbeast.core.otree.status import CubeStatus, IndexStatus
from tests.core.otree.examples import REVISION


def cube(*path):
    return CubeId(2, path)


def cubes(*statuses):
    return {status.cube: status for status in statuses}


#: Few children and levels, so that the cubes of a set lie above each other often.
small_cubes = st.lists(st.integers(0, 1), max_size=5).map(lambda path: cube(*path))
weights = st.integers(-20, 20) | st.sampled_from([WEIGHT_MIN, WEIGHT_MAX])
blocks = st.builds(
    lambda cube, ends, rows: Block(cube, min(ends), max(ends), rows),
    small_cubes,
    st.tuples(weights, weights),
    st.integers(1, 9),
)


def test_a_tree_without_gaps_needs_nothing():
    assert announcements({}) == {}
    whole = cubes(
        CubeStatus(cube(), 5, 9, 0), CubeStatus(cube(3), 9, 4, 5), CubeStatus(cube(3, 1), WEIGHT_MAX, 2, 9)
    )
    assert announcements(whole) == {}


def test_missing_cubes_keep_nothing_heavier_than_the_rows_below():
    left, right = CubeStatus(cube(2, 0, 1), WEIGHT_MAX, 9, 30), CubeStatus(cube(2, 3), WEIGHT_MAX, 9, 20)
    assert announcements(cubes(left, right)) == {cube(): 20, cube(2): 20, cube(2, 0): 30}


def test_a_cube_that_another_writer_took_for_a_leaf_is_announced_with_what_it_may_keep():
    leaf, below = CubeStatus(cube(), WEIGHT_MAX, 9, -3), CubeStatus(cube(1), WEIGHT_MAX, 9, 4)
    assert announcements(cubes(leaf, below)) == {cube(): 4}


def test_an_announced_cube_is_no_leaf():
    """The Scala project divides by the rows of a cube that keeps everything."""
    assert announcements(cubes(CubeStatus(cube(1), WEIGHT_MAX, 1, WEIGHT_MAX))) == {cube(): WEIGHT_MAX - 1}


@given(st.lists(blocks, max_size=12))
def test_with_the_announced_cubes_nothing_is_broken(stored):
    status = IndexStatus.from_blocks(REVISION, stored)
    announced = announcements(status.cubes)
    whole = status.with_blocks(Block(cube, weight, weight, 0) for cube, weight in announced.items())
    assert not check_tree(1, whole)
    assert not broken_cubes(whole.cubes)
    assert not announcements(whole.cubes)
    assert bool(announced) == bool(broken_cubes(status.cubes)) == bool(check_tree(1, status))
