"""`pyqbeast repair`: what `verify` finds is healed."""

from __future__ import annotations

import click

import pyqbeast
from pyqbeast.cli import common


@common.command
@click.argument("path")
@click.option("--yes", is_flag=True, help="Commit it. Without, print what would change.")
def repair(path: str, yes: bool, output: common.Output) -> None:
    """Heal what `verify` finds in the table at PATH.

    One commit that changes no row. The exit code is 1 where something is left.
    """
    heal(path, output, dry_run=not yes)


def heal(path: str, output: common.Output, *, dry_run: bool) -> None:
    """Heals the table at a path, prints what was healed and what is left, and ends with exit code 1 where something is.

    With `dry_run` it prints what would be.
    """
    report = pyqbeast.QbeastTable.for_path(common.local_session(), path).repair(dry_run=dry_run)
    common.show(output, report.to_dict, lambda: str(report))
    if not report.ok:
        raise click.exceptions.Exit(1)
