"""Columns of an array as columns of a Spark DataFrame."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkTypeError
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

from pyqbeast.arrow_schema import arrow_schema
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.format.ingest import cast, cast_loss, leaves
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


def check_types(schema: StructType, array: ArraySchema) -> pa.Schema:
    """Arrow's types for the columns of a DataFrame over an array.

    Args:
        schema: the columns of the DataFrame, all of which the array has.
        array: the array's schema.

    Raises:
        InvalidInputError: a type that the values of a column are never cast to.
    """
    target = []
    for column in schema:
        kind = array.fields[column.name].arrow_type
        asked = column.dataType.simpleString()
        try:
            if _is_coarse(column.dataType):
                raise pa.ArrowInvalid("Arrow has no spans of whole days, hours or minutes")
            field = arrow_schema(StructType([column])).field(0)
            # Arrow does not look into lists where there are none.
            _cast(pa.nulls(1, kind), field.type)
        except (PySparkTypeError, pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
            raise InvalidInputError(
                f"column {column.name!r} is {_spark_type(kind).simpleString()} in the array and is not cast to {asked}:"
                " ask for the array's type, and cast in the query"
            ) from error
        target.append(field)
    return pa.schema(target)


def _is_coarse(kind: DataType) -> bool:
    """Whether a type is one of spans without seconds: Spark takes any that it is handed for one."""
    if isinstance(kind, ArrayType):
        return _is_coarse(kind.elementType)
    return isinstance(kind, DayTimeIntervalType) and kind.endField < DayTimeIntervalType.SECOND


def to_spark(table: pa.Table, target: pa.Schema) -> pa.Table:
    """A table as read, in the types that Spark takes.

    Args:
        table: what `Array.read` gives.
        target: the Arrow schema of the DataFrame, from `check_types`.

    Raises:
        ArrayFormatError: a time that Spark does not count to.
        InvalidInputError: a value that the type of the user's schema does not have, or a null where it has none.
    """
    columns = [_converted(table[field.name], field) for field in target]
    for column, field in zip(columns, target, strict=True):
        # Spark does not look for nulls in such a column, and reads what lies in their place.
        if _has_unexpected_nulls(column, field):
            raise InvalidInputError(
                f"column {field.name!r} has nulls, and the schema says that it has none: leave out NOT NULL, or load"
                " the array anew if it has changed"
            )
    return pa.Table.from_arrays(columns, schema=target)


def _has_unexpected_nulls(values: pa.ChunkedArray, field: pa.Field) -> bool:
    if values.null_count and not field.nullable:
        return True
    return pa.types.is_list(field.type) and _has_unexpected_nulls(
        pc.list_flatten(values), field.type.value_field
    )


def _converted(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    try:
        return pa.chunked_array([_cast(chunk, field.type) for chunk in column.chunks], field.type)
    except pa.ArrowInvalid as error:
        if _is_own(column.type, field.type):
            # Numbers, texts and bytes fit the types that were chosen for them.
            raise ArrayFormatError(
                f"a time is beyond those of Spark, which counts microseconds ({error})", field=field.name
            ) from error
        own, asked = _spark_type(column.type).simpleString(), from_arrow_type(field.type).simpleString()
        raise InvalidInputError(
            f"column {field.name!r} is {own} in the array, and not every value of it is of the type {asked} that the"
            f" schema asks for ({error}): ask for {own}"
        ) from error


def _is_own(kind: pa.DataType, target: pa.DataType) -> bool:
    """Whether a type is the one that Spark takes such cells for unless a schema says otherwise."""
    return from_arrow_type(target).simpleString() == _spark_type(kind).simpleString()


def _cast(array: pa.Array, target: pa.DataType) -> pa.Array:
    """The values in another type; `pa.ArrowInvalid` where one has no counterpart, also where Arrow makes one up."""
    kind = array.type
    if pa.types.is_timestamp(kind) and pa.types.is_timestamp(target):
        typed = array.cast(pa.timestamp("us")).cast(target)
    elif pa.types.is_fixed_size_list(kind):
        typed = cast(array.cast(pa.list_(kind.value_type)), target)
    else:
        typed = cast(array, target)
    # Arrow minds the units of its times by itself.
    if not _is_own(kind, target) and (lost := _loss(leaves(array), leaves(typed))) is not None:
        raise pa.ArrowInvalid(lost)
    return typed


def _loss(given: pa.Array, typed: pa.Array) -> str | None:
    """What a cast to the type of a user's schema lost without a word; None where it lost nothing."""
    kind, target = given.type, typed.type
    if pa.types.is_integer(kind) and pa.types.is_temporal(target):
        return "whole numbers do not say of what unit they are"
    if pa.types.is_floating(kind) and pa.types.is_decimal(target):
        # Arrow's cast of decimals may give the float beside the right one; texts give the right one.
        back = typed.cast(pa.large_string()).cast(kind)
        is_other = pc.any(pc.not_equal(back, given)).as_py()
        return f"a number has no equal in {target}" if is_other else None
    if pa.types.is_timestamp(kind) and pa.types.is_date(target):
        # Days are counted here, for Arrow and NumPy do it past the ends of 64 bits and from the other one on.
        per_day = np.timedelta64(1, "D") // np.timedelta64(1, kind.unit)
        moments = given.drop_null().cast(pa.int64()).to_numpy()
        days = typed.drop_null().cast(pa.int32()).to_numpy()
        return None if (moments // per_day == days).all() else f"a time is on no day of {target}"
    if pa.types.is_temporal(kind) and pa.types.is_string(target):
        # Arrow writes a sentence in place of such a time: <value out of range: …>
        is_beyond = pc.any(pc.starts_with(typed, "<")).as_py()
        return "a time is beyond those that are written" if is_beyond else None
    return cast_loss(given, typed)
