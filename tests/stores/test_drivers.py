"""What counts as two drivers that append at once."""

from __future__ import annotations

import pytest

from tests.stores.drivers import APPENDS, are_at_once

ROUND = "a" * APPENDS + "b" * APPENDS


@pytest.mark.parametrize("writers", [ROUND, ROUND[::-1], ROUND + ROUND, ROUND + ROUND[::-1]])
def test_one_driver_after_the_other_is_not_at_once(writers):
    assert not are_at_once(writers)


@pytest.mark.parametrize("writers", ["aabbbbbaaa", "ababababab", "baaaaabbbb", ROUND + "aaaababbbb"])
def test_a_commit_between_two_of_the_other_driver_is_at_once(writers):
    assert are_at_once(writers)
