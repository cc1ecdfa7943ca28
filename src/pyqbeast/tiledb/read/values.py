"""What a user compares a column with, in the terms of what the column stores."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from pyqbeast.tiledb.format.domain import Coordinate
from pyqbeast.tiledb.format.field import Field

#: What a user compares with.
Value = Any

_NUMBERS = (int, float, Decimal, Fraction)
_EPOCH = dt.datetime(1970, 1, 1)
#: Seconds of the units that have a fixed length, as Arrow and NumPy call them.
_SECONDS = {
    unit: Fraction(seconds) for unit, seconds in {"D": 86_400, "h": 3_600, "m": 60, "s": 1}.items()
} | {unit: Fraction(1, 1_000**power) for power, unit in enumerate(("ms", "us", "ns", "ps", "fs", "as"), 1)}


def place_among(value: Value, kind: pa.DataType) -> Fraction | None:
    """Where a value lies among the whole numbers that a column of an Arrow type stores.

    That is a number itself, which counts units in a column of times, or a time in that unit. Times without a zone are
    UTC.

    Returns:
        None where the column stores no whole numbers, or the value is no such number or time.
    """
    value = _unboxed(value)
    if isinstance(value, bool):
        return None
    if not (pa.types.is_integer(kind) or pa.types.is_temporal(kind)):
        return None
    if isinstance(value, _NUMBERS):
        return Fraction(value) if math.isfinite(value) else None
    if pa.types.is_integer(kind):
        return None
    unit = "D" if pa.types.is_date(kind) else kind.unit
    seconds = _span(value) if pa.types.is_duration(kind) else _moment(value)
    return None if seconds is None else seconds / _SECONDS[unit]


def _unboxed(value: Value) -> Value:
    """Python's own value for one of NumPy's, but for times, which Python would round."""
    is_boxed = isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64)
    return value.item() if is_boxed else value


def _moment(value: Value) -> Fraction | None:
    """Seconds since 1970; None for what is no moment."""
    if isinstance(value, dt.datetime) and hasattr(value, "to_datetime64"):
        value = value.to_datetime64()  # pandas' moments have nanoseconds, and are in UTC then
    if isinstance(value, np.datetime64):
        return _counted(value, "datetime64[D]")
    if isinstance(value, dt.datetime):
        return _span(value - (_EPOCH if value.tzinfo is None else _EPOCH.replace(tzinfo=dt.timezone.utc)))
    if isinstance(value, dt.date):
        return Fraction((value.toordinal() - _EPOCH.toordinal()) * 86_400)
    return None


def _span(value: Value) -> Fraction | None:
    """Seconds; None for what is no span of time."""
    if isinstance(value, dt.timedelta) and hasattr(value, "to_timedelta64"):
        value = value.to_timedelta64()
    if isinstance(value, np.timedelta64):
        return _counted(value, "timedelta64[D]")
    if isinstance(value, dt.timedelta):
        return Fraction(value // dt.timedelta(microseconds=1), 10**6)
    return None


def _counted(value: np.datetime64 | np.timedelta64, in_days: str) -> Fraction | None:
    unit, step = np.datetime_data(value.dtype)
    if unit == "W" or (unit in ("Y", "M") and isinstance(value, np.datetime64)):
        try:
            days = value.astype(in_days)
        except OverflowError:
            return None
        if days.astype(value.dtype) != value:  # so NumPy before 2.5 tells of an overflow
            return None
        value, unit, step = days, "D", 1
    if np.isnat(value) or unit not in _SECONDS:
        return None
    return int(value.astype(np.int64)) * step * _SECONDS[unit]


def _as_float(value: float | Decimal | Fraction) -> float:
    """The nearest float, infinite beyond them all. Arrow takes no whole number that has no equal float."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def scalar_of(value: Value, kind: pa.DataType) -> pa.Scalar:
    """A scalar of the column's type, or of its own where it does not fit exactly.

    Raises:
        TypeError: a time of NumPy's that the column's type does not have.
    """
    value = _unboxed(value)
    if isinstance(value, str) and pa.types.is_fixed_size_binary(kind) | pa.types.is_large_binary(kind):
        value = value.encode("utf-8")
    elif isinstance(value, bytes) and pa.types.is_large_string(kind):
        value = value.decode("utf-8")
    elif isinstance(value, _NUMBERS) and pa.types.is_floating(kind):
        value = _as_float(value)
    if pa.types.is_temporal(kind) and value != value:
        return pa.scalar(None, kind)  # no time, which equals none
    if isinstance(value, np.datetime64 | np.timedelta64):
        # `place_among` has the others. Arrow takes some of these for the numbers that they are made of.
        raise TypeError(f"{kind} has no such time")
    try:
        return pa.scalar(value, type=kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.scalar(value)


def what_compares(kind: pa.DataType) -> str:
    """What a user has to give for a comparison with a column of an Arrow type, in words."""
    if pa.types.is_boolean(kind):
        return "is compared with True or False"
    if pa.types.is_integer(kind):
        return "is compared with numbers, also where these count times in a unit that Arrow lacks"
    if pa.types.is_floating(kind):
        return "is compared with numbers"
    if pa.types.is_large_string(kind):
        return "is compared with texts"
    if pa.types.is_fixed_size_binary(kind) or pa.types.is_large_binary(kind):
        return "is compared with bytes, or with texts, which stand for their bytes in UTF-8"
    if pa.types.is_duration(kind):
        return "is compared with spans of time (timedelta, numpy.timedelta64), or with numbers of its unit"
    if pa.types.is_temporal(kind):
        return "is compared with times (date, datetime, numpy.datetime64), or with numbers of its unit since 1970"
    return "lists are not compared: read the column and filter its rows, or use 'is null' and 'is not null'"


def limits(kind: pa.DataType) -> tuple[int, int]:
    """The least and the greatest whole number that a column of an Arrow type stores."""
    whole = np.iinfo(np.dtype(str(_stored_type(kind))))
    return int(whole.min), int(whole.max)


def is_stored(place: Fraction, kind: pa.DataType) -> bool:
    """Whether a column of an Arrow type can store a number."""
    low, high = limits(kind)
    return place.denominator == 1 and low <= place <= high


def array_at(places: Sequence[int], kind: pa.DataType) -> pa.Array:
    """The values of a column's type that are stored as these numbers."""
    return pa.array(places, _stored_type(kind)).cast(kind)


def _stored_type(kind: pa.DataType) -> pa.DataType:
    """The whole numbers that a column of an Arrow type is made of."""
    if pa.types.is_integer(kind):
        return kind
    return pa.int32() if pa.types.is_date32(kind) else pa.int64()


def raw_value(value: Value, field: Field) -> Coordinate:
    """The value as stored: a number, which may lie between two that are stored, or bytes.

    `None` where it cannot be said exactly.
    """
    try:
        return _raw_value(value, field)
    except (ValueError, TypeError, OverflowError, NotImplementedError):
        return None


def _raw_value(value: Value, field: Field) -> Coordinate:
    value = _unboxed(value)
    if field.is_var or field.datatype.is_bytes:
        if isinstance(value, str):
            return value.encode("utf-8")
        return value if isinstance(value, bytes) else None
    if field.datatype.is_float and isinstance(value, _NUMBERS):
        with np.errstate(over="ignore"):
            return field.datatype.dtype.type(_as_float(value)).item()
    place = place_among(value, field.arrow_type)
    if place is not None:
        return int(place) if place.denominator == 1 else place
    return value if isinstance(value, int | float) and not pa.types.is_temporal(field.arrow_type) else None
