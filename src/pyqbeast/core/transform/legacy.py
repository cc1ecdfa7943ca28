"""Transformations that older releases stored for constant columns. They are read and never written anew."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.format.types import Value
from pyqbeast.core.transform.base import Constant, Transformation
from pyqbeast.core.transform.expressions import C, IndexedColumn
from pyqbeast.core.transform.linear import Identity, Linear
from pyqbeast.core.transform.stored_fields import as_double, field, number

#: How many values a byte has.
_BYTES = 256


class _Untyped(Constant):
    """A constant that behaves as the Identity of today, except that it does not know its type."""

    __slots__ = ()

    def as_identity(self, data_type: str) -> Identity:
        """The same transformation as written today, for a column of this data type."""
        raise NotImplementedError

    def coordinate_column(self, of: IndexedColumn[C]) -> C:
        """See `Transformation.coordinate_column`: as the Identity of the column's type."""
        return self.as_identity(of.data_type).coordinate_column(of)

    def superseded_by(self, other: Transformation) -> bool:
        """See `Transformation.superseded_by`: as the Identity of the other one's type."""
        if isinstance(other, (Identity, Linear)):
            return self.as_identity(other.data_type).superseded_by(other)
        return not (other.is_empty or isinstance(other, _Untyped))

    def merge(self, other: Transformation, rng: random.Random) -> Transformation:
        """See `Transformation.merge`: as the Identity of the other one's type."""
        if isinstance(other, (Identity, Linear)):
            return self.as_identity(other.data_type).merge(other, rng)
        return self if other.is_empty or isinstance(other, _Untyped) else other


@dataclass(frozen=True, slots=True)
class IdentityToZero(_Untyped):
    """A column that held one value only."""

    value: int | float | str

    class_name = "IdentityToZeroTransformation"

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> IdentityToZero:
        """See `Transformation.from_json`."""
        value = field(fields, "identityValue")
        return cls(value if isinstance(value, str) else number(value, "identityValue"))

    def fields(self) -> dict[str, Any]:
        """The value."""
        return {"identityValue": self.value}

    def as_identity(self, data_type: str) -> Identity:
        """See `_Untyped.as_identity`."""
        return Identity.from_json({"identityValue": self.value, "orderedDataType": data_type})


@dataclass(frozen=True, slots=True)
class NullToZero(_Untyped):
    """A column that held nulls only."""

    class_name = "NullToZeroTransformation$"

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> NullToZero:
        """See `Transformation.from_json`."""
        return cls()

    def fields(self) -> dict[str, Any]:
        """No fields."""
        return {}

    def as_identity(self, data_type: str) -> Identity:
        """See `_Untyped.as_identity`."""
        return Identity(data_type, None)


@dataclass(frozen=True, slots=True)
class IdentityToByte(Transformation):
    """A column that held one value only, by version 0.2.0 of the Scala project: its last byte is the coordinate.

    That version wrote no row with another coordinate than 0 and 1. The class does not know the value, so no new rows
    fit it.
    """

    class_name = "IdentityTransformation$"

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> IdentityToByte:
        """See `Transformation.from_json`."""
        return cls()

    def fields(self) -> dict[str, Any]:
        """No fields."""
        return {}

    def coordinate(self, value: Value) -> float:
        """See `Transformation.coordinate`. That version could not write a null."""
        return 0.0 if value is None else float(np.trunc(as_double(value)) % _BYTES)

    def coordinates(
        self, measured: NDArray[np.float64], nulls: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """See `Transformation.coordinates`, of values."""
        points = np.trunc(measured) % _BYTES
        return points if nulls is None else np.where(nulls, 0.0, points)

    def coordinate_column(self, of: IndexedColumn[C]) -> C:
        """See `Transformation.coordinate_column`. A remainder of Java has the sign of the number."""
        number = of.number
        return ((number - number % 1.0) % _BYTES + _BYTES) % _BYTES

    def superseded_by(self, other: Transformation) -> bool:
        """See `Transformation.superseded_by`."""
        return not other.is_empty
