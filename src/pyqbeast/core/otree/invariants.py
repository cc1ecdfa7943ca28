"""Rules that the index of a table has to keep, checked on its blocks and on the rows of a file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.format.constants import (
    TAG_KEY_ROWS,
    TAG_MAX_ROW_WEIGHT,
    TAG_PARTS,
    TAG_WEIGHTS,
    WEIGHT_MAX,
    WEIGHT_MIN,
)
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_parts import parse_parts_tag
from pyqbeast.core.format.file_tags import Block, blocks_with_rows, recorded_weight
from pyqbeast.core.format.key_frequency import parse_key_frequency
from pyqbeast.core.format.names import column_named
from pyqbeast.core.format.stored_text import shown
from pyqbeast.core.format.weight_counts import count_weights, parse_weights_tag, weights_tag
from pyqbeast.core.otree.status import CubeStatus, IndexStatus, kept_above
from pyqbeast.core.otree.tree import halved
from pyqbeast.core.problems import (
    COLUMNS_EXIST,
    ELEMENT_COUNT,
    GAP,
    HEAVIEST,
    IN_BLOCKS,
    KEPT,
    KEY_ROWS,
    PARTS,
    ROWS_BY_WEIGHT,
    Problem,
)
from pyqbeast.core.revisions.revision import Revision

#: So many rows of a file find their blocks at once: all would take several times the memory of their points.
_ROWS_AT_ONCE = 100_000
#: Up to so many children of a cube, a look for the rows of each takes less time than a sort of all rows.
_FEW = 8


def check_columns(revision: Revision, columns: Collection[str]) -> list[Problem]:
    """Every column that a revision hashes is one of the table's `columns`."""
    return [
        Problem(COLUMNS_EXIST, "", "", f"revision {revision.id}: the table has no column {column!r}")
        for column in revision.hashed_columns
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
    for cube, rule, kept in broken_rules(status.cubes, copied):
        text = (
            "its parent is not stored"
            if rule == GAP
            else f"has a row lighter than {kept}, which an ancestor keeps"
        )
        problems.append(Problem(rule, "", cube.to_string(), f"revision {revision_id}: {text}"))
    return problems


def broken_rules(
    cubes: Mapping[CubeId, CubeStatus], copied: Collection[CubeId] = ()
) -> Iterator[tuple[CubeId, str, int | None]]:
    """Each stored cube that breaks a rule of the tree, with the rule, `GAP` or `KEPT`, and with the weight up to which
    ancestors keep rows. See `check_tree`.
    """
    max_weights = {cube: status.max_weight for cube, status in cubes.items() if cube not in copied}
    # Paths stand for cubes: all have the same dimensions.
    stored = {cube.path for cube in (*cubes, *copied)}
    kept_above_each = kept_above(cubes, max_weights)
    for cube, status in cubes.items():
        kept = kept_above_each[cube]
        if cube.path and cube.path[:-1] not in stored:
            yield cube, GAP, kept
        if kept is not None and status.min_weight < kept:
            yield cube, KEPT, kept


def blocks_of_rows(tags: Mapping[str, str], blocks: Sequence[Block]) -> Sequence[Block]:
    """The blocks of a file with the weights that its rows may have, for `check_rows` and `check_counts`.

    The weight of a cube bounds no row where versions 0.3 to 0.5 of the Scala project have joined the cube's blocks.
    They made files of one block, beside which a repair may put blocks without rows. A writer who has recorded the
    heaviest row keeps to the weights of its blocks.
    """
    if len(blocks_with_rows(blocks)) > 1 or TAG_MAX_ROW_WEIGHT in tags:
        return blocks
    return [
        block._replace(max_weight=WEIGHT_MAX) if block.element_count or len(blocks) == 1 else block
        for block in blocks
    ]


def check_rows(
    file: str,
    blocks: Sequence[Block],
    points: NDArray[np.float64],
    weights: NDArray[np.int32],
) -> list[Problem]:
    """Rules of the rows of one file: each lies in one of its blocks, by point and weight, and the counts agree.

    Args:
        file: its path, for the report.
        blocks: what the log says of it, by `blocks_of_rows`.
        points: n × d coordinates of its rows.
        weights: n weights of its rows.
    """
    # A block without rows only closes a gap, and its weight may be that of a row in a cube below. So it is
    # tried last.
    in_order = sorted(blocks, key=lambda each: (each.element_count == 0, each.cube.depth))
    children = _searched_children({block.cube.path for block in blocks})
    counts, outside = [0] * len(in_order), 0
    for start in range(0, len(weights), _ROWS_AT_ONCE):
        part = weights[start : start + _ROWS_AT_ONCE]
        free = np.ones(len(part), bool)
        rows_of = _rows_of_cubes(children, points[start : start + _ROWS_AT_ONCE])
        for number, block in enumerate(in_order):
            rows = rows_of.get(block.cube.path)
            if rows is None:
                continue
            weight = part[rows]
            inside = rows[free[rows] & (weight >= block.min_weight) & (weight <= block.max_weight)]
            free[inside] = False
            counts[number] += len(inside)
        outside += int(free.sum())
    problems = []
    for block, count in zip(in_order, counts, strict=True):
        if count != block.element_count:
            text = f"holds {count} rows, the log says {block.element_count}"
            problems.append(Problem(ELEMENT_COUNT, file, block.cube.to_string(), text))
    if outside:
        problems.append(Problem(IN_BLOCKS, file, "", f"{outside} rows lie in none of its blocks"))
    return problems


def _searched_children(paths: Collection[tuple[int, ...]]) -> dict[tuple[int, ...], set[int]]:
    """Of each cube above some of these, by its path: the children on the way to them."""
    children: dict[tuple[int, ...], set[int]] = {}
    for path in paths:
        for depth, child in enumerate(path):
            children.setdefault(path[:depth], set()).add(child)
    return children


def _rows_of_cubes(
    children: Mapping[tuple[int, ...], Collection[int]], points: NDArray[np.float64]
) -> dict[tuple[int, ...], NDArray[np.int64]]:
    """The numbers of the points that lie in each cube, by its path, if there are any: of the root and of `children`.

    A file may have thousands of blocks, so the points go down from the root level by level, as they do in a write. A
    point that is not in 0..1 lies in no cube.
    """
    at = np.flatnonzero(((points >= 0.0) & (points <= 1.0)).all(axis=1))
    found: dict[tuple[int, ...], NDArray[np.int64]] = {}
    waiting: list[tuple[tuple[int, ...], NDArray[np.int64], NDArray[np.float64]]] = []
    waiting.append(((), at, _taken(points, at)))
    while waiting:
        path, at, inside = waiting.pop()
        found[path] = at
        if path not in children:
            continue
        side, inner = halved(inside)
        for child, part in _rows_by_child(side, children[path]):
            below = (*path, child)
            if below not in children:
                found[below] = at[part]
            elif len(part):
                waiting.append((below, at[part], _taken(inner, part)))
    return found


def _rows_by_child(
    side: NDArray[np.unsignedinteger], children: Collection[int]
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """The numbers of the rows in each of these children; `side` tells the child of each row."""
    if len(children) <= _FEW:
        for child in children:
            yield child, np.flatnonzero(side == child)
        return
    order = np.argsort(side, kind="stable")
    ordered, numbers = side[order], np.array([*children], side.dtype)
    starts = np.searchsorted(ordered, numbers, side="left")
    ends = np.searchsorted(ordered, numbers, side="right")
    for child, start, end in zip(children, starts, ends, strict=True):
        yield child, order[start:end]


def _taken(points: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """These points, in ascending order. No copy is made of all."""
    return points if len(rows) == len(points) else points.take(rows, axis=0)


def check_counts(
    file: str, blocks: Sequence[Block], points: NDArray[np.float64], weights: NDArray[np.int32]
) -> list[Problem]:
    """What `check_rows` can say where the rows have other points here: all blocks are taken for one, and all points."""
    lightest = min((block.min_weight for block in blocks), default=WEIGHT_MIN)
    heaviest = max((block.max_weight for block in blocks), default=WEIGHT_MIN)
    count = sum(block.element_count for block in blocks)
    whole = Block(CubeId.root(points.shape[1]), lightest, heaviest, count)
    return check_rows(file, [whole], np.zeros_like(points), weights)


def check_own_tags(
    file: str,
    size: int,
    tags: Mapping[str, str],
    blocks: Sequence[Block],
    counted: int,
    by_weight: int | None,
) -> list[Problem]:
    """Whether tags of ours can be read, and agree with the blocks of the same file.

    Args:
        file: its path, for the report.
        size: its bytes.
        tags: of the file. Those that it does not have say nothing.
        blocks: what the log says of it.
        counted: how many rows its blocks count.
        by_weight: how many rows its tag counts by weight; None where there is no tag that can be used.
    """
    problems = []
    if TAG_MAX_ROW_WEIGHT in tags and recorded_weight(tags, blocks) is None:
        text = f"the tag {TAG_MAX_ROW_WEIGHT} is {shown(tags[TAG_MAX_ROW_WEIGHT])}, no weight of its blocks"
        problems.append(Problem(HEAVIEST, file, "", text))
    if TAG_WEIGHTS in tags and by_weight != counted:
        text = f"the tag {TAG_WEIGHTS} is {shown(tags[TAG_WEIGHTS])}, no count of the rows of its blocks"
        problems.append(Problem(ROWS_BY_WEIGHT, file, "", text))
    if TAG_PARTS in tags and parse_parts_tag(tags, size) is None:
        text = (
            f"the tag {TAG_PARTS} is {shown(tags[TAG_PARTS])}, no parts that a file of {size} bytes can have"
        )
        problems.append(Problem(PARTS, file, "", text))
    if TAG_KEY_ROWS in tags and parse_key_frequency(tags) is None:
        text = f"the tag {TAG_KEY_ROWS} is {shown(tags[TAG_KEY_ROWS])}, no number of rows"
        problems.append(Problem(KEY_ROWS, file, "", text))
    return problems


def check_weights(
    file: str, tags: Mapping[str, str], points: NDArray[np.float64], weights: NDArray[np.int32]
) -> list[Problem]:
    """Where the tags that pyqbeast writes about the weights of a file's rows are not true.

    They tell the weight of the heaviest row, how many rows lie in each interval of weights, and how many rows the most
    frequent key has.

    Args:
        file: its path, for the report.
        tags: of the file. Those that it does not have say nothing.
        points: n × d coordinates of its rows.
        weights: n weights of its rows.
    """
    problems = []
    recorded = tags.get(TAG_MAX_ROW_WEIGHT)
    if recorded is not None and recorded != str(weights.max()):
        text = f"its heaviest row has weight {weights.max()}, the log says {recorded}"
        problems.append(Problem(HEAVIEST, file, "", text, truth=str(weights.max())))
    if TAG_WEIGHTS in tags and parse_weights_tag(tags) != count_weights(weights):
        text = f"its rows have other weights than the tag {TAG_WEIGHTS} counts"
        problems.append(Problem(ROWS_BY_WEIGHT, file, "", text, truth=weights_tag(count_weights(weights))))
    key = parse_key_frequency(tags)
    if key is not None and key.rows < _most_frequent(weights[:, None]):
        # Keys of one weight need not be one key.
        rows = _most_frequent(np.column_stack([points, weights]))
        if key.rows < rows:
            text = f"{rows} of its rows may have one key, the log says {key.rows} at most"
            problems.append(Problem(KEY_ROWS, file, "", text, truth=key._replace(rows=rows).to_tag()))
    return problems


def _most_frequent(rows: NDArray[Any]) -> int:
    """How often the most frequent row of a matrix is in it."""
    return int(np.unique(rows, axis=0, return_counts=True)[1].max())
