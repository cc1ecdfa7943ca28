"""Aggregates that a scan can estimate: what callers name, and the numbers of rows that they need."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pyqbeast.approximate.estimate import Aggregate
from pyqbeast.approximate.estimate.formulas import COUNTS
from pyqbeast.approximate.estimate.rounding import (
    EXTREMES,
    MORE_PLACES,
    MOST_DIGITS,
    OF_ONE_ROW,
    ROUNDED,
    NumberLimits,
    averages_as_doubles,
    exact_below,
)
from pyqbeast.core.errors import InvalidInputError, UnsupportedError
from pyqbeast.scanning.arrays import doubles_of, mask_of
from pyqbeast.scanning.conditions.column_types import column_in

#: The kinds of estimates, by the names that Spark has for functions.
KIND_OF_FUNCTION = {
    "count": "count",
    "count_if": "count_if",
    "count_distinct": "count_distinct",
    "sum": "sum",
    "avg": "avg",
    "mean": "avg",
    "min": "min",
    "max": "max",
    "variance": "var_samp",
    "var_samp": "var_samp",
    "var_pop": "var_pop",
    "stddev": "stddev_samp",
    "std": "stddev_samp",
    "stddev_samp": "stddev_samp",
    "stddev_pop": "stddev_pop",
    "corr": "corr",
    "percentile_approx": "percentile",
    "approx_percentile": "percentile",
}
#: Stands for whole rows where they are counted.
ALL = "*"


class Numbers(NamedTuple):
    """One number for each row, and which rows have none (None: all have one)."""

    values: NDArray[np.float64]
    valid: NDArray[np.bool_] | None


@dataclass(frozen=True)
class Source:
    """Where a number of each row comes from: a column's values, or whether there is one.

    Attributes:
        column: its name.
        type: its type.
        is_count: whether each value counts as 1, whatever it is.
        beside: another column; a row without a value of it has no number.
    """

    column: str
    type: pa.DataType
    is_count: bool
    beside: str | None = None

    def of(self, rows: pa.RecordBatch) -> Numbers:
        """The numbers of some rows: days since 1970 for dates, microseconds for timestamps."""
        held = rows.column(self.column)
        valid = None
        for each in (held, *([] if self.beside is None else [rows.column(self.beside)])):
            if each.null_count:
                valid = mask_of(each.is_valid()) & (True if valid is None else valid)
        if self.is_count:
            return Numbers(np.ones(len(held)), valid)
        if pa.types.is_date(held.type):
            held = held.view(pa.int32())
        elif pa.types.is_timestamp(held.type):
            held = held.view(pa.int64())
        elif pa.types.is_boolean(held.type):
            held = held.cast(pa.int8())
        return Numbers(doubles_of(held), valid)


@dataclass(frozen=True)
class Request:
    """What is asked for.

    Attributes:
        aggregates: the estimates, by the names that they get.
        sources: for each name that the aggregates use, where its numbers come from.
        distinct: for each name that counts of distinct values use, the column that it is.
        groups: the columns that the answer is grouped by.
        schema: the table's columns.
    """

    aggregates: Mapping[str, Aggregate]
    sources: Mapping[str, Source]
    distinct: Mapping[str, str]
    groups: tuple[str, ...]
    schema: pa.Schema

    @property
    def columns(self) -> list[str]:
        """The columns that have to be read."""
        of_sources = (source.column for source in self.sources.values())
        return list(dict.fromkeys([*self.groups, *of_sources, *self.distinct.values()]))

    def value_type(self, aggregate: Aggregate) -> pa.DataType:
        """The type of an estimate."""
        if aggregate.kind in COUNTS:
            return pa.int64()
        of = self.sources[aggregate.columns[0]].type
        if aggregate.kind in EXTREMES:
            return of
        return pa.int64() if aggregate.kind == "sum" and pa.types.is_integer(of) else pa.float64()

    def exact_column(self, aggregate: Aggregate) -> str | None:
        """The column of whole numbers, moments or decimals of which an aggregate is exact; None for another one."""
        if aggregate.kind not in (*ROUNDED, *OF_ONE_ROW, "avg"):
            return None
        source = self.sources[aggregate.columns[0]]
        is_integral = pa.types.is_integer(source.type) or pa.types.is_timestamp(source.type)
        # Spark's averages of whole numbers are of doubles.
        is_exact = pa.types.is_decimal(source.type) or (is_integral and aggregate.kind != "avg")
        return source.column if is_exact else None

    def exact_places(self, aggregate: Aggregate) -> int | None:
        """The decimal places of an aggregate that is a whole number or a decimal; None for another one."""
        if aggregate.kind in COUNTS:
            return 0
        return None if self.exact_column(aggregate) is None else self.places(aggregate)

    def places(self, aggregate: Aggregate) -> int:
        """The decimal places of an aggregate that has an `exact_column`: 0 for whole numbers."""
        scale: int = getattr(self.sources[aggregate.columns[0]].type, "scale", 0)
        return min(scale + MORE_PLACES, MOST_DIGITS) if aggregate.kind == "avg" else scale

    @property
    def limits(self) -> NumberLimits:
        """See `RowReader`."""
        limits = NumberLimits()
        for each in self.aggregates.values():
            if self.exact_column(each) is None:
                continue
            of = self.sources[each.columns[0]].type
            is_decimal = pa.types.is_decimal(of)
            # An average is exact where the sum is that it is made of.
            for exact in (each, Aggregate("sum", each.columns)) if each.kind == "avg" else (each,):
                limits.exact_below[exact] = exact_below(self.places(exact))
                if is_decimal and exact.kind not in OF_ONE_ROW:
                    limits.decimal_places[exact] = self.places(exact)
            if each.kind == "avg" and averages_as_doubles(of.precision):
                limits.of_doubles.add(each)
            if each.kind == "sum" and not is_decimal:
                limits.overflows_at[each] = 2.0**63
        return limits

    @classmethod
    def of(
        cls,
        aggregates: Mapping[str, Sequence[Any]],
        by: Sequence[str],
        schema: pa.Schema,
        hashed: Collection[str] | None,
    ) -> Request:
        """A request as a caller states it; see `Scan.tolerance`.

        Args:
            aggregates: what to estimate, as it is stated.
            by: the columns of groups.
            schema: the table's columns.
            hashed: those that make the weights of rows; None where all rows are read.

        Raises:
            InvalidInputError: what is not understood or does not fit the table's columns.
            UnsupportedError: a count of distinct values that a sample does not tell, or a column that a scan cannot
                read.
        """
        if not isinstance(aggregates, Mapping) or not aggregates:
            raise InvalidInputError(
                'name what to estimate: {"mean": ("delay", "avg"), "rows": ("*", "count")}'
            )
        if isinstance(by, str) or not isinstance(by, Iterable):
            raise InvalidInputError(f"by takes a list of columns, not {by!r}")
        sources: dict[str, Source] = {}
        distinct: dict[str, str] = {}
        found = {}
        for name, asked in aggregates.items():
            columns, kind, percentage = _asked(name, asked, schema)
            if kind == "count_distinct":
                found[name] = _distinct(name, columns, percentage, hashed, distinct)
            else:
                found[name] = _aggregate(name, columns, kind, percentage, sources)
        groups = tuple(dict.fromkeys(column_in(schema, column) for column in by))
        for column in [*groups, *distinct.values()]:
            if pa.types.is_nested(schema.field(column).type):
                raise InvalidInputError(
                    f"the values of {column!r}, of type {schema.field(column).type}, are neither groups nor counted"
                )
        return cls(found, sources, distinct, groups, schema)


def _asked(name: Any, asked: Any, schema: pa.Schema) -> tuple[list[pa.Field], str, float | None]:  # noqa: ANN401
    """The columns, the kind and the share of an aggregate as a caller states it."""
    if not isinstance(name, str):
        raise InvalidInputError(f"an estimate is named by a text, not {name!r}")
    if isinstance(asked, str) or not isinstance(asked, Sequence) or len(asked) not in (2, 3):
        raise InvalidInputError(
            f"{name!r} takes a column and a function, and a share after a percentile, not {asked!r}"
        )
    columns, function, *percentage = asked
    kind = KIND_OF_FUNCTION.get(str(function).lower())
    if kind is None:
        raise InvalidInputError(
            f"{name!r}: there is no estimate of {function!r}, only of {', '.join(KIND_OF_FUNCTION)}"
        )
    if isinstance(columns, str):
        chosen = [columns]
    elif isinstance(columns, Iterable):
        chosen = list(columns)
    else:
        raise InvalidInputError(f"{name!r} takes a column or a list of columns, not {columns!r}")
    if chosen == [ALL] and kind == "count":
        chosen = []
    fields = [schema.field(column_in(schema, column)) for column in chosen]
    return fields, kind, _share(name, percentage[0]) if percentage else None


def _share(name: str, given: Any) -> float:  # noqa: ANN401 (what a caller states)
    try:
        return float(given)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name!r}: the share of a percentile is a number, not {given!r}") from error


def _aggregate(
    name: str, columns: Sequence[pa.Field], kind: str, percentage: float | None, sources: dict[str, Source]
) -> Aggregate:
    names = []
    for at, column in enumerate(columns):
        # A correlation is that of the rows that have both values, and so are its columns' ends.
        beside = columns[1 - at].name if kind == "corr" and len(columns) == 2 else None
        source = Source(column.name, column.type, kind == "count", beside)
        _check(name, kind, source)
        key = f"{'set' if source.is_count else 'x'}:{source.column}"
        if beside is not None:
            # A column's name may be any text, also that of two.
            key = f"pair:{len(source.column)}:{source.column}:{beside}"
        sources[key] = source
        names.append(key)
    return Aggregate(kind, tuple(names), percentage)


def _distinct(
    name: str,
    columns: Sequence[pa.Field],
    percentage: float | None,
    hashed: Collection[str] | None,
    distinct: dict[str, str],
) -> Aggregate:
    """A count of distinct values. A sample has all rows of a value or none only where the value has one weight."""
    counted = {column.name for column in columns}
    if hashed is not None and not counted >= set(hashed):
        raise UnsupportedError(
            f"{name!r}: a sample tells how many distinct values there are only of all columns together by which its "
            f"rows are weighed, {list(hashed)}, and of more columns than these; exact=True counts the values of "
            f"{sorted(counted)} in all rows"
        )
    names = {f"value:{column}": column for column in sorted(counted)}
    distinct.update(names)
    is_key = hashed is not None and counted == set(hashed)
    return Aggregate("count_distinct", tuple(names), percentage, one_per_key=is_key)


def _check(name: str, kind: str, source: Source) -> None:
    of = source.type
    is_number = pa.types.is_integer(of) or pa.types.is_floating(of) or pa.types.is_decimal(of)
    is_time = pa.types.is_date(of) or pa.types.is_timestamp(of)
    is_known = (
        kind == "count"
        or (pa.types.is_boolean(of) if kind == "count_if" else is_number)
        or (kind in ("min", "max") and is_time)
    )
    if not is_known:
        raise InvalidInputError(
            f"{name!r}: there is no estimate of {kind} of {source.column!r}, of type {of}"
        )
