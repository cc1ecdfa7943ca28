"""Which files are worth a rewrite, told from their blocks."""

from __future__ import annotations

from dataclasses import replace

from pyqbeast.core.format.constants import WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block
from pyqbeast.core.otree.compaction import StoredFile, broken_cubes, files_to_rewrite
from pyqbeast.core.otree.status import CubeStatus

ROOT = CubeId.root(2)
LEFT, RIGHT = ROOT.child(0), ROOT.child(1)
GRANDCHILD = LEFT.child(3)
SIZE = 1000


def file(name, *blocks, heaviest=None, deleted=0):
    return StoredFile(name, blocks, heaviest, deleted)


def root(rows, low=WEIGHT_MIN, **more):
    return Block(ROOT, low, 0, rows, **more)


def leaf(cube, rows, low=1):
    return Block(cube, low, WEIGHT_MAX, rows)


def test_one_small_file_is_left_and_two_are_joined():
    good, small = file("good", root(900)), file("small", leaf(LEFT, 30), leaf(RIGHT, 20))
    assert files_to_rewrite([good, small], SIZE) == set()
    assert files_to_rewrite([good, small, file("tiny", leaf(LEFT, 5))], SIZE) == {"small", "tiny"}


def test_small_bands_are_left_and_a_file_across_them_is_not():
    low = file("low", root(100), heaviest=-(2**30) - 1)
    middle = file("middle", root(100, low=-(2**30)), heaviest=-1)
    high = file("high", root(100, low=-1, replicated=False), leaf(LEFT, 50))
    assert files_to_rewrite([low, middle], SIZE) == set()
    assert files_to_rewrite([low, middle, high], SIZE) == {"middle", "high"}
    across = file("across", root(10, low=WEIGHT_MIN + 9), heaviest=-(2**29))
    assert files_to_rewrite([low, middle, across], SIZE) == {"low", "middle", "across"}
    large = file("large", root(900, low=WEIGHT_MIN + 9), heaviest=0)
    assert files_to_rewrite([low, middle, large], SIZE) == set()


def test_blocks_without_rows_say_nothing_of_the_weights_of_a_file():
    gap = Block(GRANDCHILD, WEIGHT_MIN, WEIGHT_MIN, 0)
    first, second = file("first", root(10), heaviest=-5), file("second", leaf(LEFT, 10), gap)
    assert files_to_rewrite([first, second], SIZE) == set()


def test_deleted_rows_and_copies_are_work_and_copies_among_others_are_left():
    assert files_to_rewrite([file("d", root(900), deleted=1)], SIZE) == {"d"}
    assert files_to_rewrite([file("c", root(900, replicated=True)), file("l", leaf(LEFT, 900))], SIZE) == {
        "c"
    }
    mixed = file("m", root(5, replicated=True), leaf(LEFT, 5), deleted=2)
    assert files_to_rewrite([mixed, file("s", leaf(RIGHT, 5))], SIZE) == set()


def cubes(*statuses):
    return {status.cube: status for status in statuses}


def test_cubes_below_a_gap_and_rows_that_an_ancestor_keeps_are_broken():
    root, left = CubeStatus(ROOT, 0, 9, -9), CubeStatus(LEFT, 50, 9, 0)
    below = CubeStatus(GRANDCHILD, WEIGHT_MAX, 9, 50)
    assert broken_cubes(cubes(root, left, below)) == set()
    assert broken_cubes(cubes(root, below)) == {GRANDCHILD}
    assert broken_cubes(cubes(root, left, replace(below, min_weight=49))) == {GRANDCHILD}
    assert broken_cubes(cubes(replace(root, max_weight=20), left, below)) == {LEFT}
    assert broken_cubes({}) == set()


def test_a_leaf_with_the_weight_that_its_writer_estimated_is_not_broken():
    assert broken_cubes(cubes(CubeStatus(ROOT, 0, 9, -9), CubeStatus(LEFT, 2_146_279_590, 9, 5))) == set()
