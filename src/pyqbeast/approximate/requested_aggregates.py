"""The aggregates of a query that are estimated, and the numbers of its rows that they are made of."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import types as T

from pyqbeast.approximate.estimate import (
    Aggregate,
    Combination,
    Operation,
    Part,
    Requested,
    Term,
)
from pyqbeast.approximate.estimate.rounding import (
    MORE_PLACES,
    MOST_DIGITS,
    OF_ONE_ROW,
    ROUNDED,
    NumberLimits,
    averages_as_doubles,
    exact_below,
)
from pyqbeast.approximate.expressions import number_of, when
from pyqbeast.bridge.aggregate_query import AggregateQuery, OutputColumn, TableColumn
from pyqbeast.core.errors import UnsupportedError

#: The kind of each aggregate, by the name of Spark's class.
KIND_OF_SPARK_CLASS = {
    "Count": "count",
    "CountIf": "count_if",
    "Sum": "sum",
    "Average": "avg",
    "Min": "min",
    "Max": "max",
    "VarianceSamp": "var_samp",
    "VariancePop": "var_pop",
    "StddevSamp": "stddev_samp",
    "StddevPop": "stddev_pop",
    "Corr": "corr",
    "ApproximatePercentile": "percentile",
}
#: Types of columns by which an estimate can group.
_GROUP_TYPES = (
    T.StringType,
    T.BinaryType,
    T.BooleanType,
    T.NumericType,
    T.DateType,
    T.TimestampType,
    T.TimestampNTZType,
)


#: A sum of decimals has so many more digits than these.
_MORE_DIGITS = 10
#: What whole numbers take.
BITS: dict[type[T.DataType], int] = {T.ByteType: 8, T.ShortType: 16, T.IntegerType: 32, T.LongType: 64}


@dataclass
class RequestedAggregates:
    """The aggregates of a query, and where their numbers come from.

    Attributes:
        of_outputs: what to estimate, one for each output of the query; None for an output that is a group, or that
            is only a part of another.
        columns: for each name that the aggregates use, an SQL expression of the row's number (double); null if
            the row has none.
        statistics: for each of those names, the column whose statistics bound it, where there is one, or the number
            that it always is.
        group_types: names and types of the group columns.
        limits: see `RowReader`.
    """

    of_outputs: list[Requested | None] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)
    statistics: dict[str, TableColumn | float | None] = field(default_factory=dict)
    group_types: dict[str, T.DataType] = field(default_factory=dict)
    limits: NumberLimits = field(default_factory=NumberLimits)

    @classmethod
    def of(cls, query: AggregateQuery, schema: T.StructType) -> RequestedAggregates:
        """Of a query whose rows before the aggregation have this schema.

        Raises:
            UnsupportedError: an aggregate that cannot be estimated; the message says why.
        """
        out = cls(group_types={each.name: each.dataType for each in schema if each.name.startswith("g")})
        for data_type in out.group_types.values():
            if not isinstance(data_type, _GROUP_TYPES):
                raise _refused(f"it groups by values of type {data_type.simpleString()}")
            if isinstance(data_type, T.StringType) and data_type.collation != "UTF8_BINARY":
                raise _refused(
                    f"it groups by texts that the collation {data_type.collation} takes for equal; group by one "
                    "spelling of them, such as lower(…)"
                )
        found: list[Requested | None] = []
        for output in query.outputs:
            if output.group is not None:
                found.append(None)
            elif output.term is not None:
                found.append(out._combination(output.term, found))
            else:
                found.append(out._add(output, query, schema))
        shown = {output for output, _ in query.shown}
        shown |= set(_compared(query.having))
        out.of_outputs = [each if ordinal in shown else None for ordinal, each in enumerate(found)]
        if not out.requested:
            raise _refused("it aggregates nothing")
        for column, data_type in zip(query.result, query.result_types, strict=True):
            each = out.of_outputs[column.output]
            if isinstance(each, Combination) and column.rounding is None:
                out._note_limits(each, data_type)
        return out

    @property
    def groups(self) -> list[str]:
        """The names of the group columns."""
        return list(self.group_types)

    @property
    def requested(self) -> list[Requested]:
        """The aggregates, without the gaps that groups leave."""
        return [each for each in self.of_outputs if each is not None]

    @property
    def percentiles(self) -> list[Aggregate]:
        """The different percentiles; the thresholds of the k-th are the array column `t<k>` of the rows."""
        parts = (part for each in self.requested for part in each.parts)
        return list(dict.fromkeys(part for part in parts if part.kind == "percentile"))

    def _add(self, output: OutputColumn, query: AggregateQuery, schema: T.StructType) -> Aggregate:
        kind = KIND_OF_SPARK_CLASS.get(output.function)
        if kind is None:
            raise _refused(f"there is no estimate of the function {output.function}")
        if kind == "count" and len(output.inputs) > 1 and not output.distinct:
            raise _refused("count takes one column or *")
        if kind == "percentile" and output.percentage is None:
            raise _refused("it asks for several percentiles at once; ask for each by itself")
        if output.distinct:
            names = [
                self._named(f"d{number}", f"x{number}", output.condition, None) for number in output.inputs
            ]
            return Aggregate("count_distinct", tuple(names), one_per_key=output.one_per_key)
        names = []
        for number in output.inputs:
            column, data_type = f"x{number}", schema[f"x{number}"].dataType
            prefix = "set" if kind == "count" else "x"
            value = when(f"{column} IS NOT NULL") if kind == "count" else number_of(column, data_type, kind)
            if value is None:
                raise _refused(f"there is no estimate of {kind} of values of type {data_type.simpleString()}")
            name = f"{prefix}{number}"
            if kind == "corr":
                # It is that of the rows that have both values, and so are its columns' ends.
                (beside,) = set(output.inputs) - {number} or {number}
                name, value = f"{name}_beside{beside}", when(f"x{beside} IS NOT NULL", value)
            names.append(self._named(name, value, output.condition, query.statistics[number]))
        if output.condition is not None and not names:
            names.append(self._named("rows", "1.0D", output.condition, None))
        aggregate = Aggregate(kind, tuple(names), output.percentage)
        if kind in (*ROUNDED, *OF_ONE_ROW, "avg"):
            data_type = schema[f"x{output.inputs[0]}"].dataType
            if kind != "avg":
                self._note_limits(aggregate, _type_of_sum(data_type) if kind == "sum" else data_type)
            elif isinstance(data_type, T.DecimalType):
                self._note_average(aggregate, data_type)
        return aggregate

    def _note_average(self, average: Aggregate, data_type: T.DecimalType) -> None:
        """Notes up to where an average of decimals of this type is told exactly: as far as the sum that it is made of.

        Spark fails where that sum has too many digits.
        """
        if data_type.precision + _MORE_DIGITS > MOST_DIGITS:
            self.limits.exact_below[average] = 0.0
            return
        self._note_limits(Aggregate("sum", average.columns), _type_of_sum(data_type))
        self._note_limits(
            average, T.DecimalType(data_type.precision + MORE_PLACES, data_type.scale + MORE_PLACES)
        )
        if averages_as_doubles(data_type.precision):
            self.limits.of_doubles.add(average)

    def _note_limits(self, aggregate: Requested, data_type: T.DataType) -> None:
        """Notes up to where an aggregate of this type is told exactly, and where its type ends."""
        if isinstance(data_type, T.IntegralType | T.DecimalType | T.TimestampType):
            limit = exact_below(getattr(data_type, "scale", 0))
            self.limits.exact_below[aggregate] = min(self.limits.exact_below.get(aggregate, math.inf), limit)
        if isinstance(data_type, T.DecimalType):
            # A column may show it in a wider type, which holds the same numbers.
            self.limits.decimal_places.setdefault(aggregate, data_type.scale)
        if aggregate.kind in OF_ONE_ROW:
            return
        largest = self.limits.overflows_at.get(aggregate, math.inf)
        if type(data_type) in BITS:
            self.limits.overflows_at[aggregate] = min(largest, 2.0 ** (BITS[type(data_type)] - 1))
        elif isinstance(data_type, T.DecimalType):
            self.limits.overflows_at[aggregate] = min(
                largest, 10.0 ** (data_type.precision - data_type.scale)
            )

    def _combination(self, term: list[Any], outputs: Sequence[Requested | None]) -> Combination:
        """A term of outputs, by their numbers, as one of aggregates.

        What is computed on the way has a type as well, which may not hold it, and decimals are rounded to their places.
        """
        parts: list[Aggregate] = []
        inner: list[Operation] = []

        def read(node: list[Any]) -> Term:
            kind, *rest = node
            if kind == "number":
                return float(rest[0])
            if kind != "output":
                found = Operation(kind, read(rest[0]), read(rest[1]), rest[2])
                inner.append(found)
                return found
            part = outputs[rest[0]]
            if not isinstance(part, Aggregate):
                raise _refused("it computes with the aggregates: only they and numbers can be combined")
            if part.kind == "avg" and part in self.limits.decimal_places:
                # It is rounded to its places before anything is computed of it.
                self.limits.exact_below[part] = 0.0
            if part not in parts:
                parts.append(part)
            return Part(parts.index(part))

        whole = read(term)
        if not parts:
            raise _refused("a constant stands beside the aggregates: leave it out, and add it to the answer")
        combination = Combination(tuple(parts), whole)
        for each in inner:
            data_type = T.DataType.fromDDL(each.type)
            self._note_limits(Combination(combination.parts, each), data_type)
            # Of the most digits a sum may have fewer places than its parts.
            is_rounded = isinstance(data_type, T.DecimalType) and (
                each.sign in "*/" or data_type.precision == MOST_DIGITS
            )
            if is_rounded and each is not whole:
                self.limits.exact_below[combination] = 0.0
        return combination

    def _named(
        self, name: str, value: str, condition: int | None, statistics: TableColumn | float | None
    ) -> str:
        if condition is not None:
            name, value = f"{name}_where{condition}", when(f"x{condition}", value)
        self.columns[name], self.statistics[name] = value, statistics
        return name


def _type_of_sum(data_type: T.DataType) -> T.DataType:
    """The type in which Spark adds up values of a type."""
    if isinstance(data_type, T.DecimalType):
        return T.DecimalType(min(data_type.precision + _MORE_DIGITS, MOST_DIGITS), data_type.scale)
    return T.LongType() if isinstance(data_type, T.IntegralType) else data_type


def _compared(having: list[Any] | None) -> Iterator[int]:
    """The outputs that a condition names."""
    for part in having or ():
        if isinstance(part, list):
            yield from _compared(part)
    if having and having[0] not in ("and", "or", "not"):
        yield having[1]


def _refused(reason: str) -> UnsupportedError:
    return UnsupportedError(f"this query cannot be estimated: {reason}; pass exact=True to run it in full")
