"""`pyqbeast blocks`: the blocks of a table's files."""

from __future__ import annotations

from itertools import islice

from pyqbeast.cli import common
from pyqbeast.cli.rows import LimitOption, print_rows
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from pyqbeast.scanning.blocks import SCHEMA, block_rows


def blocks(
    path: common.PathArgument,
    limit: LimitOption = 100,
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """List the blocks of a table's files; needs no Spark."""
    with common.errors_as_one_line(debug=debug):
        rows = [*islice(block_rows(IndexedSnapshot.read(path)), limit)]
        print_rows(SCHEMA.names, rows, output)
