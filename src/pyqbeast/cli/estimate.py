"""`pyqbeast estimate`: an aggregate of a table to a stated error."""

from __future__ import annotations

from typing import Annotated

import typer
from pyspark.sql import functions as F
from rich.table import Table

import pyqbeast
from pyqbeast.approximate.answer import Estimate
from pyqbeast.cli import common


def estimate(
    path: common.PathArgument,
    aggregates: Annotated[list[str], typer.Argument(help='What to estimate, for example "avg(dep_delay)".')],
    where: Annotated[str | None, typer.Option("--where", help="Only rows that meet this condition.")] = None,
    group_by: Annotated[
        str | None, typer.Option("--group-by", help="Columns, with commas between them.")
    ] = None,
    error: Annotated[float, typer.Option("--error", help="Largest error, as a share of the truth.")] = 0.01,
    absolute: Annotated[
        bool, typer.Option("--absolute", help="The error is in the value's own unit.")
    ] = False,
    confidence: Annotated[float, typer.Option("--confidence", help="How often a bound has to hold.")] = 0.95,
    exact: Annotated[bool, typer.Option("--exact", help="Read all rows.")] = False,
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """Answer an aggregation within a stated error, from as few bytes as that takes."""
    with common.errors_as_one_line(debug=debug):
        table = common.local_session().read.format("qbeast").load(path)
        if where is not None:
            table = table.filter(where)
        groups = [name.strip() for name in (group_by or "").split(",") if name.strip()]
        query = table.groupBy(*groups).agg(*(F.expr(text) for text in aggregates))
        answer = pyqbeast.tolerance(
            query, error=error, confidence=confidence, relative=not absolute, exact=exact
        )
        _print(answer, output)


def _print(answer: Estimate, output: common.Output) -> None:
    rows = answer.df.collect()
    if output is common.Output.json:
        common.print_json(
            {
                "rows": [row.asDict(recursive=True) for row in rows],
                "fraction": answer.fraction,
                "exact": answer.exact,
                "bytes_read": answer.bytes_read,
                "exact_bytes": answer.exact_bytes,
                "steps": [step._asdict() for step in answer.steps],
                "confidence": answer.confidence,
                "worth": answer.worth,
                "complete_groups": answer.groups is None or answer.groups.complete,
            }
        )
        return
    table = Table(*answer.df.columns)
    for row in rows:
        table.add_row(*(str(value) for value in row))
    common.console.print(table)
    typer.echo(answer.cost)
    for note in answer.notes:
        typer.echo(note)
