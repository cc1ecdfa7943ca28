"""`pyqbeast blocks`: the blocks of a table's files."""

from __future__ import annotations

from itertools import islice

import click

from pyqbeast.cli import common
from pyqbeast.cli.rows import print_rows, rows_asked
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from pyqbeast.scanning.blocks import SCHEMA, block_rows


@common.command
@click.argument("path")
@common.limit_option(100)
def blocks(path: str, limit: int | None, output: common.Output) -> None:
    """List the blocks of the files of the table at PATH.

    Needs no Spark.
    """
    # Tags that cannot be read are found before anything is printed.
    rows = [*islice(block_rows(IndexedSnapshot.read(path)), rows_asked(limit, output))]
    print_rows(SCHEMA.names, iter(rows), output, limit)
