"""Where points lie on the z-order curve. `ZOrder.java` computes the same for the rows that are written."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BITS = 63


def z_order(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """The codes of n × d points in [0, 1].

    A code interleaves the bits of the coordinates, the first coordinate's first.
    """
    dimensions = points.shape[1]
    levels = BITS // dimensions
    inside = np.where(points < 1.0, points, 0.0)
    cells = np.where(points < 1.0, (inside * 2.0**levels).astype(np.int64), (1 << levels) - 1)
    spread = np.zeros(256, np.int64)
    for bit in range(min(8, levels)):
        spread |= ((np.arange(256) >> bit) & 1) << (bit * dimensions)
    code = np.zeros(len(points), np.int64)
    for dimension in range(dimensions):
        bits = np.zeros(len(points), np.int64)
        for low in range(0, levels, 8):
            bits |= spread[(cells[:, dimension] >> low) & 0xFF] << (low * dimensions)
        code = (code << 1) | bits
    return code
