"""`pyqbeast.polars.scan_table`: an indexed table as a source of Polars."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import math
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.extras import of_extra
from pyqbeast.core.format.types import EPOCH, EPOCH_DAY
from pyqbeast.core.location import Location
from pyqbeast.delta_log.locations import Options
from pyqbeast.scanning.conditions.comparisons import MIRRORED, RowAndFileCondition, SqlConstant, compared
from pyqbeast.scanning.conditions.expression_text import comparisons_in
from pyqbeast.scanning.conditions.predicate import Predicate
from pyqbeast.scanning.conditions.sql_text import MOST_COMPARISONS
from pyqbeast.scanning.scan import Scan, narrowed, scan

if TYPE_CHECKING:
    import polars as pl

_OPERATORS = {"Eq": "=", "NotEq": "!=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_WHOLE = {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)} | {"Int"}


def scan_table(
    path: Location,
    *,
    version: int | None = None,
    timestamp: dt.datetime | str | None = None,
    sample: float | None = None,
    columns: Sequence[str] | None = None,
    storage_options: Options = None,
) -> pl.LazyFrame:
    """A version of an indexed table as a LazyFrame, whose queries open only the files and columns that they need.

    Comparisons of columns with constants leave out files and row groups. All rows are read by one thread.

    Args:
        path: a local path or the URL of a store that fsspec knows.
        version: by default the newest.
        timestamp: in place of a version: the newest one of this time. A text is in ISO 8601; both need a zone.
        sample: a share of the table's rows, from 0 to 1: those of the lowest weights, as in Spark.
        columns: those that the LazyFrame has; by default all. Columns of types that a scan cannot read have to be left
            out.
        storage_options: keywords for fsspec, such as credentials. They go to the table's own store and to no other one
            that its log names.

    Raises as `pyqbeast.scan`, `Scan.sample`, `Scan.select` and `Scan.to_batches`, and MissingPackageError where Polars
    is not installed.
    """
    polars = of_extra("polars", "polars", "LazyFrames of Polars")
    from polars.io.plugins import register_io_source

    whole = scan(path, version, timestamp=timestamp, storage_options=storage_options)
    rows = whole if sample is None else whole.sample(sample)
    rows = rows if columns is None else rows.select(columns)
    if not rows.schema.names:
        raise InvalidInputError("Polars knows no number of rows of a LazyFrame without columns: name one")
    empty = pa.Table.from_batches([], rows.schema)

    def read(
        columns: list[str] | None,
        predicate: Any,  # noqa: ANN401 (an expression of Polars)
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[Any]:
        for batch in _needed(rows, columns, predicate, n_rows).to_batches():
            # Polars asks for so many rows before its condition.
            part = batch if n_rows is None else batch.slice(0, n_rows)
            n_rows = None if n_rows is None else n_rows - part.num_rows
            frame = polars.from_arrow(pa.Table.from_batches([part]))
            frame = frame if predicate is None else frame.filter(predicate)
            yield frame if columns is None else _with_columns(frame, columns)
            if n_rows == 0:
                return

    return register_io_source(read, schema=polars.from_arrow(empty).schema, is_pure=True)


def _with_columns(frame: Any, columns: list[str]) -> Any:  # noqa: ANN401 (DataFrames of Polars)
    """Some columns of a frame that is nobody else's, and all its rows even where there are none."""
    if columns:
        # To `select` by the names would take a column called `*` for all of them.
        return frame.select([frame.get_column(name) for name in columns])
    # No other way to leave columns out keeps the number of rows in every version of Polars.
    for name in frame.columns:
        frame.drop_in_place(name)
    return frame


def _needed(rows: Scan, columns: list[str] | None, predicate: Any, n_rows: int | None) -> Scan:  # noqa: ANN401
    """The scan of what a query needs. Polars applies its condition again."""
    if columns is not None:
        of_predicate = [] if predicate is None else predicate.meta.root_names()
        rows = rows.select(list(dict.fromkeys([*columns, *of_predicate])) or rows.schema.names[:1])
    if predicate is None or n_rows is not None:
        return rows
    try:
        condition = _condition(json.loads(predicate.meta.serialize(format="json")), rows.schema)
    # Python's reader of JSON goes no deeper than some hundred levels.
    except RecursionError:
        return rows
    if condition is None:
        return rows
    comparisons = comparisons_in(condition.rows)
    if comparisons > MOST_COMPARISONS:
        return rows
    named = set(predicate.meta.root_names())
    needed = pa.schema([field for field in rows.schema if field.name in named])
    return narrowed(rows, Predicate(condition.rows, condition.files, needed, comparisons))


def _condition(node: Any, schema: pa.Schema) -> RowAndFileCondition | None:  # noqa: ANN401 (what JSON holds)
    """What has to hold where an expression of Polars is true, as far as it is understood; None where it is not.

    Polars takes NaN for the largest number, and so do these comparisons.
    """
    kind, inner = _only(node)
    if kind == "BinaryExpr":
        both = _condition(inner["left"], schema), _condition(inner["right"], schema)
        if inner["op"] in ("And", "LogicalAnd"):
            known = [each for each in both if each is not None]
            return reduce(lambda a, b: a & b, known) if known else None
        if inner["op"] in ("Or", "LogicalOr"):
            return None if both[0] is None or both[1] is None else both[0] | both[1]
        return _comparison(inner["left"], inner["op"], inner["right"], schema)
    if kind == "Function":
        name, how = _only(inner["function"].get("Boolean") if isinstance(inner["function"], dict) else None)
        if name == "IsBetween" and how == {"closed": "Both"}:
            column, low, high = inner["input"]
            parts = [_comparison(column, "GtEq", low, schema), _comparison(column, "LtEq", high, schema)]
            known = [each for each in parts if each is not None]
            return reduce(lambda a, b: a & b, known) if known else None
    return None


def _comparison(left: Any, operator: str, right: Any, schema: pa.Schema) -> RowAndFileCondition | None:  # noqa: ANN401
    sign = _OPERATORS.get(operator)
    if sign is not None and _only(left)[0] == "Literal":
        left, right, sign = right, left, MIRRORED[sign]
    (kind, column), constant = _only(left), _constant(right)
    if sign is None or kind != "Column" or constant is None or column not in schema.names:
        return None
    field = schema.field(column)
    of = field.type
    is_integral = constant.kind == "number" and constant.text.lstrip("-").isdigit()
    # Polars compares other pairs of types in a type of its own.
    fits = {
        "number": (pa.types.is_integer(of) and is_integral) or pa.types.is_float64(of),
        "text": pa.types.is_string(of),
        "date": pa.types.is_date(of),
        "timestamp": pa.types.is_timestamp(of) and of.tz is not None,
    }
    return compared(field, sign, constant) if fits[constant.kind] else None


def _constant(node: Any) -> SqlConstant | None:  # noqa: ANN401 (what JSON holds)
    kind, value = _only(node)
    if kind == "Literal":
        _, value = _only(value)
        kind, value = _only(value)
        if kind in _WHOLE and type(value) is int:
            return SqlConstant("number", str(value))
        if kind in ("Float", "Float64") and type(value) is float and math.isfinite(value):
            return SqlConstant("number", repr(value))
        if kind in ("String", "Str") and isinstance(value, str):
            return SqlConstant("text", value)
        # Python knows fewer days than Polars.
        with contextlib.suppress(OverflowError):
            if kind == "Date" and type(value) is int:
                return SqlConstant("date", (EPOCH_DAY + dt.timedelta(value)).isoformat())
            if kind == "Datetime" and value[1:] == ["Microseconds", {"inner": "UTC"}]:
                when = EPOCH + dt.timedelta(microseconds=value[0])
                return SqlConstant("timestamp", when.isoformat())
    return None


def _only(node: Any) -> tuple[str, Any]:  # noqa: ANN401 (what JSON holds)
    """The name and the value of an object with one entry, as Polars writes the kinds of things."""
    if isinstance(node, dict) and len(node) == 1:
        return next(iter(node.items()))
    return (node, None) if isinstance(node, str) else ("", None)
