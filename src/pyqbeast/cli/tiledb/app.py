"""`pyqbeast tiledb`: info, verify, clean, dump, export and import on the command line."""

from __future__ import annotations

import click

from pyqbeast.cli import common
from pyqbeast.cli.tiledb import commands, render

_TIMESTAMP = click.option("--timestamp", type=int, help="As of this time, in ms since 1970 (UTC).")
_KEY = click.option("--encryption-key", help="The 32-byte key of an encrypted array.")


@click.group()
def tiledb() -> None:
    """Look into TileDB arrays, check them, and move their cells.

    URI is where an array lies.
    """


@common.command
@click.argument("uri")
@_TIMESTAMP
@_KEY
def info(uri: str, timestamp: int | None, encryption_key: str | None, output: common.Output) -> None:
    """Show the schema, fragments and metadata of an array."""
    data = commands.info(uri, timestamp, encryption_key)
    common.show_data(output, data, render.info_text)


@common.command
@click.argument("uri")
@_TIMESTAMP
@_KEY
def verify(uri: str, timestamp: int | None, encryption_key: str | None, output: common.Output) -> None:
    """Check bounds, checksums, statistics and files.

    The exit code is 1 where something is wrong.
    """
    report = commands.verify(uri, timestamp, encryption_key)
    common.show(output, report.to_dict, report.__str__)
    if not report.ok:
        raise click.exceptions.Exit(1)


@common.command
@click.argument("uri")
@click.option("--retain-hours", type=float, default=168, show_default=True, help="How old a file has to be.")
@click.option("--yes", is_flag=True, help="Delete the files; without it they are listed.")
def clean(uri: str, retain_hours: float, yes: bool, output: common.Output) -> None:
    """List what failed writes left in an array's folder.

    With --yes it is deleted.
    """
    data = commands.clean(uri, retain_hours, dry_run=not yes)
    common.show_data(output, data, render.clean_text)


@common.command
@click.argument("uri")
@click.argument("fragment", required=False)
@_TIMESTAMP
@_KEY
def dump(
    uri: str, fragment: str | None, timestamp: int | None, encryption_key: str | None, output: common.Output
) -> None:
    """Show everything that the metadata of fragments says.

    FRAGMENT is a fragment's name, or the beginning of it.
    """
    data = commands.dump(uri, fragment, timestamp, encryption_key)
    common.show_data(output, data, render.dump_text)


@common.command
@click.argument("uri")
@click.argument("table")
@click.option("--columns", help="Columns to index, with commas between them; by default the dimensions.")
@_TIMESTAMP
@_KEY
def export(
    uri: str,
    table: str,
    columns: str | None,
    timestamp: int | None,
    encryption_key: str | None,
    output: common.Output,
) -> None:
    """Write an array's cells into a new indexed table at TABLE."""
    data = commands.export(common.local_session(), uri, table, columns, timestamp, encryption_key)
    common.show_data(output, data, render.moved_text)


@common.command
@click.argument("table")
@click.argument("uri")
@click.option("--dimensions", help="For a new array: the columns of its key, joined by commas.")
@_KEY
def import_(
    table: str, uri: str, dimensions: str | None, encryption_key: str | None, output: common.Output
) -> None:
    """Write the rows of the indexed table at TABLE into an array."""
    data = commands.import_(common.local_session(), table, uri, dimensions, encryption_key)
    common.show_data(output, data, render.moved_text)


for each in (info, verify, clean, dump, export):
    tiledb.add_command(each)
tiledb.add_command(import_, "import")
