"""Transformations that older releases stored for constant columns. They are read and never written anew."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.linear import Identity, Linear
from pyqbeast.core.transformation import Empty, OfNumbers, Transformation, field, number
from pyqbeast.core.types import Value


class _Constant(OfNumbers):
    """A transformation that behaves as the Identity of today, except that it does not know its type."""

    __slots__ = ()

    def as_identity(self, data_type: str) -> Identity:
        """The same transformation as written today, for a column of this data type."""
        raise NotImplementedError

    def coordinate(self, value: Value) -> float:
        """Always 0.0."""
        return 0.0

    def coordinates(
        self, values: NDArray[np.float64], nulls: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """Always 0.0."""
        return np.zeros(values.shape)

    def superseded_by(self, other: Transformation) -> bool:
        """See `Transformation.superseded_by`: as the Identity of the other one's type."""
        if isinstance(other, (Identity, Linear)):
            return self.as_identity(other.data_type).superseded_by(other)
        return not isinstance(other, (Empty, _Constant))

    def merge(self, other: Transformation, rng: random.Random) -> Transformation:
        """See `Transformation.merge`: as the Identity of the other one's type."""
        if isinstance(other, (Identity, Linear)):
            return self.as_identity(other.data_type).merge(other, rng)
        return self if isinstance(other, (Empty, _Constant)) else other


@dataclass(frozen=True, slots=True)
class IdentityToZero(_Constant):
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
        """See `_Constant.as_identity`."""
        return Identity.from_json({"identityValue": self.value, "orderedDataType": data_type})


@dataclass(frozen=True, slots=True)
class NullToZero(_Constant):
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
        """See `_Constant.as_identity`."""
        return Identity(data_type, None)
