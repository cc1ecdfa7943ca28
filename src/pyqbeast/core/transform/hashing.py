"""Hashing: values are spread evenly over 0..1, in no order."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from pyqbeast.core.format.constants import WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.jvm_text import (
    hash_coordinate,
    java_decimal_text,
    java_double_text,
    java_float_text,
)
from pyqbeast.core.format.types import ALL_TYPES, DATE, TIMESTAMP, Value
from pyqbeast.core.transform.base import ColumnStatistics, Transformation, Transformer
from pyqbeast.core.transform.expressions import C, IndexedColumn
from pyqbeast.core.transform.stored_fields import number


@dataclass(frozen=True, slots=True)
class Hash(Transformation):
    """The hash of a value's text; null is hashed as the text of `null_value` (normally a 32-bit int)."""

    null_value: int | float | str

    class_name = "HashTransformation"

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Hash:
        """See `Transformation.from_json`. A missing stand-in for null reads as 0.

        (The Scala project draws another stand-in at every load in that case, so the coordinates of its nulls
        cannot be relied on.)
        """
        value = fields.get("nullValue")
        if value is None:
            return cls(0)
        return cls(value if isinstance(value, str) else number(value, "nullValue"))

    def fields(self) -> dict[str, Any]:
        """The stand-in for null."""
        return {"nullValue": self.null_value}

    def coordinate(self, value: Value | np.float32) -> float:
        """The coordinate of a value. A 32-bit float has to come as `np.float32`, which prints differently."""
        return hash_coordinate(hashed_bytes(self.null_value if value is None else value))

    def coordinate_column(self, of: IndexedColumn[C]) -> C:
        """See `Transformation.coordinate_column`."""
        return of.jvm("HashCoordinate", of.value)


class HashTransformer(Transformer):
    """The transformer of hashed columns. It takes no dates and timestamps, because the Scala project fails on them."""

    kind = "hashing"
    other_names = ("hash",)
    class_name = "HashTransformer"
    type_field = "dataType"
    types = ALL_TYPES - {DATE, TIMESTAMP}
    transformations = (Hash,)

    def build(self, statistics: ColumnStatistics, rng: random.Random) -> Hash:
        """See `Transformer.build`."""
        return Hash(rng.randint(WEIGHT_MIN, WEIGHT_MAX))


def hashed_bytes(value: int | float | Decimal | str | bytes | np.float32) -> bytes:
    """The bytes that a value is hashed by: UTF-8 text, numbers as Java prints them, bytes as they are."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, np.float32):
        return java_float_text(value).encode()
    if isinstance(value, Decimal):
        return java_decimal_text(value).encode()
    return (str(int(value)) if isinstance(value, int) else java_double_text(value)).encode()
