"""Blocks: the published tag, older tags, and files whose tags cannot be understood."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.core.format.constants import TAG_MAX_ROW_WEIGHT, WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import (
    Block,
    FileTags,
    Mark,
    blocks_to_json,
    indexed_files,
    mark_of,
    parse_tags,
    weight_bounds,
)
from tests.core.strategies import cubes

ROOT = CubeId.root(2)
TWO = (
    Block(ROOT, -2146691226, 0, 956),
    Block(CubeId.from_string("Q", 2), 443070, 2147483647, 506),
)
TAG = (
    '[{"cubeId":"","minWeight":-2146691226,"maxWeight":0,"elementCount":956},'
    '{"cubeId":"Q","minWeight":443070,"maxWeight":2147483647,"elementCount":506}]'
)


def dimensions_of(revision_id):
    return {1: 2, 7: 3}.get(revision_id)


def parse(blocks, revision="1"):
    return parse_tags({"revision": revision, "blocks": blocks}, dimensions_of)


def test_the_published_tag():
    assert parse(TAG) == FileTags(1, TWO, None)


def test_the_files_of_each_revision():
    """Those without an index are of none."""
    files = [SimpleNamespace(tags=FileTags(number, ()), at=at) for at, number in enumerate([7, 0, 1, 7])]
    assert [(number, [file.at for file in own]) for number, own in indexed_files(files).items()] == [
        (1, [2]),
        (7, [0, 3]),
    ]


def test_blocks_are_written_with_replicated_last():
    text = '[{"cubeId":"","minWeight":-2146691226,"maxWeight":0,"elementCount":956,"replicated":false}]'
    assert blocks_to_json(TWO[:1]) == text


def test_the_other_name_of_the_cube_and_the_flag_are_read():
    text = '[{"replicated":true,"elementCount":3,"cube":"Q","minWeight":1,"maxWeight":2}]'
    assert parse(text).blocks == (Block(CubeId.from_string("Q", 2), 1, 2, 3, replicated=True),)


@pytest.mark.parametrize(
    ("state", "replicated"), [("FLOODED", False), ("ANNOUNCED", True), ("REPLICATED", True)]
)
def test_tags_of_older_releases(state, replicated):
    tags = {
        "state": state,
        "cube": "wgQ",
        "revision": "1",
        "elementCount": "140",
        "minWeight": "872490489",
        "maxWeight": "2147483647",
    }
    cube = CubeId.from_string("wgQ", 2)
    assert parse_tags(tags, dimensions_of) == FileTags(
        1, (Block(cube, 872490489, 2147483647, 140, replicated),), None
    )
    for name in ("minWeight", "state"):
        assert name in parse_tags({key: tags[key] for key in tags if key != name}, dimensions_of).problem
    for other in (state[:-1], state.lower(), ""):
        damaged = {**tags, "state": other}
        assert "REPLICATED" in parse_tags(damaged, dimensions_of).problem
        assert mark_of(damaged) is Mark.UNKNOWN


@pytest.mark.parametrize("tags", [None, {}, {"revision": "0"}, {"INSERTION_TIME": "1"}])
def test_files_that_are_not_indexed_are_no_problem(tags):
    assert parse_tags(tags, dimensions_of) == FileTags(0, (), None)


def test_a_file_without_blocks_is_one_root_block():
    assert parse_tags({"revision": "7"}, dimensions_of).blocks == (
        Block(CubeId.root(3), WEIGHT_MIN, WEIGHT_MAX, 0),
    )


@pytest.mark.parametrize(
    ("revision", "blocks"),
    [
        ("2", TAG),
        ("one", TAG),
        ("1", TAG[:-5]),
        ("1", "{}"),
        ("1", "[]"),
        ("1", "[7]"),
        ("1", "null"),
        ("1", TAG.replace('"Q"', '"*"')),
        ("1", TAG.replace('"Q"', "null")),
        ("1", TAG.replace("506", '"506"')),
        ("1", TAG.replace("506", "true")),
        ("1", TAG.replace("506", "-1")),
        ("1", TAG.replace("2147483647", "2147483648")),
        ("1", TAG.replace("443070", "2147483647").replace('2147483647,"el', '5,"el')),
        ("1", TAG.replace('"minWeight":443070,', "")),
    ],
)
def test_a_file_with_broken_tags_counts_as_not_indexed(revision, blocks):
    revision_id, found, problem = parse(blocks, revision)
    assert (revision_id, found) == (0, ())
    assert "cannot be used" in problem


weights = st.tuples(st.integers(WEIGHT_MIN, WEIGHT_MAX), st.integers(WEIGHT_MIN, WEIGHT_MAX)).map(sorted)


@pytest.mark.slow
@given(st.lists(st.tuples(cubes(dimensions=2), weights, st.integers(0, 2**40), st.booleans()), min_size=1))
def test_what_is_written_reads_back(parts):
    blocks = [Block(cube, low, high, count, flag) for cube, (low, high), count, flag in parts]
    text = blocks_to_json(blocks)
    assert parse(text) == FileTags(1, tuple(blocks), None)
    assert list(json.loads(text)[0]) == ["cubeId", "minWeight", "maxWeight", "elementCount", "replicated"]


@pytest.mark.parametrize(
    "change",
    [
        ("", ""),
        ("]", " ]"),
        ("]", ",]"),
        ("]", "]]"),
        ("[", "[["),
        ("},", "}]"),
        ("956", "0956"),
        ("956", "9" * 19),
        ("0,", "-0,"),
        ("-2146691226", "-21466912260"),
        ("443070", "443070.0"),
        ('"Q"', '"\\u0051"'),
        ('"Q"', '"Ä"'),
        ("false", "False"),
        ("false", "true"),
        ("506", '506,"elementCount":7'),
    ],
)
def test_tags_that_look_as_written_mean_what_any_json_does(change):
    """A blank at the end makes a text another one than those that are written."""
    text = blocks_to_json(TWO).replace(*change)
    as_written, as_json = parse(text), parse(text + " ")
    assert as_written[:2] == as_json[:2]
    assert (as_written.problem is None) == (as_json.problem is None)


@pytest.mark.parametrize(("tag", "weight"), [("77", 77), ("-5", -5), (None, 2147483647), ("a", 2147483647)])
def test_the_heaviest_row_of_a_file_is_told_by_its_tag_alone(tag, weight):
    assert weight_bounds({} if tag is None else {TAG_MAX_ROW_WEIGHT: tag}, TWO)[1] == weight


@pytest.mark.parametrize("tags", [{}, {TAG_MAX_ROW_WEIGHT: "77"}])
def test_the_weight_of_a_cube_does_not_bound_the_rows_of_a_file(tags):
    """Scala 0.3 to 0.5 joined blocks under the smallest of their weights. A tag above that is none of ours."""
    assert weight_bounds(tags, TWO[:1])[1] == WEIGHT_MAX
