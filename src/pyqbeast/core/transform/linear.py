"""Linear: columns in order, on a straight line from their smallest to their largest value."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.format.constants import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN
from pyqbeast.core.format.json_text import compact_json
from pyqbeast.core.format.jvm_text import first_java_random_double, string_hash
from pyqbeast.core.format.stored_text import shown
from pyqbeast.core.format.types import (
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    INTEGRAL_TYPES,
    LONG,
    ORDERED_TYPES,
    TIMESTAMP,
    Value,
    float32,
)
from pyqbeast.core.transform.base import (
    BOUND_KEYS,
    ColumnStatistics,
    Constant,
    Transformation,
    Transformer,
)
from pyqbeast.core.transform.expressions import OUTSIDE, C, IndexedColumn
from pyqbeast.core.transform.stored_fields import as_double, field, number, ordered_type

#: How far room for values yet to come may reach: of moments, in milliseconds, from the year 1 to the year 9999.
_FURTHEST = {
    INTEGER: (INT_MIN, INT_MAX),
    LONG: (LONG_MIN, LONG_MAX),
    TIMESTAMP: (-62_135_596_800_000, 253_402_300_799_999),
    FLOAT: (-float(np.finfo(np.float32).max), float(np.finfo(np.float32).max)),
}
#: The same of all other types, whose numbers are held as doubles.
_DOUBLES = (-sys.float_info.max, sys.float_info.max)
#: Times this, the distance of the largest doubles is a double, and one divided by it is one with all its digits.
_UNIT_OF_ALL = 2.0**-4
#: The least power of two that one can be divided by.
_LEAST_DISTANCE = 2.0**-1023


@dataclass(frozen=True, slots=True)
class Linear(Transformation):
    """The straight line from `minimum` (0.0) to `maximum` (1.0); a null takes the place of `null_value`.

    Numbers are held as the type stores them: ints for integers, dates and timestamps (epoch milliseconds),
    else doubles; 32-bit floats as the double of the same value. As doubles, `minimum` is below `maximum`.

    NaN and +infinity take coordinate 1.0 and -infinity 0.0, so that rows with them can be stored. (The Scala
    project fails to write such rows, so no table of its own says otherwise.)
    """

    data_type: str
    minimum: int | float
    maximum: int | float
    null_value: int | float

    class_name = "LinearTransformation"

    def __post_init__(self) -> None:
        if not float(self.minimum) < float(self.maximum) or not math.isfinite(self.scale):
            raise FormatError(
                f"a linear range needs min < max as finite doubles, not {self.minimum} and {self.maximum}"
            )

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Linear:
        """See `Transformation.from_json`. A missing stand-in for null is derived from the text."""
        data_type = ordered_type(fields)
        low, high = (stored(field(fields, name), data_type, name) for name in ("minNumber", "maxNumber"))
        null_value = fields.get("nullValue")
        if null_value is None:
            text = compact_json({key: value for key, value in fields.items() if key != "className"})
            return cls(
                data_type, low, high, _at(data_type, low, high, first_java_random_double(string_hash(text)))
            )
        return cls(data_type, low, high, stored(null_value, data_type, "nullValue"))

    def fields(self) -> dict[str, Any]:
        """Range, stand-in for null and type."""
        return {
            "minNumber": printable(self.minimum, self.data_type),
            "maxNumber": printable(self.maximum, self.data_type),
            "nullValue": printable(self.null_value, self.data_type),
            "orderedDataType": self.data_type,
        }

    @property
    def unit(self) -> float:
        """What values are multiplied by first, so that a double holds the distance of the bounds: mostly 1."""
        return _UNIT_OF_ALL if math.isinf(float(self.maximum) - float(self.minimum)) else 1.0

    @property
    def scale(self) -> float:
        """The factor for a distance from the minimum.

        Stored cubes were computed by multiplying, and dividing can round otherwise.
        """
        return 1.0 / (float(self.maximum) * self.unit - float(self.minimum) * self.unit)

    def coordinate(self, value: Value) -> float:
        """See `Transformation.coordinate`. Nothing is clamped but NaN and infinities."""
        double = float(self.null_value) if value is None else as_double(value)
        if not math.isfinite(double):
            return 0.0 if double < 0 else 1.0
        return (double * self.unit - float(self.minimum) * self.unit) * self.scale

    def coordinates(
        self, measured: NDArray[np.float64], nulls: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """See `Transformation.coordinates`, of values."""
        points = (measured * self.unit - float(self.minimum) * self.unit) * self.scale
        points = np.where(np.isfinite(measured), points, np.where(measured < 0, 0.0, 1.0))
        return points if nulls is None else np.where(nulls, self.coordinate(None), points)

    def coordinate_column(self, of: IndexedColumn[C]) -> C:
        """See `Transformation.coordinate_column`."""
        measured = of.number if self.unit == 1.0 else of.number * self.unit
        return of.unless_infinite((measured - float(self.minimum) * self.unit) * self.scale, 1.0)

    def borders(self) -> Sequence[float]:
        """See `Transformation.borders`."""
        return self.minimum, self.maximum

    def holds(self, value: int | float) -> bool:
        """Whether the value lies in the range, ends included."""
        return self.minimum <= value <= self.maximum

    @property
    def is_whole(self) -> bool:
        """Whether the formula gives each value of the range, and null, a coordinate from 0 to 1.

        It gave the largest a little more in the widest ranges of earlier releases, before `_moved_apart`. The Scala
        project draws its stand-in for null with an overflow, so outside, where the range is wider than half the type's.
        It leaves cubes out by that stand-in, so nulls cannot be put elsewhere.
        """
        return self.coordinate(self.maximum) <= 1.0 and 0.0 <= self.coordinate(None) <= 1.0

    def superseded_by(self, other: Transformation) -> bool:
        """See `Transformation.superseded_by`: by a range or a value outside this one.

        Where it is not whole, it is by any data.
        """
        if not self.is_whole:
            return not other.is_empty
        if isinstance(other, Linear) and other.data_type == self.data_type:
            return not (self.holds(other.minimum) and self.holds(other.maximum))
        if isinstance(other, Identity) and other.data_type == self.data_type:
            return other.value is not None and not self.holds(other.value)
        return not other.is_empty

    def merge(self, other: Transformation, rng: random.Random) -> Transformation:
        """See `Transformation.merge`: the range over both."""
        if isinstance(other, Linear) and other.data_type == self.data_type:
            return spanning(
                self.data_type, min(self.minimum, other.minimum), max(self.maximum, other.maximum), rng
            )
        if isinstance(other, Identity) and other.data_type == self.data_type:
            if not self.superseded_by(other):
                return self
            value = self.minimum if other.value is None else other.value
            return spanning(self.data_type, min(self.minimum, value), max(self.maximum, value), rng)
        return self if other.is_empty else other

    def roomier(self, than: Transformation, stated: ColumnStatistics) -> Transformation:
        """See `Transformation.roomier`: as much again on each side that goes beyond the other range.

        Dates have none, since their bounds are midnights.
        """
        if self.data_type == DATE or not isinstance(than, Linear) or than.data_type != self.data_type:
            return self
        lowest, highest = _FURTHEST.get(self.data_type, _DOUBLES)
        width = self.maximum - self.minimum
        low, high = self.minimum, self.maximum
        if low < than.minimum and (stated.minimum is None or low < stated.minimum):
            low = max(low - width, lowest)
        if high > than.maximum and (stated.maximum is None or high > stated.maximum):
            high = min(high + width, highest)
        if self.data_type == FLOAT:
            low, high = float32(low), float32(high)
        roomy = replace(self, minimum=min(low, self.minimum), maximum=max(high, self.maximum))
        return roomy if roomy.is_whole else self


@dataclass(frozen=True, slots=True)
class Identity(Constant):
    """The transformation of a column that holds a single value, or only nulls (value None): always 0.0."""

    data_type: str
    value: int | float | None

    class_name = "IdentityTransformation"

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Identity:
        """See `Transformation.from_json`."""
        data_type = ordered_type(fields)
        value = fields.get("identityValue")
        return cls(data_type, None if value is None else stored(value, data_type, "identityValue"))

    def fields(self) -> dict[str, Any]:
        """The value, None included, and the type."""
        value = None if self.value is None else printable(self.value, self.data_type)
        return {"identityValue": value, "orderedDataType": self.data_type}

    def coordinate_column(self, of: IndexedColumn[C]) -> C:
        """See `Transformation.coordinate_column`.

        Any other value lies outside, because a query for it would not look at coordinate 0.
        """
        if self.value is None:
            return of.unless_infinite(of.literal(OUTSIDE), 0.0)
        return of.unless_infinite(of.where_equal(float(self.value)), 0.0)

    def borders(self) -> Sequence[float]:
        """See `Transformation.borders`."""
        return () if self.value is None else (self.value,)

    def superseded_by(self, other: Transformation) -> bool:
        """See `Transformation.superseded_by`: by any other value, and by everything that has a range."""
        if isinstance(other, Identity) and other.data_type == self.data_type:
            # Values are compared as doubles, from which coordinates are computed.
            return other.value is not None and (self.value is None or float(other.value) != float(self.value))
        return not other.is_empty

    def merge(self, other: Transformation, rng: random.Random) -> Transformation:
        """See `Transformation.merge`: the range over both where the values differ."""
        if isinstance(other, Linear) and other.data_type == self.data_type:
            return other if self.value is None else other.merge(self, rng)
        if isinstance(other, Identity) and other.data_type == self.data_type:
            if other.value is None:
                return self
            if self.value is None:
                return other
            return spanning(self.data_type, min(self.value, other.value), max(self.value, other.value), rng)
        return self if other.is_empty else other


class LinearTransformer(Transformer):
    """Spans the smallest and the largest value: of the rows, and what the user stated."""

    kind = "linear"
    class_name = "LinearTransformer"
    type_field = "dataType"
    types = ORDERED_TYPES
    statistics = BOUND_KEYS
    transformations = (Linear, Identity)

    def build(self, statistics: ColumnStatistics, rng: random.Random) -> Transformation:
        """See `Transformer.build`. Raises InvalidInputError for bounds that are no finite numbers."""
        low, high = (self._number(bound) for bound in (statistics.minimum, statistics.maximum))
        return spanning(str(self.data_type), low, high, rng)

    def _number(self, bound: int | float | Decimal | None) -> int | float | None:
        """A bound as the type stores it."""
        if bound is None:
            return None
        if not math.isfinite(bound):
            raise InvalidInputError(f"the bounds of column {self.column!r} have to be finite, not {bound}")
        if self.data_type in INTEGRAL_TYPES:
            return int(bound)
        return float32(float(bound)) if self.data_type == FLOAT else float(bound)


def spanning(
    data_type: str, low: int | float | None, high: int | float | None, rng: random.Random
) -> Linear | Identity:
    """Linear from `low` to `high` with a stand-in for null drawn from inside; Identity without a range.

    There is no range when a bound is None, and when both are the same double (2^53 and 2^53 + 1 are).
    """
    if low is None or high is None:
        return Identity(data_type, high if low is None else low)
    if float(low) >= float(high):
        return Identity(data_type, low)
    if data_type == DOUBLE:
        low, high = _moved_apart(low, high)
    return Linear(data_type, low, high, _at(data_type, low, high, rng.random()))


def _moved_apart(low: float, high: float) -> tuple[float, float]:
    """The bounds, with one moved outwards where the formula would give the higher one more than 1.

    From a distance of 2^1022 on, one divided by it has fewer digits, so that the product of the two may be more. Of the
    smallest distances the quotient is beyond all doubles. The formula itself stays, because the Scala project leaves
    cubes out by it.
    """
    distance = high - low
    while (high - low) * (1.0 / (high - low)) > 1.0:
        distance = max(math.nextafter(distance, math.inf), _LEAST_DISTANCE)
        # The bound nearer to zero moves, as the other one may be the last of all doubles.
        low, high = (high - distance, high) if abs(low) < abs(high) else (low, low + distance)
    return low, high


def _at(data_type: str, low: int | float, high: int | float, share: float) -> int | float:
    """The value at this share (0 <= share < 1) of the way from low to high, rounded as the type demands."""
    if data_type in INTEGRAL_TYPES:
        return min(int(low) + int(share * (int(high) - int(low))), int(high))
    if data_type == FLOAT:
        low32, high32 = np.float32(low), np.float32(high)
        with np.errstate(over="ignore"):
            return float(min(low32 + np.float32(share * float(high32 - low32)), high32))
    # Their distance may be beyond all doubles.
    return min(low + share * (high - low), high) if share else low


def stored(value: object, data_type: str, name: str) -> int | float:
    """A number out of JSON as its type holds it; fractions of integers are dropped. Raises FormatError."""
    read = number(value, name)
    try:
        if data_type not in INTEGRAL_TYPES:
            return float32(read) if data_type == FLOAT else float(read)
        low, high = (INT_MIN, INT_MAX) if data_type == INTEGER else (LONG_MIN, LONG_MAX)
        if low <= int(read) <= high:
            return int(read)
    except OverflowError:
        pass  # beyond all 32-bit floats
    raise FormatError(f"field {name!r} is too large for {data_type}: {shown(value)}")


def printable(value: int | float, data_type: str) -> int | float:
    """A number as JSON has it: an int or a double; a 32-bit float as the double that prints like it."""
    if data_type in INTEGRAL_TYPES:
        return int(value)
    return float(str(np.float32(value))) if data_type == FLOAT else float(value)
