"""The tree of a revision as arrays: one entry a cube, an ancestor right before its subtree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.format.constants import STAGING_REVISION
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.weight import fraction_of
from pyqbeast.core.otree.status import IndexStatus
from pyqbeast.core.revisions.revision import Revision
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from pyqbeast.plot.gather.fractions import Fractions


@dataclass(frozen=True)
class TreePicture:
    """The cubes of a revision that has any.

    Attributes:
        revision: the revision.
        names: the ids of the cubes as texts; empty for the root.
        depth: levels below the root.
        rows: rows that a cube holds itself.
        weight: the fraction of all weights up to which a cube keeps rows; 1.0 where it keeps all.
        begin, end: where a cube lies on a line on which each subtree is as long as its share of the rows, 0 to 1.
        first_read: the first fraction, by its position, whose sample reads the cube.
        lows: for each dimension where a cube begins, 0 to 1. It is as long as half to the power of its depth.
    """

    revision: Revision
    names: tuple[str, ...]
    depth: NDArray[np.uint16]
    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    begin: NDArray[np.float64]
    end: NDArray[np.float64]
    first_read: NDArray[np.uint8]
    lows: tuple[NDArray[np.float64], ...]

    @property
    def fill(self) -> NDArray[np.float64]:
        """Rows by the cube size."""
        return self.rows / self.revision.cube_size


def trees_of(index: IndexedSnapshot, fractions: Fractions) -> list[TreePicture]:
    """The trees of a table's revisions, the newest first; revisions without cubes have none."""
    blocks = [(file.revision_id, block) for file, block in index.blocks() if not block.replicated]
    trees = []
    for number, revision in sorted(index.revisions.revisions.items(), reverse=True):
        status = IndexStatus(revision, {}).with_blocks(block for owner, block in blocks if owner == number)
        if number != STAGING_REVISION and status.cubes:
            trees.append(_tree(status, fractions, is_prunable=number in index.prunable_revisions))
    return trees


def _tree(status: IndexStatus, fractions: Fractions, *, is_prunable: bool) -> TreePicture:
    cubes = [*status.cubes]
    figures = [*status.cubes.values()]
    rows = np.array([cube.element_count for cube in figures], np.int64)
    begin, end = _stretches(cubes, rows)
    read = fractions.first_read(cube.min_weight for cube in figures)
    return TreePicture(
        status.revision,
        tuple(cube.to_string() for cube in cubes),
        np.array([cube.depth for cube in cubes], np.uint16),
        rows,
        fraction_of(np.array([cube.max_weight for cube in figures], np.int64)),
        begin,
        end,
        read if is_prunable else np.zeros_like(read),
        _lows(cubes, status.revision.dimensions),
    )


def _stretches(
    cubes: list[CubeId], rows: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where each cube begins and ends on the line. Children come first, so a cube's own rows are at its end."""
    above: list[int] = []
    parents = []
    for at, cube in enumerate(cubes):
        while above and cubes[above[-1]].path != cube.path[: cubes[above[-1]].depth]:
            above.pop()
        parents.append(above[-1] if above else -1)
        above.append(at)
    # Cubes that all rows were deleted from are seen too.
    lengths = [max(1, int(count)) for count in rows]
    for at in reversed(range(len(cubes))):
        if parents[at] >= 0:
            lengths[parents[at]] += lengths[at]
    begins, free = [], [0] * (len(cubes) + 1)
    for at, parent in enumerate(parents):
        begins.append(free[parent])
        free[parent] += lengths[at]
        free[at] = begins[at]
    whole = free[-1]
    begin = np.array(begins, np.float64)
    return begin / whole, (begin + lengths) / whole


def _lows(cubes: list[CubeId], dimensions: int) -> tuple[NDArray[np.float64], ...]:
    # Deeper levels cannot be told apart by 32-bit floats, nor on a screen.
    levels = min(24, max(cube.depth for cube in cubes))
    number = np.int64 if dimensions < 63 else object
    children = np.array([[*cube.path[:levels], *[0] * (levels - cube.depth)] for cube in cubes], number)
    halves = 0.5 ** np.arange(1, levels + 1)
    return tuple(
        (children.reshape(len(cubes), levels) >> (dimensions - 1 - dimension) & 1).astype(np.float64) @ halves
        for dimension in range(dimensions)
    )
