"""What pictures show of tables is what scans do and what the log says."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from pyqbeast.cli.tiledb import commands as tiledb_commands
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.constants import TAG_KEY_ROWS
from pyqbeast.core.format.key_frequency import KeyFrequency
from pyqbeast.core.format.types import DATE, TIMESTAMP
from pyqbeast.core.otree.status import IndexStatus
from pyqbeast.core.revisions.revision import Revision
from pyqbeast.core.transform.linear import Linear
from pyqbeast.core.transform.registry import transformer_for
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from pyqbeast.plot.gather.answers import answers_of
from pyqbeast.plot.gather.array import gather_array
from pyqbeast.plot.gather.axes import tree_axes
from pyqbeast.plot.gather.fractions import FRACTIONS
from pyqbeast.plot.gather.levels import levels_of
from pyqbeast.plot.gather.points import Points
from pyqbeast.plot.gather.scales import Scale
from pyqbeast.plot.gather.table import gather_table
from pyqbeast.scanning.scan import scan
from pyqbeast.tiledb import (
    ArraySchema,
    Datatype,
    attribute,
    create_array,
    dimension,
    write_array,
    write_dense,
)
from tests.deletion_vectors.tables import PROTOCOL, commit
from tests.plot.tables import table_of_blocks
from tests.scanning.tables import fields_of, indexed_add, indexed_table, metadata

TABLES = ["qbeast/a_linear2d", "qbeast/d_append_revisions", "qbeast/e3_convert_only", "qbeast/i2_deleted_dv"]


@pytest.fixture(params=TABLES)
def table(golden, request):
    return golden(request.param) / "table"


@pytest.fixture
def linear(golden):
    return golden("qbeast/a_linear2d") / "table"


def opened(picture, step, **ranges):
    """Bytes and number of files that the page counts; a range is a pair of steps."""
    files = picture.files
    chosen = files.first_read <= step
    for each in files.ranges:
        if each.column in ranges:
            low, high = ranges[each.column]
            chosen &= (each.first <= high) & (each.last >= low)
    return int(files.size[chosen].sum()), int(chosen.sum())


def opened_by(scanned):
    files = [file for file in scanned.files() if file.skipped is None]
    return sum(file.size for file in files), len(files)


def test_samples_open_what_a_scan_opens(table):
    picture = gather_table(table)
    counts, shares = picture.files.opened(picture.fractions)
    for step in range(0, len(FRACTIONS), 5):
        assert not picture.fractions.problems[step]
        size, count = opened_by(scan(table).sample(FRACTIONS[step]))
        assert opened(picture, step) == (size, count), FRACTIONS[step]
        assert (counts[step], shares[step]) == (count, pytest.approx(size / picture.files.size.sum()))


def test_ranges_open_what_a_scan_opens(linear):
    picture = gather_table(linear)
    a, b = picture.files.ranges
    assert (a.column, b.column) == ("a", "b")
    last = len(FRACTIONS) - 1
    counts = set()
    for low, high in itertools.combinations(range(1, len(a.scale.values), 9), 2):
        where = f"a BETWEEN {a.scale.values[low]} AND {a.scale.values[high]} AND b >= {b.scale.values[low]!r}"
        told = opened(picture, last, a=(low, high), b=(low, len(b.scale.values) - 1))
        assert told == opened_by(scan(linear).where(where)), where
        counts.add(told[1])
    assert len(counts) > 3


def test_a_fraction_without_a_weight_says_why(tmp_path):
    key_rows = {TAG_KEY_ROWS: KeyFrequency("one write", 500).to_tag()}
    picture = gather_table(table_of_blocks(tmp_path, 21, **key_rows))
    assert "one key may hold" in picture.fractions.problems[0]
    assert picture.fractions.problems[-1] == ""
    assert picture.points.problem
    counts, shares = picture.files.opened(picture.fractions)
    assert (counts[0], shares[0]) == (21, 1.0)
    assert (np.diff(picture.fractions.bounds) >= 0).all()


@pytest.mark.parametrize("fields", [fields_of(pa.schema([("renamed", pa.int64())])), []])
def test_a_table_without_its_indexed_column(tmp_path, fields):
    """Its rows are few, so a picture would take all of them, and those have no place in the index."""
    rows = pa.table({"id": [1, 2, 3]})
    commit(tmp_path, 0, PROTOCOL, metadata(fields), indexed_add(tmp_path / "a.parquet", rows))
    picture = gather_table(tmp_path)
    assert "it has no column 'id', which weights are made of" in picture.points.problem
    assert picture.files.rows.tolist() == [3]


def test_trees_hold_the_cubes_of_each_revision(table):
    picture, index = gather_table(table), IndexedSnapshot.read(table)
    for tree in picture.trees:
        blocks = [b for file, b in index.blocks() if file.revision_id == tree.revision.id]
        cubes = IndexStatus(tree.revision, {}).with_blocks(blocks).cubes
        assert list(tree.names) == [cube.to_string() for cube in cubes]
        assert tree.rows.tolist() == [status.element_count for status in cubes.values()]
        for cube, *lows in zip(cubes, *tree.lows, strict=True):
            centre = [low + 0.5**cube.depth / 2 for low in lows]
            assert type(cube).containing(centre, cube.depth) == cube
    assert {tree.revision.id for tree in picture.trees} == {f.revision_id for f, _ in index.blocks()}


def test_a_stretch_holds_those_of_the_cubes_below(linear):
    (tree,) = gather_table(linear).trees
    assert (tree.begin[0], tree.end[0]) == (0.0, 1.0)
    for cube, above in itertools.permutations(range(len(tree.names)), 2):
        if tree.names[cube].startswith(tree.names[above]):
            assert tree.begin[above] <= tree.begin[cube] < tree.end[cube] <= tree.end[above]
    leaf = tree.depth == tree.depth.max()
    assert np.allclose((tree.end - tree.begin)[leaf], (tree.rows / tree.rows.sum())[leaf])


def test_levels_add_up(linear):
    (tree,) = gather_table(linear).trees
    levels = levels_of(tree)
    assert sum(level.cubes for level in levels) == len(tree.names)
    assert sum(level.rows for level in levels) == 50_000
    assert [list(level.weights) == sorted(level.weights) for level in levels] == [True] * len(levels)


def test_points_are_the_rows_of_a_sample(linear):
    picture = gather_table(linear)
    points, (tree,) = picture.points, picture.trees
    assert points.rows.num_rows == pytest.approx(2_000, rel=0.1)
    for step in range(0, len(FRACTIONS), 6):
        expected = min(points.rows.num_rows, scan(linear).sample(FRACTIONS[step]).to_arrow().num_rows)
        assert (points.first_read <= step).sum() == expected
    for places in points.coordinates(tree.revision):
        assert 0 <= places.min() < 0.1
        assert 0.9 < places.max() <= 1


def test_times_of_points_are_milliseconds_also_where_python_has_none():
    day, moment = 5_000_000, -1
    rows = pa.table(
        {
            "d": pa.array([day, None], pa.date32()),
            "t": pa.array([moment, day * 86_400_000_000], pa.timestamp("us")),
        }
    )
    taken = [SimpleNamespace(coordinate=lambda value: math.nan if value is None else value, borders=list)] * 2
    transformers = [
        SimpleNamespace(column="d", data_type=DATE),
        SimpleNamespace(column="t", data_type=TIMESTAMP),
    ]
    revision = SimpleNamespace(transformers=transformers, transformations=taken)
    places = Points(rows, np.zeros(2, np.uint8)).coordinates(revision)
    assert [repr(each.tolist()) for each in places] == [
        "[432000000000000.0, nan]",
        "[-1.0, 432000000000000.0]",
    ]


@pytest.mark.parametrize("hours", [0, 5, 10, -1, -9, -13])
def test_dates_lie_in_the_cubes_of_the_zone_that_wrote_them(hours):
    """They count as midnights there; those of New York lay five hours left of their cubes, and so did the labels."""
    first, last = (moment + hours * 3_600_000 for moment in (1_704_067_200_000, 1_704_240_000_000))
    revision = Revision(
        1, 0, "", 1_000, (transformer_for("d", "linear", DATE),), (Linear(DATE, first, last, first),)
    )
    days = [dt.date(2024, 1, day) for day in (1, 2, 3)]
    (places,) = Points(pa.table({"d": [*days, None]}), np.zeros(4, np.uint8)).coordinates(revision)
    assert places.tolist() == [0, 0.5, 1, 0]
    (axis,) = tree_axes(revision, {"d": Scale.over(days)})
    assert (axis.ticks.tolist(), axis.labels) == ([0, 0.5, 1], ("2024-01-01", "2024-01-02", "2024-01-03"))


def test_a_missing_file_costs_the_points_only(golden, tmp_path):
    copy = tmp_path / "table"
    shutil.copytree(golden("qbeast/a_linear2d") / "table" / "_delta_log", copy / "_delta_log")
    picture = gather_table(copy)
    assert "missing" in picture.points.problem
    assert len(picture.trees[0].names) == 85


def test_axes_name_the_places_of_values(linear):
    (sides,) = gather_table(linear).axes
    (tree,) = gather_table(linear).trees
    assert [axis.is_ordered for axis in sides] == [True, True]
    for axis, transformation in zip(sides, tree.revision.transformations, strict=True):
        value = float(axis.labels[40].replace(",", ""))
        assert axis.ticks[40] == pytest.approx(transformation.coordinate(value))


@pytest.mark.parametrize(
    ("kind", "low", "extent"),
    [(Datatype.UINT64, 2**63, 10), (Datatype.INT64, -(2**63), 2**20), (Datatype.UINT8, 76, 90)],
)
def test_tiles_of_a_dense_array_at_the_ends_of_a_type(tmp_path, kind, low, extent):
    uri = str(tmp_path)
    x = dimension("x", kind, (low, low + max(99, extent)), extent)
    create_array(uri, ArraySchema((x,), (attribute("v", Datatype.INT32),), dense=True))
    write_dense(uri, pa.table({"v": pa.array(range(95), pa.int32())}), {"x": (low + 5, low + 99)})
    (side,) = gather_array(uri).sides
    assert side.lows[0] == float(low + 5)
    assert side.highs[-1] == float(low + 99)


def test_cells_of_a_dense_array_are_counted_without_padding(tmp_path):
    sides = (dimension("x", Datatype.INT64, (0, 99), 10), dimension("y", Datatype.INT64, (1, 9), 4))
    create_array(str(tmp_path), ArraySchema(sides, (attribute("v", Datatype.INT32),), dense=True))
    write_dense(str(tmp_path), pa.table({"v": pa.array(range(6), pa.int32())}), {"x": (8, 10), "y": (4, 5)})
    picture = gather_array(str(tmp_path))
    assert picture.tiles.rows.tolist() == [2, 2, 1, 1]
    assert picture.fragments[0].cells == 6
    assert tiledb_commands.info(str(tmp_path))["fragments"][0]["cells"] == 6


@pytest.mark.parametrize(
    ("kind", "stored", "first"),
    [
        (Datatype.DATETIME_YEAR, [0, 20_000], "0"),
        (Datatype.DATETIME_DAY, [0, 2_932_907], "0"),
        (Datatype.DATETIME_DAY, [2_932_906, 2_932_916], "2,932,906"),
        (Datatype.DATETIME_MS, [-(2**62), 5], "-4,611,686,018,427,387,904"),
        (Datatype.DATETIME_YEAR, [0, 50], "1970-01-01"),
        (Datatype.DATETIME_NS, [0, 10**18], "1970-01-01"),
        (Datatype.DATETIME_AS, [0, 2**62], "1970-01-01 00:00:00"),
        # The first moments of each unit, pandas.Timestamp.min among them.
        (Datatype.DATETIME_NS, [-(2**63) + 1, 10**18], "1677-09-21"),
        (Datatype.DATETIME_PS, [-(2**63) + 1, 10**18], "1969-09-16"),
        (Datatype.DATETIME_FS, [-(2**63) + 1, 10**18], "1969-12-31 21:26"),
        (Datatype.DATETIME_AS, [-(2**63) + 1, 10**18], "1969-12-31 23:59:50.776627"),
    ],
)
def test_moments_that_python_lacks_are_numbers(tmp_path, kind, stored, first):
    uri = str(tmp_path)
    x = dimension("x", kind, (-(2**63) + 1, 2**63 - 2))
    create_array(uri, ArraySchema((x,), (attribute("v", Datatype.INT32),), capacity=1))
    numbers = pa.array(stored, pa.int64())
    column = (
        numbers.cast(pa.int32()).view(pa.date32())
        if kind is Datatype.DATETIME_DAY
        else numbers.view(kind.arrow())
    )
    write_array(uri, pa.table({"x": column, "v": pa.array([1, 2], pa.int32())}))
    (side,) = gather_array(uri).sides
    assert side.axis.labels[0] == first
    assert side.lows[0] < side.lows[1]


@pytest.mark.parametrize("wrong", [5, [1], "x"])
def test_what_is_no_estimate_is_told(wrong):
    with pytest.raises(InvalidInputError, match=re.escape(f"or what refine gives, not {wrong!r}")):
        answers_of(wrong)


def test_a_single_estimate_is_a_list_of_one(tmp_path):
    """`tolerance` gives one."""
    estimate = scan(indexed_table(tmp_path, pa.table({"id": range(6)}))).tolerance({"mean": ("id", "avg")})
    assert answers_of(estimate) == answers_of([estimate])
    assert answers_of(estimate).series["mean"][0].value == 2.5


def test_an_answer_that_keeps_some_groups_is_followed_from_step_to_step(tmp_path):
    """Its column `sure` changes from step to step, and is no part of a group."""
    table = indexed_table(tmp_path, pa.table({"id": range(6), "group": ["a", "b"] * 3}))
    last = scan(table).tolerance({"mean": ("id", "avg")}, by=["group"], exact=True, having="mean > 1")
    unsure = last.table.drop_columns("sure").append_column("sure", pa.array([False, True]))
    series = answers_of([replace(last, table=unsure), last]).series
    assert {name: len(steps) for name, steps in series.items()} == {
        "mean, group = a": 2,
        "mean, group = b": 2,
    }
    # Without such a choice a column of this name is one of the query's own.
    assert next(iter(answers_of([replace(last, choice=None)]).series)) == "mean, group = a, sure = True"


def test_groups_whose_names_read_alike_are_two_series(tmp_path):
    """NULL and the text None were one, whose bounds jumped between both."""
    rows = {"g": [None, "None", "None", "b"], "h": ["x", "x", "x", "1"], "id": range(4)}
    estimate = scan(indexed_table(tmp_path / "a", pa.table(rows))).tolerance(
        {"n": ("*", "count")}, by=["g", "h"], exact=True
    )
    series = answers_of([estimate, estimate]).series
    assert {name: [each.value for each in steps] for name, steps in series.items()} == {
        "n, g = None, h = 'x'": [1, 1],
        "n, g = 'None', h = 'x'": [2, 2],
        "n, g = 'b', h = '1'": [1, 1],
    }
    rows = {"g": ["1, h = 2", "1", "1"], "h": ["3", "2, h = 3", "2, h = 3"], "id": range(3)}
    estimate = scan(indexed_table(tmp_path / "b", pa.table(rows))).tolerance(
        {"n": ("*", "count")}, by=["g", "h"], exact=True
    )
    series = answers_of([estimate]).series
    assert series["n, g = '1, h = 2', h = '3'"][0].value == 1
    assert series["n, g = '1', h = '2, h = 3'"][0].value == 2


def test_an_answer_of_days_that_python_lacks(tmp_path):
    days = pa.array(range(3_000_000, 3_000_040), pa.int32()).view(pa.date32())
    table = indexed_table(tmp_path, pa.table({"id": range(40), "day": days}))
    asked = {"last": ("day", "max"), "rows": ("*", "count")}
    estimate = scan(table).tolerance(asked, by=["id"], exact=True)
    series = answers_of([estimate]).series
    assert [each.value for each in series["rows, id = 3"]] == [1.0]
    assert [each.value for each in series["last, id = 3"]] == [None]


def without_statistics(path, *, tags=True):
    """20,000 rows each in two files of which the log has no statistics; without tags they are of no index."""
    rows = [pa.table({"id": pa.array(range(start, start + 20_000), pa.int64())}) for start in (0, 20_000)]
    adds = [indexed_add(path / f"{number}.parquet", part) for number, part in enumerate(rows)]
    for add in adds:
        add["add"].pop("stats")
        if not tags:
            add["add"].pop("tags")
    commit(path, 0, PROTOCOL, metadata(fields_of(rows[0].schema)), *adds)
    return path


def test_rows_of_files_without_statistics_are_those_of_their_blocks(tmp_path):
    """A page that takes them for none shows the indexed values of all rows."""
    picture = gather_table(without_statistics(tmp_path))
    assert picture.points.problem == ""
    assert picture.points.rows.num_rows == pytest.approx(2_000, rel=0.1)
    assert picture.files.rows.tolist() == [20_000, 20_000]
    assert [version.rows for version in picture.history] == [40_000]


def test_where_the_log_counts_no_rows_there_are_no_points(tmp_path):
    points = gather_table(without_statistics(tmp_path, tags=False)).points
    assert points.rows.num_rows == 0
    assert "does not say how many rows are in 0.parquet" in points.problem


@pytest.mark.parametrize(
    ("kind", "column", "half"),
    [
        (Datatype.INT64, pa.array([1, 5], pa.int64()), 0.5),
        (Datatype.FLOAT64, pa.array([1.0, 5.0]), 0.0),
        (Datatype.DATETIME_DAY, pa.array([1, 5], pa.int32()).view(pa.date32()), 43_200.0),
        (Datatype.DATETIME_YEAR, pa.array([1, 5], pa.int64()), 15_778_476.0),
        (Datatype.DATETIME_NS, pa.array([1_000, 5_000], pa.int64()).view(pa.timestamp("ns")), 5e-10),
        (Datatype.STRING_ASCII, pa.array(["a", "b"]), 0.5),
    ],
)
def test_half_of_what_a_cell_takes_on_its_axis(tmp_path, kind, column, half):
    """A tile of one cell is not drawn as nothing."""
    uri = str(tmp_path)
    x = dimension("x", kind) if kind is Datatype.STRING_ASCII else dimension("x", kind, (0, 10_000))
    create_array(uri, ArraySchema((x,), (attribute("v", Datatype.INT32),), capacity=1))
    write_array(uri, pa.table({"x": column, "v": pa.array([1, 2], pa.int32())}))
    (side,) = gather_array(uri).sides
    assert side.half_cell == half
    assert (side.lows == side.highs).all()
