"""`pyqbeast repair`: what `verify` finds is healed."""

from __future__ import annotations

from typing import Annotated

import typer

import pyqbeast
from pyqbeast.cli import common


def repair(
    path: common.PathArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Commit it. Without, print what would change.")] = False,
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """Heal what `verify` finds, in one commit that changes no row; exit code 1 where something is left."""
    with common.errors_as_one_line(debug=debug):
        report = pyqbeast.QbeastTable.for_path(common.local_session(), path).repair(dry_run=not yes)
        if output is common.Output.json:
            common.print_json(report.to_dict())
        else:
            typer.echo(str(report))
        if not report.ok:
            raise typer.Exit(1)
