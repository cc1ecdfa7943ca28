"""The tag that records the rows of a file's most frequent key."""

from __future__ import annotations

import pytest

from pyqbeast.core.facts import TAG_KEY_ROWS
from pyqbeast.core.key_rows import KeyRows, parse_key_rows


def test_a_tag_says_what_was_recorded():
    assert parse_key_rows({TAG_KEY_ROWS: KeyRows("w1", 7).to_tag()}) == KeyRows("w1", 7)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "7",
        "[]",
        "{}",
        '{"write":"w","rows":0}',
        '{"write":"w","rows":true}',
        '{"write":1,"rows":2}',
    ],
)
def test_anything_else_says_nothing(text):
    assert parse_key_rows({} if text is None else {TAG_KEY_ROWS: text}) is None
