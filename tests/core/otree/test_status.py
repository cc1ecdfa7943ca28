"""Index status: blocks of one cube add up, copies are left out, and leaves are told from inner cubes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.core.format.constants import WEIGHT_MAX
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block
from pyqbeast.core.otree.status import CubeStatus, IndexStatus
from pyqbeast.core.revisions.revision import Revision
from tests.core.otree.examples import REVISION
from tests.core.strategies import cubes


def cube(text):
    return CubeId.from_string(text, 2)


def test_blocks_of_a_cube_add_up_in_cube_order():
    blocks = [
        Block(cube("Q"), 20, WEIGHT_MAX, 7),
        Block(cube(""), 0, 30, 5),
        Block(cube(""), 3, 20, 6),
        Block(cube("A"), 0, 10, 50, replicated=True),
    ]
    status = IndexStatus.from_blocks(REVISION, blocks)
    root, child = CubeStatus(cube(""), 20, 11, 0), CubeStatus(cube("Q"), WEIGHT_MAX, 7, 20)
    assert list(status.cubes.values()) == [root, child]
    more = status.with_blocks([Block(cube(""), -5, 10, 1), Block(cube("AA"), 3, 4, 2)])
    assert list(more.cubes.values()) == [
        CubeStatus(cube(""), 10, 12, -5),
        CubeStatus(cube("AA"), 4, 2, 3),
        child,
    ]


def test_files_that_are_not_indexed_are_one_root_without_rows():
    status = IndexStatus.from_blocks(Revision.staging("/t", 100, ["a", "b"], 0), [])
    assert list(status.cubes.values()) == [CubeStatus(cube(""), WEIGHT_MAX, 0)]


@given(st.sets(cubes(dimensions=2), max_size=20))
def test_a_leaf_has_no_stored_descendant(stored):
    status = IndexStatus.from_blocks(REVISION, [Block(found, 0, 1, 1) for found in stored])
    are_leaves = dict(zip(status.cubes, status.leaves, strict=True))
    for one in stored:
        assert are_leaves[one] == (not any(one in other.ancestors() for other in stored))
