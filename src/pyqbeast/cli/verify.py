"""`pyqbeast verify`: does the index say the truth?"""

from __future__ import annotations

import click

import pyqbeast
from pyqbeast.cli import common
from pyqbeast.cli.repair import heal
from pyqbeast.core.errors import (
    FormatError,
    InvalidInputError,
    MissingPackageError,
    SessionError,
    UnsupportedError,
)
from pyqbeast.verification.report import VerifyReport, check_level
from pyqbeast.verification.without_spark import verify_log


@common.command
@click.argument("path")
@click.option("--level", default="data", show_default=True, help="log, sample or data.")
@click.option("--repair", is_flag=True, help="Heal what is found, as `pyqbeast repair --yes` does.")
def verify(path: str, level: str, repair: bool, output: common.Output) -> None:
    """Check that the index of the table at PATH says the truth.

    The exit code is 1 where it does not. With --level log it needs no Spark, but for a log that cannot be read as a
    whole: Spark finds out which entries are to blame.
    """
    if repair:
        if level != "data":
            raise InvalidInputError(f"--repair looks at all rows: leave out --level {level}")
        heal(path, output, dry_run=False)
        return
    report = _verified(path, level)
    common.show(output, report.to_dict, lambda: str(report))
    if not report.ok:
        raise click.exceptions.Exit(1)


def _verified(path: str, level: str) -> VerifyReport:
    """Spark reads rows, and finds out what is wrong with a log that cannot be read as a whole."""
    check_level(level)
    problem = None
    if level == "log":
        try:
            return verify_log(path)
        except (FormatError, UnsupportedError) as error:
            common.echo(f"starting Spark: {error}", err=True)
            problem = error
    try:
        spark = common.local_session()
    except (MissingPackageError, SessionError) as reason:
        if problem is None:
            raise
        # What is wrong with the table comes first: a machine without Spark is none of its faults.
        raise type(problem)(
            f"{problem}; Spark, which would tell more, cannot be started: {reason}"
        ) from reason
    return pyqbeast.QbeastTable.for_path(spark, path).verify(level)
