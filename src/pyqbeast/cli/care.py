"""`pyqbeast optimize`, `convert` and `verify`: look after a table."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

import pyqbeast
from pyqbeast.cli import common
from pyqbeast.table.qbeast_table import QbeastTable


def optimize(
    path: common.PathArgument,
    revision: Annotated[int | None, typer.Option("--revision", help="By default the latest.")] = None,
    fraction: Annotated[float, typer.Option("--fraction", help="What samples of this share read.")] = 1.0,
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """Put scattered rows in order; --revision 0 indexes what plain Delta writers added."""
    with common.errors_as_one_line(debug=debug):
        table = QbeastTable.for_path(common.local_session(), path)
        result = table.optimize(revision, fraction=fraction)
        if output is common.Output.json:
            common.print_json(result.to_dict())
        else:
            typer.echo(str(result))


def convert(
    identifier: Annotated[str, typer.Argument(help="parquet.`/path`, delta.`/path` or a table's name.")],
    columns: Annotated[str, typer.Option("--columns", help="Columns to index, with commas between them.")],
    cube_size: Annotated[int | None, typer.Option("--cube-size", help="Rows a cube.")] = None,
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """Make an indexed table of Parquet files or of a Delta table, without rewriting a file."""
    with common.errors_as_one_line(debug=debug):
        spark = common.local_session()
        table = pyqbeast.convert(spark, identifier, columns_to_index=columns.split(","), cube_size=cube_size)
        told = {"path": table.path, "columns": table.columns_to_index, "cube_size": table.cube_size}
        if output is common.Output.json:
            common.print_json(told)
        else:
            typer.echo(f"{table.path}: indexed by {', '.join(table.columns_to_index)} from now on")


def verify(
    path: common.PathArgument,
    level: Annotated[str, typer.Option("--level", help="log or data.")] = "data",
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """Check that a table's index says the truth; exit code 1 where it does not."""
    with common.errors_as_one_line(debug=debug):
        report = QbeastTable.for_path(common.local_session(), path).verify(level)
        if output is common.Output.json:
            common.print_json({"ok": report.ok, **asdict(report)})
        else:
            typer.echo(str(report))
        if not report.ok:
            raise typer.Exit(1)
