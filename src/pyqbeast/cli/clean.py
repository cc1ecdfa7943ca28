"""`pyqbeast clean`: delete what failed writes left behind."""

from __future__ import annotations

import click

import pyqbeast
from pyqbeast.cli import common


@common.command
@click.argument("path")
@click.option(
    "--retain-hours",
    type=int,
    help="How old a file has to be; by default the table's delta.deletedFileRetentionDuration, or a week.",
)
@click.option("--yes", is_flag=True, help="Delete the files; without it they are listed.")
def clean(path: str, retain_hours: int | None, yes: bool, output: common.Output) -> None:
    """List what failed writes left in the folder of a table, PATH.

    With --yes it is deleted, as VACUUM does and more.
    """
    report = pyqbeast.QbeastTable.for_path(common.local_session(), path).clean(retain_hours, dry_run=not yes)
    common.show(output, report.to_dict, lambda: str(report))
