"""Measures the index of one revision, from the blocks in the log alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.constants import STAGING_REVISION, WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block
from pyqbeast.core.format.logged_file import LoggedFile
from pyqbeast.core.format.weight import fraction_of
from pyqbeast.core.otree.metrics import IndexMetrics
from pyqbeast.core.otree.size_stats import LevelStats, SizeStats
from pyqbeast.core.otree.status import CubeStatus, IndexStatus
from pyqbeast.core.revisions.revision import Revision

#: Fractions for which the metrics tell what a sample reads.
SAMPLED = (0.001, 0.01, 0.1, 0.3)


def index_metrics(
    revision: Revision,
    files: Sequence[LoggedFile],
    *,
    is_prunable: bool,
    key_granularity: float,
    bound_of: Callable[[float], int],
) -> IndexMetrics:
    """The metrics of one revision, given all live files of the table.

    The blocks of `files` have no untrue marks. `is_prunable` says whether samples skip files of the revision; they do
    not where a hashed column has a wider type by now, which hashes otherwise. `bound_of` is the weight below which a
    sample of a fraction lies.
    """
    own = _files_of(revision, files)
    if not revision.is_staging:
        for file in own:
            _check_deleted(file)
    tree = _Tree.of(revision, [block for file in own for block in file.blocks if not block.replicated])
    rows = tree.element_count
    deleted = sum(file.deleted for file in own)
    unindexed = _Unindexed.of(files)
    size = sum(file.size for file in files)
    read_shares = _read_shares(own, lambda fraction: bound_of(fraction if is_prunable else 1.0))
    return IndexMetrics(
        revision_id=revision.id,
        element_count=rows,
        dimension_count=revision.dimensions,
        desired_cube_size=revision.cube_size,
        indexing_columns=",".join(transformer.spec for transformer in revision.transformers),
        height=1 + max((cube.depth for cube in tree.cubes), default=0),
        min_height=min_height(rows, revision.cube_size, revision.dimensions),
        avg_fanout=_fanout(tree.cubes),
        theoretical_fanout=float(2**revision.dimensions),
        cube_count=len(tree.cubes),
        block_count=len(tree.block_rows),
        file_count=len(own),
        bytes=sum(file.size for file in own),
        cube_element_count_stats=SizeStats.of(tree.rows),
        block_element_count_stats=SizeStats.of(tree.block_rows),
        file_bytes_stats=SizeStats.of([file.size for file in own]),
        block_count_per_cube_stats=SizeStats.of(tree.blocks),
        block_count_per_file_stats=SizeStats.of([len(file.blocks) for file in own]),
        file_count_per_cube_stats=SizeStats.of(_files_of_cubes(own)),
        inner_cube_element_count_stats=SizeStats.of(tree.rows[~tree.is_leaf]),
        inner_block_element_count_stats=SizeStats.of(tree.rows_of_blocks(~tree.is_leaf)),
        inner_levels=tree.levels(~tree.is_leaf),
        leaf_cube_element_count_stats=SizeStats.of(tree.rows[tree.is_leaf]),
        leaf_block_element_count_stats=SizeStats.of(tree.rows_of_blocks(tree.is_leaf)),
        leaf_levels=tree.levels(tree.is_leaf),
        read_shares=read_shares,
        read_amplification={fraction: share / fraction for fraction, share in read_shares.items()},
        deleted_rows=deleted,
        live_rows=0 if revision.is_staging else rows - deleted,
        files_with_vectors=sum(file.deleted > 0 for file in own),
        unindexed_files=unindexed.files,
        unindexed_bytes=unindexed.bytes,
        unindexed_rows=unindexed.rows,
        unindexed_share=unindexed.bytes / max(1, size),
        key_granularity=key_granularity,
        table_revisions=tuple(
            sorted({file.revision_id if file.blocks else STAGING_REVISION for file in files})
        ),
        table_rows=_live_rows(files, unindexed.rows),
        table_files=len(files),
        table_bytes=size,
    )


def _live_rows(files: Iterable[LoggedFile], unindexed: int | None) -> int | None:
    """The rows of a table that are not deleted, given those of its files without an index. Copies do not count."""
    if unindexed is None:
        return None
    indexed = sum(b.element_count for file in files for b in file.blocks if not b.replicated)
    return indexed + unindexed - sum(file.deleted for file in files)


def _check_deleted(file: LoggedFile) -> None:
    """A count of live rows below zero would not be noticed among those of other files."""
    if file.deleted and file.deleted > (rows := sum(block.element_count for block in file.blocks)):
        raise FormatError(
            f"{file.path}: the log says that {file.deleted} of its rows are deleted, and that it has {rows}: verify "
            "the table"
        )


def _files_of(revision: Revision, files: Iterable[LoggedFile]) -> list[LoggedFile]:
    if not revision.is_staging:
        return [file for file in files if file.revision_id == revision.id and file.blocks]
    root = Block(CubeId.root(revision.dimensions), WEIGHT_MIN, WEIGHT_MAX, 0)
    return [file._replace(blocks=(root,)) for file in files if not file.blocks]


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


def _files_of_cubes(files: Sequence[LoggedFile]) -> NDArray[np.int64]:
    """For each cube the number of files that it lies in."""
    number_of: dict[tuple[int, ...], int] = {}
    cubes = [number_of.setdefault(b.cube.path, len(number_of)) for file in files for b in file.blocks]
    file_of = np.repeat(np.arange(len(files)), [len(file.blocks) for file in files])
    once_a_file = np.unique(file_of * len(number_of) + np.array(cubes, np.int64))
    return np.bincount(once_a_file % max(1, len(number_of)))


def _read_shares(files: Sequence[LoggedFile], bound_of: Callable[[float], int]) -> dict[float, float]:
    """The share of the bytes of some files that samples of `SAMPLED` open."""
    sizes = np.array([file.size for file in files], np.int64)
    lightest = np.array([min([block.min_weight for block in file.blocks]) for file in files], np.int64)
    size = sum(file.size for file in files)
    return {
        fraction: int(sizes[lightest < bound_of(fraction)].sum()) / size if size else 0.0
        for fraction in SAMPLED
    }


class _Unindexed(NamedTuple):
    """The files without an index: how many there are, their bytes, and their rows; None where a file does not tell."""

    files: int
    bytes: int
    rows: int | None

    @classmethod
    def of(cls, files: Iterable[LoggedFile]) -> _Unindexed:
        """Those among all files of a table."""
        found = [file for file in files if not file.blocks]
        counts = [rows for file in found if (rows := file.counted_rows) is not None]
        rows = sum(counts) if len(counts) == len(found) else None
        return cls(len(found), sum(file.size for file in found), rows)


class _Tree(NamedTuple):
    """The cubes and the blocks of a tree.

    A table may have 300,000 blocks, so all that is told of each stands in columns.

    Attributes:
        cubes: with the rows and the weights of each.
        depths, rows, weights, blocks, is_leaf: of each cube its depth, its rows, the largest weight kept, the number of
            its blocks, and whether no cube lies below it.
        block_rows, cube_of: of each block its rows, and the number of its cube.
    """

    cubes: Mapping[CubeId, CubeStatus]
    depths: NDArray[np.int64]
    rows: NDArray[Any]
    weights: NDArray[np.int64]
    blocks: NDArray[np.int64]
    is_leaf: NDArray[np.bool_]
    block_rows: NDArray[Any]
    cube_of: NDArray[np.int64]

    @classmethod
    def of(cls, revision: Revision, blocks: Sequence[Block]) -> _Tree:
        """The tree of a revision's blocks."""
        status = IndexStatus.from_blocks(revision, blocks) if blocks else IndexStatus(revision, {})
        cubes = status.cubes
        # Paths stand for cubes: all have the same dimensions, and tuples are hashed faster.
        number_of = {cube.path: number for number, cube in enumerate(cubes)}
        cube_of = np.array([number_of[block.cube.path] for block in blocks], np.int64)
        return cls(
            cubes,
            np.array([cube.depth for cube in cubes], np.int64),
            np.array([each.element_count for each in cubes.values()]),
            np.array([each.max_weight for each in cubes.values()], np.int64),
            np.bincount(cube_of, minlength=len(cubes)),
            np.array(status.leaves, np.bool_),
            np.array([block.element_count for block in blocks]),
            cube_of,
        )

    @property
    def element_count(self) -> int:
        """The rows of all cubes."""
        return sum(each.element_count for each in self.cubes.values())

    def rows_of_blocks(self, among: NDArray[np.bool_]) -> NDArray[Any]:
        """The rows of each block of the chosen cubes."""
        return self.block_rows[among[self.cube_of]]

    def levels(self, among: NDArray[np.bool_]) -> tuple[LevelStats, ...]:
        """The chosen cubes by their depth."""
        levels = []
        for depth in np.unique(self.depths[among]).tolist():
            here = among & (self.depths == depth)
            levels.append(
                LevelStats(
                    depth,
                    int(here.sum()),
                    int(self.blocks[here].sum()),
                    SizeStats.of(self.rows[here]),
                    float(fraction_of(self.weights[here]).mean()),
                )
            )
        return tuple(levels)
