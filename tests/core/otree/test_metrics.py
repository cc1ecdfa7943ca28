"""Figures of an index: the arithmetic of each, and the two forms in which they are shown."""

from __future__ import annotations

import json

import pytest

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.constants import WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block
from pyqbeast.core.format.logged_file import LoggedFile
from pyqbeast.core.format.weight import weight_of
from pyqbeast.core.otree.measure import SAMPLED, index_metrics, min_height
from pyqbeast.core.otree.size_stats import SizeStats
from pyqbeast.core.revisions.revision import Revision
from tests.core.otree.examples import REVISION

TENTH = weight_of(0.1)


def cube(*path):
    return CubeId(2, path)


def file(name, size, *blocks, revision_id=1, rows=None, deleted=0):
    return LoggedFile(name, size, rows, deleted, {}, revision_id, blocks)


def metrics_of(revision, files, *, is_prunable=True, key_granularity=0.0, bound_of=weight_of):
    return index_metrics(
        revision, files, is_prunable=is_prunable, key_granularity=key_granularity, bound_of=bound_of
    )


#: A root cut at a tenth of the weights into two files, and two of its children in a third one.
ROOT_1 = file("root 1", 100, Block(cube(), WEIGHT_MIN, TENTH, 60))
ROOT_2 = file("root 2", 200, Block(cube(), weight_of(0.05), TENTH, 40), deleted=7)
CHILDREN = file(
    "children", 700, Block(cube(0), TENTH, WEIGHT_MAX, 30), Block(cube(3), weight_of(0.5), WEIGHT_MAX, 20)
)
INDEXED = [ROOT_1, ROOT_2, CHILDREN]


def test_equal_figures_have_one_hash():
    one, another = (metrics_of(REVISION, INDEXED) for _ in range(2))
    assert one == another
    assert hash(one) == hash(another)


def test_more_deleted_rows_than_there_are():
    with pytest.raises(FormatError, match=r"root 2: .*41 of its rows are deleted, and that it has 40"):
        metrics_of(REVISION, [ROOT_1, ROOT_2._replace(deleted=41), CHILDREN])


def test_size_stats_of_nothing():
    assert SizeStats.of([]) == SizeStats(0, 0, 0, (0, 0, 0, 0, 0))


def test_size_stats_of_one_number():
    assert SizeStats.of([5]) == SizeStats(1, 5, 0, (5, 5, 5, 5, 5))


def test_mean_and_deviation_are_cut_to_whole_numbers():
    # Mean 3.75; squares of the distances add up to 32.75, by 3 is 10.92, the root of which is 3.3.
    assert SizeStats.of([9, 1, 2, 3]) == SizeStats(4, 3, 3, (1, 1, 2, 3, 9))


@pytest.mark.parametrize(
    ("count", "quartiles"),
    [(2, (1, 1, 1, 2, 2)), (5, (1, 2, 3, 4, 5)), (8, (1, 2, 4, 6, 8)), (100, (1, 25, 50, 75, 100))],
)
def test_quartiles_are_numbers_that_occur(count, quartiles):
    assert SizeStats.of(range(count, 0, -1)).quartiles == quartiles


def test_numbers_beyond_64_bits():
    """A damaged log may count so many rows in each of several files."""
    found = SizeStats.of([2**63 - 1, 2**63 - 1, 2**64])
    assert (found.quartiles[0], found.quartiles[-1]) == (2**63 - 1, 2**64)
    assert found.avg == pytest.approx(2**65 / 3)
    whole = CubeId(2, (0,))
    files = [file(name, 1, Block(whole, 0, 1, 2**63 - 1)) for name in ("a", "b", "c")]
    metrics = metrics_of(REVISION, files)
    assert metrics.element_count == 3 * (2**63 - 1)
    assert metrics.leaf_levels[0].cube_element_count.quartiles[0] == 3 * (2**63 - 1)


def test_size_stats_as_text():
    assert str(SizeStats.of([1, 2])) == "(count: 2, avg: 1, stddev: 0, quartiles: [1,1,1,2,2])"


@pytest.mark.parametrize(
    ("rows", "height"),
    [(0, 0), (1, 1), (100, 1), (101, 2), (500, 2), (501, 3), (600, 3), (2100, 3), (2101, 4)],
)
def test_least_height_of_quadtrees_with_a_hundred_rows_a_cube(rows, height):
    assert min_height(rows, 100, 2) == height


def test_counts_and_shape_of_the_tree():
    found = metrics_of(REVISION, INDEXED)
    assert (found.revision_id, found.element_count, found.desired_cube_size) == (1, 150, 100)
    assert found.indexing_columns == "a:linear,b:linear"
    assert (found.cube_count, found.block_count, found.file_count, found.bytes) == (3, 4, 3, 1000)
    assert (found.height, found.min_height) == (2, 2)
    assert (found.avg_fanout, found.theoretical_fanout) == (2.0, 4.0)
    assert found.deleted_rows == 7
    assert found.cube_element_count_stats == SizeStats.of([100, 30, 20])
    assert found.block_element_count_stats == SizeStats.of([60, 40, 30, 20])
    assert found.file_bytes_stats == SizeStats.of([100, 200, 700])
    assert found.block_count_per_cube_stats == SizeStats.of([2, 1, 1])
    assert found.block_count_per_file_stats == SizeStats.of([1, 1, 2])
    assert found.file_count_per_cube_stats == SizeStats.of([2, 1, 1])


def test_the_fanout_is_cut_to_two_decimals():
    """Five children of three inner cubes: 1.666…"""
    tree = [cube(), cube(0), cube(1), cube(2), cube(0, 0), cube(1, 1)]
    files = [file(str(each), 1, Block(each, 0, 1, 1)) for each in tree]
    assert metrics_of(REVISION, files).avg_fanout == 1.66


def test_a_file_with_two_blocks_of_a_cube_counts_once():
    twice = file("twice", 1, Block(cube(), 0, 1, 1), Block(cube(), 2, 3, 1))
    assert metrics_of(REVISION, [twice]).file_count_per_cube_stats == SizeStats.of([1])


def test_levels_tell_inner_cubes_from_leaves():
    found = metrics_of(REVISION, INDEXED)
    (root,) = found.inner_levels
    assert (root.depth, root.cube_count, root.block_count) == (0, 1, 2)
    assert root.avg_weight == pytest.approx(0.1)
    (leaves,) = found.leaf_levels
    assert (leaves.depth, leaves.cube_count, leaves.block_count) == (1, 2, 2)
    assert leaves.cube_element_count == SizeStats.of([30, 20])
    assert leaves.avg_weight == 1.0
    assert found.inner_cube_element_count_stats == SizeStats.of([100])
    assert found.inner_block_element_count_stats == SizeStats.of([60, 40])
    assert (
        found.leaf_cube_element_count_stats == found.leaf_block_element_count_stats == SizeStats.of([20, 30])
    )


def test_a_sample_opens_the_files_that_hold_lighter_rows():
    """The root's first file always, its second above 5 percent, that of the children above 10."""
    assert metrics_of(REVISION, INDEXED).read_shares == {0.001: 0.1, 0.01: 0.1, 0.1: 0.3, 0.3: 1.0}
    assert SAMPLED == (0.001, 0.01, 0.1, 0.3)


def test_what_a_sample_reads_by_what_it_needs():
    """A tenth of the bytes for a thousandth of the rows is a hundred times too much."""
    found = metrics_of(REVISION, INDEXED)
    assert found.read_amplification == pytest.approx({0.001: 100, 0.01: 10, 0.1: 3, 0.3: 1 / 0.3})
    assert metrics_of(REVISION, []).read_amplification == dict.fromkeys(SAMPLED, 0.0)


def test_samples_that_cannot_skip_files_read_them_all():
    found = metrics_of(REVISION, INDEXED, is_prunable=False)
    assert found.read_shares == dict.fromkeys(SAMPLED, 1.0)
    assert found.read_amplification[0.01] == 100


def test_what_no_index_holds_is_measured_against_the_whole_table():
    plain = [file("new", 900, revision_id=0, rows=50), file("old", 100, revision_id=0, rows=4)]
    found = metrics_of(REVISION, INDEXED + plain)
    assert (found.unindexed_files, found.unindexed_bytes, found.unindexed_rows) == (2, 1000, 54)
    assert found.unindexed_share == 0.5
    assert found.read_shares[0.01] == 0.1
    unknown = metrics_of(REVISION, [*INDEXED, *plain, file("no statistics", 1, revision_id=0)])
    assert unknown.unindexed_rows is None


def test_revision_0_is_what_no_index_holds():
    """As in the Scala project every such file is a root of which the rows are not counted."""
    staging = Revision.staging("/t", 100, ["a", "b"], 0)
    plain = [file("x", 300, revision_id=0, rows=5, deleted=2), file("y", 100, revision_id=0)]
    found = metrics_of(staging, [*INDEXED, *plain])
    assert (found.element_count, found.cube_count, found.block_count, found.file_count, found.bytes) == (
        0,
        1,
        2,
        2,
        400,
    )
    assert (found.height, found.min_height, found.avg_fanout) == (1, 0, 0.0)
    assert (found.deleted_rows, found.files_with_vectors, found.live_rows) == (2, 1, 0)
    assert found.indexing_columns == "a:empty,b:empty"
    assert [(level.depth, level.cube_count, level.block_count) for level in found.leaf_levels] == [(0, 1, 2)]
    assert found.read_shares[0.001] == 1.0


def test_files_of_other_revisions_count_for_the_table_only():
    other = file("other", 500, Block(cube(1), 0, 1, 999), revision_id=2)
    plain = file("plain", 500, revision_id=0)
    found = metrics_of(REVISION, [*INDEXED, other, plain])
    assert (found.element_count, found.bytes, found.file_count) == (150, 1000, 3)
    assert found.unindexed_share == 0.25


def test_a_table_without_files():
    found = metrics_of(REVISION, [])
    assert (found.element_count, found.cube_count, found.bytes, found.min_height) == (0, 0, 0, 0)
    assert found.read_shares == dict.fromkeys(SAMPLED, 0.0)
    assert found.unindexed_share == 0.0
    assert "elementCount: 0" in str(found)


def test_the_figures_as_json():
    figures = metrics_of(REVISION, INDEXED).to_dict()
    told = json.loads(json.dumps(figures, allow_nan=False))
    assert figures["read_shares"] == told["read_shares"]
    assert told["element_count"] == 150
    assert told["read_shares"] == {"0.001": 0.1, "0.01": 0.1, "0.1": 0.3, "0.3": 1.0}
    assert told["read_amplification"]["0.01"] == 10
    assert told["file_bytes_stats"] == {
        "count": 3, "avg": 333, "stddev": 321, "quartiles": [100, 100, 200, 700, 700],
    }  # fmt: skip
    assert [level["depth"] for level in told["leaf_levels"]] == [1]


def test_the_figures_as_text():
    text = str(metrics_of(REVISION, [*INDEXED, file("plain", 1000, revision_id=0)]))
    assert text.splitlines()[:12] == [
        "OTree Index Metrics:",
        "revisionId: 1",
        "elementCount: 150",
        "dimensionCount: 2",
        "desiredCubeSize: 100",
        "indexingColumns: a:linear,b:linear",
        "height: 2 (2)",
        "avgFanout: 2.0 (4.0)",
        "cubeCount: 3",
        "blockCount: 4",
        "fileCount: 3",
        "bytes: 1000",
    ]
    assert "cubeElementCountStats: (count: 3, avg: 50, stddev: 43, quartiles: [20,20,30,100,100])" in text
    assert "    1.0%    10.00%           10.0" in text.splitlines()
    assert "unindexed: 1 files, 1000 bytes (50.00%)" in text.splitlines()


def test_the_figures_of_the_whole_table():
    """Those of a revision do not tell that there are others."""
    other = file("other", 500, Block(cube(), WEIGHT_MIN, WEIGHT_MAX, 70), revision_id=2)
    found = metrics_of(REVISION, [*INDEXED, other])
    assert (found.file_count, found.bytes, found.live_rows) == (3, 1000, 143)
    assert (found.table_revisions, found.table_files, found.table_bytes) == ((1, 2), 4, 1500)
    assert found.table_rows == 213
    page = str(found)
    assert "The whole table:\nrevisions: 1, 2\nrows: 213\nfiles: 4\nbytes: 1500\nunindexed: 0 files" in page
    assert "213 rows in 4 files, 1,500 bytes, revisions 1, 2" in found._repr_html_()

    uncounted = metrics_of(REVISION, [other, file("plain", 500, revision_id=0)])
    assert (uncounted.table_rows, uncounted.table_revisions) == (None, (0, 2))
    assert "rows: unknown" in str(uncounted)
    assert "an unknown number of rows in 2 files" in uncounted._repr_html_()
