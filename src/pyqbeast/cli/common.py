"""What all commands share: the session, the two kinds of output, and errors as one line."""

from __future__ import annotations

import base64
import functools
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, Literal

import click

import pyqbeast
from pyqbeast.core.errors import QbeastError, StorageError
from pyqbeast.core.visible import visible

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


#: How results are printed.
Output = Literal["text", "json"]


def command(function: Callable[..., None]) -> click.Command:
    """A command with a function's name, its help from the docstring, and the two options that all commands have.

    It ends with one line and exit code 1 after an error of pyqbeast's or of Spark's.
    """

    @functools.wraps(function)
    def run(*, debug: bool, **arguments: Any) -> None:  # noqa: ANN401 (each command has its own)
        try:
            function(**arguments)
        except Exception as error:
            told = None if debug else _expected(error, function.__name__.strip("_"))
            if told is None:
                raise
            echo(f"error: {_in_one_line(str(told))}", err=True)
            raise click.exceptions.Exit(1) from None

    made = click.command(run)
    made.params += [
        click.Option(
            ["--output"],
            type=click.Choice(["text", "json"]),
            default="text",
            show_default=True,
            help="Text for people, or JSON.",
        ),
        click.Option(["--debug"], is_flag=True, help="Show the trace of an error."),
    ]
    return made


def _in_one_line(text: str) -> str:
    """Blanks within a line stay: names have them."""
    return " ".join(filter(None, map(str.strip, text.split("\n"))))


def limit_option(in_text: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """How many rows a command prints at the most: unless it is told, `in_text` as text, and all as JSON.

    A program takes what it gets for the whole.
    """

    def with_limit(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def run(*, limit: int | None, output: Output, **arguments: Any) -> None:  # noqa: ANN401 (each command's)
            most = in_text if limit is None and output == "text" else limit
            function(limit=most, output=output, **arguments)

        return click.option(
            "--limit",
            type=click.IntRange(min=0, max=10**9),
            help=f"Rows to print at the most.  [default: {in_text} as text, all as JSON]",
        )(run)

    return with_limit


def _expected(error: Exception, command_name: str) -> Exception | None:
    """An error of pyqbeast's or of Spark's with a message for people; None for another one."""
    # Where Spark is not imported, it has raised none.
    if isinstance(error, QbeastError) or "pyspark" not in sys.modules:
        return error if isinstance(error, QbeastError) else None
    try:
        from pyspark.errors import PySparkException

        from pyqbeast.bridge import failures
    except Exception:  # what went wrong first is told
        return None
    try:
        with failures.readable(command_name, ""):
            raise error
    except (QbeastError, PySparkException) as readable:
        return readable
    except Exception:
        return None


def local_session(settings: Mapping[str, str] | None = None) -> SparkSession:
    """A quiet session on all cores of this machine, with further settings."""
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
    for key, value in (settings or {}).items():
        builder.config(key, value)
    return configure(builder).getOrCreate()


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Prints lines, the last with its end unless `nl` is false.

    Characters that a terminal would obey, and those that its encoding lacks, are written out.
    """
    stream = sys.stderr if err else sys.stdout
    try:
        click.echo("\n".join(as_shown(line, stream) for line in text.split("\n")), err=err, nl=nl)
    except BrokenPipeError:
        raise  # click ends quietly where nobody reads on
    except OSError as error:
        raise output_failed(stream, error) from error


def as_shown(line: str, stream: IO[str]) -> str:
    """A line as `echo` prints it to a stream."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return visible(line).encode(encoding, "backslashreplace").decode(encoding)


def output_failed(stream: IO[str], error: OSError) -> StorageError:
    """The error to raise where a stream cannot be written, to which nothing more goes."""
    # Python writes what the stream still holds once more when it ends, and would tell of it a second time.
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return StorageError(f"the output cannot be written: {error}")


def print_json(data: Any) -> None:  # noqa: ANN401 (whatever JSON can hold)
    """One JSON text on one line. NaN, infinities and bytes, which JSON lacks, are texts, as Spark's `to_json` has them.

    Bytes are in base 64.
    """
    echo(_json_text(data))


def print_json_list(items: Iterator[Any]) -> None:
    """Prints a list of many items as `print_json` does, a thousand at a time: their text is never held as a whole."""
    echo("[", nl=False)
    before = ""
    while some := list(islice(items, 1_000)):
        echo(before + ", ".join(map(_json_text, some)), nl=False)
        before = ", "
    echo("]")


def _json_text(data: Any) -> str:  # noqa: ANN401 (whatever JSON can hold)
    return json.dumps(_in_json(data), default=str, allow_nan=False)


def _in_json(value: Any) -> Any:  # noqa: ANN401 (whatever JSON can hold)
    if isinstance(value, dict):
        return {_key_in_json(key): _in_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_in_json(part) for part in value]
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode("ascii")
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _key_in_json(key: Any) -> Any:  # noqa: ANN401 (a key of a map)
    key = _in_json(key)
    return key if key is None or isinstance(key, str | int | float) else str(key)


def show(output: Output, data: Callable[[], Any], text: Callable[[], str]) -> None:
    """Prints a result in the form that was asked for."""
    if output == "json":
        print_json(data())
    else:
        echo(text())


def show_data(output: Output, data: dict[str, Any], text: Callable[[dict[str, Any]], str]) -> None:
    """Prints what is JSON already, or the text that a function makes of it."""
    show(output, lambda: data, lambda: text(data))
