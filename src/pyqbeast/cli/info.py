"""`pyqbeast info`: the figures of an index."""

from __future__ import annotations

from typing import Annotated

import typer

from pyqbeast.cli import common
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot


def info(
    path: common.PathArgument,
    revision: Annotated[int | None, typer.Option("--revision", help="By default the latest.")] = None,
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """Show the figures of a table's index; needs no Spark."""
    with common.errors_as_one_line(debug=debug):
        metrics = IndexedSnapshot.read(path).metrics(revision)
        if output is common.Output.json:
            common.print_json(metrics.to_dict())
        else:
            typer.echo(str(metrics))
