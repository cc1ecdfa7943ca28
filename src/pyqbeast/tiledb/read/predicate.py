"""Conditions of a reader: `where` on any column and `box` on the dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb.format.column import Mask, numbers
from pyqbeast.tiledb.format.domain import MBR, Coordinate, Range1D, operand
from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.format.schema import ArraySchema
from pyqbeast.tiledb.read.values import (
    Value,
    array_at,
    is_stored,
    limits,
    place_among,
    raw_value,
    scalar_of,
    what_compares,
)

_COMPARE: dict[str, Callable[..., Any]] = {
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
    "==": pc.equal,
    "!=": pc.not_equal,
}
#: What a user may write, and what it means.
_OPERATORS = {op: op for op in _COMPARE} | {
    "=": "==",
    "in": "in",
    "is null": "is null",
    "is not null": "is not null",
}


@dataclass(frozen=True)
class Predicate:
    """A comparison of a column with a value; null cells satisfy none but `is null`.

    Attributes:
        column: the column's name.
        operator: one of `<`, `<=`, `>`, `>=`, `==`, `!=`, `in`, `is null`, `is not null`.
        value: what to compare with: a sequence for `in`, `None` for the two about nulls.
    """

    column: str
    operator: str
    value: Any = None

    @property
    def values(self) -> tuple[Any, ...]:
        """The values to compare with, each by itself."""
        return tuple(self.value) if self.operator == "in" else (self.value,)

    def mask(self, array: pa.Array | pa.ChunkedArray) -> Mask:
        """Where it holds in a column as readers get it.

        Raises:
            InvalidInputError: the value cannot be compared with the column.
        """
        try:
            if self.operator.startswith("is"):
                matches = array.is_null() if self.operator == "is null" else array.is_valid()
            elif self.operator == "in":
                matches = self._is_among(array)
            else:
                matches = _compared(array, self.operator, self.value)
        except (ValueError, TypeError, OverflowError, NotImplementedError) as error:
            raise InvalidInputError(
                f"where {self.column} {self.operator} {self.value!r}: the column holds {array.type}, and "
                + what_compares(array.type)
            ) from error
        mask: Mask = (
            pc.fill_null(matches, False).to_numpy(zero_copy_only=False) if len(array) else np.zeros(0, bool)
        )
        return mask

    def _is_among(self, array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        kind = array.type
        places = [place_among(value, kind) for value in self.values]
        others = [
            scalar_of(value, kind) for value, place in zip(self.values, places, strict=True) if place is None
        ]
        same_kind = [each.as_py() for each in others if each.type == kind]
        if pa.types.is_floating(kind):
            # Arrow looks for floats by their bits: it tells the two zeros apart, and finds NaN.
            same_kind = [v for v in same_kind if v == v] + [-v for v in same_kind if v == 0]
        sets = [pa.array(same_kind, kind)]
        if stored := [int(place) for place in places if place is not None and is_stored(place, kind)]:
            sets.append(array_at(stored, kind))
        matches = [pc.is_in(array, value_set=each) for each in sets]
        matches += [pc.fill_null(pc.equal(array, each), False) for each in others if each.type != kind]
        return pc.and_(reduce(pc.or_, matches), array.is_valid())

    def may_match(self, field: Field, lows: npt.NDArray[Any], highs: npt.NDArray[Any]) -> Mask:
        """Which tiles with these least and greatest values may hold a matching cell.

        Comparisons are never strict here: they stay true where the value had to be rounded.
        """
        everywhere = np.ones(len(lows), dtype=bool)
        if self.operator in ("!=", "is null", "is not null"):
            return everywhere
        values = [raw_value(value, field) for value in self.values]
        if any(v is None for v in values):
            return everywhere
        most, least = ([operand(_whole(value, to)) for value in values] for to in (math.floor, math.ceil))
        matches: Mask
        if self.operator in ("<", "<="):
            matches = (lows <= most[0]).astype(bool)
            return matches
        if self.operator in (">", ">="):
            matches = (highs >= least[0]).astype(bool)
            return matches
        matches = np.zeros(len(lows), dtype=bool)
        for below, above in zip(most, least, strict=True):
            matches |= (lows <= below).astype(bool) & (highs >= above).astype(bool)
        return matches


def _compared(array: pa.Array | pa.ChunkedArray, operator: str, value: Value) -> pa.Array | pa.ChunkedArray:
    place = place_among(value, array.type)
    if place is None:
        return _COMPARE[operator](array, scalar_of(value, array.type))
    if is_stored(place, array.type):
        return _COMPARE[operator](array, array_at([int(place)], array.type)[0])
    if operator in ("==", "!="):
        return pc.and_(array.is_valid(), operator == "!=")
    # Of what lies between two numbers that are stored, or beyond them all, the next one tells as much.
    low, high = limits(array.type)
    is_less = operator in ("<", "<=")
    nearest, sign = (
        (min(math.floor(place), high), "<=" if is_less else ">")
        if place > low
        else (low, "<" if is_less else ">=")
    )
    return _COMPARE[sign](array, array_at([nearest], array.type)[0])


def _whole(value: Coordinate, to: Callable[[Any], int]) -> Coordinate:
    """A coordinate of a dimension of whole numbers; `to` rounds what lies between two of them."""
    return to(value) if isinstance(value, Fraction) else value


def parse_where(where: Sequence[Any] | None, schema: ArraySchema) -> list[Predicate]:
    """The predicates of a `where` argument: triples of column, operator and value, all of which must hold.

    Raises:
        InvalidInputError: no such column or operator, or something else than triples.
    """
    if where is not None and not isinstance(where, list | tuple):
        raise InvalidInputError(f"where takes a list of triples like ('a', '<', 5), not {where!r}")
    predicates = []
    for item in where or ():
        if isinstance(item, Predicate):
            column, operator, value = item.column, item.operator, item.value
        elif isinstance(item, tuple | list) and len(item) in (2, 3):
            column, operator, value = (*item, None)[:3]
        else:
            raise InvalidInputError(f"where takes triples like ('a', '<', 5), not {item!r}")
        schema.select([column])
        if not isinstance(operator, str) or operator not in _OPERATORS:
            raise InvalidInputError(f"unknown operator {operator!r}; there are {sorted(_OPERATORS)}")
        if not isinstance(item, Predicate) and len(item) == 2 and not operator.startswith("is"):
            raise InvalidInputError(f"where {column} {operator} takes a value to compare with")
        if value is None and not operator.startswith("is"):
            raise InvalidInputError(
                f"where {column} {operator} None holds for no cell: ask for nulls with ({column!r}, 'is null'),"
                f" and for all others with ({column!r}, 'is not null')"
            )
        if operator == "in":
            if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
                raise InvalidInputError(f"{column} in {value!r}: takes a sequence of values")
            value = tuple(value)
        _check_enumerated(schema.fields[column], operator, value)
        predicates.append(Predicate(column, _OPERATORS[operator], value))
    return predicates


def _check_enumerated(field: Field, operator: str, value: Any) -> None:  # noqa: ANN401 (what a caller states)
    """Raises InvalidInputError for a text beside an attribute that holds the numbers of an enumeration's values."""
    values = value if isinstance(value, tuple) else (value,)
    if field.enumeration and any(isinstance(each, str | bytes) for each in values):
        raise InvalidInputError(
            f"where {field.name} {operator} {value!r}: the attribute is enumerated and compared with numbers, "
            f"the places in array.enumerations[{field.enumeration!r}].values"
        )


def parse_box(box: Mapping[str, Any] | None, schema: ArraySchema) -> MBR | None:
    """The rectangle of a `box` argument: (low, high) by dimension, both included, `None` for an open end.

    Raises:
        InvalidInputError: no such dimension, something else than pairs, or ends of numbers in the wrong order.
    """
    if box is None:
        return None
    if not isinstance(box, Mapping):
        raise InvalidInputError(f"box takes (low, high) by dimension, not {box!r}")
    if unknown := [name for name in box if name not in {d.name for d in schema.dimensions}]:
        raise InvalidInputError(
            f"no dimension {unknown[0]!r}; there are {[d.name for d in schema.dimensions]}"
        )
    ranges = []
    for dimension in schema.dimensions:
        pair = box.get(dimension.name, (None, None))
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InvalidInputError(f"box[{dimension.name!r}] takes a pair (low, high), not {pair!r}")
        _check_turned(pair, dimension.field)
        ranges.append(
            Range1D(
                *(
                    _bound(v, dimension.field, end)
                    for v, end in zip(pair, (math.ceil, math.floor), strict=True)
                )
            )
        )
    return MBR(tuple(ranges))


def box_of(predicates: Sequence[Predicate], schema: ArraySchema, box: MBR | None) -> MBR | None:
    """The box, narrowed to where predicates on dimensions may hold."""
    names = [d.name for d in schema.dimensions]
    everywhere = MBR.everywhere(len(names))
    ranges = list((box or everywhere).ranges)
    for predicate in predicates:
        if predicate.column in names:
            axis = names.index(predicate.column)
            ranges[axis] = _narrowed(ranges[axis], predicate, schema.dimension_fields[axis])
    narrowed = MBR(tuple(ranges))
    return None if box is None and narrowed == everywhere else narrowed


def _narrowed(bounds: Range1D, predicate: Predicate, field: Field) -> Range1D:
    raw = [raw_value(value, field) for value in predicate.values]
    if not raw or any(value is None or value != value for value in raw):
        return bounds
    low, high = bounds.low, bounds.high
    if predicate.operator in (">", ">=", "==", "in"):
        low = min(raw) if low is None else max(low, min(raw))
    if predicate.operator in ("<", "<=", "==", "in"):
        high = max(raw) if high is None else min(high, max(raw))
    return Range1D(_whole(low, math.ceil), _whole(high, math.floor))


def _check_turned(pair: Sequence[Value], field: Field) -> None:
    """Raises InvalidInputError where the low end of numbers lies above the high one, as libtiledb does."""
    low, high = (None if value is None else raw_value(value, field) for value in pair)
    # No whole number may lie between two numbers, and texts may be in any order: that is an empty box.
    if isinstance(low, Real) and isinstance(high, Real) and low > high:
        raise InvalidInputError(
            f"box[{field.name!r}] takes a pair (low, high), and in {pair!r} the low end is above the high one"
        )


def _bound(value: Value, field: Field, whole: Callable[[float], int]) -> Coordinate:
    if value is None:
        return None
    raw = _whole(raw_value(value, field), whole)
    if raw is None or raw != raw:
        raise InvalidInputError(f"{value!r} is no coordinate of {field.name!r} ({field.datatype.name})")
    return raw


def box_mask(box: MBR, dimensions: Sequence[Field], columns: Mapping[str, pa.Array]) -> Mask:
    """Which rows of raw columns lie in a box."""
    keep = np.ones(len(columns[dimensions[0].name]), dtype=bool)
    for bounds, field in zip(box.ranges, dimensions, strict=True):
        for end, compare in ((bounds.low, pc.greater_equal), (bounds.high, pc.less_equal)):
            if end is None:
                continue
            array = columns[field.name]
            if field.is_var:
                inside = compare(array, pa.scalar(end, pa.large_binary())).to_numpy(zero_copy_only=False)
            else:
                values = numbers(array)
                inside = values >= end if compare is pc.greater_equal else values <= end
            keep &= inside
    return keep
