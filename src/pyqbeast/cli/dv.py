"""`pyqbeast dv`: the deletion vectors of a Delta table, read without Spark."""

from __future__ import annotations

from typing import Annotated

import typer

from pyqbeast.cli import common
from pyqbeast.deletion_vectors import reports


def dv(
    path: common.PathArgument,
    rows: Annotated[str | None, typer.Option("--rows", help="Print the deleted rows of this file.")] = None,
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """List which files of a table have deleted rows, and how many; needs no Spark."""
    with common.errors_as_one_line(debug=debug):
        report = reports.table_report(path) if rows is None else reports.rows_report(path, rows)
        if output is common.Output.json:
            common.print_json(report)
        else:
            render = reports.render_table if rows is None else reports.render_rows
            common.console.print(render(report))
