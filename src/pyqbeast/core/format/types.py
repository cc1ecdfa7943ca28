"""Data types: the names that the format uses, and which of Spark's types they stand for."""

from __future__ import annotations

import datetime as dt
import re
import struct
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeAlias

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.constants import DECIMAL_TYPE, FORMAT_TYPES, HASHED_TYPES

#: A value of an indexed column as the transformations take it: dates and timestamps as epoch milliseconds.
Value: TypeAlias = int | float | Decimal | str | bytes | None

INTEGER = "IntegerDataType"
LONG = "LongDataType"
DOUBLE = "DoubleDataType"
FLOAT = "FloatDataType"
DECIMAL = DECIMAL_TYPE
TIMESTAMP = "TimestampDataType"
DATE = "DateDataType"
STRING = "StringDataType"

#: Types whose numbers are stored as JSON integers, and those stored with a fraction or an exponent.
INTEGRAL_TYPES = frozenset({INTEGER, LONG, TIMESTAMP, DATE})
FRACTIONAL_TYPES = frozenset({DOUBLE, FLOAT, DECIMAL})
#: Types with an order that the format can use, that is all but strings.
ORDERED_TYPES = INTEGRAL_TYPES | FRACTIONAL_TYPES
ALL_TYPES = ORDERED_TYPES | {STRING}
#: Types whose values are milliseconds.
_TIMES = frozenset({TIMESTAMP, DATE})

_FORMAT_TYPE_OF = dict(pair.split("=") for pair in FORMAT_TYPES.split())

#: Names in the JSON of a schema that differ from Spark's simple texts.
_SIMPLE_TEXT = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}

#: Where times and days are counted from.
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
EPOCH_DAY = dt.date(1970, 1, 1)
MILLISECONDS_PER_DAY = 86_400_000


def format_type(column: str, spark_type: str) -> str:
    """The format's name of a Spark type given as simple text (`int`, `decimal(10,2)`, ...).

    Raises InvalidInputError, naming the column and its type, for a type that cannot be indexed.
    """
    name = format_type_or_none(spark_type)
    if name is None:
        supported = ", ".join([*_FORMAT_TYPE_OF, "decimal"])
        raise InvalidInputError(
            f"column {column!r} has type {spark_type}, which cannot be indexed. "
            f"Indexable types: {supported}. "
            "Leave the column out of columnsToIndex, or index a column derived from it."
        )
    return name


def type_when_indexed(spark_type: str, data_type: str) -> str:
    """The Spark type that a column had when it was indexed as `data_type`, if its type is `spark_type` today.

    A type always widens to one with another name in the format, except for decimals.
    """
    if format_type_or_none(spark_type) == data_type:
        return spark_type
    return next((name for name, known in _FORMAT_TYPE_OF.items() if known == data_type), spark_type)


def format_type_or_none(spark_type: str) -> str | None:
    """The format's name of a Spark type given as simple text; None for a type that cannot be indexed."""
    name = spark_type.strip().lower()
    if name == "decimal" or name.startswith("decimal("):
        return DECIMAL
    return _FORMAT_TYPE_OF.get(name)


def unhashed_type(stored: Any) -> str | None:  # noqa: ANN401 (any JSON value)
    """The first type among a type and those that it is made of whose values have no hash, and so make no weight.

    None where there is none. Types that nobody has heard of are among them. Spark's `hash` takes no maps, as equal ones
    may differ in their order, and some other types are too new for it.

    Args:
        stored: the type as the JSON of a schema has it.
    """
    if isinstance(stored, Mapping):
        inner = [field["type"] for field in stored.get("fields", ())]
        inner += [stored[key] for key in ("elementType", "sqlType") if key in stored]
        if inner:
            return next(filter(None, map(unhashed_type, inner)), None)
        return None if stored.get("type") == "struct" else str(stored.get("type"))
    name = re.split(r"[( ]", str(stored))[0]
    return None if name in HASHED_TYPES.split() else name


def are_measured_alike(one: str, other: str) -> bool:
    """Whether values of two types of the format are of one kind: times, other numbers, or texts."""
    return any(one in kind and other in kind for kind in (_TIMES, ORDERED_TYPES - _TIMES, {STRING}))


def spark_name(schema_type: str) -> str:
    """The simple text of an atomic type, given its name in the JSON of a schema (`long`, `decimal(10,2)`, ...)."""
    return _SIMPLE_TEXT.get(schema_type, schema_type)


def epoch_milliseconds(value: dt.date | dt.datetime) -> int:
    """Milliseconds since 1970-01-01 UTC: of a date its midnight in UTC, of a datetime its instant.

    A fraction of a millisecond is dropped downward, before 1970 too. Raises InvalidInputError for a datetime
    without a zone, whose instant is unknown.
    """
    if isinstance(value, dt.datetime):
        if value.tzinfo is None:
            raise InvalidInputError(f"the datetime {value} has no time zone: attach one")
        return (value - EPOCH) // dt.timedelta(milliseconds=1)
    return (value - EPOCH_DAY).days * MILLISECONDS_PER_DAY


def float32(value: float) -> float:
    """The 32-bit float nearest to a number, as a double. Raises OverflowError beyond its range."""
    rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return rounded
