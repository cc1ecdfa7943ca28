"""The tag that records the rows of a file's most frequent key."""

from __future__ import annotations

import pytest

from pyqbeast.core.format.constants import TAG_KEY_ROWS
from pyqbeast.core.format.key_frequency import KeyFrequency, parse_key_frequency


def test_a_tag_says_what_was_recorded():
    assert parse_key_frequency({TAG_KEY_ROWS: KeyFrequency("w1", 7).to_tag()}) == KeyFrequency("w1", 7)


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
    assert parse_key_frequency({} if text is None else {TAG_KEY_ROWS: text}) is None
