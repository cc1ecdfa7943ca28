"""`pyqbeast sample`: rows of a sample."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

import pyarrow as pa
import typer

from pyqbeast.cli import common
from pyqbeast.cli.rows import LimitOption, print_rows
from pyqbeast.core.errors import UnsupportedError
from pyqbeast.scanning.scan import scan


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
            columns, rows = sampled.schema.names, list(islice(_rows(sampled.to_batches()), limit))
        except UnsupportedError as error:
            typer.echo(f"starting Spark: {error}", err=True)
            columns, rows = _by_spark(path, fraction, limit)
        print_rows(columns, rows, output)


def _rows(batches: pa.RecordBatchReader) -> Iterator[dict[str, Any]]:
    """The rows with the values that Spark gives to Python: times without their zone, which is UTC."""
    plain = pa.schema(
        [
            pa.field(each.name, pa.timestamp("us")) if pa.types.is_timestamp(each.type) else each
            for each in batches.schema
        ]
    )
    for batch in batches:
        for row in batch.cast(plain).to_pylist(maps_as_pydicts="lossy"):
            yield {name: bytearray(v) if isinstance(v, bytes) else v for name, v in row.items()}


def _by_spark(path: str, fraction: float, limit: int) -> tuple[list[str], list[dict[str, Any]]]:
    from pyqbeast.table.qbeast_table import QbeastTable

    frame = QbeastTable.for_path(common.local_session(), path).sample(fraction).limit(limit)
    return frame.columns, [row.asDict(recursive=True) for row in frame.collect()]
