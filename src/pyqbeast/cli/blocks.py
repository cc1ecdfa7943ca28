"""`pyqbeast blocks`: the blocks of a table's files."""

from __future__ import annotations

from pyqbeast.cli import common
from pyqbeast.cli.rows import LimitOption, print_rows
from pyqbeast.table.qbeast_table import QbeastTable


def blocks(
    path: common.PathArgument,
    limit: LimitOption = 100,
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """List the blocks of a table's files."""
    with common.errors_as_one_line(debug=debug):
        print_rows(QbeastTable.for_path(common.local_session(), path).blocks(), limit, output)
