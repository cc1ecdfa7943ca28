"""`pyqbeast blocks`: the blocks of a table's files."""

from __future__ import annotations

from itertools import islice

import click

from pyqbeast.cli import common
from pyqbeast.cli.rows import print_rows
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from pyqbeast.scanning.blocks import SCHEMA, block_rows


@common.command
@click.argument("path")
@common.limit_option(100)
def blocks(path: str, limit: int, output: common.Output) -> None:
    """List the blocks of the files of the table at PATH.

    Needs no Spark.
    """
    rows = [*islice(block_rows(IndexedSnapshot.read(path)), limit)]
    print_rows(SCHEMA.names, rows, output)
