"""`pyqbeast upgrade`: a table written before format 0.6 becomes one of today."""

from __future__ import annotations

from typing import Annotated

import typer

import pyqbeast
from pyqbeast.cli import common


def upgrade(
    path: common.PathArgument,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would change, and change nothing.")
    ] = False,
    drop_replicated: Annotated[
        bool, typer.Option("--drop-replicated", help="Take files out whose rows other files hold too.")
    ] = False,
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """Upgrade a table that was written before format 0.6."""
    with common.errors_as_one_line(debug=debug):
        report = pyqbeast.upgrade(common.local_session(), path, dry_run, drop_replicated)
        if output is common.Output.json:
            common.print_json(report.to_dict())
        else:
            typer.echo(str(report))
