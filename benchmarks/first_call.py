"""The first query of a process: `python -m benchmarks.first_call TABLE tolerance 'one column'`.

Prints seconds by the wall clock and of CPU; the start of the session does not count.
"""

from __future__ import annotations

import sys
import time

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import pyqbeast
from benchmarks import lab
from benchmarks.processes import cpu_seconds

#: Relative, the default of a query here.
ERROR = 0.01
#: What is averaged.
AVERAGED = {
    "one column": "value",
    "all columns": "value + small + length(name) + a * b / 1e12 + unix_micros(c) / 1e15 + d "
    "+ pmod(xxhash64(id, key, other), 100)",
}


def exact(table: DataFrame, what: str) -> None:
    """The average of all rows."""
    table.agg(F.avg(F.expr(AVERAGED[what])).alias("mean")).collect()


def within(table: DataFrame, what: str, error: float = ERROR) -> None:
    """The average within a relative error."""
    query = table.agg(F.avg(F.expr(AVERAGED[what])).alias("mean"))
    pyqbeast.tolerance(query, error=error).df.collect()


QUERIES = {"tolerance": within, "exact": exact}


def main() -> None:
    """Asks one query of one table."""
    path, query, what = sys.argv[1:]
    spark = lab.session("2g")
    wall, cpu = time.perf_counter(), cpu_seconds()
    QUERIES[query](spark.read.format("qbeast").load(path), what)
    print(time.perf_counter() - wall, cpu_seconds() - cpu)
    spark.stop()


if __name__ == "__main__":
    main()
