"""`pyqbeast convert`: an indexed table from files that are there."""

from __future__ import annotations

import click

import pyqbeast
from pyqbeast.cli import common
from pyqbeast.core.secrets import without_secrets


@common.command
@click.argument("identifier")
@click.option("--columns", required=True, help="Columns to index, with commas between them.")
@click.option("--cube-size", type=int, help="Rows a cube.")
def convert(identifier: str, columns: str, cube_size: int | None, output: common.Output) -> None:
    """Make an indexed table of Parquet files or a Delta table.

    No file is written anew. IDENTIFIER is parquet.`/path` or delta.`/path`, or a table's name where Spark's settings
    name a metastore.
    """
    spark = common.local_session()
    table = pyqbeast.convert(
        spark, identifier, columns_to_index=[name.strip() for name in columns.split(",")], cube_size=cube_size
    )
    path, indexed = without_secrets(table.path), table.columns_to_index
    common.show(
        output,
        lambda: {"path": path, "columns": indexed, "cube_size": table.cube_size},
        lambda: f"{path}: indexed by {', '.join(indexed)} from now on",
    )
