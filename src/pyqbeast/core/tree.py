"""The tree builder: from a sample of the rows to be written to cubes and their largest weights.

A cube keeps the rows of lowest weight that reach it, about as many as the cube size, and sends the rest to the
children that contain them. The shape of the tree is free in the format; what readers rely on is that every row lies
in its cube and that a row in a child is heavier than everything its parent may keep.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core import facts
from pyqbeast.core.cube import CubeId
from pyqbeast.core.status import CubeStatus

#: Deeper than this, halving a double no longer tells two points apart.
MAX_DEPTH = 48
#: A cube that holds rows already is cut again only when it would hold more than this many times the cube size:
#: every cut makes new children, and children of few rows make small files.
OVERFULL = 2.0

_NOT_STORED = np.iinfo(np.int64).min

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class SampledRows:
    """A sample of the rows to be written, by ascending weight.

    Attributes:
        points: n × d coordinates in [0, 1].
        weights: n row weights, ascending.
        counts: n numbers of rows that each stands for.
    """

    points: Doubles
    weights: Ints
    counts: Doubles

    @classmethod
    def of(cls, points: Doubles, weights: Ints, counts: Doubles) -> SampledRows:
        """Rows in any order."""
        order = np.argsort(weights, kind="stable")
        return cls(points[order], weights[order], counts[order])


@dataclass(frozen=True)
class Tree:
    """The cubes that a write may use. Node 0 is the root and a parent stands before its children.

    Attributes:
        dimensions: number of indexed columns.
        parent: m numbers of parents; that of the root is 0.
        child: m numbers among the siblings, from 0 to 2^d - 1; that of the root is 0.
        max_weight: m largest weights that a node keeps; 2^31 - 1 in a leaf.
        expected: m estimates of how many rows of this write stay in the node.
        row_node: for each sampled row the node that it stays in.
    """

    dimensions: int
    parent: Ints
    child: Ints
    max_weight: Ints
    expected: Doubles
    row_node: Longs

    def __len__(self) -> int:
        return len(self.parent)

    def cube(self, node: int) -> CubeId:
        """The cube id of a node."""
        path = []
        while node:
            path.append(int(self.child[node]))
            node = int(self.parent[node])
        return CubeId(self.dimensions, tuple(reversed(path)))


def build_tree(rows: SampledRows, dimensions: int, cube_size: int, stored: Iterable[CubeStatus] = ()) -> Tree:
    """The tree for a write of `rows` on top of the cubes that the revision holds already (`stored`)."""
    builder = _Builder(dimensions, cube_size, stored)
    builder.descend(rows)
    return builder.tree()


class _Builder:
    """Nodes as growing lists; the rows go down all together, one level at a time."""

    def __init__(self, dimensions: int, cube_size: int, stored: Iterable[CubeStatus]) -> None:
        self.dimensions = dimensions
        self.cube_size = cube_size
        self.numbers: dict[tuple[int, int], int] = {}
        self.parent = [0]
        self.child = [0]
        self.old_weight: list[int] = [_NOT_STORED]
        self.old_count = [0]
        for cube in sorted(stored, key=lambda status: status.cube.depth):
            node = self._node_of(cube.cube)
            self.old_weight[node] = cube.max_weight
            self.old_count[node] = cube.element_count
        self._bound_missing_ancestors()
        self.max_weight = np.array(
            [facts.WEIGHT_MAX if old == _NOT_STORED else old for old in self.old_weight], np.int64
        )

    def _node_of(self, cube: CubeId) -> int:
        node = 0
        for child in cube.path:
            node = self._child_of(node, child)
        return node

    def _child_of(self, node: int, child: int) -> int:
        number = self.numbers.get((node, child))
        if number is None:
            number = len(self.parent)
            self.numbers[node, child] = number
            self.parent.append(node)
            self.child.append(child)
            self.old_weight.append(_NOT_STORED)
            self.old_count.append(0)
        return number

    def _bound_missing_ancestors(self) -> None:
        """A cube that other writers left out above stored ones may keep nothing that its descendants could hold.

        Their lightest rows are not known here, so it keeps nothing: the rows pass it by.
        """
        for node in range(len(self.parent) - 1, 0, -1):
            above = self.parent[node]
            if self.old_weight[above] == _NOT_STORED:
                self.old_weight[above] = facts.WEIGHT_MIN

    def descend(self, rows: SampledRows) -> None:
        self.row_node = np.zeros(len(rows.weights), np.int64)
        self.expected = np.zeros(len(self.parent))
        at = np.arange(len(rows.weights))  # rows on their way, ordered by node and then by weight
        node = np.zeros(len(at), np.int64)
        y = rows.points.astype(np.float64, copy=True)
        for depth in range(MAX_DEPTH + 1):
            if not len(at):
                return
            stays = self._keep(rows, at, node, last=depth == MAX_DEPTH)
            self.row_node[at[stays]] = node[stays]
            np.add.at(self.expected, node[stays], rows.counts[at[stays]])
            at, node, y = at[~stays], node[~stays], y[~stays]
            side, y = _halved(y)
            at, node, y = self._children(at, node, side, y)

    def _keep(self, rows: SampledRows, at: Longs, node: Longs, *, last: bool) -> NDArray[np.bool_]:
        """Sets the largest weight of each node that rows have reached; true for the rows that stay."""
        weight = rows.weights[at].astype(np.int64)
        first = np.flatnonzero(np.r_[True, node[1:] != node[:-1]])
        segment = np.cumsum(np.r_[True, node[1:] != node[:-1]]) - 1
        nodes = node[first]
        counts = rows.counts[at]
        before = np.cumsum(counts)
        filled = (
            before - (before[first] - counts[first])[segment] + self._stored_below(nodes)[segment](weight)
        )
        for number, start in zip(nodes.tolist(), first.tolist(), strict=True):
            del number, start
        raise NotImplementedError(filled, last)


def _halved(y: Doubles) -> tuple[Longs, Doubles]:
    """One level down: the number of the child that holds each point, and the point inside that child."""
    doubled = 2.0 * y
    upper = doubled >= 1.0
    side = np.zeros(len(y), np.int64)
    for i in range(y.shape[1]):
        side = (side << 1) | upper[:, i]
    return side, np.where(upper, doubled - 1.0, doubled)
