"""`pyqbeast sample`: rows of a sample."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import pyarrow as pa

import pyqbeast
from pyqbeast.cli import common
from pyqbeast.cli.rows import print_rows, rows_asked, rows_of_arrow, rows_of_frame
from pyqbeast.core.errors import UnsupportedError
from pyqbeast.scanning.scan import Scan, scan


@common.command
@click.argument("path")
@click.option(
    "--fraction", type=float, default=0.01, show_default=True, help="Share of the rows, from 0 to 1."
)
@common.limit_option(20)
def sample(path: str, fraction: float, limit: int | None, output: common.Output) -> None:
    """Print rows of a sample of the table at PATH.

    Times are in UTC. Starts Spark only where a scan cannot read the table, or Spark has to draw the rows one by one.
    """
    most = rows_asked(limit, output)
    try:
        sampled = scan(path).sample(fraction)
        columns, rows = sampled.schema.names, rows_of_arrow(_first_rows(sampled, most))
    except UnsupportedError as error:
        common.echo(f"starting Spark: {error}", err=True)
        columns, rows = _by_spark(path, fraction, most)
    print_rows(columns, rows, output, limit)


def _first_rows(sampled: Scan, most: int | None) -> pa.Table:
    """Rows of a sample as Arrow has them, which takes a tenth of the memory."""
    held: list[pa.RecordBatch] = []
    missing = most
    for batch in sampled.to_batches():
        held.append(batch.slice(0, missing))
        if missing is not None:
            missing -= held[-1].num_rows
            if missing == 0:
                break
    return pa.Table.from_batches(held, sampled.schema)


def _by_spark(path: str, fraction: float, most: int | None) -> tuple[list[str], Iterator[dict[str, Any]]]:
    frame = pyqbeast.QbeastTable.for_path(common.local_session(), path).sample(fraction)
    return frame.columns, rows_of_frame(frame if most is None else frame.limit(most))
