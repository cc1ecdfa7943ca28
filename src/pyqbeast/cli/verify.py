"""`pyqbeast verify`: does the index say the truth?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from pyqbeast.cli import common
from pyqbeast.table.qbeast_table import QbeastTable


def verify(
    path: common.PathArgument,
    level: Annotated[str, typer.Option("--level", help="log, sample or data.")] = "data",
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """Check that a table's index says the truth; exit code 1 where it does not."""
    with common.errors_as_one_line(debug=debug):
        report = QbeastTable.for_path(common.local_session(), path).verify(level)
        if output is common.Output.json:
            common.print_json({"ok": report.ok, **asdict(report)})
        else:
            typer.echo(str(report))
        if not report.ok:
            raise typer.Exit(1)
