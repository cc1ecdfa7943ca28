"""Reading an array as a Spark DataFrame: partitions of tiles, pushed filters, Arrow batches."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceReader,
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.read.array import Array
from pyqbeast.tiledb.read.predicate import Predicate, box_of
from pyqbeast.tiledb.read.split import Part, read_part, split
from pyqbeast.tiledb.spark.types import to_spark

_OPERATORS: dict[type[Filter], str] = {
    EqualTo: "==",
    LessThan: "<",
    LessThanOrEqual: "<=",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    EqualNullSafe: "==",
}
#: Rows per batch that Spark gets.
_BATCH_ROWS = 65_536


class TilePartition(InputPartition):
    """One part of the read."""

    def __init__(self, part: Part) -> None:
        super().__init__(part)
        self.part = part


class ArrayReader(DataSourceReader):
    """Plans and runs the read. The opened array travels to the workers, so that all see the same fragments.

    Args:
        array: The array.
        schema: The columns of the DataFrame: all of them, or those that the user's schema names.
        where, box: As in `Array.read`.
    """

    def __init__(
        self,
        array: Array,
        schema: StructType,
        where: Sequence[Any] | None = None,
        box: Mapping[str, Any] | None = None,
    ) -> None:
        self.array, self.schema = array, schema
        self.request = array.request(schema.fieldNames(), where, box)

    def partitions(self) -> Sequence[InputPartition]:
        """One partition per range of tiles, or per range of coordinates."""
        return [TilePartition(part) for part in split(self.array, self.request)] or [TilePartition(Part(()))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition."""
        target = to_arrow_schema(self.schema, timezone="UTC")
        assert isinstance(partition, TilePartition)
        if partition.part.fragments:
            for table in read_part(self.array, self.request, partition.part):
                yield from to_spark(table, target).to_batches(max_chunksize=_BATCH_ROWS)


class FilteringArrayReader(ArrayReader):
    """A reader for one scan, into which Spark pushes filters."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  (Spark's name)
        """Take over the filters that are exact here; use what can be used of the others to skip tiles."""
        exact, hints = list(self.request.predicates), list(self.request.hints)
        refused = []
        for item in filters:
            predicate = _predicate(item, self.array.schema.fields)
            if predicate is None:
                refused.append(item)
            elif _is_exact(self.array.schema.fields[predicate.column]):
                exact.append(predicate)
            else:
                hints.append(predicate)
                refused.append(item)
        box = box_of((*exact, *hints), self.array.schema, self.request.box)
        self.request = replace(self.request, predicates=tuple(exact), hints=tuple(hints), box=box)
        return refused


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
    return value if isinstance(value, int | float | str | bytes | bool | datetime.date) else None
