"""`pyqbeast index`: Parquet, CSV, JSON or Delta files become an indexed table."""

from __future__ import annotations

import click

import pyqbeast
from pyqbeast.cli import common
from pyqbeast.core.otree.metrics import rows_of_table
from pyqbeast.core.visible import counted


@common.command
@click.argument("source")
@click.argument("path")
@click.option("--columns", required=True, help="Columns to index, with commas between them.")
@click.option("--cube-size", type=int, help="Rows a cube.")
@click.option(
    "--format",
    "source_format",
    default="parquet",
    show_default=True,
    help="parquet, csv, json or delta.",
)
@click.option("--mode", default="error", show_default=True, help="error, append, overwrite or ignore.")
def index(
    source: str,
    path: str,
    columns: str,
    cube_size: int | None,
    source_format: str,
    mode: str,
    output: common.Output,
) -> None:
    """Write files as a table that is indexed on some columns.

    SOURCE is a file or folder, PATH where the table goes. Texts of times without a zone are in UTC.
    """
    spark = common.local_session()
    reader = spark.read.format(source_format)
    if source_format == "csv":
        reader = reader.option("header", "true").option("inferSchema", "true")
    writer = reader.load(source).write.format("qbeast").mode(mode).option("columnsToIndex", columns)
    if cube_size is not None:
        writer = writer.option("cubeSize", cube_size)
    writer.save(path)
    metrics = pyqbeast.QbeastTable.for_path(spark, path).metrics()
    common.show(
        output,
        metrics.to_dict,
        lambda: (
            f"{path}: {rows_of_table(metrics)} in {counted(metrics.table_files, 'file')}; the newest revision has "
            f"{counted(metrics.cube_count, 'cube')}"
        ),
    )
