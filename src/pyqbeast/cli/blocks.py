"""`pyqbeast blocks`: the blocks of a table's files."""

from __future__ import annotations

from itertools import islice

from pyqbeast.cli import common
from pyqbeast.cli.rows import LimitOption, print_rows
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot

_COLUMNS = [
    "revision",
    "cube",
    "depth",
    "file",
    "file_bytes",
    "min_weight",
    "max_weight",
    "element_count",
    "replicated",
]


def blocks(
    path: common.PathArgument,
    limit: LimitOption = 100,
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """List the blocks of a table's files; needs no Spark."""
    with common.errors_as_one_line(debug=debug):
        rows = [
            {
                "revision": file.revision_id,
                "cube": block.cube.to_string(),
                "depth": block.cube.depth,
                "file": file.path,
                "file_bytes": file.size,
                "min_weight": block.min_weight,
                "max_weight": block.max_weight,
                "element_count": block.element_count,
                "replicated": block.replicated,
            }
            for file, block in islice(IndexedSnapshot.read(path).blocks(), limit)
        ]
        print_rows(_COLUMNS, rows, output)
