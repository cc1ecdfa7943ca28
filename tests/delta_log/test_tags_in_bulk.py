"""Tags of many files read at once: what they say one by one, whatever they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.core.format.constants import LONG_MAX, WEIGHT_MAX
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block, blocks_to_json, parse_tags
from pyqbeast.delta_log import tags_in_bulk as bulk
from tests.core.hostile import damaged, hostile_texts

ROOT = CubeId.root(2)
CHILD = CubeId.from_string("Q", 2)
USUAL = [
    blocks_to_json([Block(ROOT, -5, 7, 3)]),
    blocks_to_json([Block(ROOT, -5, 7, 3), Block(CHILD, 8, WEIGHT_MAX, LONG_MAX, replicated=True)]),
    blocks_to_json([Block(CHILD, 0, 0, 0)]),
    '[{"replicated":false,"cubeId":"\\u0051","maxWeight":2,"minWeight":-0,"elementCount":3}]',
    ' [ {"cubeId":"Q","minWeight":1,"maxWeight":2,"elementCount":3,"replicated":true} ]\t',
]
BLOCK = USUAL[0][1:-1]
#: Texts that are no blocks, or not as they are written.
UNUSUAL = [
    "[]",
    "",
    "null",
    f"[null,{BLOCK}]",
    f"[{BLOCK}],",
    f'[{BLOCK}]}}{{"blocks":[{BLOCK}]',
    f"[{BLOCK}] [{BLOCK}]",
    f"[{BLOCK},\n{BLOCK}]",
    f"[{BLOCK},\r{BLOCK}]",
    USUAL[0].replace("-5", "8"),
    USUAL[0].replace("-5", "-5.0"),
    USUAL[0].replace("-5", "NaN"),
    USUAL[0].replace("-5", "true"),
    USUAL[0].replace("-5", str(-(2**31) - 1)),
    USUAL[0].replace("-5", str(-(10**30))),
    USUAL[0].replace(":3", ":-3"),
    USUAL[0].replace(":3", f":{2**63}"),
    USUAL[0].replace("false", "null"),
    USUAL[0].replace(',"replicated":false', ""),
    USUAL[0].replace('"cubeId"', '"cube"'),
    USUAL[0].replace('"cubeId"', '"elementCount":3,"cubeId"'),
    USUAL[0].replace('"cubeId":""', '"cubeId":"\\ud800"'),
    USUAL[0].replace('"cubeId":""', '"cubeId":"Q?"'),
    USUAL[0].replace("{", '{"more":[1],'),
]
texts = st.sampled_from(USUAL) | st.sampled_from(UNUSUAL) | hostile_texts(USUAL).flatmap(damaged)


def dimensions_of(revision):
    return {1: 2, 7: 3}.get(revision)


def read_at_once(monkeypatch):
    """Has as few texts read at once as a test has; a list to which each such text is added."""
    monkeypatch.setattr(bulk, "_WORTH", 1)
    found = []
    of_rows = bulk._of_rows

    def seen(lists, dimensions):
        blocks = of_rows(lists, dimensions)
        found.extend(blocks)
        return blocks

    monkeypatch.setattr(bulk, "_of_rows", seen)
    return found


def one_by_one(tags):
    return [parse_tags(each, dimensions_of) for each in tags]


def test_blocks_as_they_are_written_are_read_at_once(monkeypatch):
    at_once = read_at_once(monkeypatch)
    tags = [{"revision": revision, "blocks": text} for text in USUAL for revision in ("1", "7")]
    assert bulk.tags_in_bulk(tags, dimensions_of) == one_by_one(tags)
    assert len(at_once) == len(tags)


def test_some_at_a_time(monkeypatch):
    at_once = read_at_once(monkeypatch)
    monkeypatch.setattr(bulk, "AT_ONCE", 4)
    tags = [{"revision": "1", "blocks": text} for text in [*USUAL, UNUSUAL[0], *USUAL]]
    assert bulk.tags_in_bulk(tags, dimensions_of) == one_by_one(tags)
    assert len(at_once) == 7


@pytest.mark.parametrize("text", UNUSUAL)
@pytest.mark.parametrize("at", [0, 3])
def test_all_else_is_read_one_by_one(monkeypatch, text, at):
    at_once = read_at_once(monkeypatch)
    tags = [{"revision": "1", "blocks": usual} for usual in USUAL]
    tags.insert(at, {"revision": "1", "blocks": text})
    assert bulk.tags_in_bulk(tags, dimensions_of) == one_by_one(tags)
    assert not at_once


@given(st.data())
def test_what_is_read_at_once_is_what_is_read_one_by_one(data):
    revisions = st.sampled_from(["1", "7", "01", "0", "2", "-1", "1.0", "?"])
    of_file = st.fixed_dictionaries({}, optional={"revision": revisions, "blocks": texts, "cube": texts})
    tags = data.draw(st.lists(of_file, max_size=9))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bulk, "_WORTH", 1)
        assert bulk.tags_in_bulk(tags, dimensions_of) == one_by_one(tags)
