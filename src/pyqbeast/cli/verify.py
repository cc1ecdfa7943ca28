"""`pyqbeast verify`: does the index say the truth?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

import pyqbeast
from pyqbeast.cli import common
from pyqbeast.core.errors import FormatError, UnsupportedError
from pyqbeast.verification.report import VerifyReport, check_level
from pyqbeast.verification.without_spark import verify_log


def verify(
    path: common.PathArgument,
    level: Annotated[str, typer.Option("--level", help="log, sample or data.")] = "data",
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """Check that a table's index says the truth; exit code 1 where it does not. --level log needs no Spark."""
    with common.errors_as_one_line(debug=debug):
        report = _verified(path, level)
        if output is common.Output.json:
            common.print_json({"ok": report.ok, **asdict(report)})
        else:
            typer.echo(str(report))
        if not report.ok:
            raise typer.Exit(1)


def _verified(path: str, level: str) -> VerifyReport:
    """Spark reads rows, and finds out what is wrong with a log that cannot be read as a whole."""
    check_level(level)
    if level == "log":
        try:
            return verify_log(path)
        except (FormatError, UnsupportedError) as error:
            typer.echo(f"starting Spark: {error}", err=True)
    return pyqbeast.QbeastTable.for_path(common.local_session(), path).verify(level)
