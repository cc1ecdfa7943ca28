"""An average to a stated error against the exact one: `python -m benchmarks.tolerance [--rows N]`.

Prints times in turn, the share of the rows that was read, and how many rows an ideal sample of independent rows needs.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table

import pyqbeast
from benchmarks import measure
from benchmarks.indexed_table import COLUMNS

#: What is averaged: one column, and an expression that needs all of them.
AVERAGED = {
    "one column": "value",
    "all columns": "value + small + length(name) + x * y / 1e12 + pmod(xxhash64(id, key, other), 100)",
}
#: 97.5 % quantile of the normal distribution.
NORMAL = 1.96


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=30_000_000)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    spark = measure.session()
    report = Table("average of", "error", "against exact", "steps", "fraction", "exact", "rows read by ideal")
    with tempfile.TemporaryDirectory() as folder:
        frame = spark.range(given.rows).selectExpr(*COLUMNS)
        options = {"columnsToIndex": "x,y", "cubeSize": "500000"}
        frame.write.format("qbeast").options(**options).save(folder + "/table")
        for name, value in AVERAGED.items():

            def query(value: str = value) -> DataFrame:
                """Made anew each time: a DataFrame that has run keeps what its last shuffle gave."""
                table = spark.read.format("qbeast").load(folder + "/table")
                return table.agg(F.avg(F.expr(value)).alias("mean"))

            ((mean, spread),) = frame.agg(F.avg(F.expr(value)), F.stddev(F.expr(value))).collect()
            for error in (0.1, 0.01, 0.001, 0.0001):
                a, b = measure.in_turn(
                    given.runs,
                    lambda error=error: pyqbeast.tolerance(query(), error=error).df.collect(),  # type: ignore[misc]
                    lambda: query().collect(),
                )
                found = pyqbeast.tolerance(query(), error=error)
                ideal = min(given.rows, (NORMAL * spread / mean / error) ** 2)
                report.add_row(
                    name,
                    f"{error:g}",
                    f"{measure.ratio(a, b):.2f} × ({statistics.median(a):.2f} and {statistics.median(b):.2f} s)",
                    str(len(found.steps)),
                    f"{found.fraction:.5f}",
                    str(found.exact),
                    f"{found.fraction * given.rows / ideal:.1f} ×",
                )
    Console().print(report)
    spark.stop()


if __name__ == "__main__":
    main()
