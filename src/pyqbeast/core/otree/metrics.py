"""Figures that tell how good an index is: of one revision, from the blocks in the log alone."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np

from pyqbeast.core.format.constants import WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block
from pyqbeast.core.format.weight import fraction_of, weight_of
from pyqbeast.core.otree.metrics_page import metrics_html, metrics_page
from pyqbeast.core.otree.status import CubeStatus, IndexStatus
from pyqbeast.core.revisions.revision import Revision

#: Fractions for which `IndexMetrics` tells what a sample reads.
SAMPLED = (0.001, 0.01, 0.1, 0.3)


class IndexedFile(NamedTuple):
    """A live file: bytes, rows stored in it (None where unknown), rows deleted, and its blocks by revision."""

    path: str
    size: int
    rows: int | None
    deleted: int
    revision_id: int
    blocks: Sequence[Block]


@dataclass(frozen=True)
class SizeStats:
    """How many, mean and sample standard deviation (cut to whole numbers), and the quartiles with both ends."""

    count: int
    avg: int
    stddev: int
    quartiles: tuple[int, ...]

    @classmethod
    def of(cls, values: Iterable[int]) -> SizeStats:
        """Of any numbers; zeros where there are none."""
        ordered = sorted(values)
        if not ordered:
            return cls(0, 0, 0, (0,) * 5)
        n = len(ordered)
        mean = sum(ordered) / n
        deviation = math.sqrt(sum([(v - mean) ** 2 for v in ordered]) / (n - 1)) if n > 1 else 0.0
        quartiles = tuple(ordered[max(math.ceil(n * i / 4) - 1, 0)] for i in range(5))
        return cls(n, int(mean), int(deviation), quartiles)

    def __str__(self) -> str:
        quartiles = ",".join(str(q) for q in self.quartiles)
        return f"(count: {self.count}, avg: {self.avg}, stddev: {self.stddev}, quartiles: [{quartiles}])"


@dataclass(frozen=True)
class LevelStats:
    """The cubes of one depth: how many cubes and blocks, rows a cube, and the mean of their weights (0 to 1)."""

    depth: int
    cube_count: int
    block_count: int
    cube_element_count: SizeStats
    avg_weight: float


@dataclass(frozen=True)
class IndexMetrics:
    """The index of one revision. Revision 0 stands for the files without an index; each counts as a root without rows.

    Attributes:
        element_count: rows in its blocks, deleted ones included.
        height: levels of the tree; min_height: the least that so many rows need.
        avg_fanout: children an inner cube, of theoretical_fanout 2^d.
        bytes: size of its files.
        inner_…, leaf_…: of the cubes with and without cubes below them; their levels by depth.
        read_shares: for fractions of `SAMPLED`, the share of the revision's bytes that a sample opens.
        read_amplification: for the same fractions, bytes opened by bytes that many rows take: 1 is ideal.
        deleted_rows: rows of its files that deletion vectors hide; live_rows: all others of element_count.
        files_with_vectors: how many of its files have a deletion vector.
        unindexed_files, unindexed_bytes, unindexed_rows: what the whole table holds outside of every index;
            every sample reads it. Rows are None where a file has no statistics.
        unindexed_share: unindexed bytes by all bytes of the table.
        key_granularity: share of the table's rows that one combination of hashed values may hold. Those rows are
            sampled together, so smaller samples are left to Spark.
    """

    revision_id: int
    element_count: int
    dimension_count: int
    desired_cube_size: int
    indexing_columns: str
    height: int
    min_height: int
    avg_fanout: float
    theoretical_fanout: float
    cube_count: int
    block_count: int
    file_count: int
    bytes: int
    cube_element_count_stats: SizeStats
    block_element_count_stats: SizeStats
    file_bytes_stats: SizeStats
    block_count_per_cube_stats: SizeStats
    block_count_per_file_stats: SizeStats
    file_count_per_cube_stats: SizeStats
    inner_cube_element_count_stats: SizeStats
    inner_block_element_count_stats: SizeStats
    inner_levels: tuple[LevelStats, ...]
    leaf_cube_element_count_stats: SizeStats
    leaf_block_element_count_stats: SizeStats
    leaf_levels: tuple[LevelStats, ...]
    read_shares: dict[float, float]
    read_amplification: dict[float, float]
    deleted_rows: int
    live_rows: int
    files_with_vectors: int
    unindexed_files: int
    unindexed_bytes: int
    unindexed_rows: int | None
    unindexed_share: float
    key_granularity: float

    def to_dict(self) -> dict[str, object]:
        """The figures as JSON has them."""
        figures = asdict(self)
        for name in ("read_shares", "read_amplification"):
            figures[name] = {f"{fraction:g}": figure for fraction, figure in getattr(self, name).items()}
        return figures

    def __str__(self) -> str:
        return metrics_page(self)

    def _repr_html_(self) -> str:
        return metrics_html(self)


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
