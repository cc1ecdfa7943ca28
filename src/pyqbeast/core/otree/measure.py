"""Measures the index of one revision, from the blocks in the log alone."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pyqbeast.core.format.constants import WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block
from pyqbeast.core.format.weight import fraction_of, weight_of
from pyqbeast.core.otree.metrics import IndexMetrics, LevelStats, SizeStats
from pyqbeast.core.otree.status import CubeStatus, IndexStatus
from pyqbeast.core.revisions.revision import Revision

#: Fractions for which the metrics tell what a sample reads.
SAMPLED = (0.001, 0.01, 0.1, 0.3)


class IndexedFile(NamedTuple):
    """A live file: bytes, rows stored in it (None where unknown), rows deleted, and its blocks by revision."""

    path: str
    size: int
    rows: int | None
    deleted: int
    revision_id: int
    blocks: Sequence[Block]


def index_metrics(
    revision: Revision,
    files: Sequence[IndexedFile],
    *,
    prunes: bool = True,
    key_granularity: float = 0.0,
    bound_of: Callable[[float], int] = weight_of,
) -> IndexMetrics:
    """The metrics of one revision, given all live files of the table.

    `prunes` says whether samples skip files of the revision; they do not where an indexed column has a wider type by
    now, which hashes otherwise. `bound_of` is the weight below which a sample of a fraction lies.
    """
    own = _files_of(revision, files)
    blocks = [block for file in own for block in file.blocks if not block.replicated]
    status = IndexStatus.from_blocks(revision, blocks) if blocks else IndexStatus(revision, {})
    cubes = status.cubes
    # Paths stand for cubes: all have the same dimensions, and tuples are hashed faster.
    blocks_of = Counter([block.cube.path for block in blocks])
    rows = sum(block.element_count for block in blocks)
    size = sum(file.size for file in own)
    deleted = sum(file.deleted for file in own)
    unindexed = [file for file in files if not file.blocks]
    unindexed_bytes = sum(file.size for file in unindexed)
    counts = [file.rows for file in unindexed if file.rows is not None]
    leaf: dict[tuple[int, ...], CubeStatus] = {}
    inner: dict[tuple[int, ...], CubeStatus] = {}
    for cube, of_cube in cubes.items():
        (leaf if status.is_leaf(cube) else inner)[cube.path] = of_cube
    lightest = np.array([min([block.min_weight for block in file.blocks]) for file in own], np.int64)
    sizes = np.array([file.size for file in own], np.int64)

    def opened(fraction: float) -> int:
        return int(sizes[lightest < bound_of(fraction if prunes else 1.0)].sum())

    read_shares = {fraction: opened(fraction) / size if size else 0.0 for fraction in SAMPLED}
    return IndexMetrics(
        revision_id=revision.id,
        element_count=rows,
        dimension_count=revision.dimensions,
        desired_cube_size=revision.cube_size,
        indexing_columns=",".join(transformer.spec for transformer in revision.transformers),
        height=1 + max((cube.depth for cube in cubes), default=0),
        min_height=min_height(rows, revision.cube_size, revision.dimensions),
        avg_fanout=_fanout(cubes),
        theoretical_fanout=float(2**revision.dimensions),
        cube_count=len(cubes),
        block_count=len(blocks),
        file_count=len(own),
        bytes=size,
        cube_element_count_stats=SizeStats.of(cube.element_count for cube in cubes.values()),
        block_element_count_stats=SizeStats.of(block.element_count for block in blocks),
        file_bytes_stats=SizeStats.of(file.size for file in own),
        block_count_per_cube_stats=SizeStats.of(blocks_of.values()),
        block_count_per_file_stats=SizeStats.of(len(file.blocks) for file in own),
        file_count_per_cube_stats=SizeStats.of(_files_of_cubes(own)),
        inner_cube_element_count_stats=SizeStats.of(cube.element_count for cube in inner.values()),
        inner_block_element_count_stats=SizeStats.of(b.element_count for b in blocks if b.cube.path in inner),
        inner_levels=_level_stats(inner, blocks_of),
        leaf_cube_element_count_stats=SizeStats.of(cube.element_count for cube in leaf.values()),
        leaf_block_element_count_stats=SizeStats.of(b.element_count for b in blocks if b.cube.path in leaf),
        leaf_levels=_level_stats(leaf, blocks_of),
        read_shares=read_shares,
        read_amplification={fraction: share / fraction for fraction, share in read_shares.items()},
        deleted_rows=deleted,
        live_rows=rows - deleted,
        files_with_vectors=sum(file.deleted > 0 for file in own),
        unindexed_files=len(unindexed),
        unindexed_bytes=unindexed_bytes,
        unindexed_rows=sum(counts) if len(counts) == len(unindexed) else None,
        unindexed_share=unindexed_bytes / max(1, sum(file.size for file in files)),
        key_granularity=key_granularity,
    )


def _files_of(revision: Revision, files: Iterable[IndexedFile]) -> list[IndexedFile]:
    if not revision.is_staging:
        return [file for file in files if file.revision_id == revision.id and file.blocks]
    root = Block(CubeId.root(revision.dimensions), WEIGHT_MIN, WEIGHT_MAX, 0)
    return [file._replace(blocks=[root]) for file in files if not file.blocks]


def min_height(rows: int, cube_size: int, dimensions: int) -> int:
    """Levels of the smallest tree that holds so many rows in cubes of that size."""
    cubes = math.ceil(rows / cube_size)
    fanout = 2**dimensions
    levels = 0
    held = 0
    while held < cubes:
        held += fanout**levels
        levels += 1
    return levels


def _fanout(cubes: Iterable[CubeId]) -> float:
    children = Counter([cube.path[:-1] for cube in cubes if cube.path])
    # Two decimals, the rest cut off, as the Scala project has it.
    return math.floor(100 * sum(children.values()) / len(children)) / 100 if children else 0.0


def _files_of_cubes(files: Iterable[IndexedFile]) -> Iterable[int]:
    """For each cube the number of files that it lies in."""
    return Counter(path for file in files for path in {block.cube.path for block in file.blocks}).values()


def _level_stats(
    among: Mapping[tuple[int, ...], CubeStatus], blocks_of: Mapping[tuple[int, ...], int]
) -> tuple[LevelStats, ...]:
    levels: dict[int, list[CubeStatus]] = defaultdict(list)
    for of_cube in among.values():
        levels[of_cube.cube.depth].append(of_cube)
    return tuple(
        LevelStats(
            depth,
            len(cubes),
            sum(blocks_of[each.cube.path] for each in cubes),
            SizeStats.of(each.element_count for each in cubes),
            sum(fraction_of(each.max_weight) for each in cubes) / len(cubes),
        )
        for depth, cubes in sorted(levels.items())
    )
