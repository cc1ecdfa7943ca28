"""Columns of an array as columns of a Spark DataFrame, and back."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.format.schema import ArraySchema

#: Spark has no integers without a sign: the next wider type takes them.
_UNSIGNED = {
    pa.uint8(): ShortType(),
    pa.uint16(): IntegerType(),
    pa.uint32(): LongType(),
    pa.uint64(): DecimalType(20, 0),
}

#: Spark counts time in microseconds; what is finer stays a number.
_TOO_FINE = "ns"


def spark_schema(schema: ArraySchema) -> StructType:
    """The columns of a DataFrame over an array, the dimensions first.

    Times are taken to be UTC. Nanoseconds, and units that Arrow lacks, become the numbers that are stored.
    """
    return StructType(
        [
            StructField(name, _spark_type(field.arrow_type), field.has_nulls)
            for name, field in schema.fields.items()
        ]
    )


def _spark_type(kind: pa.DataType) -> DataType:
    if kind in _UNSIGNED:
        return _UNSIGNED[kind]
    if pa.types.is_timestamp(kind):
        return LongType() if kind.unit == _TOO_FINE else TimestampType()
    if pa.types.is_duration(kind):
        return LongType() if kind.unit == _TOO_FINE else DayTimeIntervalType(0, 3)
    if pa.types.is_large_string(kind):
        return StringType()
    if pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return BinaryType()
    if pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        # What is no time is null.
        return ArrayType(_spark_type(kind.value_type), pa.types.is_temporal(kind.value_type))
    return from_arrow_type(kind)


def to_spark(table: pa.Table, target: pa.Schema) -> pa.Table:
    """A table as read, in the types that Spark takes.

    Args:
        table: What `Array.read` gives.
        target: The Arrow schema of the DataFrame.

    Raises:
        ArrayFormatError: A time that Spark does not count to.
    """
    columns = [_convert(table[field.name], field) for field in target]
    return pa.Table.from_arrays(columns, schema=target)


def _convert(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    kind, target = column.type, field.type
    try:
        if pa.types.is_timestamp(kind) and pa.types.is_timestamp(target):
            return column.cast(pa.timestamp("us")).cast(target)
        if pa.types.is_fixed_size_list(kind):
            column = column.cast(pa.list_(kind.value_type))
        return column.cast(target)
    except pa.ArrowInvalid as error:
        # Numbers, texts and bytes fit the types that were chosen for them.
        raise ArrayFormatError(
            f"a time is beyond those of Spark, which counts microseconds ({error})", field=field.name
        ) from error


def from_spark(batch: pa.RecordBatch) -> pa.Table:
    """A batch as Spark hands it over, with times without a zone (UTC)."""
    table = pa.Table.from_batches([batch])
    for i, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            plain = pa.field(field.name, pa.timestamp(field.type.unit), field.nullable)
            table = table.set_column(
                i, plain, table[field.name].cast(pa.timestamp(field.type.unit, "UTC")).cast(plain.type)
            )
    return table
