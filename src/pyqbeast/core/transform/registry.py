"""All transformations in one place, and the way from stored JSON to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.constants import CLASS_PREFIX
from pyqbeast.core.format.stored_text import shown
from pyqbeast.core.transform.base import Empty, OfNumbers, Transformation
from pyqbeast.core.transform.hashing import Hash
from pyqbeast.core.transform.legacy import IdentityToZero, NullToZero
from pyqbeast.core.transform.linear import Identity, Linear
from pyqbeast.core.transform.quantiles import NumericQuantiles, StringHistogram, StringQuantiles, TextPlaces

__all__ = [
    "Empty",
    "Hash",
    "Identity",
    "IdentityToZero",
    "Linear",
    "NullToZero",
    "NumericQuantiles",
    "OfNumbers",
    "StringHistogram",
    "StringQuantiles",
    "TextPlaces",
    "Transformation",
    "transformation_from_json",
]

_CLASSES: tuple[type[Transformation], ...] = (
    Linear,
    Identity,
    Hash,
    NumericQuantiles,
    StringQuantiles,
    StringHistogram,
    Empty,
    IdentityToZero,
    NullToZero,
)
_CLASS_OF_NAME = {CLASS_PREFIX + cls.class_name: cls for cls in _CLASSES}


def transformation_from_json(fields: Mapping[str, Any]) -> Transformation:
    """The transformation of a stored JSON object.

    Numbers may be of any JSON kind. Raises FormatError for an unknown class name or a field of the wrong
    kind.
    """
    name = fields.get("className") if isinstance(fields, Mapping) else None
    cls = _CLASS_OF_NAME.get(name) if isinstance(name, str) else None
    if cls is None:
        raise FormatError(
            f"{shown(name)} is no transformation of the format; known: {sorted(_CLASS_OF_NAME)}"
        )
    return cls.from_json(fields)
