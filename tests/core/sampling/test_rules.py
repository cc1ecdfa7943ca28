"""What decides which files and weights a sample takes; `tests/scanning/test_with_spark.py` asks the bridge too."""

import random

import numpy as np
import pytest

from pyqbeast.core.errors import UnsupportedError
from pyqbeast.core.format.constants import (
    CHOSEN_BY_WEIGHT,
    DELETED_BY_WEIGHT,
    MIXED_BY_WEIGHT,
    TAG_KEY_ROWS,
    TAG_MAX_ROW_WEIGHT,
    TAG_WEIGHTS,
    WEIGHT_MAX,
    WEIGHT_MIN,
)
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block, blocks_to_json, has_copies
from pyqbeast.core.format.key_frequency import KeyFrequency
from pyqbeast.core.format.logged_file import LoggedFile
from pyqbeast.core.format.weight import weight_of
from pyqbeast.core.format.weight_counts import count_weights, weights_tag
from pyqbeast.core.sampling.replicated_cubes import ReplicatedCubes
from pyqbeast.core.sampling.weight_profile import WeightProfile
from pyqbeast.core.sampling.weight_scale import WeightScale

ROOT, CHILD = CubeId(1), CubeId(1, (0,))
TAG_OF_BLOCK = blocks_to_json([Block(ROOT, WEIGHT_MIN, WEIGHT_MAX, 30_000)])
KEYS = {TAG_KEY_ROWS: '{"write":"w","rows":1}'}


def file(*blocks, rows=None, deleted=0, revision=1, path="a", **tags):
    return LoggedFile(path, 1, rows, deleted, {**KEYS, **tags}, revision, blocks)


def replicated(files, configuration=None):
    return ReplicatedCubes.among(files, configuration or {})


def counted(weights, deleted=0, key_rows=1, write="w"):
    block = Block(ROOT, int(weights.min()), int(weights.max()), len(weights))
    tags = {TAG_WEIGHTS: weights_tag(count_weights(weights)), TAG_MAX_ROW_WEIGHT: str(weights.max())}
    tags |= {TAG_KEY_ROWS: KeyFrequency(write, key_rows).to_tag()}
    return file(block, rows=len(weights), deleted=deleted, **tags)


def even(count, top=1.0):
    return weight_of(np.linspace(0, top, count, endpoint=False))


def test_rows_spread_evenly_are_sampled_by_the_share_of_weights():
    profile = WeightProfile([counted(even(5_000)), counted(even(5_000))], {1}, {})
    assert not profile.is_uneven
    assert profile.problem is None
    assert profile.weight_of(0.25) == weight_of(0.25)


def test_rows_chosen_by_weight_are_sampled_by_their_counts():
    light = even(10_000, top=0.2)
    profile = WeightProfile([counted(light)], {1}, {})
    assert profile.is_uneven
    for fraction in (0.1, 0.5, 0.9):
        assert (light < profile.weight_of(fraction)).mean() == pytest.approx(fraction, abs=0.01)
    assert profile.weight_of(0) == light.min()


def test_a_key_of_a_stored_sample_is_as_light_as_any_other_however_many_rows_it_has():
    """More than a third of the rows are those of sixty keys, many of which happen to be light."""
    light = even(10_000, top=0.5)
    rows = np.ones(len(light), int)
    rows[np.append(np.arange(0, 1_000, 50), np.arange(1_000, 10_000, 225))] = 100
    profile = WeightProfile([counted(np.repeat(light, rows), key_rows=100)], {1}, {})
    assert profile.is_uneven
    assert profile.problem is None
    stop = profile.scale.threshold(0.1)
    assert profile.scale.share(stop) == pytest.approx(np.mean(light < stop), rel=1e-3)
    assert np.average(light < stop, weights=rows) > 0.18
    assert WeightProfile([counted(even(10_000))], {1}, {}).scale == WeightScale()


def test_without_counts_nobody_knows_how_chosen_rows_are_spread():
    light, unknown = counted(even(10_000, top=0.2)), file(rows=10, revision=0)
    assert "chosen by the hash" in WeightProfile([light, unknown], {1}, {}).problem
    assert (
        "chosen by the hash"
        in WeightProfile([counted(even(9_000), deleted=1)], {1}, {CHOSEN_BY_WEIGHT: ""}).problem
    )
    assert "deleted by the hash" in WeightProfile([unknown], {1}, {DELETED_BY_WEIGHT: ""}).problem
    assert WeightProfile([unknown, counted(even(9_000))], {1}, {}).problem is None
    # The counts of a revision whose columns changed say nothing of today's weights.
    assert not WeightProfile([counted(even(10_000, top=0.2))], set(), {}).is_uneven


def test_light_rows_among_others_stand_for_no_fraction():
    beside = [counted(even(10_000)), counted(even(1_000, top=0.1))]
    assert "and others were not" in WeightProfile(beside, {1}, {}).problem
    few = [counted(even(10_000)), counted(even(20, top=0.01))]
    assert WeightProfile(few, {1}, {}).problem is None
    assert "and others were not" in WeightProfile(few, {1}, {MIXED_BY_WEIGHT: "true"}).problem
    heavy = [counted(even(10_000, top=0.9)), counted(even(10_000, top=0.9))]
    assert WeightProfile(heavy, {1}, {}).problem is None


def test_keys_that_come_once_in_each_write_were_not_chosen():
    """Such as devices that send one reading a day: 50 times as many rows are no more evenly spread than the keys."""
    keys = np.random.default_rng(1).integers(WEIGHT_MIN, WEIGHT_MAX, 1_000)
    days = [counted(keys, write=f"w{n}") for n in range(50)]
    profile = WeightProfile(days, {1}, {})
    assert profile.is_uneven
    assert (profile.problem, profile.key_granularity) == (None, 1 / 1_000)
    assert profile.scale == WeightScale(int(keys.min()), int(keys.max()) + 1)
    assert (keys < profile.weight_of(0.1)).mean() == pytest.approx(0.1, abs=0.01)
    assert WeightProfile([counted(keys, deleted=5), *days[1:]], {1}, {}).problem is None
    stored = [counted(even(1_000, top=0.5), write=f"w{n}") for n in range(50)]
    assert "and others were not" in WeightProfile([*days, *stored], {1}, {}).problem
    assert WeightProfile(stored, {1}, {}).scale != WeightScale()
    few = [counted(keys[:3], write=f"w{n}") for n in range(50)]
    assert "or few keys come again" in WeightProfile(few, {1}, {}).problem
    # Of writes of a few rows each it is found as well.
    small = [counted(even(10, top=0.5), write=f"w{n}") for n in range(50)]
    assert WeightProfile(small, {1}, {}).scale != WeightScale()
    # A large part of the table may be taken for such keys. Its own scale and granularity are right all the same.
    spread = even(3_650, top=0.9)
    most = WeightProfile([counted(spread[n::365], write=f"w{n}") for n in range(365)], {1}, {})
    assert (most.problem, most.key_granularity) == (None, 0.01)
    assert most.scale != WeightScale()


def test_blocks_alone_can_show_that_rows_were_chosen():
    light = Block(ROOT, WEIGHT_MIN, weight_of(0.2), 10_000)
    blocks = file(light, rows=10_000, **{TAG_MAX_ROW_WEIGHT: str(weight_of(0.2))})
    assert WeightProfile([blocks], {1}, {}).is_uneven
    # What a cube keeps is no bound of rows.
    assert not WeightProfile([file(light, rows=10_000)], {1}, {}).is_uneven
    heavy = file(Block(ROOT, weight_of(0.8), WEIGHT_MAX, 10_000), rows=10_000)
    assert WeightProfile([heavy], {1}, {}).is_uneven
    assert not WeightProfile([blocks, file(rows=90_000, revision=0)], {1}, {}).is_uneven


def test_an_empty_table_is_sampled_like_any_other():
    assert WeightProfile([], set(), {}).weight_of(0.5) == weight_of(0.5)


def test_granularity_is_the_sum_over_writes():
    files = [file(rows=50, **{TAG_KEY_ROWS: f'{{"write":"{w}","rows":{n}}}'}) for w, n in ("a3", "a5", "b2")]
    assert WeightProfile(files, {1}, {}).key_granularity == (4 + 1) / 150
    assert WeightProfile([file(rows=1)], {1}, {}).key_granularity == 0
    assert WeightProfile([], {1}, {}).key_granularity == 0


def test_a_key_that_comes_once_in_each_write_is_not_seen():
    """A table of distinct keys has such writes too."""
    files = [file(rows=1, **{TAG_KEY_ROWS: KeyFrequency(f"w{n}", 1).to_tag()}) for n in range(50)]
    assert WeightProfile(files, {1}, {}).key_granularity == 0


def test_granularity_of_files_without_statistics_is_that_of_their_counts():
    tags = {TAG_KEY_ROWS: '{"write":"w","rows":251}', TAG_WEIGHTS: weights_tag(count_weights(even(1_000)))}
    assert WeightProfile([file(rows=None, **tags)], {1}, {}).key_granularity == 0.25


def test_granularity_of_files_without_statistics_is_that_of_their_blocks():
    """Files of versions 0.2 to 0.5 of the Scala project have none."""
    old = file(Block(ROOT, WEIGHT_MIN, WEIGHT_MAX, 30_000), rows=None)
    profile = WeightProfile([old, counted(even(1_000), key_rows=20)], {1}, {})
    assert profile.key_granularity == 19 / 31_000
    lost = old._replace(blocks=(), revision_id=0, tags={**old.tags, "revision": "7", "blocks": TAG_OF_BLOCK})
    assert WeightProfile([lost, counted(even(1_000), key_rows=20)], {1}, {}).key_granularity == 19 / 31_000


def test_rows_beside_light_ones_count_though_only_blocks_tell_of_them():
    """As after `optimize` of the light files of an older release, which counts the rows of these alone by weight."""
    old = file(Block(CHILD, weight_of(0.1), WEIGHT_MAX, 9_000), rows=None)
    profile = WeightProfile([old, counted(even(1_000, top=0.1))], {1}, {})
    assert not profile.is_uneven
    assert profile.problem is None


def test_deleted_rows_need_not_be_of_the_most_frequent_key():
    tags = {TAG_KEY_ROWS: '{"write":"w","rows":251}'}
    assert WeightProfile([file(rows=10_000, deleted=9_000, **tags)], {1}, {}).key_granularity == 0.25


def test_keys_that_were_counted_by_another_hash_are_not_believed():
    """A field of a struct told them apart that is gone. Where keys are large, few of them need not be spread evenly."""
    few = counted(even(1_000, top=0.9))
    assert WeightProfile([few, file(rows=1, revision=1)], {1}, {}).is_uneven
    assert not WeightProfile([few, file(rows=1, revision=2)], {1}, {}).is_uneven


MARKED = Block(ROOT, -100, 100, 10, replicated=True)


def test_a_cube_is_replicated_where_its_rows_are_seen_below():
    copied = file(MARKED, path="copied")
    below = file(Block(CHILD, -100, 500, 10), path="below")
    cubes = replicated([copied, below])
    assert cubes.files_to_read([copied, below]) == [below]
    assert cubes.true_blocks(copied)[0].replicated
    mixed = file(MARKED, Block(CHILD, 0, 1, 1), path="mixed")
    with pytest.raises(UnsupportedError, match="mixed holds replicated blocks beside others"):
        cubes.files_to_read([mixed])


@pytest.mark.parametrize("below", [Block(CHILD, -99, 500, 10), Block(CHILD, -100, 500, 9)])
def test_a_mark_is_not_believed_where_rows_are_not_seen(below):
    files = [file(MARKED, path="marked"), file(below, path="below")]
    cubes = replicated(files)
    assert cubes.files_to_read(files) == files
    assert not cubes.true_blocks(files[0])[0].replicated


def test_copies_may_be_heavier_than_what_the_cube_keeps():
    """Versions 0.3 to 0.5 of the Scala project joined the blocks of a cube and stored the smallest of their weights."""
    below = [file(Block(CHILD, -100, 500, 9)), file(Block(CubeId(1, (1,)), 101, 500, 1))]
    assert replicated([file(MARKED), *below]).copied
    assert not replicated([file(MARKED, **{TAG_MAX_ROW_WEIGHT: "100"}), *below]).copied


def test_files_without_an_index_may_hold_the_copies():
    with pytest.raises(UnsupportedError, match="marked is marked as replicated"):
        replicated([file(MARKED, path="marked"), file(rows=10, revision=0)])
    assert not replicated([file(MARKED), file(rows=9, revision=0)]).copied


GRANDCHILD = CubeId(1, (0, 0))


def test_a_block_without_rows_is_no_copy():
    """It closes a gap, so that it begins like a block below it. The rows of its file are nowhere else."""
    closing, rows = Block(ROOT, -100, -100, 0, replicated=True), Block(CHILD, -100, 500, 10, replicated=True)
    files = [file(closing, rows, rows=10), file(Block(GRANDCHILD, 600, 700, 20), path="below")]
    cubes = replicated(files)
    assert cubes.files_to_read(files) == files
    assert not has_copies(cubes.true_blocks(files[0]))


def test_each_mark_of_a_file_is_judged_by_itself():
    both = file(MARKED, Block(CHILD, -99, 500, 10, replicated=True), path="both")
    cubes = replicated([both, file(Block(GRANDCHILD, -100, 600, 10), path="below")])
    assert [block.replicated for block in cubes.true_blocks(both)] == [True, False]
    assert not cubes.is_falsely_marked(both)


def test_deleted_rows_leave_a_mark_to_doubt():
    """A deletion may take the file away that showed a copy; an update writes the copies into files without an index."""
    copied, below = file(MARKED, rows=10, deleted=4, path="copied"), file(Block(CHILD, -100, 500, 10))
    shown, hidden = [copied, below], [copied, file(Block(CHILD, -99, 500, 6))]
    assert replicated(shown).files_to_read(shown) == [below]
    for files in (hidden, [*shown, file(rows=1, revision=0)]):
        with pytest.raises(UnsupportedError, match="copied is marked as replicated"):
            replicated(files)
    too_few = [copied, file(Block(CHILD, -100, 500, 5))]
    assert replicated(too_few).files_to_read(too_few) == too_few


LISTED = {"qbeast.replicatedSet.1": '[""]'}


def test_rows_without_an_index_may_be_those_of_a_copied_cube_that_has_no_file_left():
    """Another writer takes the marks of the files that it writes anew, and the cubes that were copied stay listed."""
    indexed, anew = file(Block(CHILD, -100, 500, 10)), file(rows=9, revision=0, path="anew")
    with pytest.raises(UnsupportedError, match=r"file anew.*UNSET.*qbeast\.replicatedSet\.1.*RESTORE"):
        replicated([indexed, anew], LISTED)
    assert not replicated([indexed], LISTED).copied
    marked = file(MARKED, rows=10)
    assert replicated([marked, indexed, anew], LISTED).copied
    # A cube was copied only after the one above it.
    below = [file(MARKED._replace(cube=CHILD)), file(Block(GRANDCHILD, -100, 500, 10))]
    assert replicated(below).copied
    with pytest.raises(UnsupportedError, match="file anew"):
        replicated([*below, anew])


@pytest.mark.parametrize("text", ["", "{", '{"a": 1}', "[1, null]", '"A"'])
def test_a_list_of_copied_cubes_that_cannot_be_read_says_nothing(text):
    assert not replicated([file(rows=9, revision=0)], {"qbeast.replicatedSet.1": text}).copied
    assert not replicated([file(rows=9, revision=0)], {"qbeast.replicatedSet.x": '[""]'}).copied


def test_copies_of_copies():
    files = [
        file(MARKED),
        file(Block(CHILD, -100, 500, 12, replicated=True)),
        file(Block(GRANDCHILD, -100, 600, 20)),
    ]
    random.Random(1).shuffle(files)
    cubes = replicated(files)
    assert [each.blocks[0].cube for each in cubes.files_to_read(files)] == [GRANDCHILD]


def of_lost_revision(number, block, path):
    """A file of a revision that the table does not have: nothing but its tags tells of its blocks."""
    tags = {"revision": str(number), "blocks": blocks_to_json([block])}
    return LoggedFile(path, 1, block.element_count, 0, tags, 0, (), "no such revision")


def test_copies_outlive_their_revision():
    below = Block(CHILD, -100, 500, 10)
    files = [of_lost_revision(7, MARKED, "copied"), of_lost_revision(7, below, "below")]
    assert replicated(files).files_to_read(files) == files[1:]
    false = [files[0], of_lost_revision(7, below._replace(min_weight=-99), "below")]
    assert replicated(false).files_to_read(false) == false


def test_a_file_of_another_revision_that_is_lost_may_hold_the_copies():
    other = of_lost_revision(9, Block(CHILD, -100, 500, 10), "other")
    with pytest.raises(UnsupportedError, match="marked is marked as replicated"):
        replicated([file(MARKED, path="marked"), other])
