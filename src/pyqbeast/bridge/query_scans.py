"""What the scans of a query open, told by its plan and by Spark's metrics."""

from __future__ import annotations

import json
from typing import NamedTuple

from pyspark.sql import DataFrame

from pyqbeast.bridge.jvm import java
from pyqbeast.core.explanation.scans import TableScan


def scans_of(query: DataFrame, *, run: bool) -> tuple[TableScan, ...]:
    """The scans of a query, in no order.

    Spark plans it, which may take jobs on the tables' logs, and the driver reads footers of the files that it opens.

    Args:
        query: any query.
        run: run it first, unless it has run already, and drop its rows.
    """
    scans = java(query.sparkSession).explain.QueryScans
    if run:
        scans.run(query._jdf)
    return tuple(map(TableScan.from_json, json.loads(scans.describe(query._jdf))))


class ScanTotals(NamedTuple):
    """What the file scans of a query opened: files, their bytes, and the rows they handed on."""

    files: int
    bytes: int
    rows: int


def scan_totals(query: DataFrame) -> ScanTotals:
    """The totals of a query that has run, from Spark's own metrics of its file scans."""
    return ScanTotals(*java(query.sparkSession).explain.Scans.totals(query._jdf))
