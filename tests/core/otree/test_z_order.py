"""The z-order curve: bits of the coordinates in turn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.core.otree.z_order import BITS, z_order


def bit_by_bit(point):
    """The definition: level by level, one bit of each coordinate, the first coordinate's first."""
    code = 0
    point = list(point)
    for _ in range(BITS // len(point)):
        for i, x in enumerate(point):
            point[i] = 2 * x - (2 * x >= 1)
            code = 2 * code + (2 * x >= 1)
    return code


below_one = st.floats(0, 1, exclude_max=True, allow_subnormal=False)


@given(st.integers(1, 9).flatmap(lambda d: st.lists(below_one, min_size=d, max_size=d)))
def test_takes_the_bits_in_turn(point):
    assert z_order(np.array([point])).tolist() == [bit_by_bit(point)]


@pytest.mark.parametrize("dimensions", [1, 2, 3, 8, 40])
def test_the_far_corner_comes_last(dimensions):
    near, inside, far = z_order(
        np.array([[0.0] * dimensions, [0.9] * dimensions, [1.0] * dimensions])
    ).tolist()
    assert near == 0 <= inside <= far == 2 ** (BITS // dimensions * dimensions) - 1
