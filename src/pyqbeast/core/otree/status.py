"""The status of a revision's tree: what its blocks add up to, cube by cube."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from pyqbeast.core.format.constants import WEIGHT_MAX
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block
from pyqbeast.core.revisions.revision import Revision


@dataclass(frozen=True, slots=True)
class CubeStatus:
    """All stored blocks of a cube together.

    Attributes:
        cube: their cube.
        max_weight: the smallest of their largest weights: the cube keeps the rows that are no heavier.
        element_count: the sum of their rows.
        min_weight: the weight of the lightest row; the largest there is where the cube has none.
    """

    cube: CubeId
    max_weight: int
    element_count: int
    min_weight: int = WEIGHT_MAX


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The cubes of one revision, in cube order (an ancestor right before its subtree)."""

    revision: Revision
    cubes: dict[CubeId, CubeStatus]

    @classmethod
    def from_blocks(cls, revision: Revision, blocks: Iterable[Block]) -> IndexStatus:
        """The status by the blocks of all live files of the revision; replicated blocks are left out.

        Revision 0 has no blocks: its status is a root without rows that takes everything.
        """
        if revision.is_staging:
            root = CubeId.root(revision.dimensions)
            return cls(revision, {root: CubeStatus(root, WEIGHT_MAX, 0)})
        return cls(revision, {}).with_blocks(blocks)

    def with_blocks(self, blocks: Iterable[Block]) -> IndexStatus:
        """The status once these blocks are stored too.

        An append adds few blocks to many cubes, so what stays as it was is not made anew.
        """
        # Paths stand for cubes: all have the same dimensions, and tuples are hashed and ordered faster.
        added: dict[tuple[int, ...], tuple[CubeId, int, int, int]] = {}
        for cube, low, high, count, replicated in blocks:
            if replicated:
                continue
            known = added.get(cube.path)
            if known is None:
                added[cube.path] = (cube, high, count, low)
            else:
                first, max_weight, rows, min_weight = known
                added[cube.path] = (first, min(max_weight, high), rows + count, min(min_weight, low))
        cubes = self.cubes.copy()
        for cube, max_weight, rows, min_weight in added.values():
            stored = self.cubes.get(cube)
            if stored is not None:
                max_weight, rows = min(stored.max_weight, max_weight), stored.element_count + rows
                min_weight = min(stored.min_weight, min_weight)
            cubes[cube] = CubeStatus(cube, max_weight, rows, min_weight)
        if len(cubes) > len(self.cubes):
            cubes = dict(sorted(cubes.items(), key=lambda item: item[0].path))
        return IndexStatus(self.revision, cubes)

    @property
    def leaves(self) -> list[bool]:
        """For each cube whether no other one lies in it."""
        paths = [cube.path for cube in self.cubes]
        # What lies in a cube comes right after it.
        return [following[: len(path)] != path for path, following in pairwise(paths)] + [True] * bool(paths)


def kept_above(cubes: Iterable[CubeId], max_weights: Mapping[CubeId, int]) -> dict[CubeId, int | None]:
    """For each cube the weight up to which an ancestor keeps rows to itself: none in the cube may be lighter. None
    without ancestors.

    Args:
        cubes: any of one number of dimensions.
        max_weights: the stored cubes among them, and the largest weight that each keeps.
    """
    found: dict[CubeId, int | None] = {}
    # The stored cubes above the last one, each with what it and those above it keep.
    above: list[tuple[tuple[int, ...], int]] = []
    for cube in sorted(cubes, key=lambda cube: cube.path):
        while above and cube.path[: len(above[-1][0])] != above[-1][0]:
            above.pop()
        kept = above[-1][1] if above else None
        found[cube] = kept
        own = max_weights.get(cube)
        if own is not None:
            above.append((cube.path, own if kept is None else max(own, kept)))
    return found
