"""`pyqbeast doctor`: whether this machine can run pyqbeast, or whether another program reads a table right."""

from __future__ import annotations

import platform
from typing import Annotated

import typer

import pyqbeast
from pyqbeast.cli import common
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.sharing.readers import READERS
from pyqbeast.delta_log.diagnosis import diagnose


def doctor(
    table: Annotated[
        str | None, typer.Argument(help="A table to share; none to look at this machine.")
    ] = None,
    reader: Annotated[
        str | None, typer.Option("--reader", help=f"Who is to read it: {', '.join(READERS)}; by default all.")
    ] = None,
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """Start a session and tell the versions in it; or tell what other readers get wrong in a table, from its log."""
    with common.errors_as_one_line(debug=debug):
        if table is not None:
            _look_at_table(table, reader, output)
        elif reader is not None:
            raise InvalidInputError("--reader needs a table: pyqbeast doctor TABLE --reader NAME")
        else:
            _look_at_machine(output)


def _look_at_machine(output: common.Output) -> None:
    spark = common.local_session()
    import pyspark

    from pyqbeast.bridge.jars import bridge_jar
    from pyqbeast.bridge.session import java_version
    from pyqbeast.bridge.spark_versions import DELTA_VERSION

    versions = {
        "pyqbeast": pyqbeast.__version__,
        "python": platform.python_version(),
        "spark": pyspark.__version__,
        "delta": DELTA_VERSION,
        "java": java_version(spark),
        "jar": str(bridge_jar()),
        "rows": spark.range(1000).count(),
    }
    if output is common.Output.json:
        common.print_json(versions)
        return
    for name, value in versions.items():
        common.console().print(f"{name:>9}  {value}", highlight=False)
    common.console().print("a session starts and answers: all is well")


def _look_at_table(table: str, reader: str | None, output: common.Output) -> None:
    """Exit code 1 where a reader gets something wrong. Needs no Spark."""
    diagnoses = diagnose(table, reader)
    if output is common.Output.json:
        common.print_json({each.reader: each.to_dict() for each in diagnoses})
    else:
        typer.echo(f"{diagnoses[0].table}, version {diagnoses[0].version}")
        for each in diagnoses:
            typer.echo(str(each))
    if not all(each.ok for each in diagnoses):
        raise typer.Exit(1)
