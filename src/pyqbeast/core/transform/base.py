"""The base of all transformations, and what they share in reading stored JSON."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.format.constants import CLASS_PREFIX
from pyqbeast.core.format.stored_text import shown
from pyqbeast.core.format.types import Value


class Transformation(ABC):
    """A function from the values of one column to coordinates in 0..1, with its parameters."""

    __slots__ = ()

    #: Class name in the stored JSON, without the package.
    class_name: ClassVar[str]

    @classmethod
    @abstractmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Transformation:
        """The transformation of a stored JSON object. Raises FormatError for a missing or unusable field."""

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """The fields of the stored JSON object after its class name, in order."""

    @abstractmethod
    def coordinate(self, value: Value) -> float:
        """The coordinate of a value; None is null. Values outside the known range may fall outside 0..1."""

    def to_json(self) -> dict[str, Any]:
        """The stored JSON object, fields in order. Floats in it are doubles to be written with a fraction."""
        return {"className": CLASS_PREFIX + self.class_name, **self.fields()}

    def superseded_by(self, other: Transformation) -> bool:
        """Whether data described by `other` needs a new revision, because this one does not fit it."""
        return not isinstance(other, (type(self), Empty))

    def merge(self, other: Transformation, rng: random.Random) -> Transformation:
        """What fits the data of both. `rng` draws the stand-in for null where a new one is needed."""
        return self if isinstance(other, Empty) else other


class OfNumbers(Transformation):
    """A transformation of numbers, which finds the coordinates of many of them at once."""

    __slots__ = ()

    @abstractmethod
    def coordinates(
        self, values: NDArray[np.float64], nulls: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """The coordinates of many values (doubles); a value is null where `nulls` is true."""


class Constant(OfNumbers):
    """The transformation of a column that holds one value only: whatever comes takes coordinate 0."""

    __slots__ = ()

    def coordinate(self, value: Value) -> float:
        """Always 0.0."""
        return 0.0

    def coordinates(
        self, values: NDArray[np.float64], nulls: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """Always 0.0."""
        return np.zeros(values.shape)


class Empty(Transformation):
    """The transformation of a column that nothing is known of yet: every value takes coordinate 0."""

    __slots__ = ()
    class_name = "EmptyTransformation"

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Empty:
        """See `Transformation.from_json`."""
        return cls()

    def fields(self) -> dict[str, Any]:
        """No fields."""
        return {}

    def coordinate(self, value: Value) -> float:
        """Always 0.0."""
        return 0.0

    def merge(self, other: Transformation, rng: random.Random) -> Transformation:
        """Always the other one."""
        return other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Empty)

    def __hash__(self) -> int:
        return hash(Empty)

    def __repr__(self) -> str:
        return "Empty()"


def field(fields: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 (any JSON value)
    """A field that has to be there. Raises FormatError naming it."""
    if name not in fields:
        raise FormatError(f"{_class(fields)} has no field {name!r}: {shown(dict(fields))}")
    return fields[name]


def text_list(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A field that is a list of two texts at least. Raises FormatError."""
    items = field(fields, name)
    if not isinstance(items, list) or len(items) < 2 or not all(isinstance(item, str) for item in items):
        raise FormatError(f"field {name!r} has to be a list of at least two texts, not {shown(items)}")
    return tuple(items)


def name_of_type(fields: Mapping[str, Any], name: str, known: Collection[str]) -> str:
    """A field that is the name of one of the `known` data types. Raises FormatError."""
    data_type = field(fields, name)
    if not isinstance(data_type, str) or data_type not in known:
        raise FormatError(f"{_class(fields)} has {name} {shown(data_type)}; known: {sorted(known)}")
    return data_type


def _class(fields: Mapping[str, Any]) -> str:
    return shown(fields.get("className", "the object"))


def number(value: object, name: str) -> int | float:
    """`value` as a number that a double can hold, of any of JSON's kinds. Raises FormatError for anything else."""
    try:
        if not isinstance(value, bool) and isinstance(value, (int, float)) and math.isfinite(value):
            return value
    except OverflowError:
        pass  # an integer beyond all doubles
    raise FormatError(f"field {name!r} has to be a number, not {shown(value)}")


def as_double(value: Value) -> float:
    """A number as a double. Raises InvalidInputError for a value that is no number."""
    try:
        if value is not None and not isinstance(value, (str, bytes)):
            return float(value)
    except (TypeError, OverflowError):
        pass  # what is no number at all, or beyond all doubles
    raise InvalidInputError(f"a number is needed here, not {value!r}; dates and times as epoch milliseconds")
