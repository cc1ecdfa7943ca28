"""`pyqbeast sample`: rows of a sample."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

import pyqbeast
from pyqbeast.cli import common
from pyqbeast.cli.rows import print_rows
from pyqbeast.core.errors import UnsupportedError
from pyqbeast.scanning.scan import Scan, scan


@common.command
@click.argument("path")
@click.option(
    "--fraction", type=float, default=0.01, show_default=True, help="Share of the rows, from 0 to 1."
)
@common.limit_option(20)
def sample(path: str, fraction: float, limit: int, output: common.Output) -> None:
    """Print rows of a sample of the table at PATH.

    Starts Spark only where it has to draw the rows one by one.
    """
    try:
        sampled = scan(path).sample(fraction)
        columns, rows = sampled.schema.names, list(_rows(sampled, limit))
    except UnsupportedError as error:
        common.echo(f"starting Spark: {error}", err=True)
        columns, rows = _by_spark(path, fraction, limit)
    print_rows(columns, rows, output)


def _rows(sampled: Scan, limit: int) -> Iterator[dict[str, Any]]:
    if limit == 0:
        return
    for batch in sampled.to_batches():
        # What is not printed may take long to convert.
        yield from common.plain_rows(batch.slice(0, limit))
        limit -= min(limit, batch.num_rows)
        if limit == 0:
            return


def _by_spark(path: str, fraction: float, limit: int) -> tuple[list[str], list[dict[str, Any]]]:
    frame = pyqbeast.QbeastTable.for_path(common.local_session(), path).sample(fraction).limit(limit)
    return frame.columns, [row.asDict(recursive=True) for row in frame.collect()]
