"""Files of a write: full ones, few of them, and cut by weight so that a sample opens only its share."""

from __future__ import annotations

import bisect

import numpy as np
import pytest
from hypothesis import given, settings

from pyqbeast.core.format.constants import WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.weight import COMMON_FRACTIONS, weight_of
from pyqbeast.core.otree.file_layout import STRETCH_ROWS, lay_out
from pyqbeast.core.otree.tree import SampledRows, build_tree
from pyqbeast.core.otree.weight_bands import LARGE, MOST_SHARED, SMALLEST_ROWS
from pyqbeast.core.otree.z_order import z_order
from tests.core.otree.test_tree import cube_sizes, samples, uniform_rows

quick = settings(max_examples=60)


def laid_out(rows, cube_size):
    tree = build_tree(rows, rows.points.shape[1], cube_size)
    return tree, lay_out(tree, rows, cube_size)


def bands_of(layout, node):
    """Largest weights and files of a node's bands."""
    bands = slice(layout.start[node], layout.start[node + 1])
    return layout.weight[bands].tolist(), layout.file[bands].tolist()


def planned_rows(tree, layout, rows):
    """For each file how many rows are expected in it: a row goes to the first band that is not lighter."""
    planned = np.zeros(layout.files)
    bands = [bands_of(layout, node) for node in range(len(tree))]
    for node, weight, count in zip(tree.row_node, rows.weights, rows.counts, strict=True):
        weights, files = bands[node]
        planned[files[bisect.bisect_left(weights, weight)]] += count
    return planned


def lightest_possible(tree, layout):
    """For each file the smallest weight that a row in it can have."""
    above = np.full(len(tree), WEIGHT_MIN, np.int64)
    lightest = np.full(layout.files, WEIGHT_MAX, np.int64)
    for node in range(len(tree)):
        if node:
            parent = tree.parent[node]
            above[node] = max(above[parent], int(tree.max_weight[parent]) + 1)
        low = above[node]
        for weight, file in zip(*bands_of(layout, node), strict=True):
            lightest[file] = min(lightest[file], low)
            low = max(low, weight + 1)
    return lightest


@quick
@given(samples(), cube_sizes)
def test_every_node_has_bands_for_all_weights(rows, cube_size):
    tree, layout = laid_out(rows, cube_size)
    assert layout.start[0] == 0
    assert layout.start[-1] == len(layout.weight) == len(layout.file)
    for node in range(len(tree)):
        weights, _ = bands_of(layout, node)
        assert weights == sorted(set(weights))
        assert weights[-1] == WEIGHT_MAX


@quick
@given(samples(), cube_sizes)
def test_files_are_numbered_without_gaps(rows, cube_size):
    _, layout = laid_out(rows, cube_size)
    assert set(layout.file.tolist()) == set(range(layout.files))


@quick
@given(samples(), cube_sizes)
def test_no_file_is_planned_larger_than_a_shared_one_may_be_or_the_largest_node(rows, cube_size):
    tree, layout = laid_out(rows, cube_size)
    assert planned_rows(tree, layout, rows).max() <= max(MOST_SHARED * cube_size, tree.expected.max())


def rows_of_bands(tree, layout, rows):
    """For each band how many rows are expected in it."""
    planned = np.zeros(len(layout.weight))
    for row, node in enumerate(tree.row_node):
        weights, _ = bands_of(layout, node)
        planned[layout.start[node] + np.searchsorted(weights, rows.weights[row])] += rows.counts[row]
    return planned


@quick
@given(samples(), cube_sizes)
def test_large_bands_have_files_of_their_own(rows, cube_size):
    tree, layout = laid_out(rows, cube_size)
    users = np.bincount(layout.file)
    large = rows_of_bands(tree, layout, rows) >= LARGE * cube_size
    assert (users[layout.file[large]] == 1).all()


@quick
@given(samples(), cube_sizes)
def test_bands_share_a_file_only_with_bands_of_the_same_weights(rows, cube_size):
    tree, layout = laid_out(rows, cube_size)
    ranges = [set() for _ in range(layout.files)]
    for node in range(len(tree)):
        weights, files = bands_of(layout, node)
        for file, *weight_range in zip(files, [WEIGHT_MIN, *weights[:-1]], weights, strict=True):
            ranges[file].add(tuple(weight_range))
    assert all(len(of_file) == 1 for of_file in ranges)


@quick
@given(samples(), cube_sizes)
def test_all_files_but_one_are_at_least_half_full_or_a_part_of_a_cut_cube(rows, cube_size):
    tree, layout = laid_out(rows, cube_size)
    bands = [bands_of(layout, node)[1] for node in range(len(tree))]
    cut = {file for files in bands if len(files) > 1 for file in files}
    planned = planned_rows(tree, layout, rows)
    small = [file for file in range(layout.files) if file not in cut and planned[file] < cube_size / 2]
    assert len(small) <= 1


def test_like_bands_of_neighbours_share_a_file():
    """A level of four cubes holds the rows from one to five percent: up to two, a quarter cube each."""
    rows = uniform_rows(200_000, 2, stands_for=50.0)
    tree, layout = laid_out(rows, 100_000)
    lowest = {bands_of(layout, node)[1][0] for node in range(1, 5)}
    assert len(lowest) == 1
    assert planned_rows(tree, layout, rows)[lowest.pop()] == pytest.approx(100_000, rel=0.1)


def test_few_rows_make_one_file():
    tree, layout = laid_out(uniform_rows(1_000, 2), 10_000)
    assert len(tree) == 1
    assert layout.files == 1


def test_a_table_of_one_cube_stays_in_few_files():
    tree, layout = laid_out(uniform_rows(100_000, 2), 200_000)
    assert len(tree) == 1
    assert layout.files == 1


def test_small_neighbours_share_a_file():
    """The four children of a root of 1,000 rows hold about 150 rows each."""
    tree, layout = laid_out(uniform_rows(1_600, 2), 1_000)
    assert len(tree) == 5
    shared = {tuple(bands_of(layout, node)[1]) for node in range(1, 5)}
    assert len(shared) == 1
    assert shared.isdisjoint({(file,) for file in bands_of(layout, 0)[1]})


def test_a_leaf_is_cut_once_above_a_tenth_and_its_lower_part_shares_a_file():
    """Leaves hold the rows from about 21 percent on: those up to 30 are an eighth of each leaf."""
    rows = uniform_rows(200_000, 2, stands_for=50.0)
    tree, layout = laid_out(rows, 100_000)
    leaves = [bands_of(layout, node) for node in range(len(tree)) if tree.max_weight[node] == WEIGHT_MAX]
    assert {tuple(weights) for weights, _ in leaves} == {(weight_of(0.3) - 1, WEIGHT_MAX)}
    assert len({files[0] for _, files in leaves}) < len(leaves) / 5


def test_a_cube_is_cut_at_round_fractions():
    """The root holds the lightest five percent of ten million rows."""
    tree, layout = laid_out(uniform_rows(200_000, 2, stands_for=50.0), 500_000)
    weights, files = bands_of(layout, 0)
    assert set(weights[:-1]) <= {weight_of(fraction) - 1 for fraction in COMMON_FRACTIONS}
    assert len(set(files)) == len(files) >= 3
    rows = np.diff([WEIGHT_MIN, *weights[:-1], int(tree.max_weight[0])]) / 2**32 * 10_000_000
    assert rows.min() > SMALLEST_ROWS * 0.9
    assert weight_of(0.001) - 1 in weights


def test_a_cube_below_half_the_cube_size_may_be_cut_too():
    light, heavy = np.full(150, weight_of(0.005)), np.full(150, weight_of(0.5))
    rows = SampledRows(np.zeros((300, 1)), np.concatenate([light, heavy]).astype(np.int32), np.ones(300))
    tree, layout = laid_out(rows, 1_000)
    assert planned_rows(tree, layout, rows).tolist() == [150, 150]


@pytest.mark.parametrize("cube_size", [500_000, 100_000])
def test_a_sample_of_one_percent_opens_files_of_two_percent_at_most(cube_size):
    """Of ten million rows. Well within the bound of 1.5 percent and one full file; without cuts it would be five."""
    rows = uniform_rows(200_000, 2, stands_for=50.0)
    tree, layout = laid_out(rows, cube_size)
    planned = planned_rows(tree, layout, rows)
    needed = planned[lightest_possible(tree, layout) < weight_of(0.01)].sum()
    assert 100_000 * 0.95 < needed < 200_000 * 1.03
    assert needed <= 150_000 + cube_size


def test_a_file_is_cut_along_the_z_order_curve_into_stretches_of_equal_size():
    rng = np.random.default_rng(3)
    points = rng.random((100_000, 2)) ** 4  # most rows crowd near the origin
    rows = SampledRows.of(points, rng.integers(WEIGHT_MIN, WEIGHT_MAX, 100_000, np.int32), np.ones(100_000))
    _, layout = laid_out(rows, 1_000_000)
    assert layout.files == 1
    assert layout.cut_start.tolist() == [0, len(layout.cut)]
    assert (np.diff(layout.cut) > 0).all()
    stretch = np.searchsorted(layout.cut, z_order(rows.points), side="right")
    assert np.abs(np.bincount(stretch) - STRETCH_ROWS).max() <= 1


def test_rows_of_one_point_cannot_be_cut():
    rows = SampledRows.of(np.full((50_000, 1), 0.25), np.arange(50_000, dtype=np.int32), np.ones(50_000))
    _, layout = laid_out(rows, 1_000_000)
    assert layout.cut.tolist() == []
