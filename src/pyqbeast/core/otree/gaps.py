"""Closes gaps in the tree: each stored cube needs stored ancestors, and no row may be lighter than what they keep.

A cube can end up without rows while cubes below it have some. The reasons are deleted rows, files that plain
Delta rewrites, and a source that gives other rows when it is evaluated again. Some other implementations cannot
append to such a table. Others take the missing cube for a leaf and put rows into it that are heavier than those
below, and then their samples lose rows. A block without rows tells them what such a cube may keep.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from pyqbeast.core.format.constants import WEIGHT_MAX
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block
from pyqbeast.core.otree.status import CubeStatus


def closing(
    files: Mapping[str, Sequence[Block]], cubes: Mapping[CubeId, CubeStatus]
) -> tuple[str, list[Block]]:
    """The file that gets the blocks without rows, and these blocks.

    It is the one with the lightest row, which most samples open anyway.

    Args:
        files: the blocks of the files that may get some, at least one file.
        cubes: all cubes of their revision.
    """
    first = min(files, key=lambda file: min(block.min_weight for block in files[file]))
    return first, [Block(cube, weight, weight, 0) for cube, weight in announcements(cubes).items()]


def announcements(cubes: Mapping[CubeId, CubeStatus]) -> dict[CubeId, int]:
    """The cubes that need a block without rows, and the largest weight that each may keep.

    Those are the cubes above stored ones that are not stored, or that keep rows heavier than some below them.

    Args:
        cubes: all cubes of a revision after a write.
    """
    # Paths stand for cubes, as tuples are made and hashed faster: a table may have a hundred thousand cubes.
    kept = {cube.path: status.max_weight for cube, status in cubes.items()}
    levels: dict[int, dict[tuple[int, ...], int]] = defaultdict(dict)
    for cube, status in cubes.items():
        levels[len(cube.path)][cube.path] = status.min_weight
    needed = {}
    for depth in range(max(levels, default=0), 0, -1):
        lightest_below: dict[tuple[int, ...], int] = {}
        for path, lightest in levels[depth].items():
            above = path[:-1]
            if lightest <= lightest_below.get(above, WEIGHT_MAX):
                lightest_below[above] = lightest
        for path, lightest in lightest_below.items():
            if path not in kept or kept[path] > lightest:
                # A cube whose weight is the largest of all counts as a leaf, and the Scala project fails on a
                # leaf without rows.
                needed[path] = min(lightest, WEIGHT_MAX - 1)
            levels[depth - 1][path] = min(needed.get(path, lightest), levels[depth - 1].get(path, WEIGHT_MAX))
    dimensions = next(iter(cubes)).dimensions if cubes else 0
    return {CubeId(dimensions, path): weight for path, weight in needed.items()}
