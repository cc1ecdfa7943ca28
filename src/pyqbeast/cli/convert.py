"""`pyqbeast convert`: an indexed table from files that are there."""

from __future__ import annotations

from typing import Annotated

import typer

import pyqbeast
from pyqbeast.cli import common


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
        summary = {"path": table.path, "columns": table.columns_to_index, "cube_size": table.cube_size}
        if output is common.Output.json:
            common.print_json(summary)
        else:
            typer.echo(f"{table.path}: indexed by {', '.join(table.columns_to_index)} from now on")
