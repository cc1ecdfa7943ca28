"""The figures of an index as a page to read: the lines of the Scala project's page, and what ours adds to them.

Notebooks show a shorter one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyqbeast.core.html import block_html, facts_html, table_html

if TYPE_CHECKING:
    from pyqbeast.core.otree.metrics import IndexMetrics, LevelStats, SizeStats


def metrics_page(metrics: IndexMetrics) -> str:
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
        f"unindexed: {metrics.unindexed_files} files, {metrics.unindexed_bytes} bytes ({metrics.unindexed_share:.2%})",
        f"keyGranularity: {metrics.key_granularity:.2g}",
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
    ]
    return "\n".join(lines)


def metrics_html(metrics: IndexMetrics) -> str:
    """The figures of one revision for a notebook."""
    facts = {
        "rows": metrics.element_count,
        "deleted rows": metrics.deleted_rows,
        "cubes": metrics.cube_count,
        "cube size": metrics.desired_cube_size,
        "levels": f"{metrics.height}, {metrics.min_height} at least",
        "files": metrics.file_count,
        "bytes": metrics.bytes,
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
