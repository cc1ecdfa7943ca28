"""Rows as text or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.table import Table

from pyqbeast.cli import common

LimitOption = Annotated[int, typer.Option("--limit", min=0, help="Rows to print at the most.")]


def print_rows(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], output: common.Output) -> None:
    """Prints rows, each with a value for every column."""
    if output is common.Output.json:
        common.print_json([dict(row) for row in rows])
        return
    table = Table(*columns)
    for row in rows:
        table.add_row(*(str(row[column]) for column in columns))
    common.console().print(table)
