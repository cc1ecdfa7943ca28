"""`pyqbeast clean`: delete what failed writes left behind."""

from __future__ import annotations

from typing import Annotated

import typer

import pyqbeast
from pyqbeast.cli import common


def clean(
    path: common.PathArgument,
    retain_hours: Annotated[
        int | None, typer.Option("--retain-hours", help="How old a file has to be; by default a week.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete the files; without it they are listed.")] = False,
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """List what failed writes left in a table's folder; --yes deletes it, as VACUUM does and more."""
    with common.errors_as_one_line(debug=debug):
        report = pyqbeast.QbeastTable.for_path(common.local_session(), path).clean(
            retain_hours, dry_run=not yes
        )
        if output is common.Output.json:
            common.print_json(report.to_dict())
        else:
            typer.echo(str(report))
