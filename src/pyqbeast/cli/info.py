"""`pyqbeast info`: the figures of an index."""

from __future__ import annotations

import click

from pyqbeast.cli import common
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot


@common.command
@click.argument("path")
@click.option("--revision", type=int, help="By default the latest.")
def info(path: str, revision: int | None, output: common.Output) -> None:
    """Show the figures of the index of the table at PATH.

    Needs no Spark.
    """
    metrics = IndexedSnapshot.read(path).metrics(revision)
    common.show(output, metrics.to_dict, lambda: str(metrics))
