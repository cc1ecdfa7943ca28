"""Keeps the stored cubes of a revision without gaps: every cube but the root has its parent stored.

The tree is built from a sample. A source that gives other rows when it is evaluated again can leave a cube of the
tree without rows while there are some below it; other implementations cannot append to such a table.
"""

from __future__ import annotations

from collections.abc import Collection

from pyqbeast.core.cube import CubeId


def close_gaps(written: Collection[CubeId], stored: Collection[CubeId]) -> dict[CubeId, CubeId]:
    """The cubes to move, and where to: cubes below a gap join in the topmost missing cube, as a leaf.

    That is allowed: their rows lie in it and are heavier than what its ancestors keep. Where the gap lies above
    cubes that were stored earlier it stays, as a leaf there would be wrong.

    Args:
        written: cubes of one write.
        stored: cubes that the revision holds already.
    """
    moves: dict[CubeId, CubeId] = {}
    kept = set(stored)
    above_stored = {ancestor for cube in stored for ancestor in cube.ancestors()}
    for cube in sorted(set(written) - kept, key=lambda each: each.depth):
        missing = [ancestor for ancestor in cube.ancestors() if ancestor not in kept]
        joinable = [ancestor for ancestor in missing if ancestor not in above_stored]
        if joinable:
            moves[cube] = joinable[-1]
        else:
            kept.add(cube)
    return moves
