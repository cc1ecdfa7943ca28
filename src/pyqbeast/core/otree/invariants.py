"""Rules that the index of a table has to keep, checked on its blocks and on the rows of a file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.format.constants import TAG_MAX_ROW_WEIGHT, TAG_WEIGHTS
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block
from pyqbeast.core.format.names import column_named
from pyqbeast.core.format.weight_counts import count_weights, parse_weights_tag
from pyqbeast.core.otree.status import IndexStatus, kept_above
from pyqbeast.core.revisions.revision import Revision

#: The rule that a cube without its parent breaks.
GAP = "no gap between levels"


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
        if column_named(column, columns) is None
    ]


def check_tree(revision_id: int, status: IndexStatus, copied: Collection[CubeId] = ()) -> list[Problem]:
    """Checks the stored cubes of one revision: no gap between levels, and no row so light that an ancestor must
    keep it.

    A leaf's largest weight may be below the largest of all: the Scala project gives many leaves a weight that
    it estimated. Heavier rows will go to children that do not exist yet.

    `copied` are cubes of replicated blocks, which may stand where otherwise a gap would be. Their rows lie in other
    cubes a second time, whatever they keep.
    """
    problems = []
    where = f"revision {revision_id}"
    max_weights = {
        cube: cube_status.max_weight for cube, cube_status in status.cubes.items() if cube not in copied
    }
    for cube, cube_status in status.cubes.items():
        parent = cube.parent
        if parent is not None and parent not in status.cubes and parent not in copied:
            problems.append(Problem(GAP, "", cube.to_string(), f"{where}: its parent is not stored"))
        kept = kept_above(cube, max_weights)
        if kept is not None and cube_status.min_weight < kept:
            text = f"{where}: has a row lighter than {kept}, which an ancestor keeps"
            problems.append(Problem("ancestors keep the lighter rows", "", cube.to_string(), text))
    return problems


def check_rows(
    file: str,
    blocks: Sequence[Block],
    points: NDArray[np.float64],
    weights: NDArray[np.int32],
) -> list[Problem]:
    """Rules of the rows of one file: each lies in one of its blocks, by point and weight, and the counts agree.

    Args:
        file: its path, for the report.
        blocks: what the log says of it.
        points: n × d coordinates of its rows.
        weights: n weights of its rows.
    """
    problems = []
    free = np.ones(len(weights), bool)
    # A block without rows only closes a gap, and its weight may be that of a row in a cube below. So it is
    # tried last.
    for block in sorted(blocks, key=lambda each: (each.element_count == 0, each.cube.depth)):
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
        free &= ~inside
    if free.any():
        problems.append(
            Problem("rows lie in blocks", file, "", f"{int(free.sum())} rows lie in none of its blocks")
        )
    return problems


def check_weights(file: str, tags: Mapping[str, str], weights: NDArray[np.int32]) -> list[Problem]:
    """Checks the tags that pyqbeast adds: the largest weight of a file's rows, and the rows of each interval of
    weights.

    Args:
        file: its path, for the report.
        tags: of the file. Tags that it lacks are not checked.
        weights: n weights of its rows.
    """
    problems = []
    max_row_weight = tags.get(TAG_MAX_ROW_WEIGHT)
    if max_row_weight is not None and max_row_weight != str(weights.max()):
        text = f"its heaviest row has weight {weights.max()}, the log says {max_row_weight}"
        problems.append(Problem("heaviest row", file, "", text))
    if TAG_WEIGHTS in tags and parse_weights_tag(tags) != count_weights(weights):
        text = f"its rows have other weights than the tag {TAG_WEIGHTS} counts"
        problems.append(Problem("rows by weight", file, "", text))
    return problems


def _in_cube(cube: CubeId, points: NDArray[np.float64]) -> NDArray[np.bool_]:
    inside = np.ones(len(points), bool)
    for dimension, (low, high) in enumerate(cube.bounds()):
        x = points[:, dimension]
        inside &= (x >= low) & ((x < high) | (x == 1.0) & (high == 1.0))
    return inside
