"""What would let a query open less of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyqbeast.core.explanation.scans import Condition, TableScan
from pyqbeast.core.format.names import quoted_name


def advice(scan: TableScan) -> list[str]:
    """A sentence for each thing that would help; none where the scan opens one file at the most."""
    return list(_advice(scan))


def _advice(scan: TableScan) -> Iterator[str]:
    if scan.opened is None or scan.total is None or scan.version is None or scan.opened.files <= 1:
        return
    if scan.drawn_by_spark is not None:
        if scan.indexed_columns:
            yield (
                f"Spark draws the sample row by row and reads all rows, because {scan.drawn_by_spark}. Where that can "
                "be changed, sample the table itself, and filter, join or group the sample"
            )
        else:
            yield (
                "Spark draws the sample row by row and reads all rows, as the table is not indexed: "
                f"{_index_it(scan)}"
            )
    if scan.weights is not None and scan.unindexed.files:
        yield (
            f"{scan.unindexed.files:,} of the opened files have no index, and every sample reads them: "
            "QbeastTable.optimize(revision=0) indexes them"
        )
    if scan.weights is not None and scan.stale.files:
        yield (
            f"{scan.stale.files:,} of the opened files were indexed before a column changed that weights are made of, "
            "and every sample reads them: QbeastTable.optimize(revision=…) of each older revision indexes them anew"
        )
    for condition in scan.conditions:
        if condition.skips.files == 0:
            yield from _of_condition(condition, scan)


def _of_condition(condition: Condition, scan: TableScan) -> Iterator[str]:
    if not condition.is_usable:
        yield (
            f"{condition.text} skips no file, as statistics do not say which files it rules out: where it can be, "
            "write it as a comparison of a column with a constant"
        )
    elif not scan.indexed_columns:
        yield f"{condition.text} skips no file: {_index_it(scan, condition.columns)}"
    elif missing := [column for column in condition.columns if column not in scan.indexed_columns]:
        yield (
            f"{condition.text} skips no file, as {' and '.join(missing)} is not among the indexed columns "
            f"({', '.join(scan.indexed_columns)}): if queries often ask for it, overwrite the table with it in "
            "columnsToIndex"
        )


def _index_it(scan: TableScan, columns: Sequence[str] = ()) -> str:
    """How a table that is not indexed becomes so, by columns of a condition too; what `convert` refuses is not said."""
    if scan.partition_columns:
        among = " and ".join(dict.fromkeys([*scan.partition_columns, *columns]))
        return (
            "it is partitioned, and an indexed table cannot be: write its rows to a new table instead, with "
            f"{among} among columnsToIndex"
        )
    identifier = f"delta.{quoted_name(scan.table)}"
    first = "after ALTER TABLE … CLUSTER BY NONE, " if scan.is_clustered else ""
    convert = f"pyqbeast.convert(spark, {identifier!r}, columns_to_index=[…]) indexes the table where it lies"
    return first + convert + (f", by {' and '.join(columns)} too" if columns else "")
