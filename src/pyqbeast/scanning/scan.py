"""`pyqbeast.scan`: samples and other rows of an indexed table as Arrow tables, without Spark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.core.errors import InvalidInputError, UnsupportedError
from pyqbeast.core.extras import of_extra
from pyqbeast.core.format.iso_time import moment_of
from pyqbeast.core.format.names import column_named, did_you_mean
from pyqbeast.core.format.types import epoch_milliseconds
from pyqbeast.core.location import Location
from pyqbeast.core.otree.metrics import IndexMetrics
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from pyqbeast.delta_log.locations import Options
from pyqbeast.delta_log.log_files import readable_versions
from pyqbeast.scanning.blocks import SCHEMA, block_rows
from pyqbeast.scanning.conditions.predicate import Predicate
from pyqbeast.scanning.scan_plan import ScannedFile
from pyqbeast.scanning.scanned_rows import ScannedRows, WholeBatches
from pyqbeast.verification.report import VerifyReport, check_level
from pyqbeast.verification.without_spark import verify_log

if TYPE_CHECKING:
    # Extras, and what takes long to import.
    import duckdb
    import pandas as pd
    import polars as pl
    from pyarrow import dataset as ds

    from pyqbeast.scanning.tolerance import ScanEstimate


def scan(
    path: Location,
    version: int | None = None,
    *,
    timestamp: dt.datetime | str | None = None,
    storage_options: Options = None,
) -> Scan:
    """The rows of a version of an indexed table. Only the log is read for now.

    Args:
        path: a local path or the URL of a store that fsspec knows.
        version: by default the newest.
        timestamp: in place of a version: the newest one of this time. A text is in ISO 8601; both need a zone.
        storage_options: keywords for fsspec, such as credentials. They go to the table's own store and to no other one
            that its log names.

    Raises:
        TableNotFoundError: there is no table.
        NotIndexedError: there is one, and it is not indexed.
        InvalidInputError: the table has no such version.
        FormatError: its log is damaged.
        UnsupportedError: reading it takes something that a scan does not know.
    """
    index = IndexedSnapshot.read(path, version, _milliseconds(timestamp), storage_options)
    index.mapping_mode  # noqa: B018 (raises for a way that is not known)
    return Scan(ScannedRows(index, storage_options))


def narrowed(given: Scan, predicate: Predicate) -> Scan:
    """The rows of a condition that has been read, beside all conditions named before."""
    return Scan(given._rows.narrowed(predicate))


def column_names(given: Scan) -> tuple[str, ...]:
    """The columns that a scan gives out, those of types that it cannot read among them."""
    return given._rows.names


def hashed_values(given: Scan) -> pa.Table:
    """The columns that the weights of a scan's rows are made of, as files hold them. Raises as `Scan.to_batches`."""
    names = dict.fromkeys(given._rows.index.revision().hashed_columns)
    held = Scan(replace(given._rows, selected=tuple(dict.fromkeys(given._rows.weighed_names))))
    return held.to_arrow().rename_columns(list(names))


def _column_of_duckdb(name: str) -> Any:  # noqa: ANN401 (an expression of DuckDB)
    import duckdb

    return duckdb.ColumnExpression(name)


def _milliseconds(timestamp: dt.datetime | str | None) -> int | None:
    if timestamp is None:
        return None
    try:
        when = moment_of(timestamp) if isinstance(timestamp, str) else timestamp
    except ValueError as error:
        raise InvalidInputError(f"timestamp: {timestamp!r} is not in ISO 8601: {error}") from error
    if not isinstance(when, dt.datetime):
        raise InvalidInputError(f"timestamp takes a datetime or a text, not {timestamp!r}")
    return epoch_milliseconds(when)


def _check_column_for_pandas(column: pa.Table) -> None:
    """Raises UnsupportedError where a column has a value that pandas has not."""
    try:
        column.to_pandas()
    except (OverflowError, ValueError) as error:
        raise UnsupportedError(
            f"column {column.column_names[0]!r} has a value that is none in pandas ({error}): leave such rows out by "
            "`where` or the column by `select`, or call to_arrow or to_polars"
        ) from error


@dataclass(frozen=True, eq=False)
class Scan:
    """Rows of a version of a table, still to be read. Made by `scan`; each method that narrows it gives a new one.

    It is equal to itself alone: nobody can tell whether two conditions are true of the same rows.
    """

    _rows: ScannedRows

    def __repr__(self) -> str:
        return repr(self._rows)

    @property
    def version(self) -> int:
        """The version of the table."""
        return self._rows.index.snapshot.version

    @property
    def schema(self) -> pa.Schema:
        """The columns that are given out."""
        return self._rows.data_with(self._rows.names).schema

    def sample(self, fraction: float) -> Scan:
        """The share `fraction` (0 to 1) of the table's rows: those of the lowest weights, as in Spark.

        Conditions apply to the rows of the sample, whether they were named before or after it.

        Raises:
            InvalidInputError: `fraction` is no number from 0 to 1, or the scan is a sample already.
            UnsupportedError: no weight stands for this fraction; the message tells why.
        """
        if self._rows.fraction is not None:
            raise InvalidInputError("the scan is a sample already: both samples would be of the same rows")
        self._rows.index.bound_of(fraction)
        return Scan(replace(self._rows, fraction=float(fraction)))

    def where(self, condition: pc.Expression | str) -> Scan:
        """The rows for which a condition is true, beside all conditions named before.

        Args:
            condition: an expression of pyarrow, which means what it means there, or a text that means what it means
                in Spark: `delay > 400 AND NOT day IN (1, 2)`. The text compares columns with constants (numbers,
                'texts', TRUE, FALSE, DATE '…', TIMESTAMP '…'; times without a zone are in UTC) by `=`, `<>`, `<`,
                `<=`, `>`, `>=`, `IN`, `BETWEEN` and `IS NULL`, joined by `AND`, `OR`, `NOT` and parentheses.

        Raises:
            InvalidInputError: a condition that cannot be read, or names columns that the table does not have.
            UnsupportedError: a text that compares a column with a collation, or a column that a scan cannot read.
        """
        predicate = Predicate.of(condition, self._rows.readable_schema)
        if isinstance(condition, str):
            self._rows.refuse_collations(
                predicate.columns,
                "give a condition as an expression of pyarrow, which compares their bytes",
            )
        return Scan(self._rows.narrowed(predicate))

    def select(self, columns: Sequence[str]) -> Scan:
        """Some columns, in this order.

        Raises:
            InvalidInputError: a column that the table does not have or that is named twice, or what is no list of
                columns.
        """
        known = [field["name"] for field in self._rows.index.snapshot.metadata.fields]
        wanted = list(columns) if isinstance(columns, Iterable) and not isinstance(columns, str) else [None]
        if not all(isinstance(column, str) for column in wanted):
            raise InvalidInputError(f"select takes a list of columns, not {columns!r}")
        names = {str(column): column_named(str(column), known) for column in wanted}
        missing = [column for column, name in names.items() if name is None]
        if missing or len({*names.values()}) != len(wanted):
            meant = did_you_mean(missing[0], known) if missing else ""
            raise InvalidInputError(f"select needs each column once, of {known}, not {wanted}{meant}")
        return Scan(replace(self._rows, selected=tuple(name for name in names.values() if name is not None)))

    def files(self) -> tuple[ScannedFile, ...]:
        """Every live file of the version: whether it would be opened, and if not, why."""
        return self._rows.plan.files

    def explain(self) -> str:
        """What would be opened, and why the rest is not, as a page to read."""
        return str(self._rows.plan)

    def metrics(self, revision: int | None = None) -> IndexMetrics:
        """Figures of the index in this version of the table, whatever the scan narrows it to.

        Args:
            revision: of which revision; by default the newest.

        Raises:
            NotIndexedError: there is no such revision.
        """
        return self._rows.index.metrics(revision)

    def blocks(self) -> pa.Table:
        """Every block of every indexed file of this version, one a row.

        Columns: revision, cube, depth, file, file_bytes, min_weight, max_weight, element_count, replicated.
        """
        return pa.Table.from_pylist([*block_rows(self._rows.index)], SCHEMA)

    def verify(self, level: str = "log") -> VerifyReport:
        """Whether the log says the truth, as far as that can be told without a data file.

        It looks at the newest version of the table, because storage does not tell which files an older one had.

        Raises:
            InvalidInputError: there is a newer version than that of the scan, or there is no such level.
            UnsupportedError: rows have to be read for this level, which `QbeastTable.verify` does.
        """
        check_level(level)
        if level != "log":
            raise UnsupportedError(
                f"verify at level {level!r} reads rows, which takes Spark: use QbeastTable.for_path(spark, path).verify"
            )
        newest = readable_versions(self._rows.index.location, self._rows.storage_options)[-1]
        if self.version != newest:
            raise InvalidInputError(
                f"verify looks at version {newest}, the newest, and this scan is of {self.version}"
            )
        return verify_log(self._rows.index.location, self._rows.storage_options)

    def to_batches(self) -> pa.RecordBatchReader:
        """The rows as they are read, one batch at a time; a file's rows stay in memory for no longer than that.

        In a store elsewhere whole files are read, several at once: what is taken of their rows, in up to eight files,
        is in memory until it has been given out.

        A reader that has raised an error, be it by Ctrl-C, reads no further: each call after that is an
        InvalidInputError. So is one while another thread reads the next batch, which that thread gets all the same.

        Raises:
            StorageError: a file is missing or cannot be read.
            FormatError: a file is damaged.
            UnsupportedError: a column has a type that a scan cannot read; leave it out with `select`.
        """
        return pa.RecordBatchReader.from_batches(self.schema, WholeBatches(self._rows.batches()))

    def to_arrow(self) -> pa.Table:
        """All rows as a table. Raises as `to_batches`."""
        return self.to_batches().read_all()

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a DataFrame of pandas.

        Raises as `to_batches`, and MissingPackageError where pandas is not installed, and UnsupportedError for a
        value that pandas has not: a date outside of the years 1 to 9999.
        """
        of_extra("pandas", "pandas", "DataFrames of pandas")
        table = self.to_arrow()
        try:
            return table.to_pandas()
        except (OverflowError, ValueError):
            for name in table.column_names:
                _check_column_for_pandas(table.select([name]))
            raise

    def to_polars(self) -> pl.DataFrame:
        """All rows as a DataFrame of Polars.

        Raises as `to_batches`, and MissingPackageError where Polars is not installed.
        """
        frame: pl.DataFrame = of_extra("polars", "polars", "DataFrames of Polars").from_arrow(self.to_arrow())
        return frame

    def to_dataset(self) -> ds.Dataset:
        """All rows as a dataset of pyarrow, whose readers push filters and columns down into files and row groups.

        Rows that are not stored as they are given out are read at once: those of files that a sample takes a part of,
        that hold deleted rows, or that have other names or types of columns. Of the other files the footers are read at
        once, to tell which these are. A condition whose columns are not selected
        adds them to the dataset. Raises as `to_batches`.
        """
        from pyarrow import dataset as ds

        from pyqbeast.scanning.dataset import PlainFiles

        rows = self._rows
        data = rows.data_with(rows.needed_names)
        opened = rows.opened()
        plain = PlainFiles(data, rows.whole_files(opened), rows.predicate)
        as_they_are = plain.among([file for file in rows.index.snapshot.files if file.path in opened])
        left = opened - {file.path for file in as_they_are}
        parts = [plain.dataset(as_they_are)]
        if left:
            others = replace(rows, selected=rows.needed_names)
            parts.append(ds.dataset(pa.Table.from_batches(others.batches(left), data.schema)))
        both = ds.dataset(parts) if left else parts[0]
        return both if rows.predicate is None else both.filter(rows.predicate.rows)

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        """All rows as a relation of a DuckDB connection, which can be queried again and again.

        DuckDB reads the columns of a query only, and leaves out files and row groups by its conditions on whole
        numbers, texts, days and times; see `to_dataset`. Raises as `to_batches`.
        """
        if not self._rows.names:
            raise InvalidInputError("DuckDB has no relations without columns: select one")
        if not hasattr(connection, "from_arrow"):
            raise InvalidInputError(f"to_duckdb takes a connection of DuckDB, not {connection!r}")
        relation = connection.from_arrow(self.to_dataset())
        if set(self._rows.needed_names) == set(self._rows.names):
            return relation
        return relation.select(*(_column_of_duckdb(name) for name in self._rows.names))

    def tolerance(
        self,
        aggregates: Mapping[str, Sequence[Any]],
        error: float | None = None,
        confidence: float = 0.95,
        *,
        by: Sequence[str] = (),
        relative: bool = True,
        exact: bool = False,
        budget: float | str | dt.timedelta | None = None,
        smallest_group: int = 0,
        having: str | None = None,
        order_by: str | None = None,
        limit: int | None = None,
    ) -> ScanEstimate:
        """Aggregates of the rows within an error, from those of lowest weight; exactly where a sample would not do.

        Args:
            aggregates: by the names that they get: a column (two for `corr`, `"*"` for whole rows) and a function, as
                in `{"mean": ("delay", "avg"), "rows": ("*", "count"), "half": ("delay", "percentile_approx", 0.5)}`.
                The functions are count, count_if, sum, avg, min, max, stddev, variance, corr, percentile_approx and
                count_distinct, which takes the columns by which the table's rows are weighed, and further ones.
            error: the largest distance of an estimate to the truth: as a share of the truth, or in the estimate's unit.
                By default 0.01 where there is no `budget`.
            confidence: how often that has to hold, for each estimate by itself.
            by: columns whose values make the groups of the answer.
            relative: whether `error` is a share.
            exact: read all rows.
            budget: the most that may be read, in bytes or seconds, as `pyqbeast.tolerance` takes it.
            smallest_group: groups of so many rows have to be in the list and to meet the error.
            having: only groups whose estimates meet a condition, as text like that of `where`: "rows > 1000 AND
                mean >= 5". The answer then has a column `sure`, and its `choice` tells of which groups it is not known
                whether they belong.
            order_by: names of estimates or groups that the answer is sorted by: "mean DESC, day". Nulls are smallest.
            limit: only so many groups, the first ones by an estimate; `sure` and `choice` tell the same of them.

        Raises:
            InvalidInputError: what is asked for is out of range, not known, or does not fit the columns; or the scan
                is a sample.
            UnsupportedError: no weight stands for a share of the table's rows, a column that stores the weight,
                distinct values of columns that a sample does not tell, or a column that a scan cannot read; the
                message tells why.
        """
        # Most scans do without what takes longer to import than a sample takes to read.
        from pyqbeast.approximate.estimate.interval import check_confidence
        from pyqbeast.approximate.estimate.limit import Limit
        from pyqbeast.approximate.estimate.outcome import NoSampleError
        from pyqbeast.approximate.estimate.stopping import goal_within
        from pyqbeast.scanning.aggregates import Request
        from pyqbeast.scanning.scan_rows import ScanRows
        from pyqbeast.scanning.selected_groups import Kept
        from pyqbeast.scanning.tolerance import estimated

        if self._rows.fraction is not None:
            raise InvalidInputError("tolerance chooses its sample itself: call it on a scan without one")
        most = Limit.of(budget)
        goal = goal_within(error, most, relative=relative, smallest_group=smallest_group)
        check_confidence(confidence)
        index = self._rows.index
        problem = None if exact else index.weighing_problem
        if problem is not None:
            raise NoSampleError(f"the table at {index.table} cannot be estimated: {problem}; pass exact=True")
        hashed = None if exact else index.revision().hashed_columns
        request = Request.of(aggregates, by, self._rows.readable_schema, hashed)
        kept = Kept.of(request, having, order_by, limit)
        rows = ScanRows(self._rows, request, by_weight=not exact)
        if exact:
            goal, most = None, Limit()
        return estimated(rows, request, kept, goal, most, confidence)
