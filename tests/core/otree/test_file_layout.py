"""Files of a write: few and full ones, compact in space, and cut by weight so that a sample opens only its share."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.constants import WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.weight import weight_of
from pyqbeast.core.otree.file_layout import FILE_ROWS, STRETCH_ROWS, lay_out
from pyqbeast.core.otree.tree import SampledRows
from pyqbeast.core.otree.weight_bands import (
    DEFAULT_FRACTIONS,
    FEWEST_ROWS_OF_BAND,
    FEWEST_ROWS_OF_ONE_CUBE,
    LEAST_SHARE_OF_CUBE,
    fractions_of,
)
from tests.core.otree.examples import cube_sizes, samples, uniform_rows

quick = settings(max_examples=30)


def least_rows(cube_size):
    """The fewest rows of a band."""
    return min(FEWEST_ROWS_OF_BAND, LEAST_SHARE_OF_CUBE * cube_size)


@functools.cache
def laid_out(count, dimensions, stands_for=1.0, cube_size=500_000, fractions=DEFAULT_FRACTIONS):
    """Uniform rows and their layout: made once for all tests that look at it."""
    rows = uniform_rows(count, dimensions, stands_for)
    return rows, lay_out(rows, cube_size, fractions)


def files_of(layout, rows):
    """The file of each sampled row."""
    return layout.target[layout.leaf_of(rows.points, rows.weights)]


def planned_rows(layout, rows):
    """For each file how many rows are expected in it."""
    return np.bincount(files_of(layout, rows), rows.counts, layout.files)


@pytest.mark.slow
@quick
@given(samples(), cube_sizes)
def test_there_are_bands_for_all_weights_and_files_for_all_points(rows, cube_size):
    layout = lay_out(rows, cube_size, DEFAULT_FRACTIONS)
    assert (np.diff(layout.weight.astype(np.int64)) > 0).all()
    assert layout.weight[-1] == WEIGHT_MAX
    corners = np.array([[0.0, 1.0]] * rows.points.shape[1]).T
    for weight in (WEIGHT_MIN, 0, WEIGHT_MAX):
        assert (layout.dimension[layout.leaf_of(corners, np.full(2, weight, np.int32))] == -1).all()


@quick
@given(samples(), cube_sizes)
def test_files_and_their_stretches_are_numbered_without_gaps(rows, cube_size):
    layout = lay_out(rows, cube_size, DEFAULT_FRACTIONS)
    leaves = layout.dimension == -1
    pairs = list(zip(layout.target[leaves].tolist(), layout.stretch[leaves].tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    assert {file for file, _ in pairs} == set(range(layout.files))
    assert all(stretch == 0 or (file, stretch - 1) in pairs for file, stretch in pairs)


@quick
@given(samples(), cube_sizes)
def test_rows_of_one_point_and_weight_lie_in_one_stretch(rows, cube_size):
    twice = SampledRows(rows.points.repeat(2, axis=0), rows.weights.repeat(2), rows.counts.repeat(2))
    leaves = lay_out(twice, cube_size, DEFAULT_FRACTIONS).leaf_of(twice.points, twice.weights)
    assert (leaves[::2] == leaves[1::2]).all()


@quick
@given(samples(), cube_sizes)
def test_rows_of_a_band_lie_in_files_of_the_band(rows, cube_size):
    layout = lay_out(rows, cube_size, DEFAULT_FRACTIONS)
    bands_of_file = {}
    for file, band in zip(files_of(layout, rows), np.searchsorted(layout.weight, rows.weights), strict=True):
        bands_of_file.setdefault(file, set()).add(band)
    assert all(len(bands) == 1 for bands in bands_of_file.values())


#: Rows of a sample, each of which stands for so many that all are ten million. Of the larger sample the layout keeps
#: every other row.
SAMPLES = {"many": (200_000, 50.0), "few": (50_000, 200.0)}


@pytest.mark.slow
@pytest.mark.parametrize("cube_size", [500_000, 100_000])
@pytest.mark.parametrize(("dimensions", "sampled"), [(1, "few"), (2, "many"), (4, "few")])
def test_files_hold_about_a_cube(cube_size, dimensions, sampled):
    count, stands_for = SAMPLES[sampled]
    rows, layout = laid_out(count, dimensions, stands_for, cube_size)
    planned = planned_rows(layout, rows) / cube_size
    assert planned.max() < 1.5 * FILE_ROWS * 1.1
    assert planned.min() * cube_size > least_rows(cube_size) * 0.9
    assert planned.mean() == pytest.approx(FILE_ROWS, rel=0.15)


@pytest.mark.slow
def test_a_write_of_many_files_uses_every_sampled_row():
    """A thousand files of forty sampled rows each. With half of these rows the smallest would be half empty."""
    rows = uniform_rows(40_000, 2, stands_for=25_000.0)
    layout = lay_out(rows, 1_000_000, DEFAULT_FRACTIONS)
    planned = planned_rows(layout, rows) / 1_000_000
    heaviest = np.unique(files_of(layout, rows)[rows.weights > layout.weight[-2]])
    assert len(heaviest) > 600
    assert planned[heaviest].min() > 0.6
    assert planned.max() < 1.5


@pytest.mark.slow
def test_crowded_rows_make_files_as_full_as_spread_ones():
    points = np.random.default_rng(3).random((50_000, 3)) ** [1, 8, 30]
    rows = SampledRows(points, uniform_rows(50_000, 1).weights, np.full(50_000, 200.0))
    planned = planned_rows(lay_out(rows, 500_000, DEFAULT_FRACTIONS), rows) / 500_000
    assert planned.max() < 1.5 * FILE_ROWS * 1.1
    assert planned.min() * 500_000 > least_rows(500_000) * 0.9


@pytest.mark.slow
def test_cells_of_a_band_do_not_overlap_and_are_divided_across_every_column():
    rows, layout = laid_out(200_000, 2, 50.0)
    files = files_of(layout, rows)
    heaviest = rows.weights > layout.weight[-2]
    corners = [
        (
            rows.points[(files == file) & heaviest].min(axis=0),
            rows.points[(files == file) & heaviest].max(axis=0),
        )
        for file in set(files[heaviest].tolist())
    ]
    assert len(corners) > 10
    for i, (low, high) in enumerate(corners):
        assert not any(((low <= h) & (lo <= high)).all() for lo, h in corners[:i])
        assert (high - low).max() < 0.6
        assert (high - low).max() < 3 * (high - low).min()


def test_few_rows_make_one_file():
    assert lay_out(uniform_rows(1_000, 2), 10_000, DEFAULT_FRACTIONS).files == 1


def test_a_table_of_one_cube_is_cut_by_weight_only_where_both_parts_are_large():
    assert lay_out(uniform_rows(100_000, 2), 200_000, DEFAULT_FRACTIONS).files == 1
    rows = uniform_rows(100_000, 2, stands_for=10.0)
    layout = lay_out(rows, 1_000_000, DEFAULT_FRACTIONS)
    assert layout.weight.tolist() == [weight_of(0.3) - 1, WEIGHT_MAX]
    assert rows.counts.sum() * 0.1 < LEAST_SHARE_OF_CUBE * 1_000_000
    fewer = uniform_rows(100_000, 2, stands_for=4.0)
    assert lay_out(fewer, 400_000, DEFAULT_FRACTIONS).weight.tolist() == [weight_of(0.3) - 1, WEIGHT_MAX]
    assert fewer.counts.sum() * 0.1 < FEWEST_ROWS_OF_ONE_CUBE < fewer.counts.sum() * 0.3


def test_rows_are_cut_at_round_fractions():
    """Of twenty cubes, a thousandth is too small a part of one."""
    _, layout = laid_out(200_000, 2, 50.0)
    assert layout.weight.tolist() == [*(weight_of(f) - 1 for f in (0.01, 0.1, 0.3)), WEIGHT_MAX]
    assert set(layout.weight[:-1].tolist()) <= {weight_of(fraction) - 1 for fraction in DEFAULT_FRACTIONS}


@pytest.mark.slow
def test_users_say_where_rows_are_cut():
    """Fractions with too few rows between them are left out, from below."""
    stated = fractions_of(" 0.5, 0.05,0.049,1e-5", "sampleFractions")
    assert stated == (1e-5, 0.049, 0.05, 0.5)
    assert laid_out(50_000, 2, 200.0, fractions=stated)[1].weight.tolist() == [
        *(weight_of(f) - 1 for f in (0.05, 0.5)),
        WEIGHT_MAX,
    ]
    assert fractions_of(" ", "sampleFractions") == ()
    assert laid_out(50_000, 2, 200.0, fractions=())[1].weight.tolist() == [WEIGHT_MAX]


@pytest.mark.parametrize("text", ["0.1;0.2", "a", "0.1,", "0", "1", "-0.1", "nan", "inf"])
def test_what_is_no_fraction_is_refused(text):
    with pytest.raises(InvalidInputError, match="sampleFractions has to be fractions"):
        fractions_of(text, "sampleFractions")


def test_rows_that_were_chosen_by_weight_are_cut_among_their_weights():
    rows = uniform_rows(200_000, 2, stands_for=50.0)
    some = rows.weights < weight_of(0.01)
    chosen = SampledRows(rows.points[some], rows.weights[some], rows.counts[some] * 100)
    assert lay_out(chosen, 600_000, DEFAULT_FRACTIONS).weight.tolist() == [
        *(weight_of(f) - 1 for f in (0.0001, 0.001)),
        WEIGHT_MAX,
    ]


@pytest.mark.parametrize("cube_size", [500_000, 100_000])
def test_a_sample_of_a_fraction_opens_little_more_than_its_rows(cube_size):
    """Of ten million rows: no more than a fifth above the fraction, and one file."""
    rows, layout = laid_out(200_000, 2, 50.0, cube_size)
    planned = planned_rows(layout, rows)
    lightest = np.full(layout.files, WEIGHT_MAX, np.int64)
    np.minimum.at(lightest, files_of(layout, rows), rows.weights)
    for fraction in (0.001, 0.01, 0.1, 0.3):
        needed = planned[lightest < weight_of(fraction)].sum()
        assert needed <= 1.2 * fraction * 10_000_000 + FILE_ROWS * 1.5 * cube_size


def test_a_part_of_a_file_holds_the_rows_of_a_half():
    """A sample of a half ends where the first stretch of heavier rows begins, in each file of the heaviest band."""
    rows, layout = laid_out(200_000, 2, 50.0)
    assert layout.part_weight.tolist() == sorted([*layout.weight.tolist(), weight_of(0.5) - 1])
    files, leaves = files_of(layout, rows), layout.leaf_of(rows.points, rows.weights)
    stretches, is_light = layout.stretch[leaves], rows.weights < weight_of(0.5)
    in_last_band = rows.weights > layout.weight[-2]
    for file in np.unique(files[in_last_band]):
        of_file = files == file
        assert stretches[of_file & is_light].max() < stretches[of_file & ~is_light].min()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stands_for", "cube_size", "fractions"),
    [
        (4.0, 60_000, DEFAULT_FRACTIONS),  # a file has few rows on one side
        (200.0, 500_000, (0.1, 0.5)),  # a band ends there
        (200.0, 500_000, (0.1, 0.48)),  # nearly all rows lie on one side
        (200.0, 500_000, ()),  # nobody samples
    ],
)
def test_files_have_parts_only_where_samples_gain_by_them(stands_for, cube_size, fractions):
    _, layout = laid_out(50_000, 2, stands_for, cube_size, fractions)
    assert layout.part_weight.tolist() == layout.weight.tolist()


def test_a_file_is_cut_into_stretches_that_are_alike_and_compact():
    points = np.random.default_rng(3).random((100_000, 2)) ** 4  # most rows crowd near the origin
    rows = SampledRows(points, uniform_rows(100_000, 1).weights, np.ones(100_000))
    layout = lay_out(rows, 300_000, ())
    assert layout.files == 1
    counts = np.bincount(layout.stretch[layout.leaf_of(rows.points, rows.weights)])
    assert counts.max() < 1.5 * STRETCH_ROWS
    assert counts.min() > 0.4 * STRETCH_ROWS


def test_rows_of_one_point_cannot_be_cut():
    rows = SampledRows.of(np.full((50_000, 1), 0.25), np.arange(50_000, dtype=np.int32), np.ones(50_000))
    layout = lay_out(rows, 10_000, DEFAULT_FRACTIONS)
    assert layout.files == 1
    assert layout.dimension.tolist() == [-1]
