"""Which files are worth a rewrite, told from their blocks."""

from __future__ import annotations

from pyqbeast.core.block import Block
from pyqbeast.core.compaction import StoredFile, broken_cubes, work
from pyqbeast.core.cube import CubeId
from pyqbeast.core.facts import WEIGHT_MAX, WEIGHT_MIN

ROOT = CubeId.root(2)
LEFT, RIGHT = ROOT.child(0), ROOT.child(1)
GRANDCHILD = LEFT.child(3)
SIZE = 1000


def file(name, *blocks, deleted=0):
    return StoredFile(name, blocks, deleted)


def root(rows, low=WEIGHT_MIN, **more):
    return Block(ROOT, low, 0, rows, **more)


def leaf(cube, rows, low=1):
    return Block(cube, low, WEIGHT_MAX, rows)


def test_one_small_file_is_left_and_two_are_joined():
    good, small = file("good", root(900)), file("small", leaf(LEFT, 30), leaf(RIGHT, 20))
    assert work([good, small], SIZE) == set()
    assert work([good, small, file("tiny", leaf(LEFT, 5))], SIZE) == {"small", "tiny"}


def test_bands_of_a_cube_are_left_and_a_second_file_at_its_bottom_is_not():
    bands = [file("1", root(150)), file("2", root(200, low=-(2**30))), file("3", root(200, low=-(2**29)))]
    assert work(bands, SIZE) == set()
    assert work([*bands, file("later", root(150, low=WEIGHT_MIN + 9))], SIZE) == {"1", "later"}


def test_deleted_rows_and_copies_are_work_and_copies_among_others_are_left():
    assert work([file("d", root(900), deleted=1)], SIZE) == {"d"}
    assert work([file("c", root(900, replicated=True)), file("l", leaf(LEFT, 900))], SIZE) == {"c"}
    mixed = file("m", root(5, replicated=True), leaf(LEFT, 5), deleted=2)
    assert work([mixed, file("s", leaf(RIGHT, 5))], SIZE) == set()


def test_cubes_below_a_gap_and_leaves_that_refuse_rows_are_broken():
    assert broken_cubes({ROOT: 0, LEFT: WEIGHT_MAX}) == set()
    assert broken_cubes({ROOT: 0, GRANDCHILD: WEIGHT_MAX}) == {GRANDCHILD}
    assert broken_cubes({ROOT: 0, LEFT: 5, RIGHT: WEIGHT_MAX}) == {LEFT}
    assert broken_cubes({}) == set()
