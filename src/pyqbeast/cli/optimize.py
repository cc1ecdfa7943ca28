"""`pyqbeast optimize`: put scattered rows in order."""

from __future__ import annotations

import click

import pyqbeast
from pyqbeast.cli import common


@common.command
@click.argument("path")
@click.option("--revision", type=int, help="By default the latest.")
@click.option(
    "--fraction",
    type=float,
    default=1.0,
    show_default=True,
    help="Rewrite only files that a sample of this share reads; of revision 0 the oldest, up to this share of its "
    "bytes.",
)
def optimize(path: str, revision: int | None, fraction: float, output: common.Output) -> None:
    """Put scattered rows of the table at PATH in order.

    With --revision 0 it indexes what plain Delta writers added.
    """
    table = pyqbeast.QbeastTable.for_path(common.local_session(), path)
    result = table.optimize(revision, fraction=fraction)
    common.show(output, result.to_dict, lambda: str(result))
