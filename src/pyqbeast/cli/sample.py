"""`pyqbeast sample`: rows of a sample."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

import typer

import pyqbeast
from pyqbeast.cli import common
from pyqbeast.cli.rows import LimitOption, print_rows
from pyqbeast.core.errors import UnsupportedError
from pyqbeast.scanning.scan import Scan, scan


def sample(
    path: common.PathArgument,
    fraction: Annotated[float, typer.Option("--fraction", help="Share of the rows, from 0 to 1.")] = 0.01,
    limit: LimitOption = 20,
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """Print rows of a sample; starts Spark only where it has to draw the rows one by one."""
    with common.errors_as_one_line(debug=debug):
        try:
            sampled = scan(path).sample(fraction)
            columns, rows = sampled.schema.names, list(islice(_rows(sampled), limit))
        except UnsupportedError as error:
            typer.echo(f"starting Spark: {error}", err=True)
            columns, rows = _by_spark(path, fraction, limit)
        print_rows(columns, rows, output)


def _rows(sampled: Scan) -> Iterator[dict[str, Any]]:
    for batch in sampled.to_batches():
        yield from common.plain_rows(batch)


def _by_spark(path: str, fraction: float, limit: int) -> tuple[list[str], list[dict[str, Any]]]:
    frame = pyqbeast.QbeastTable.for_path(common.local_session(), path).sample(fraction).limit(limit)
    return frame.columns, [row.asDict(recursive=True) for row in frame.collect()]
