"""What all commands share: the session, the two kinds of output, and errors as one line."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa
import typer

import pyqbeast
from pyqbeast.core.errors import QbeastError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console


class Output(str, Enum):
    """How results are printed."""

    text = "text"
    json = "json"


OutputOption = Annotated[Output, typer.Option("--output", help="Text for people, or JSON.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show the trace of an error.")]
PathArgument = Annotated[str, typer.Argument(help="Where the table lies.")]


@cache
def console() -> Console:
    """The terminal. Commands that print lines do without it, and its import takes a tenth of their time."""
    from rich.console import Console

    return Console()


@contextlib.contextmanager
def errors_as_one_line(*, debug: bool) -> Iterator[None]:
    """Ends a command with one line and exit code 1 after an error of pyqbeast's or of Spark's."""
    try:
        yield
    except Exception as error:
        if debug or not _is_expected(error):
            raise
        typer.echo(f"error: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(1) from None


def _is_expected(error: Exception) -> bool:
    """Whether an error is one of pyqbeast's or of Spark's. Where Spark is not imported, it has raised none."""
    of_spark = sys.modules.get("pyspark.errors")
    return isinstance(error, (QbeastError, of_spark.PySparkException if of_spark else QbeastError))


def local_session() -> SparkSession:
    """A quiet session on all cores of this machine."""
    configure = pyqbeast.configure  # says what to install where there is no Spark
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master("local[*]")
        .appName("pyqbeast")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.log.level", "ERROR")
    )
    return configure(builder).getOrCreate()


def plain_rows(rows: pa.Table | pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows of Arrow with the values that Spark gives to Python: times without their zone, which is UTC."""
    plain = pa.schema(
        [
            pa.field(each.name, pa.timestamp("us")) if pa.types.is_timestamp(each.type) else each
            for each in rows.schema
        ]
    )
    return [
        {name: bytearray(v) if isinstance(v, bytes) else v for name, v in row.items()}
        for row in rows.cast(plain).to_pylist(maps_as_pydicts="lossy")
    ]


def print_json(data: Any) -> None:  # noqa: ANN401 (whatever JSON can hold)
    """One JSON text on one line."""
    typer.echo(json.dumps(data, default=str))
