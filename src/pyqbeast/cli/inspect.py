"""`pyqbeast info`, `blocks` and `sample`: look into an indexed table."""

from __future__ import annotations

from typing import Annotated

import typer
from pyspark.sql import DataFrame
from rich.table import Table

from pyqbeast.cli import common
from pyqbeast.table.qbeast_table import QbeastTable

LimitOption = Annotated[int, typer.Option("--limit", help="Rows to print at the most.")]


def info(
    path: common.PathArgument,
    revision: Annotated[int | None, typer.Option("--revision", help="By default the latest.")] = None,
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """Show the figures of a table's index."""
    with common.errors_as_one_line(debug=debug):
        metrics = QbeastTable.for_path(common.local_session(), path).metrics(revision)
        if output is common.Output.json:
            common.print_json(metrics.to_dict())
        else:
            typer.echo(str(metrics))


def blocks(
    path: common.PathArgument,
    limit: LimitOption = 100,
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """List the blocks of a table's files."""
    with common.errors_as_one_line(debug=debug):
        _print(QbeastTable.for_path(common.local_session(), path).blocks(), limit, output)


def sample(
    path: common.PathArgument,
    fraction: Annotated[float, typer.Option("--fraction", help="Share of the rows, from 0 to 1.")] = 0.01,
    limit: LimitOption = 20,
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """Print rows of a sample."""
    with common.errors_as_one_line(debug=debug):
        _print(QbeastTable.for_path(common.local_session(), path).sample(fraction), limit, output)


def _print(frame: DataFrame, limit: int, output: common.Output) -> None:
    rows = frame.limit(limit).collect()
    if output is common.Output.json:
        common.print_json([row.asDict(recursive=True) for row in rows])
        return
    table = Table(*frame.columns)
    for row in rows:
        table.add_row(*(str(value) for value in row))
    common.console.print(table)
