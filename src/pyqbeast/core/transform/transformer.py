"""Transformers: the recipe of one indexed column, that is how statistics become its transformation."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.format.constants import (
    CLASS_PREFIX,
    STATISTIC_QUANTILES,
    TRANSFORMERS,
    WEIGHT_MAX,
    WEIGHT_MIN,
)
from pyqbeast.core.format.stored_text import shown
from pyqbeast.core.format.types import (
    ALL_TYPES,
    DATE,
    FLOAT,
    INTEGRAL_TYPES,
    ORDERED_TYPES,
    STRING,
    TIMESTAMP,
    float32,
)
from pyqbeast.core.transform.base import Empty, Transformation, as_double, field, name_of_type
from pyqbeast.core.transform.hashing import Hash
from pyqbeast.core.transform.linear import spanning
from pyqbeast.core.transform.quantiles import (
    DEFAULT_HISTOGRAM,
    NumericQuantiles,
    StringHistogram,
    StringQuantiles,
)

LINEAR = "linear"
HASHING = "hashing"
QUANTILES = "quantiles"
HISTOGRAM = "histogram"
EMPTY = "empty"

_NUMERIC_QUANTILES_CLASS = "CDFNumericQuantilesTransformer"
_STRING_QUANTILES_CLASS = "CDFStringQuantilesTransformer"
_KIND_OF_CLASS = {
    "LinearTransformer": LINEAR,
    "HashTransformer": HASHING,
    _NUMERIC_QUANTILES_CLASS: QUANTILES,
    _STRING_QUANTILES_CLASS: QUANTILES,
    "StringHistogramTransformer": HISTOGRAM,
    "EmptyTransformer": EMPTY,
}
#: Class name to the name of the field with the data type; empty where the class stores no type.
_TYPE_FIELD_OF_CLASS = dict(pair.split("=") for pair in TRANSFORMERS.split())
#: The kinds that a column of each type may have, the default first. The Scala project fails on hashed dates
#: and timestamps, so none are written.
_KINDS_OF_TYPE = {
    **dict.fromkeys(ORDERED_TYPES - {DATE, TIMESTAMP}, (LINEAR, HASHING, QUANTILES)),
    DATE: (LINEAR, QUANTILES),
    TIMESTAMP: (LINEAR, QUANTILES),
    STRING: (HASHING, QUANTILES, HISTOGRAM),
}
_CLASS_OF_KIND = {kind: name for name, kind in _KIND_OF_CLASS.items() if kind != QUANTILES}


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """What is known of a column's values: of data, or as the user stated it. Anything may be missing.

    `minimum` and `maximum` are finite numbers, dates and timestamps as epoch milliseconds. `quantiles` are
    two or more ascending numbers or texts, `histogram` two or more ascending texts.
    """

    minimum: int | float | Decimal | None = None
    maximum: int | float | Decimal | None = None
    quantiles: tuple[float, ...] | tuple[str, ...] | None = None
    histogram: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Transformer:
    """The recipe of a column: its name, the kind, and the format's name of its type (None: `empty`)."""

    column: str
    kind: str
    data_type: str | None = None

    @classmethod
    def for_column(cls, column: str, kind: str | None, data_type: str) -> Transformer:
        """The transformer of a column; without a kind texts are hashed and everything else is linear.

        Raises InvalidInputError for a kind that does not go with the type.
        """
        possible = _KINDS_OF_TYPE[data_type]
        chosen = kind or possible[0]
        if chosen not in possible:
            raise InvalidInputError(
                f"column {column!r} of {data_type} cannot be indexed by {chosen}: use {' or '.join(possible)}"
            )
        return cls(column, chosen, data_type)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any], prefix: str = CLASS_PREFIX) -> Transformer:
        """The transformer of a stored JSON object, whose class has this prefix.

        Raises FormatError for anything that it cannot be.
        """
        name = fields.get("className") if isinstance(fields, Mapping) else None
        simple = name[len(prefix) :] if isinstance(name, str) and name.startswith(prefix) else ""
        if simple not in _KIND_OF_CLASS:
            raise FormatError(
                f"{shown(name)} is no transformer of the format; known: {sorted(_KIND_OF_CLASS)}"
            )
        kind, type_field = _KIND_OF_CLASS[simple], _TYPE_FIELD_OF_CLASS[simple]
        column = field(fields, "columnName")
        if not isinstance(column, str):
            raise FormatError(f"the columnName of {simple} has to be a text, not {shown(column)}")
        if not type_field:
            return cls(column, kind, STRING if kind == QUANTILES else None)
        return cls(column, kind, name_of_type(fields, type_field, ALL_TYPES))

    def to_json(self) -> dict[str, Any]:
        """The stored JSON object, fields in order."""
        if self.kind == QUANTILES:
            name = _STRING_QUANTILES_CLASS if self.data_type == STRING else _NUMERIC_QUANTILES_CLASS
        else:
            name = _CLASS_OF_KIND[self.kind]
        fields = {"className": CLASS_PREFIX + name, "columnName": self.column}
        type_field = _TYPE_FIELD_OF_CLASS[name]
        if type_field and self.data_type:
            fields[type_field] = self.data_type
        return fields

    @property
    def spec(self) -> str:
        """The column as `columnsToIndex` names it: `name:kind`."""
        return f"{self.column}:{self.kind}"

    def build(self, statistics: ColumnStatistics, rng: random.Random) -> Transformation:
        """The transformation that the statistics lead to; `rng` draws the stand-in for null.

        Quantiles that are not known give Empty. Raises InvalidInputError for bounds that are no finite
        numbers.
        """
        if self.kind == LINEAR:
            low, high = (self._number(bound) for bound in (statistics.minimum, statistics.maximum))
            return spanning(str(self.data_type), low, high, rng)
        if self.kind == HASHING:
            return Hash(rng.randint(WEIGHT_MIN, WEIGHT_MAX))
        if self.kind == HISTOGRAM:
            return StringHistogram(statistics.histogram or DEFAULT_HISTOGRAM)
        if self.kind == QUANTILES and statistics.quantiles:
            return self._by_quantiles(statistics.quantiles)
        return Empty()

    def _by_quantiles(self, quantiles: tuple[float, ...] | tuple[str, ...]) -> Transformation:
        texts = [item for item in quantiles if isinstance(item, str)]
        is_text = self.data_type == STRING
        if len(quantiles) < 2 or len(texts) != (len(quantiles) if is_text else 0):
            raise InvalidInputError(
                f"{self.column + STATISTIC_QUANTILES} has to be a list of at least two "
                f"{'texts' if is_text else 'numbers'}, not {list(quantiles)}"
            )
        if is_text:
            return StringQuantiles(tuple(texts))
        return NumericQuantiles(tuple(as_double(item) for item in quantiles), str(self.data_type))

    def _number(self, bound: int | float | Decimal | None) -> int | float | None:
        """A bound as the type stores it."""
        if bound is None:
            return None
        if not math.isfinite(bound):
            raise InvalidInputError(f"the bounds of column {self.column!r} have to be finite, not {bound}")
        if self.data_type in INTEGRAL_TYPES:
            return int(bound)
        return float32(float(bound)) if self.data_type == FLOAT else float(bound)
