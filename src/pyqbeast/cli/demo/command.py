"""`pyqbeast demo`: real flights, indexed, sampled and compared with the exact answers."""

from __future__ import annotations

import contextlib
import shlex
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import pyqbeast
from pyqbeast.cli import common
from pyqbeast.cli.demo.flights import read_flights
from pyqbeast.core.errors import StorageError, TableExistsError
from pyqbeast.delta_log import locations

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

INDEXED = "dep_delay,distance,time_hour"
CUBE_SIZE = 20_000
#: The exact answer and two samples; then a box.
FRACTIONS = (1.0, 0.1, 0.01)
BOX = "dep_delay BETWEEN 30 AND 120 AND distance > 2000 AND time_hour >= '2013-06-01' AND time_hour < '2013-07-01'"


@common.command
@click.option("--path", help="Keep the table here, where there is none.")
def demo(path: str | None, output: common.Output) -> None:
    """Index the flights that left New York in 2013 and sample them.

    Compares what samples of the 336,776 flights say with the exact answer.
    """
    kept = None if path is None else _location_for(path)
    with contextlib.ExitStack() as stack:
        rows = read_flights()
        table_path = kept or _on_this_machine(stack.enter_context(_temporary_path()))
        console = Console()
        progress = stack.enter_context(_progress(console, output))
        with _step(progress, "starting Spark"):
            spark = common.local_session()
        flights = spark.createDataFrame(rows)
        with _step(progress, f"writing them indexed by {INDEXED}"):
            started = time.perf_counter()
            writer = flights.write.format("qbeast").option("columnsToIndex", INDEXED)
            writer.option("cubeSize", CUBE_SIZE).save(table_path)
            seconds = time.perf_counter() - started
        with _step(progress, "asking"):
            queries = _queries(spark, table_path)
        metrics = pyqbeast.QbeastTable.for_path(spark, table_path).metrics()
        progress.stop()
        summary = {"rows": rows.num_rows, "write_seconds": round(seconds, 2), "path": path}
        if output == "json":
            common.print_json({**summary, "index": metrics.to_dict(), "queries": queries})
        else:
            console.print(
                f"{rows.num_rows:,} flights in {metrics.file_count} files and {metrics.cube_count} cubes, "
                f"{metrics.bytes / 1e6:.1f} MB, written in {seconds:.1f} s; height {metrics.height}, "
                f"unindexed {metrics.unindexed_share:.0%}"
            )
            console.print(_table(queries))
            common.echo(next_steps(path))


def _location_for(path: str) -> str:
    """Where Spark writes the table that is kept. Raises TableExistsError where a folder has one already."""
    # `~` is the home directory, as where the commands to try next look for the table.
    location = locations.absolute(path)
    try:
        is_taken = Path(location.removeprefix("file:"), "_delta_log").exists()
    except OSError as error:
        raise StorageError(f"there can be no table at {path} ({error}): name another --path") from error
    if is_taken:
        raise TableExistsError(f"there is a table at {path} already: name another --path")
    return _on_this_machine(location)


def _on_this_machine(location: str) -> str:
    """A path that Spark does not look for in a file system that its settings name, such as HDFS."""
    return f"file:{location}" if Path(location).is_absolute() else location


@contextlib.contextmanager
def _temporary_path() -> Iterator[str]:
    try:
        folder = tempfile.TemporaryDirectory()
    except OSError as error:
        raise StorageError(f"there can be no folder for the table ({error}): name one by --path") from error
    with folder as name:
        yield str(Path(name, "flights"))


def _queries(spark: SparkSession, path: str) -> list[dict[str, Any]]:
    flights = spark.read.format("qbeast").load(path)
    # The first sample and the first filter pay for warming up.
    spark.read.format("qbeast").load(path).filter(BOX).sample(fraction=0.5).count()
    results = []
    for fraction in FRACTIONS:
        rows = flights if fraction == 1.0 else flights.sample(fraction=fraction)
        name = "all rows" if fraction == 1.0 else f"{fraction:.0%} sample"
        results.append(_timed(name, rows.selectExpr("avg(dep_delay)", "avg(air_time)")))
    results.append(_timed("box query", flights.filter(BOX).selectExpr("avg(dep_delay)", "avg(air_time)")))
    for result in results[1:-1]:
        result["error"] = abs(result["avg_dep_delay"] / results[0]["avg_dep_delay"] - 1)
    return results


def _timed(name: str, query: DataFrame) -> dict[str, Any]:
    from pyqbeast import bridge

    started = time.perf_counter()
    (row,) = query.collect()
    seconds = time.perf_counter() - started
    totals = bridge.scan_totals(query)
    return {
        "query": name,
        "avg_dep_delay": row[0],
        "avg_air_time": row[1],
        "files": totals.files,
        "bytes": totals.bytes,
        "rows_scanned": totals.rows,
        "seconds": seconds,
    }


def _table(queries: list[dict[str, Any]]) -> Table:
    table = Table("", "mean delay", "error", "files", "bytes", "rows scanned", "time")
    for query in queries:
        error = query.get("error")
        table.add_row(
            query["query"],
            f"{query['avg_dep_delay']:.2f} min",
            "" if error is None else f"{error:.1%}",
            str(query["files"]),
            f"{query['bytes'] / 1e6:.2f} MB",
            f"{query['rows_scanned']:,}",
            f"{query['seconds'] * 1000:.0f} ms",
        )
    return table


def next_steps(path: str | None) -> str:
    """What to try on the table, or how to keep it first."""
    table = shlex.quote(path or "flights")
    steps = {
        f"pyqbeast plot {table}": "a page to explore it with, index.html",
        f'pyqbeast estimate {table} "avg(dep_delay) AS mean" --error 0.05': "an answer within 5 %",
        f"pyqbeast sample {table} --fraction 0.001": "some of its rows",
        f"pyqbeast info {table}": "the figures of its index",
    }
    if path is None:
        steps = {"pyqbeast demo --path flights": "the same, and keep the table"} | steps
    lines = [f"  {command}\n      {purpose}" for command, purpose in steps.items()]
    return "\n".join(["Try next (none but the demo starts Spark):", *lines])


def _progress(console: Console, output: common.Output) -> Progress:
    # Dots are Braille letters, which only UTF-8 has.
    spinner = "line" if console.options.ascii_only else "dots"
    columns = (SpinnerColumn(spinner), TextColumn("{task.description}"), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=output == "json")


@contextlib.contextmanager
def _step(progress: Progress, description: str) -> Iterator[None]:
    task = progress.add_task(description, total=1)
    yield
    progress.update(task, completed=1)
