"""`pyqbeast tiledb`: info, verify, dump, export and import on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from pyqbeast.cli import common
from pyqbeast.cli.tiledb import commands, render

app = typer.Typer(
    name="tiledb", help="Look into TileDB arrays, check them, and move them into indexed tables."
)

Uri = Annotated[str, typer.Argument(help="The array: a path or URI.")]
TimestampOption = Annotated[
    int | None, typer.Option("--timestamp", help="As of this time, in ms since 1970 (UTC).")
]
KeyOption = Annotated[
    str | None, typer.Option("--encryption-key", help="The 32-byte key of an encrypted array.")
]


def _run(
    output: common.Output, text: Callable[[dict[str, Any]], str], command: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Run a command and print its result; an error is one line and exit code 1."""
    with common.errors_as_one_line(debug=False):
        data = command()
    if output is common.Output.json:
        common.print_json(data)
    else:
        typer.echo(text(data))
    return data


@app.command()
def info(
    uri: Uri,
    timestamp: TimestampOption = None,
    encryption_key: KeyOption = None,
    output: common.OutputOption = common.Output.text,
) -> None:
    """Show the schema, fragments and metadata of an array."""
    _run(output, render.info_text, lambda: commands.info(uri, timestamp, encryption_key))


@app.command()
def verify(
    uri: Uri,
    timestamp: TimestampOption = None,
    encryption_key: KeyOption = None,
    output: common.OutputOption = common.Output.text,
) -> None:
    """Check bounds, checksums, statistics and files; exit code 1 where something is wrong."""
    data = _run(output, render.verify_text, lambda: commands.verify(uri, timestamp, encryption_key))
    if not data["ok"]:
        raise typer.Exit(1)


@app.command()
def clean(
    uri: Uri,
    retain_hours: Annotated[float, typer.Option("--retain-hours", help="How old a file has to be.")] = 168,
    yes: Annotated[bool, typer.Option("--yes", help="Delete the files; without it they are listed.")] = False,
    output: common.OutputOption = common.Output.text,
) -> None:
    """List what failed writes left in an array's folder; --yes deletes it."""
    _run(output, render.clean_text, lambda: commands.clean(uri, retain_hours, dry_run=not yes))


@app.command()
def dump(
    uri: Uri,
    fragment: Annotated[str | None, typer.Argument(help="A fragment's name, or the beginning of it.")] = None,
    timestamp: TimestampOption = None,
    encryption_key: KeyOption = None,
    output: common.OutputOption = common.Output.text,
) -> None:
    """Show everything that the metadata of fragments says."""
    _run(output, render.dump_text, lambda: commands.dump(uri, fragment, timestamp, encryption_key))


@app.command()
def export(
    uri: Uri,
    table: Annotated[str, typer.Argument(help="Where the indexed table goes.")],
    columns_to_index: Annotated[
        str | None, typer.Option(help="Columns, joined by commas; the dimensions by default.")
    ] = None,
    timestamp: TimestampOption = None,
    output: common.OutputOption = common.Output.text,
) -> None:
    """Write an array's cells into a new indexed table."""
    _run(
        output,
        render.moved_text,
        lambda: commands.export(common.local_session(), uri, table, columns_to_index, timestamp),
    )


@app.command(name="import")
def import_(
    table: Annotated[str, typer.Argument(help="The indexed table.")],
    uri: Uri,
    dimensions: Annotated[
        str | None, typer.Option(help="For a new array: the columns of its key, joined by commas.")
    ] = None,
    output: common.OutputOption = common.Output.text,
) -> None:
    """Write an indexed table's rows into an array."""
    _run(output, render.moved_text, lambda: commands.import_(common.local_session(), table, uri, dimensions))
