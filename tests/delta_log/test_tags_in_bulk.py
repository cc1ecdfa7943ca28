"""Tags of many files read at once: what they say one by one, whatever they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.core.format.file_tags import parse_tags
from pyqbeast.delta_log import tags_in_bulk as bulk
from tests.delta_log.block_texts import UNUSUAL, USUAL, texts


def dimensions_of(revision):
    return {1: 2, 7: 3}.get(revision)


def left_over(monkeypatch):
    """Has as few texts read at once as a test has; a list to which the tags are added that are read one by one."""
    monkeypatch.setattr(bulk, "_WORTH", 1)
    found = []

    def seen(tags, dimensions):
        found.append(tags)
        return parse_tags(tags, dimensions)

    monkeypatch.setattr(bulk, "parse_tags", seen)
    return found


def one_by_one(tags):
    return [parse_tags(each, dimensions_of) for each in tags]


def test_blocks_as_they_are_written_are_read_at_once(monkeypatch):
    alone = left_over(monkeypatch)
    tags = [{"revision": revision, "blocks": text} for text in USUAL for revision in ("1", "7")]
    assert bulk.tags_in_bulk(tags, dimensions_of) == one_by_one(tags)
    assert not alone


def test_some_at_a_time(monkeypatch):
    alone = left_over(monkeypatch)
    monkeypatch.setattr(bulk, "AT_ONCE", 4)
    tags = [{"revision": "1", "blocks": text} for text in [*USUAL, UNUSUAL[0], *USUAL]]
    assert bulk.tags_in_bulk(tags, dimensions_of) == one_by_one(tags)
    assert alone == tags[4:8]


@pytest.mark.parametrize("text", UNUSUAL)
@pytest.mark.parametrize("at", [0, 3])
def test_all_else_is_read_one_by_one(monkeypatch, text, at):
    alone = left_over(monkeypatch)
    tags = [{"revision": "1", "blocks": usual} for usual in USUAL]
    tags.insert(at, {"revision": "1", "blocks": text})
    assert bulk.tags_in_bulk(tags, dimensions_of) == one_by_one(tags)
    assert alone == tags


@pytest.mark.slow
@given(st.data())
def test_what_is_read_at_once_is_what_is_read_one_by_one(data):
    revisions = st.sampled_from(["1", "7", "01", "0", "2", "-1", "1.0", "?"])
    of_file = st.fixed_dictionaries({}, optional={"revision": revisions, "blocks": texts, "cube": texts})
    tags = data.draw(st.lists(of_file, max_size=9))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bulk, "_WORTH", 1)
        assert bulk.tags_in_bulk(tags, dimensions_of) == one_by_one(tags)
