"""`pyqbeast optimize`: put scattered rows in order."""

from __future__ import annotations

from typing import Annotated

import typer

import pyqbeast
from pyqbeast.cli import common


def optimize(
    path: common.PathArgument,
    revision: Annotated[int | None, typer.Option("--revision", help="By default the latest.")] = None,
    fraction: Annotated[float, typer.Option("--fraction", help="What samples of this share read.")] = 1.0,
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """Put scattered rows in order; --revision 0 indexes what plain Delta writers added."""
    with common.errors_as_one_line(debug=debug):
        table = pyqbeast.QbeastTable.for_path(common.local_session(), path)
        result = table.optimize(revision, fraction=fraction)
        if output is common.Output.json:
            common.print_json(result.to_dict())
        else:
            typer.echo(str(result))
