"""The soak finds what is wrong, or it shows nothing: its checks are fed with it."""

from __future__ import annotations

import pytest

from tests.soak.worker import lightest

LIGHT, HEAVY = -(2**31), 2**31 - 1


def test_a_sample_is_the_lightest_rows_each_once():
    weights = [(1, LIGHT), (2, HEAVY), (3, LIGHT)]
    lightest([3, 1], weights, 0.2)
    for wrong in ([1], [1, 3, 3], [1, 2, 3], []):
        with pytest.raises(AssertionError, match="a sample has"):
            lightest(wrong, weights, 0.2)
