"""Estimates over a join of two large tables that are weighed by the key that joins them, against the exact answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import pyqbeast
from benchmarks import lab as peers
from benchmarks.lab import Lab, collected
from benchmarks.measure import Case, Counts, Peer

ERROR = 0.05
#: Rows of the first table for each key; the second table has half as many again.
ROWS_OF_A_KEY = 4
_ORDERS = (
    "pmod(xxhash64(id, 1L), {keys}L) as customer",
    "pmod(xxhash64(id, 2L), 90L) + 10 as price",
    "cast(id % 4 as int) as branch",
    "concat('order ', id) as note",
)
_VISITS = (
    "pmod(xxhash64(id, 3L), {keys}L) as customer",
    "cast(pmod(xxhash64(id, 4L), 7L) as int) as pages",
    "pmod(xxhash64(id, 5L), 3600L) as seconds",
)
#: By name, each with its rows for a row of the first.
_TABLES = {"orders": (1.0, _ORDERS), "visits": (1.5, _VISITS)}

Query = Callable[[DataFrame], DataFrame]
QUERIES: dict[str, Query] = {
    "a count": lambda joined: joined.agg(F.count("*").alias("n")),
    "a sum of products under a filter": lambda joined: joined.filter("pages > 2").agg(
        F.sum(F.col("price") * F.col("seconds")).alias("total")
    ),
    "a count and a ratio of four groups": lambda joined: joined.groupBy("branch").agg(
        F.count("*").alias("n"), (F.sum("seconds") / F.sum("price")).alias("ratio")
    ),
}


def cases(lab: Lab) -> Iterator[Case]:
    """Each query by `tolerance` and exactly; the tables are the same."""
    for what, query in QUERIES.items():
        yield Case(
            what,
            {"tolerance": _peer(lab, query, _estimated), "exact": _peer(lab, query, collected)},
            goal=f"error {ERROR:g}: ≥ 5 × faster than exact, ≤ 1.1 × its bytes",
        )


def _peer(lab: Lab, query: Query, answered: Callable[[DataFrame], Any]) -> Peer:
    def run(number: int) -> Any:  # noqa: ANN401 (an estimate, or a query that has run)
        orders, visits = (lab.read(peers.OURS, _table(lab, name)) for name in _TABLES)
        return answered(query(orders.join(visits, "customer")))

    return Peer(run, lambda number: [_table(lab, name) for name in _TABLES], _counts)


def _estimated(query: DataFrame) -> pyqbeast.Estimate:
    answer = pyqbeast.tolerance(query, error=ERROR)
    answer.df.collect()
    return answer


def _counts(answered: pyqbeast.Estimate | DataFrame) -> Counts:
    if isinstance(answered, DataFrame):
        return {"MB": peers.opened(answered)["MB"]}
    return {"MB": answered.bytes_read / 1e6, "steps": len(answered.steps), "fraction": answered.fraction}


def _table(lab: Lab, name: str) -> str:
    """The path of a table, made where it is missing."""
    path = lab.folder / name
    if not path.exists():
        share, columns = _TABLES[name]
        keys = lab.rows // ROWS_OF_A_KEY
        rows = lab.spark.range(int(share * lab.rows)).selectExpr(*(c.format(keys=keys) for c in columns))
        lab.write(peers.OURS, rows, str(path), ("customer",))
    return str(path)
