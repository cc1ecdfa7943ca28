"""Figures that tell how good an index is, and their page: the lines of the Scala project's page, and what ours adds.

Notebooks show a shorter one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pyqbeast.core.html import block_html, facts_html, table_html
from pyqbeast.core.otree.size_stats import LevelStats, SizeStats
from pyqbeast.core.visible import counted


@dataclass(frozen=True)
class IndexMetrics:
    """The index of one revision. Revision 0 stands for the files without an index; each counts as a root without rows.

    Attributes:
        element_count: rows in its blocks, deleted ones included.
        height: levels of the tree; min_height: the least that so many rows need.
        avg_fanout: children an inner cube, of theoretical_fanout 2^d.
        bytes: size of its files.
        inner_…, leaf_…: of the cubes with and without cubes below them; their levels by depth.
        read_shares: for the fractions of `measure.SAMPLED`, the share of the revision's bytes that a sample opens.
        read_amplification: for the same fractions, bytes opened by bytes that many rows take: 1 is ideal.
        deleted_rows: rows of its files that deletion vectors hide; live_rows: all others of element_count, so none of
            revision 0.
        files_with_vectors: how many of its files have a deletion vector.
        unindexed_files, unindexed_bytes, unindexed_rows: what the whole table holds outside of every index;
            every sample reads it. Rows are None where a file has no statistics.
        unindexed_share: unindexed bytes by all bytes of the table.
        key_granularity: share of the table's rows that one combination of hashed values may hold. Those rows are
            sampled together, so smaller samples are left to Spark. Rows count where they repeat a combination within
            one write: one that comes once in each of many writes is not seen. Files that another writer made, or
            `convert` took as they are, do not tell their part of it.
        table_revisions: the revisions that the table's files belong to; 0 where some have no index.
        table_rows: rows of the whole table, without deleted ones. None where a file has no statistics.
        table_files, table_bytes: of the whole table.
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
    read_shares: dict[float, float] = field(hash=False)
    read_amplification: dict[float, float] = field(hash=False)
    deleted_rows: int
    live_rows: int
    files_with_vectors: int
    unindexed_files: int
    unindexed_bytes: int
    unindexed_rows: int | None
    unindexed_share: float
    key_granularity: float
    table_revisions: tuple[int, ...]
    table_rows: int | None
    table_files: int
    table_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON has them."""
        figures = asdict(self) | {"table_revisions": list(self.table_revisions)}
        for name in ("read_shares", "read_amplification"):
            figures[name] = {f"{fraction:g}": figure for fraction, figure in getattr(self, name).items()}
        return figures

    def __str__(self) -> str:
        return _page(self)

    def _repr_html_(self) -> str:
        return _html(self)


def _page(metrics: IndexMetrics) -> str:
    """The page of one revision."""
    lines = [
        "OTree Index Metrics:",
        f"revisionId: {metrics.revision_id}",
        f"elementCount: {metrics.element_count}",
        f"dimensionCount: {metrics.dimension_count}",
        f"desiredCubeSize: {metrics.desired_cube_size}",
        f"indexingColumns: {metrics.indexing_columns}",
        f"height: {metrics.height} ({metrics.min_height})",
        f"avgFanout: {metrics.avg_fanout} ({metrics.theoretical_fanout})",
        f"cubeCount: {metrics.cube_count}",
        f"blockCount: {metrics.block_count}",
        f"fileCount: {metrics.file_count}",
        f"bytes: {metrics.bytes}",
        "",
        "Multi-block files stats:",
        f"cubeElementCountStats: {metrics.cube_element_count_stats}",
        f"blockElementCountStats: {metrics.block_element_count_stats}",
        f"fileBytesStats: {metrics.file_bytes_stats}",
        f"blockCountPerCubeStats: {metrics.block_count_per_cube_stats}",
        f"blockCountPerFileStats: {metrics.block_count_per_file_stats}",
        f"fileCountPerCubeStats: {metrics.file_count_per_cube_stats}",
        "",
        "Bytes that a sample opens, by all bytes of the revision and by those of its rows:",
        f"{'sample':>8}{'share':>10}{'amplification':>15}",
        *(
            f"{fraction:>8.1%}{metrics.read_shares[fraction]:>10.2%}{metrics.read_amplification[fraction]:>15.1f}"
            for fraction in metrics.read_shares
        ),
        "",
        f"deletedRows: {metrics.deleted_rows} in {metrics.files_with_vectors} files, liveRows: {metrics.live_rows}",
        *_part(
            "Inner",
            metrics.inner_cube_element_count_stats,
            metrics.inner_block_element_count_stats,
            metrics.inner_levels,
        ),
        *_part(
            "Leaf",
            metrics.leaf_cube_element_count_stats,
            metrics.leaf_block_element_count_stats,
            metrics.leaf_levels,
        ),
        "",
        "The whole table:",
        f"revisions: {_revisions(metrics)}",
        f"rows: {'unknown' if metrics.table_rows is None else metrics.table_rows}",
        f"files: {metrics.table_files}",
        f"bytes: {metrics.table_bytes}",
        f"unindexed: {metrics.unindexed_files} files, {metrics.unindexed_bytes} bytes ({metrics.unindexed_share:.2%})",
        f"keyGranularity: {metrics.key_granularity:.2g}",
    ]
    return "\n".join(lines)


def _html(metrics: IndexMetrics) -> str:
    """The figures of one revision for a notebook."""
    facts = {
        "rows": metrics.element_count,
        "deleted rows": metrics.deleted_rows,
        "cubes": metrics.cube_count,
        "cube size": metrics.desired_cube_size,
        "levels": f"{metrics.height}, {metrics.min_height} at least",
        "files": metrics.file_count,
        "bytes": metrics.bytes,
        "of the whole table": f"{rows_of_table(metrics)} in {counted(metrics.table_files, 'file')}, "
        f"{counted(metrics.table_bytes, 'byte')}, revisions {_revisions(metrics)}",
        "files without an index": f"{metrics.unindexed_files:,}, {metrics.unindexed_share:.2%} of the bytes",
    }
    samples = [
        (f"{fraction:.1%}", f"{share:.2%}", f"{metrics.read_amplification[fraction]:.1f}")
        for fraction, share in metrics.read_shares.items()
    ]
    levels = [
        (level.depth, kind, level.cube_count, level.cube_element_count.avg, f"{level.avg_weight:.4f}")
        for kind, of_kind in (("inner", metrics.inner_levels), ("leaf", metrics.leaf_levels))
        for level in of_kind
    ]
    return block_html(
        f"Revision {metrics.revision_id}, indexed by {metrics.indexing_columns}",
        facts_html(facts),
        table_html(
            "What samples open", ("sample", "share of the bytes", "by the bytes of its rows"), samples
        ),
        table_html("Cubes", ("level", "cubes", "how many", "rows a cube", "mean weight"), levels),
    )


def _revisions(metrics: IndexMetrics) -> str:
    return ", ".join(map(str, metrics.table_revisions))


def rows_of_table(metrics: IndexMetrics) -> str:
    """The rows of the whole table in words."""
    return "an unknown number of rows" if metrics.table_rows is None else counted(metrics.table_rows, "row")


def _part(which: str, cubes: SizeStats, blocks: SizeStats, levels: Sequence[LevelStats]) -> list[str]:
    lines = [
        "",
        f"{which} cubes by depth:",
        f"cubeElementCountStats: {cubes}",
        f"blockElementCountStats: {blocks}",
        f"{'depth':>6}{'cubes':>9}{'blocks':>9}{'rows a cube':>13}{'stddev':>10}{'avg weight':>12}",
    ]
    for level in levels:
        sizes = level.cube_element_count
        lines.append(
            f"{level.depth:>6}{level.cube_count:>9}{level.block_count:>9}{sizes.avg:>13}{sizes.stddev:>10}"
            f"{level.avg_weight:>12.4f}"
        )
    return lines if levels else []
