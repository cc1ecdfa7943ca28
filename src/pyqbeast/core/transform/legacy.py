"""Transformations that older releases stored for constant columns. They are read and never written anew."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyqbeast.core.transform.base import Constant, Transformation
from pyqbeast.core.transform.expressions import C, IndexedColumn
from pyqbeast.core.transform.linear import Identity, Linear
from pyqbeast.core.transform.stored_fields import field, number


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
