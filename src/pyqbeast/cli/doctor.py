"""`pyqbeast doctor`: whether this machine can run pyqbeast, or whether another program reads a table right."""

from __future__ import annotations

import platform

import click

import pyqbeast
from pyqbeast.cli import common
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.sharing.readers import READERS
from pyqbeast.delta_log.diagnosis import diagnose


@common.command
@click.argument("table", required=False)
@click.option("--reader", help=f"Who is to read it: {', '.join(READERS)}; by default all.")
def doctor(table: str | None, reader: str | None, output: common.Output) -> None:
    """Tell what other readers get wrong in TABLE, from its log.

    Without a table, start a session and tell the versions in it.
    """
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
    from pyqbeast.bridge.start.class_archive import archive
    from pyqbeast.spark_versions import DELTA_VERSION

    classes = archive()
    versions = {
        "pyqbeast": pyqbeast.__version__,
        "python": platform.python_version(),
        "spark": pyspark.__version__,
        "delta": DELTA_VERSION,
        "java": java_version(spark),
        "jar": str(bridge_jar()),
        "classes": None if classes is None else str(classes),
        "rows": spark.range(1000).count(),
    }
    told = {**versions, "classes": classes or "in no archive: pyqbeast prepare lets sessions start faster"}
    lines = [f"{name:>9}  {value}" for name, value in told.items()]
    common.show(
        output, lambda: versions, lambda: "\n".join([*lines, "a session starts and answers: all is well"])
    )


def _look_at_table(table: str, reader: str | None, output: common.Output) -> None:
    """Exit code 1 where a reader gets something wrong. Needs no Spark."""
    diagnoses = diagnose(table, reader)
    head = f"{diagnoses[0].table}, version {diagnoses[0].version}"
    common.show(
        output,
        lambda: {each.reader: each.to_dict() for each in diagnoses},
        lambda: "\n".join([head, *map(str, diagnoses)]),
    )
    if not all(each.ok for each in diagnoses):
        raise click.exceptions.Exit(1)
