"""Which points and which cubes lie in a cube, by its bounds."""

from __future__ import annotations


def children(cube):
    """The 2^d children in order; the last dimension changes fastest."""
    return [cube.child(index) for index in range(1 << cube.dimensions)]


def contains(cube, point):
    """Whether the point lies in the cube: lower faces belong to it, upper faces only at 1.0.

    From some 53 levels on a cube may be so narrow that both of its faces are one number.
    """
    return all(
        x == low or low <= x < high or x == high == 1.0
        for x, (low, high) in zip(point, cube.bounds(), strict=True)
    )
