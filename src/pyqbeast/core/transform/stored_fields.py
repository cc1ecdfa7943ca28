"""What all transformers and transformations share in reading stored JSON and values."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, TypeGuard

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.format.stored_text import shown
from pyqbeast.core.format.types import ORDERED_TYPES, Value


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


def ordered_type(fields: Mapping[str, Any], name: str = "orderedDataType") -> str:
    """A field that is the name of an ordered data type. Raises FormatError for any other text."""
    return name_of_type(fields, name, ORDERED_TYPES)


def _class(fields: Mapping[str, Any]) -> str:
    return shown(fields.get("className", "the object"))


def is_finite(value: object) -> TypeGuard[int | float]:
    """Whether a value of JSON's kinds is a number that a double can hold."""
    try:
        return not isinstance(value, bool) and isinstance(value, (int, float)) and math.isfinite(value)
    except OverflowError:
        return False  # an integer beyond all doubles


def number(value: object, name: str) -> int | float:
    """`value` as a number that a double can hold, of any of JSON's kinds. Raises FormatError for anything else."""
    if not is_finite(value):
        raise FormatError(f"field {name!r} has to be a number, not {shown(value)}")
    return value


def as_double(value: Value) -> float:
    """A number as a double. Raises InvalidInputError for a value that is no number."""
    try:
        if value is not None and not isinstance(value, (str, bytes)):
            return float(value)
    except (TypeError, OverflowError):
        pass  # what is no number at all, or beyond all doubles
    raise InvalidInputError(f"a number is needed here, not {value!r}; dates and times as epoch milliseconds")
