"""The cubes of a tree, depth by depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyqbeast.plot.gather.tree import TreePicture


@dataclass(frozen=True)
class Level:
    """The cubes of one depth.

    Attributes:
        depth: levels below the root.
        cubes: how many there are.
        rows: rows that they hold.
        fill: the mean of their rows, by the cube size.
        weights: the smallest of their weights, the quartiles, and the largest, as fractions of all weights.
    """

    depth: int
    cubes: int
    rows: int
    fill: float
    weights: tuple[float, float, float, float, float]


def levels_of(tree: TreePicture) -> list[Level]:
    """The levels of a tree, the root first."""
    levels = []
    for depth in np.unique(tree.depth).tolist():
        chosen = tree.depth == depth
        low, first, middle, third, high = np.quantile(tree.weight[chosen], (0, 0.25, 0.5, 0.75, 1)).tolist()
        levels.append(
            Level(
                depth,
                int(chosen.sum()),
                int(tree.rows[chosen].sum()),
                float(tree.fill[chosen].mean()),
                (low, first, middle, third, high),
            )
        )
    return levels
