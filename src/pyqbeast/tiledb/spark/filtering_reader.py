"""Filters of Spark that a read of an array takes over. Spark has had them since 4.1."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
)

from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.read.predicate import Predicate, box_of
from pyqbeast.tiledb.spark.reader import ArrayReader
from pyqbeast.tiledb.spark.types import spark_schema

_OPERATORS: dict[type[Filter], str] = {
    EqualTo: "==",
    LessThan: "<",
    LessThanOrEqual: "<=",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    EqualNullSafe: "==",
}


class FilteringArrayReader(ArrayReader):
    """A reader for one scan, into which Spark pushes filters."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  (Spark's name)
        """Take over the filters that are exact here; use what can be used of the others to skip tiles."""
        exact, hints = list(self.request.predicates), list(self.request.hints)
        refused = []
        fields = self._comparable_fields()
        for item in filters:
            predicate = _predicate(item, fields)
            if predicate is None:
                refused.append(item)
            elif _is_exact(fields[predicate.column]):
                exact.append(predicate)
            else:
                hints.append(predicate)
                refused.append(item)
        bounds = [*exact, *(hint for hint in hints if not self._may_find_nan(hint))]
        box = box_of(bounds, self.array.schema, self.request.box)
        self.request = replace(self.request, predicates=tuple(exact), hints=tuple(hints), box=box)
        return refused

    def _may_find_nan(self, hint: Predicate) -> bool:
        """Whether there may be a NaN among the coordinates that a comparison is of. In a box it lies nowhere."""
        field = self.array.schema.fields[hint.column]
        if not (field.is_dimension and field.datatype.is_float and hint.operator in (">", ">=")):
            return False
        return not all(fragment.has_numbers_alone(field) for fragment in self.array.fragments)

    def _comparable_fields(self) -> dict[str, Field]:
        """The columns whose values Spark compares as they are stored.

        Where the user's schema asks for another type, Spark compares what the values are cast to: noon is equal to its
        day as a date, and not as a moment.
        """
        own = spark_schema(self.array.schema)
        fields = self.array.schema.fields
        return {c.name: fields[c.name] for c in self.schema if c.dataType == own[c.name].dataType}


def _is_exact(field: Field) -> bool:
    """Whether a comparison means the same to Spark.

    It does not for floats, because Spark has NaN equal to itself and above all other numbers.
    """
    return not field.datatype.is_float and field.datatype.unit is None


def _predicate(item: Filter, fields: dict[str, Field]) -> Predicate | None:
    """The predicate for a Spark filter, `None` where there is none."""
    path: Sequence[str] = getattr(item, "attribute", ())
    field = fields.get(path[0]) if len(path) == 1 else None
    if field is None or not (field.is_var or field.cell_val_num == 1):
        return None
    column = field.name
    if isinstance(item, IsNull | IsNotNull):
        return Predicate(column, "is null" if isinstance(item, IsNull) else "is not null")
    if isinstance(item, In):
        values = tuple(_value(v) for v in item.value if v is not None)
        return None if any(v is None for v in values) else Predicate(column, "in", values)
    value = _value(getattr(item, "value", None))
    operator = _OPERATORS.get(type(item))
    return None if operator is None or value is None else Predicate(column, operator, value)


def _value(value: object) -> object:
    """A filter's value as predicates take it; `None` where it is better left to Spark."""
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else None
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).replace(tzinfo=None) if value.tzinfo else None
    if isinstance(value, float) and value != value:
        # To Spark NaN is above all other numbers, to conditions here it is nothing.
        return None
    return value if isinstance(value, int | float | str | bytes | bool | datetime.date) else None
