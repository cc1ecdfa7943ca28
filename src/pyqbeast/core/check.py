"""Rules that the index of a table has to keep, checked on its blocks and on the rows of a file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.block import Block
from pyqbeast.core.cube import CubeId
from pyqbeast.core.facts import WEIGHT_MAX
from pyqbeast.core.revision import Revision
from pyqbeast.core.status import IndexStatus


@dataclass(frozen=True)
class Problem:
    """A rule that something breaks. `file` and `cube` are empty where the problem is of none in particular."""

    rule: str
    file: str
    cube: str
    text: str

    def __str__(self) -> str:
        return ": ".join(
            part for part in (self.file, f"cube {self.cube!r}" if self.cube else "", self.text) if part
        )


def check_columns(revision: Revision, columns: Collection[str]) -> list[Problem]:
    """Every column that a revision indexes is one of the table's `columns`."""
    return [
        Problem(
            "indexed columns exist", "", "", f"revision {revision.id}: the table has no column {column!r}"
        )
        for column in revision.columns
        if column not in columns
    ]


def check_tree(revision_id: int, status: IndexStatus, copied: Collection[CubeId] = ()) -> list[Problem]:
    """Rules of the stored cubes of one revision: a root, no gap between levels, leaves that take everything.

    `copied` are cubes of replicated blocks, which may stand where otherwise a gap would be.
    """
    problems = []
    where = f"revision {revision_id}"
    for cube, found in status.cubes.items():
        parent = cube.parent
        if parent is not None and parent not in status.cubes and parent not in copied:
            problems.append(
                Problem("no gap between levels", "", cube.to_string(), f"{where}: its parent is not stored")
            )
        if status.is_leaf(cube) and found.max_weight != WEIGHT_MAX:
            text = f"{where}: a leaf with largest weight {found.max_weight} and not {WEIGHT_MAX}"
            problems.append(Problem("leaf weight", "", cube.to_string(), text))
        if (
            parent is not None
            and parent in status.cubes
            and status.cubes[parent].max_weight > found.max_weight
        ):
            text = f"{where}: keeps smaller weights than its parent"
            problems.append(Problem("weights grow downwards", "", cube.to_string(), text))
    return problems


def check_rows(
    file: str,
    blocks: Sequence[Block],
    largest: Mapping[CubeId, int],
    points: NDArray[np.float64],
    weights: NDArray[np.int32],
) -> list[Problem]:
    """Rules of the rows of one file: each lies in one of its blocks, by point and weight, and the counts agree.

    Args:
        file: its path, for the report.
        blocks: what the log says of it.
        largest: for each stored cube of the revision that keeps the lighter rows to itself the largest weight of them.
        points: n × d coordinates of its rows.
        weights: n weights of its rows.
    """
    problems = []
    free = np.ones(len(weights), bool)
    for block in sorted(blocks, key=lambda each: each.cube.depth):
        name = block.cube.to_string()
        inside = (
            free
            & _in_cube(block.cube, points)
            & (weights >= block.min_weight)
            & (weights <= block.max_weight)
        )
        count = int(inside.sum())
        if count != block.element_count:
            text = f"holds {count} rows, the log says {block.element_count}"
            problems.append(Problem("element count", file, name, text))
        bound = max((largest[a] for a in block.cube.ancestors() if a in largest), default=None)
        if bound is not None and count and int(weights[inside].min()) < bound:
            text = f"has a row lighter than {bound}, which an ancestor keeps"
            problems.append(Problem("ancestors keep the lighter rows", file, name, text))
        free &= ~inside
    if free.any():
        problems.append(
            Problem("rows lie in blocks", file, "", f"{int(free.sum())} rows lie in none of its blocks")
        )
    return problems


def _in_cube(cube: CubeId, points: NDArray[np.float64]) -> NDArray[np.bool_]:
    inside = np.ones(len(points), bool)
    for dimension, (low, high) in enumerate(cube.bounds()):
        x = points[:, dimension]
        inside &= (x >= low) & ((x < high) | (x == 1.0) & (high == 1.0))
    return inside
