"""Rows as text or JSON."""

from __future__ import annotations

from typing import Annotated

import typer
from pyspark.sql import DataFrame
from rich.table import Table

from pyqbeast.cli import common

LimitOption = Annotated[int, typer.Option("--limit", help="Rows to print at the most.")]


def print_rows(frame: DataFrame, limit: int, output: common.Output) -> None:
    """Prints the first rows of a frame."""
    rows = frame.limit(limit).collect()
    if output is common.Output.json:
        common.print_json([row.asDict(recursive=True) for row in rows])
        return
    table = Table(*frame.columns)
    for row in rows:
        table.add_row(*(str(value) for value in row))
    common.console.print(table)
