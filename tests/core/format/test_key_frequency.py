"""The tag that records the rows of a file's most frequent key."""

from __future__ import annotations

import pytest

from pyqbeast.core.format.constants import TAG_KEY_ROWS
from pyqbeast.core.format.key_frequency import (
    KeyFrequency,
    most_of_one_weight,
    most_rows_of_a_key,
    parse_key_frequency,
)


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


def test_keys_that_were_counted_by_another_hash_may_be_one():
    tags = {TAG_KEY_ROWS: KeyFrequency("w1", 7).to_tag()}
    assert most_rows_of_a_key([(1, tags), (2, tags)], {1, 2}) == 7
    assert most_rows_of_a_key([(1, tags), (2, tags)], {2}) is None


def test_keys_that_nulls_alone_tell_apart_count_as_one():
    assert most_of_one_weight([7, 4, 1], columns=2) == 8  # (5, null) and (null, 5)
    assert most_of_one_weight([7, 4, 1, 0], columns=3) == 12
    assert most_of_one_weight([7, 4, 0], columns=1) == 7  # (5, null) and none like it
    assert most_of_one_weight([0, 0, 3], columns=2) == 3  # (null, null)
