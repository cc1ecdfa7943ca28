"""`pyqbeast index`: Parquet, CSV, JSON or Delta files become an indexed table."""

from __future__ import annotations

from typing import Annotated

import typer

import pyqbeast
from pyqbeast.cli import common


def index(
    source: Annotated[str, typer.Argument(help="What to read: a file or folder.")],
    path: Annotated[str, typer.Argument(help="Where the table is written.")],
    columns: Annotated[str, typer.Option("--columns", help="Columns to index, with commas between them.")],
    cube_size: Annotated[int | None, typer.Option("--cube-size", help="Rows a cube.")] = None,
    source_format: Annotated[str, typer.Option("--format", help="parquet, csv, json or delta.")] = "parquet",
    mode: Annotated[str, typer.Option("--mode", help="error, append, overwrite or ignore.")] = "error",
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """Write files as a table that is indexed on some of its columns."""
    with common.errors_as_one_line(debug=debug):
        spark = common.local_session()
        reader = spark.read.format(source_format)
        if source_format == "csv":
            reader = reader.option("header", "true").option("inferSchema", "true")
        writer = reader.load(source).write.format("qbeast").mode(mode).option("columnsToIndex", columns)
        if cube_size is not None:
            writer = writer.option("cubeSize", cube_size)
        writer.save(path)
        metrics = pyqbeast.QbeastTable.for_path(spark, path).metrics()
        if output is common.Output.json:
            common.print_json(metrics.to_dict())
        else:
            typer.echo(
                f"{path}: {metrics.element_count} rows in {metrics.cube_count} cubes, {metrics.file_count} files"
            )
