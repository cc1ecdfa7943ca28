"""An estimated answer as the DataFrame that the query would give, each estimate with its low and high bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from pyqbeast import bridge
from pyqbeast.approximate.estimate import Estimates, Requested, State
from pyqbeast.approximate.estimate.choice import Choice
from pyqbeast.approximate.estimate.outcome import HIGH, LOW, SHOWN_ROWS, SURE, Outcome
from pyqbeast.approximate.estimate.rounding import (
    EXTREMES,
    FIRST_MOMENT,
    LAST_MOMENT,
    PLACES_OF_MOMENTS,
    Rounding,
    as_shown,
    known_numbers,
    shown_bounds,
)
from pyqbeast.approximate.estimate.state import Mask
from pyqbeast.approximate.requested_aggregates import BITS, KIND_OF_SPARK_CLASS, RequestedAggregates
from pyqbeast.approximate.selection import Selection, Verdict, choice
from pyqbeast.bridge.aggregate_query import AggregateQuery, Order, OutputColumn
from pyqbeast.core.errors import UnsupportedError

#: Types that Arrow and Spark do not hand each other.
_NOT_KEPT = (T.YearMonthIntervalType, T.CalendarIntervalType)
_TIMES = (T.DateType, T.TimestampType, T.TimestampNTZType)


@dataclass(frozen=True, kw_only=True)
class Estimate(Outcome):
    """The answer to a query from a part of its rows, with what that answer is worth.

    Attributes:
        df: the query's columns and rows; after each estimate `value` its bounds `value_low` and `value_high`. The
            bounds are doubles (of the value's own type for min and max), null where there is none. A query with
            `HAVING` or `LIMIT` has a last column `sure`: whether the row surely belongs to the answer.
    """

    df: DataFrame

    def shown_rows(self, most: int | None = SHOWN_ROWS) -> tuple[list[str], list[tuple[object, ...]]]:
        """See `Outcome.shown_rows`."""
        numbered = self.df.toDF(*(f"c{i}" for i in range(len(self.df.columns))))
        shown = [
            F.col(each.name).cast("string") if isinstance(each.dataType, _TIMES) else F.col(each.name)
            for each in numbered.schema
        ]
        rows = numbered.select(*shown)
        return self.df.columns, [tuple(row) for row in (rows.collect() if most is None else rows.take(most))]


def exact_answer(query_frame: DataFrame, query: AggregateQuery | None) -> tuple[DataFrame, int]:
    """The query run in full, and the bytes of the files it opened.

    Each aggregate gets bounds that are equal to its value. Without `query` the aggregates are not known, and
    the columns stay as they are.
    """
    for field in query_frame.schema:
        if isinstance(field.dataType, _NOT_KEPT):
            raise UnsupportedError(
                f"an answer keeps no values of type {field.dataType.simpleString()}, as column {field.name!r} has: "
                "make texts or numbers of them, or run the query itself"
            )
    named = _numbered(query_frame)
    held = bridge.frame_of(query_frame.sparkSession, bridge.arrow_table(named), named.schema)
    return held.select(*_exact_columns(query_frame, query)), bridge.scan_totals(named).bytes


def columns_of_answer(query_frame: DataFrame, query: AggregateQuery) -> T.StructType:
    """The columns of an answer to a query, exact or estimated. Whether they may be null is that of an exact one."""
    return _numbered(query_frame).select(*_exact_columns(query_frame, query)).schema


def _numbered(query_frame: DataFrame) -> DataFrame:
    """The query with its columns named c0, c1, …"""
    return query_frame.toDF(*(f"c{i}" for i in range(len(query_frame.columns))))


def _exact_columns(query_frame: DataFrame, query: AggregateQuery | None) -> list[Column]:
    """The columns of an exact answer, of a frame with those of `_numbered`."""
    shown: list[Column] = []
    for i, name in enumerate(query_frame.columns):
        output = query.outputs[query.result[i].output] if query else OutputColumn(group=0)
        value = F.col(f"c{i}")
        if output.group is None:
            kind = KIND_OF_SPARK_CLASS.get(output.function, "")
            shown += _with_bounds(name, value, value, value, kind, query_frame.schema[i].dataType)
        else:
            shown.append(value.alias(name))
    if query and query.keeps_some:
        shown.append(F.lit(True).alias(SURE))
    return shown


def estimated_answer(
    query: AggregateQuery,
    aggregates: RequestedAggregates,
    state: State,
    estimates: Mapping[Requested, Estimates],
    query_frame: DataFrame,
    kept: tuple[Selection, Verdict] | None,
    *,
    exact: bool,
) -> tuple[DataFrame, Choice | None, Mask]:
    """The estimates of the groups that the query keeps, in its columns and its order, and how sure that choice is.

    The third is which groups [group] these are.

    Args:
        query: the query taken apart.
        aggregates: those of the query.
        state: what the estimates were made of.
        estimates: by aggregate.
        query_frame: the query, for its schema.
        kept: what the query keeps of its groups, and which these are; None for all.
        exact: whether the estimates are the exact answer.
    """
    fields, columns = _values_of(query, aggregates, state, estimates)
    chosen, rows = None, np.ones(len(state.groups), dtype=bool)
    if kept is not None:
        selection, verdict = kept
        rows = selection.shown(state, estimates, verdict.having)
        # Of groups that are equal the exact answer has any.
        chosen = Choice() if exact else choice(state.groups, rows, verdict)
        fields.append(T.StructField(SURE, T.BooleanType()))
        columns.append((rows if exact else verdict.sure).tolist())
        columns = [
            [value for value, is_shown in zip(column, rows, strict=True) if is_shown] for column in columns
        ]
    held = bridge.local_frame(query_frame.sparkSession, T.StructType(fields), columns)
    kinds = {ordinal: each.kind for ordinal, each in enumerate(aggregates.of_outputs) if each is not None}
    outputs = _Outputs(query, query_frame.schema, kinds)
    shown = outputs.columns()
    if query.order:
        held = held.orderBy(*outputs.order())
    if kept is not None:
        shown.append(F.col(SURE))
    return held.select(*shown), chosen, rows


def _values_of(
    query: AggregateQuery,
    aggregates: RequestedAggregates,
    state: State,
    estimates: Mapping[Requested, Estimates],
) -> tuple[list[T.StructField], list[Sequence[object]]]:
    """The values of all groups, and their columns: groups by their names, and estimates as `_column` names them."""
    fields = [T.StructField(name, data_type) for name, data_type in aggregates.group_types.items()]
    columns: list[Sequence[object]] = [[group[i] for group in state.groups] for i in range(len(fields))]
    for output, rounding in query.shown:
        aggregate = aggregates.of_outputs[output]
        if aggregate is not None:
            found = estimates[aggregate]
            for part, values in zip("vlh", (found.value, *shown_bounds(found)), strict=True):
                fields.append(T.StructField(_column(part, output, rounding), T.DoubleType()))
                numbers = known_numbers(state, found, values)
                columns.append(numbers if rounding is None else _rounded(numbers, rounding))
    return fields, columns


def _rounded(numbers: Sequence[float | None], rounding: Rounding) -> list[float | None]:
    as_doubles = np.array(numbers, dtype=np.float64)
    pairs = zip(numbers, as_shown(as_doubles, rounding).tolist(), strict=True)
    return [None if number is None else rounded for number, rounded in pairs]


def _column(part: str, output: int, rounding: Rounding) -> str:
    """The name of a number of an estimate: its value (v) or the low (l) or high (h) bound of it, rounded or not."""
    return f"{part}{output}" if rounding is None else f"{part}{output}_{rounding}"


@dataclass(frozen=True)
class _Outputs:
    """The outputs of a query, of a frame with the columns that `_values_of` names.

    Attributes:
        query: the query taken apart.
        schema: that of its result.
        kinds: of its aggregates, by the numbers of their outputs.
    """

    query: AggregateQuery
    schema: T.StructType
    kinds: Mapping[int, str]

    def columns(self) -> list[Column]:
        """The columns of the result, with bounds. Several may show one output, each in a type of its own."""
        shown: list[Column] = []
        for (name, output, rounding), field in zip(self.query.result, self.schema, strict=True):
            data_type, kind = field.dataType, self.kinds.get(output)
            value = self._value(output, data_type, rounding)
            if kind is None:
                shown.append(value.alias(name))
                continue
            # Bounds stay doubles: in an integer type a bound could be rounded to the wrong side. Those of a FLOAT are
            # what it is rounded to as well.
            bound_type = data_type if kind in EXTREMES or isinstance(data_type, T.FloatType) else None
            low, high = (self._value(output, bound_type, rounding, part) for part in "lh")
            shown += _with_bounds(name, value, low, high, kind, data_type)
        return shown

    def order(self) -> list[Column]:
        """What the query sorts by."""
        # An output that the query only sorts by is not among the result's columns, so it has no type there. A column
        # that casts a group to FLOAT shows it rounded.
        types = {
            (each.output, each.rounding): field.dataType
            for each, field in zip(self.query.result, self.schema, strict=True)
            if not isinstance(field.dataType, T.FloatType)
        }
        return [
            _ordered(each, self._value(each.output, types.get((each.output, each.rounding)), each.rounding))
            for each in self.query.order
        ]

    def _value(
        self, output: int, data_type: T.DataType | None, rounding: Rounding, part: str = "v"
    ) -> Column:
        """A group or an estimate; with another `part` a bound of it."""
        if output not in self.kinds:
            group = F.col(f"g{self.query.outputs[output].group}")
            return group.cast(data_type) if data_type else group
        number = F.col(_column(part, output, rounding))
        return _typed(number, data_type) if data_type else number


def _with_bounds(
    name: str, value: Column, low: Column, high: Column, kind: str, data_type: T.DataType
) -> list[Column]:
    is_estimate = isinstance(data_type, T.NumericType) and kind not in EXTREMES
    bound_type = T.DoubleType() if is_estimate else data_type
    return [
        value.alias(name),
        low.cast(bound_type).alias(name + LOW),
        high.cast(bound_type).alias(name + HIGH),
    ]


def _ordered(order: Order, value: Column) -> Column:
    if order.ascending:
        return value.asc_nulls_first() if order.nulls_first else value.asc_nulls_last()
    return value.desc_nulls_first() if order.nulls_first else value.desc_nulls_last()


def _typed(number: Column, data_type: T.DataType) -> Column:
    """A number in the type that the query gives it."""
    if isinstance(data_type, T.DateType):
        return F.date_from_unix_date(number.cast("int"))
    if isinstance(data_type, T.TimestampType):
        micros = number.cast("bigint")
        after, before = micros - F.lit(LAST_MOMENT), F.lit(FIRST_MOMENT) - micros
        in_calendar = (
            F.when(after.between(1, PLACES_OF_MOMENTS), F.lit(LAST_MOMENT))
            .when(before.between(1, PLACES_OF_MOMENTS), F.lit(FIRST_MOMENT))
            .otherwise(micros)
        )
        return F.timestamp_micros(in_calendar)
    if isinstance(data_type, T.DecimalType):
        # The largest decimals are below the doubles next to them.
        most = f"{'9' * (data_type.precision - data_type.scale)}.{'9' * data_type.scale}"
        limit = 10.0 ** (data_type.precision - data_type.scale)
        return (
            F.when(number >= limit, F.lit(most).cast(data_type))
            .when(number <= -limit, F.lit(f"-{most}").cast(data_type))
            .otherwise(number.cast(data_type))
        )
    if isinstance(data_type, T.IntegralType):
        # Bounds of the least and the largest number of a type may lie beyond it, as doubles and where they are rounded.
        end = 2.0 ** (BITS[type(data_type)] - 1)
        within = F.least(F.greatest(F.round(number), F.lit(-end)), F.lit(end - 1))
        return F.when(number.isNotNull(), within).cast(data_type)
    return number.cast(data_type)
