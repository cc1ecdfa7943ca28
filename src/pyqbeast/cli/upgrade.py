"""`pyqbeast upgrade`: a table written before format 0.6 becomes one of today."""

from __future__ import annotations

import click

import pyqbeast
from pyqbeast.cli import common


@common.command
@click.argument("path")
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@click.option("--drop-replicated", is_flag=True, help="Take files out whose rows other files hold too.")
def upgrade(path: str, dry_run: bool, drop_replicated: bool, output: common.Output) -> None:
    """Upgrade the table at PATH that was written before format 0.6."""
    report = pyqbeast.upgrade(common.local_session(), path, dry_run, drop_replicated)
    common.show(output, report.to_dict, lambda: str(report))
