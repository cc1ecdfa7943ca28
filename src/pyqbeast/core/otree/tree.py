"""Builds the tree of cubes for a write, from a sample of its rows.

A cube keeps the lightest rows that reach it, about as many as the cube size, and sends the others to the
children that contain them. The format leaves the shape of the tree free. Readers rely on two rules: every row
lies in its cube, and a row in a child is heavier than every row that its parent may keep.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.format import constants
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.weight import COMMON_WEIGHTS
from pyqbeast.core.otree.status import CubeStatus

#: Deepest level of a tree. Below it, halving a double no longer separates two points.
MAX_DEPTH = 48
#: A cube is cut when more rows reach it than this many times the cube size. A cut makes new children, and children of
#: few rows make small files, so a cube may hold a little more than its size.
ROOM = 1.3
#: The same bound for a cube that holds rows already.
ROOM_OF_STORED = 2.0
#: People sample by certain fractions (`COMMON_FRACTIONS`). A full cube may grow to the next of them, up to this many
#: times the cube size. Samples by that fraction then end in the cube and open none of its children.
ROOM_TO_FRACTION = 1.1

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class SampledRows:
    """A sample of the rows to be written, by ascending weight.

    Attributes:
        points: n × d coordinates in [0, 1].
        weights: n row weights, ascending.
        counts: for each sampled row how many rows it stands for.
    """

    points: Doubles
    weights: Ints
    counts: Doubles

    @classmethod
    def of(cls, points: Doubles, weights: Ints, counts: Doubles) -> SampledRows:
        """Rows in any order."""
        order = np.argsort(weights)
        return cls(points.take(order, axis=0), weights[order], counts[order])


@dataclass(frozen=True)
class Tree:
    """The cubes that a write may use. Node 0 is the root and a parent stands before its children.

    Attributes:
        dimensions: number of indexed columns.
        parent: for each of the m nodes the number of its parent; 0 for the root.
        child: for each node its number among its siblings, from 0 to 2^d - 1; 0 for the root.
        max_weight: for each node the largest weight that it keeps; 2^31 - 1 in a leaf.
        expected: for each node an estimate of how many rows of this write stay in it.
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


def build_tree(rows: SampledRows, dimensions: int, cube_size: int, stored: Iterable[CubeStatus]) -> Tree:
    """The tree for a write of `rows` on top of the cubes that the revision holds already (`stored`)."""
    builder = _Builder(rows, dimensions, cube_size)
    builder.take_over(stored)
    builder.descend()
    return Tree(
        dimensions,
        np.array(builder.parent, np.int32),
        np.array(builder.child, np.int32),
        np.array(builder.weight, np.int32),
        np.array(builder.expected),
        builder.row_node,
    )


class _Builder:
    """Builds the nodes as growing lists. The rows of one node at a time go down to its children."""

    def __init__(self, rows: SampledRows, dimensions: int, cube_size: int) -> None:
        self.rows = rows
        self.dimensions = dimensions
        self.cube_size = cube_size
        self.numbers: dict[tuple[int, int], int] = {}
        self.parent = [0]
        self.child = [0]
        self.weight = [constants.WEIGHT_MAX]
        self.count = [0.0]
        self.expected = [0.0]
        self.is_stored = [False]
        self.row_node = np.zeros(len(rows.weights), np.int64)

    def child_of(self, node: int, child: int) -> int:
        number = self.numbers.get((node, child))
        if number is None:
            number = self.numbers[node, child] = len(self.parent)
            self.parent.append(node)
            self.child.append(child)
            self.weight.append(constants.WEIGHT_MAX)
            self.count.append(0.0)
            self.expected.append(0.0)
            self.is_stored.append(False)
        return number

    def take_over(self, stored: Iterable[CubeStatus]) -> None:
        """Adds the cubes that are stored already, and ancestors that other writers left out.

        An ancestor keeps no row that is heavier than one below it. So a missing ancestor gets the smallest
        weight of the rows below, and takes new rows up to that weight.
        """
        statuses = sorted(stored, key=lambda each: len(each.cube.path))
        nodes: dict[tuple[int, ...], int] = {(): 0}
        taken = [self._node_of(status.cube.path, nodes) for status in statuses]
        lightest = [constants.WEIGHT_MAX] * len(self.parent)
        for node, status in zip(taken, statuses, strict=True):
            self.weight[node] = status.max_weight
            self.count[node] = status.element_count
            self.is_stored[node] = True
            lightest[node] = status.min_weight
        # A parent stands before its children, so all below a node are done before it.
        for node in range(len(self.parent) - 1, 0, -1):
            above, weight = self.parent[node], lightest[node]
            lightest[above] = min(lightest[above], weight)
            self.weight[above] = min(self.weight[above], weight)

    def _node_of(self, path: tuple[int, ...], nodes: dict[tuple[int, ...], int]) -> int:
        """The node of a cube, which is made with those above it where it is missing."""
        node = nodes.get(path)
        if node is None:
            node = nodes[path] = self.child_of(self._node_of(path[:-1], nodes), path[-1])
        return node

    def descend(self) -> None:
        waiting = [(0, 0, np.arange(len(self.rows.weights)), self.rows.points)]
        while waiting:
            node, depth, at, points = waiting.pop()
            staying = self.settle(node, depth, at)
            self.row_node[at[:staying]] = node
            self.expected[node] += float(self.rows.counts[at[:staying]].sum())
            if staying == len(at):
                continue
            side, inner = halved(points[staying:])
            order = np.argsort(side, kind="stable")  # stable: within a child the rows stay ordered by weight
            starts = np.flatnonzero(np.diff(side[order], prepend=-1))
            for part in np.split(order, starts[1:]):
                child = self.child_of(node, int(side[part[0]]))
                waiting.append((child, depth + 1, at[staying:][part], inner.take(part, axis=0)))

    def settle(self, node: int, depth: int, at: Longs) -> int:
        """Sets the largest weight that a node keeps. Returns how many of the rows that reached the node stay.

        Rows that the node holds already are taken to be spread evenly over the weights that it has kept so far.
        """
        if depth >= MAX_DEPTH:
            self.weight[node] = constants.WEIGHT_MAX
            return len(at)
        weights = self.rows.weights[at].astype(np.float64)
        limit = self.weight[node]
        within = int(np.searchsorted(weights, limit, side="right"))
        lowest = float(self.weight[self.parent[node]]) if node else float(constants.WEIGHT_MIN)
        # For each row that reached the node, the share of the stored rows that is lighter.
        share = np.clip((weights - lowest) / max(limit - lowest, 1.0), 0.0, 1.0)
        # How many rows the node holds if it keeps those up to each row.
        filled = np.cumsum(self.rows.counts[at]) + self.count[node] * share
        room = ROOM_OF_STORED if self.is_stored[node] else ROOM
        if not within or filled[within - 1] <= room * self.cube_size:
            return within
        full = int(np.searchsorted(filled[:within], self.cube_size))
        kept_weight = self.rows.weights[at[min(full, within - 1)]]
        following = int(np.searchsorted(COMMON_WEIGHTS, kept_weight, side="right"))
        if following < len(COMMON_WEIGHTS) and COMMON_WEIGHTS[following] <= limit:
            lighter = int(np.searchsorted(weights, COMMON_WEIGHTS[following]))
            if filled[lighter - 1] <= ROOM_TO_FRACTION * self.cube_size:
                kept_weight = COMMON_WEIGHTS[following] - 1
        staying = int(np.searchsorted(weights, kept_weight, side="right"))
        # Rows of one weight stay together. If all rows stay, nothing is sent down and the node remains a leaf.
        if staying < within:
            self.weight[node] = int(kept_weight)
            return staying
        return within


def halved(points: Doubles) -> tuple[NDArray[np.unsignedinteger], Doubles]:
    """One level down: the number of the child that holds each point, and the point inside that child."""
    doubled = 2.0 * points
    upper = doubled >= 1.0
    dimensions = points.shape[1]
    # NumPy sorts small numbers in a tenth of the time.
    side = np.zeros(len(points), np.min_scalar_type(2**dimensions - 1))
    for dimension in range(dimensions):
        side = (side << 1) | upper[:, dimension]
    return side, doubled - upper
