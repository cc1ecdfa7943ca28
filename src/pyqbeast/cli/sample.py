"""`pyqbeast sample`: rows of a sample."""

from __future__ import annotations

from typing import Annotated

import typer

from pyqbeast.cli import common
from pyqbeast.cli.rows import LimitOption, print_rows
from pyqbeast.table.qbeast_table import QbeastTable


def sample(
    path: common.PathArgument,
    fraction: Annotated[float, typer.Option("--fraction", help="Share of the rows, from 0 to 1.")] = 0.01,
    limit: LimitOption = 20,
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """Print rows of a sample."""
    with common.errors_as_one_line(debug=debug):
        print_rows(QbeastTable.for_path(common.local_session(), path).sample(fraction), limit, output)
