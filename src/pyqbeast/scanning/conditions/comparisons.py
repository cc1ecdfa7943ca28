"""One comparison of a column with a constant, as Spark understands it."""

from __future__ import annotations

import datetime as dt
import math
import operator
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.iso_time import day_of, moment_of
from pyqbeast.scanning.conditions.column_types import char_length
from pyqbeast.scanning.conditions.file_tests import (
    FileTest,
    all_of,
    any_of,
    may_be_among,
    may_be_null,
    may_be_valid,
    may_compare,
)

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
#: The sign of a comparison whose sides change places.
MIRRORED = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
#: Digits before and after the point of constants that integers are compared with.
_INTEGER_DIGITS = 19
#: Below it no two whole numbers are one double.
_WHOLE_DOUBLES = 2**53


class SqlConstant(NamedTuple):
    """A constant in a condition: `number`, `text`, `boolean`, `date` or `timestamp`, and how it was written."""

    kind: str
    text: str


class RowAndFileCondition(NamedTuple):
    """A condition for rows and the one for files; see `Predicate`."""

    rows: pc.Expression
    files: FileTest

    def __and__(self, other: RowAndFileCondition) -> RowAndFileCondition:
        return RowAndFileCondition(self.rows & other.rows, all_of(self.files, other.files))

    def __or__(self, other: RowAndFileCondition) -> RowAndFileCondition:
        return RowAndFileCondition(self.rows | other.rows, any_of(self.files, other.files))


def joined(joint: str, left: RowAndFileCondition, right: RowAndFileCondition) -> RowAndFileCondition:
    """Two conditions, both or, where the joint is `or`, at least one of which has to hold."""
    return left | right if joint == "or" else left & right


def padded(constant: SqlConstant, field: pa.Field) -> SqlConstant:
    """A constant as Spark compares it with a column: as long as the texts of a CHAR column, which end in blanks."""
    length = char_length(field)
    if length is None or constant.kind != "text":
        return constant
    # Blanks beyond the column's length make no difference.
    return SqlConstant("text", constant.text[:length].ljust(length) + constant.text[length:].rstrip(" "))


def in_one_type(constants: Sequence[SqlConstant], field: pa.Field) -> list[SqlConstant]:
    """Constants of a list as Spark compares them with a column: as doubles if one of them is one."""
    if not pa.types.is_integer(field.type) or not any(map(is_double, constants)):
        return [padded(each, field) for each in constants]
    return [
        each if each.kind != "number" or is_double(each) else SqlConstant("number", f"{each.text}e0")
        for each in constants
    ]


def is_double(constant: SqlConstant) -> bool:
    """Whether a constant is a double to Spark. Fractions without an exponent are decimals."""
    return constant.kind == "number" and "e" in constant.text.lower()


def compared(field: pa.Field, sign: str, constant: SqlConstant) -> RowAndFileCondition:
    """A column compared with a constant. Raises InvalidInputError where the two do not fit."""
    if constant.kind == "number":
        if pa.types.is_integer(field.type):
            return _integers(field, sign, constant)
        if pa.types.is_floating(field.type):
            return _floats(field, sign, constant)
        if pa.types.is_decimal(field.type):
            return _decimals(field, sign, constant)
    return _plain(field, sign, typed_constant(field, constant))


def typed_constant(field: pa.Field, constant: SqlConstant) -> pa.Scalar:
    """A constant that is no number, in a column's type. Raises InvalidInputError where the two do not fit."""
    value = _other(field.type, constant)
    if value is None:
        raise InvalidInputError(
            f"column {field.name!r} has type {field.type} and cannot be compared with the {constant.kind} "
            f"{constant.text}"
        )
    return value


def _plain(field: pa.Field, sign: str, value: pa.Scalar) -> RowAndFileCondition:
    """A column compared with a value of its own type."""
    rows = _OPERATIONS[sign](pc.field(field.name), value)
    return RowAndFileCondition(rows, may_compare(field.name, sign, value))


def null(field: pa.Field, *, negated: bool) -> RowAndFileCondition:
    """A column that is null, or is not where `negated`."""
    column = pc.field(field.name)
    if negated:
        return RowAndFileCondition(column.is_valid(), may_be_valid(field.name))
    return RowAndFileCondition(column.is_null(), may_be_null(field.name))


def among(
    field: pa.Field, constants: Sequence[SqlConstant], *, negated: bool
) -> tuple[RowAndFileCondition | None, Sequence[SqlConstant]]:
    """A column that equals one of some constants, or none where `negated`.

    The second part of the answer are the constants that take more than a list of values. Raises as `compared`.
    """
    equal = [_equal_values(field.type, constant) for constant in constants]
    others = [constant for constant, values in zip(constants, equal, strict=True) if values is None]
    if len(others) == len(constants):
        return None, constants
    column = pc.field(field.name)
    try:
        values = pa.array([value.as_py() for each in equal for value in each or ()], field.type)
    except OverflowError:  # Python knows fewer days than Arrow
        return None, constants
    found = column.isin(values)
    # A null is in no list, and neither is it outside of one.
    rows = (~found if negated else found) & column.is_valid()
    return RowAndFileCondition(rows, may_be_among(field.name, values, negated=negated)), others


def _equal_values(kind: pa.DataType, constant: SqlConstant) -> list[pa.Scalar] | None:
    """The values of a type that equal a constant, none or all of them; None where that is not as simple."""
    if constant.kind != "number":
        value = _other(kind, constant)
        return None if value is None else [value]
    if pa.types.is_floating(kind):
        double = float(constant.text)
        nearest = double if pa.types.is_float64(kind) else float(_single(double))
        if nearest != double:
            return []
        # Arrow's lists tell 0.0 from -0.0, which are equal.
        return [pa.scalar(each, kind) for each in ((0.0, -0.0) if double == 0 else (double,))]
    if pa.types.is_integer(kind):
        low, high = _integer_ends(constant)
        if low < high:
            return None
        return [pa.scalar(int(low), kind)] if _is_among(kind, low) else []
    if pa.types.is_decimal(kind):
        exact = _decimal(constant)
        try:
            return [_in_wide(kind, exact).cast(kind)]
        except pa.ArrowInvalid:  # it has more digits
            return []
    return None


def _integers(field: pa.Field, sign: str, constant: SqlConstant) -> RowAndFileCondition:
    low, high = _integer_ends(constant)
    if low < high and sign in ("=", "!="):
        from_low, to_high = (">=", "<=") if sign == "=" else ("<", ">")
        ends = _whole_numbers(field, from_low, low), _whole_numbers(field, to_high, high)
        return ends[0] & ends[1] if sign == "=" else ends[0] | ends[1]
    return _whole_numbers(field, sign, high if sign in (">", "<=") else low)


def _integer_ends(constant: SqlConstant) -> tuple[Decimal, Decimal]:
    """The least and the greatest number that a whole number equals a constant between; see `_equal_to`."""
    exact = Decimal(constant.text)
    compared_with = Decimal(float(constant.text)) if is_double(constant) else exact
    if abs(compared_with) >= 10**_INTEGER_DIGITS or exact.as_tuple().exponent < -_INTEGER_DIGITS:  # type: ignore[operator]
        raise InvalidInputError(f"the number {constant.text} has too many digits to compare it with integers")
    return _equal_to(float(constant.text)) if is_double(constant) else (exact, exact)


def _equal_to(double: float) -> tuple[Decimal, Decimal]:
    """The least and the greatest number that whole numbers have to lie between to be a double; a fraction is both."""
    if abs(double) < _WHOLE_DOUBLES:
        return Decimal(repr(double)), Decimal(repr(double))
    below, at, above = (int(math.nextafter(double, end)) for end in (-math.inf, double, math.inf))
    # What lies in the middle of two doubles is one or the other.
    low, high = (below + at) // 2, (at + above) // 2
    return Decimal(low + (float(low) != double)), Decimal(high - (float(high) != double))


def _whole_numbers(field: pa.Field, sign: str, exact: Decimal) -> RowAndFileCondition:
    if _is_among(field.type, exact):
        return _plain(field, sign, pa.scalar(int(exact), field.type))
    wide = pa.decimal128(2 * _INTEGER_DIGITS, _INTEGER_DIGITS)
    rows = _OPERATIONS[sign](pc.field(field.name).cast(wide), pa.scalar(exact, wide))
    # Every whole number below or above a fraction is no further than the nearest one.
    near = math.floor(exact) if sign in ("<", "<=") else math.ceil(exact)
    if not _is_among(field.type, Decimal(near)) or sign in ("=", "!="):
        return RowAndFileCondition(rows, may_be_valid(field.name))
    return RowAndFileCondition(rows, may_compare(field.name, sign[0] + "=", pa.scalar(near, field.type)))


def _is_among(kind: pa.DataType, exact: Decimal) -> bool:
    """Whether a number is one of a type of whole numbers."""
    limit = 2 ** (kind.bit_width - 1)
    return exact == exact.to_integral_value() and -limit <= exact < limit


def _floats(field: pa.Field, sign: str, constant: SqlConstant) -> RowAndFileCondition:
    column, double = pc.field(field.name), float(constant.text)
    if pa.types.is_float64(field.type):
        rows, files = _plain(field, sign, pa.scalar(double, pa.float64()))
    elif float(_single(double)) == double:
        rows, files = _plain(field, sign, pa.scalar(_single(double), pa.float32()))
    else:
        # Spark compares 32-bit floats with constants as doubles, also with whole numbers.
        rows = _OPERATIONS[sign](column.cast(pa.float64()), pa.scalar(double, pa.float64()))
        files = _near(field.name, sign, _single(double))
    # To Spark NaN is larger than every number.
    return RowAndFileCondition(rows | pc.is_nan(column) if sign in (">", ">=") else rows, files)


def _single(double: float) -> np.float32:
    """The nearest 32-bit float, which is infinite for a double beyond all of them."""
    with np.errstate(over="ignore"):
        nearest: np.float32 = np.float32(double)
    return nearest


def _near(column: str, sign: str, near: np.float32) -> FileTest:
    """A condition that holds wherever a 32-bit float compares like this with a double next to `near`."""
    if sign == "!=":
        return may_be_valid(column)
    with np.errstate(over="ignore", under="ignore"):  # beside the largest and the least of all floats
        low, high = (
            pa.scalar(np.nextafter(near, np.float32(end)), pa.float32()) for end in (-np.inf, np.inf)
        )
    above, below = may_compare(column, ">=", low), may_compare(column, "<=", high)
    return all_of(above, below) if sign == "=" else above if sign in (">", ">=") else below


def _decimals(field: pa.Field, sign: str, constant: SqlConstant) -> RowAndFileCondition:
    exact = _decimal(constant)
    try:
        return _plain(field, sign, pa.scalar(exact, field.type))
    except pa.ArrowInvalid:
        value = _in_wide(field.type, exact)
        rows = _OPERATIONS[sign](pc.field(field.name).cast(value.type), value)
        return RowAndFileCondition(rows, may_be_valid(field.name))


def _decimal(constant: SqlConstant) -> Decimal:
    if is_double(constant):
        raise InvalidInputError(f"compare a decimal with a number without an exponent, not {constant.text}")
    return Decimal(constant.text)


def _in_wide(kind: pa.DataType, exact: Decimal) -> pa.Scalar:
    """A number in a type that has the digits behind the point of another type, and its own."""
    wide = pa.decimal256(76, max(kind.scale, -int(exact.as_tuple().exponent), 0))
    try:
        return pa.scalar(exact, wide)
    except pa.ArrowInvalid as error:
        raise InvalidInputError(f"the number {exact} has too many digits: {error}") from error


def _other(kind: pa.DataType, constant: SqlConstant) -> pa.Scalar | None:
    """The constant as a scalar of a type; None where they do not fit."""
    if constant.kind == "boolean":
        return pa.scalar(constant.text == "TRUE") if pa.types.is_boolean(kind) else None
    try:
        if constant.kind == "text" and pa.types.is_string(kind):
            return pa.scalar(constant.text)
        if constant.kind in ("text", "date") and pa.types.is_date(kind):
            return pa.scalar(day_of(constant.text), kind)
        if constant.kind in ("text", "date", "timestamp") and pa.types.is_timestamp(kind):
            return _instant(kind, constant)
    except ValueError as error:
        asked = constant.kind
        if asked == "text" and not pa.types.is_string(kind):
            asked = "date" if pa.types.is_date(kind) else "timestamp"
        raise InvalidInputError(f"{constant.text!r} is no {asked}: {error}") from error
    return None


def _instant(kind: pa.DataType, constant: SqlConstant) -> pa.Scalar | None:
    is_day = constant.kind == "date"
    when = dt.datetime.combine(day_of(constant.text), dt.time()) if is_day else moment_of(constant.text)
    if kind.tz is None:
        return pa.scalar(when, kind) if when.tzinfo is None else None
    return pa.scalar(when if when.tzinfo else when.replace(tzinfo=dt.timezone.utc), kind)
