"""`pyqbeast dv`: the deletion vectors of a Delta table, read without Spark."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pyqbeast.cli import common
from pyqbeast.deletion_vectors import reports

_STORAGE = {None: "", "u": "file (u)", "p": "absolute path (p)", "i": "inline (i)"}


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
            common.console.print(render_table(report) if rows is None else render_rows(report))


def render_table(report: dict[str, Any]) -> RenderableType:
    """Return a `table_report` for rich to print."""
    files = report["files"]
    with_vector = sum(file["storage"] is not None for file in files)
    head = (
        f"{report['table']}, version {report['version']}: {report['deleted_rows']:,} rows deleted, "
        f"{with_vector} of {len(files)} files have a deletion vector"
    )
    grid = Table("file", "vector")
    for name in ("deleted", "rows", "share"):
        grid.add_column(name, justify="right")
    for file in files:
        rows, share = file["physical_rows"], file["deleted_share"]
        grid.add_row(
            # A `Text` is not parsed as markup: a file's name may contain "[red]".
            Text(file["path"], overflow="fold"),
            _STORAGE[file["storage"]],
            f"{file['cardinality']:,}",
            "?" if rows is None else f"{rows:,}",
            "?" if share is None else f"{share:.1%}",
        )
    return Group(Text(head), grid)


def render_rows(report: dict[str, Any]) -> RenderableType:
    """Return a `rows_report` for rich to print: the row indexes, one to a line."""
    return Text(
        "\n".join([f"{report['file']}: {report['cardinality']:,} rows deleted", *map(str, report["rows"])])
    )
