"""Transformations by a list of quantiles: a value's coordinate is its place in the list."""

from __future__ import annotations

import math
import random
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.format.stored_text import shown
from pyqbeast.core.format.types import Value
from pyqbeast.core.transform.base import Empty, OfNumbers, Transformation, as_double, field, number, text_list
from pyqbeast.core.transform.linear import ordered_type

#: The histogram of a column that the user gave none for.
DEFAULT_HISTOGRAM = tuple(string.ascii_lowercase)


class _Ordered(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...  # noqa: ANN401 (whatever it is compared with)


_T = TypeVar("_T", bound=_Ordered)


def _search(items: Sequence[_T], value: _T) -> tuple[bool, int]:
    """Whether the value is in the list, and where it is or would be inserted.

    Of equal items this takes whichever it meets first, and stored cubes depend on which one that is: keep the
    steps.
    """
    low, high = 0, len(items)
    while low < high:
        middle = low + (high - low - 1) // 2
        if items[middle] < value:
            low = middle + 1
        elif value < items[middle]:
            high = middle
        else:
            return True, middle
    return False, low


@dataclass(frozen=True, slots=True)
class NumericQuantiles(OfNumbers):
    """The place of a number among quantiles (two at least, ascending); a straight line between neighbours.

    Null takes 0.0. NaN counts as larger than every number.
    """

    quantiles: tuple[float, ...]
    data_type: str

    class_name = "CDFNumericQuantilesTransformation"

    def __post_init__(self) -> None:
        if len(self.quantiles) < 2:
            raise FormatError(f"at least two quantiles are needed, not {self.quantiles}")

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> NumericQuantiles:
        """See `Transformation.from_json`."""
        items = field(fields, "quantiles")
        if not isinstance(items, list):
            raise FormatError(f"field 'quantiles' has to be a list of numbers, not {shown(items)}")
        return cls(
            tuple(float(number(item, "quantiles")) for item in items), ordered_type(fields, "dataType")
        )

    def fields(self) -> dict[str, Any]:
        """Quantiles, always doubles, and the type."""
        return {"quantiles": list(self.quantiles), "dataType": self.data_type}

    def coordinate(self, value: Value) -> float:
        """See `Transformation.coordinate`; always inside 0..1."""
        if value is None:
            return 0.0
        double = as_double(value)
        if math.isnan(double):
            return 1.0
        found, place = _search(self.quantiles, double)
        last = len(self.quantiles) - 1
        if found:
            return place / last
        if place == 0:
            return 0.0
        if place > last:
            return 1.0
        below, above = np.float64(self.quantiles[place - 1]), np.float64(self.quantiles[place])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # Where the list does not ascend the two may be equal, and the place no number in 0..1.
            return float(((place - 1) + (double - below) / (above - below)) / last)

    def coordinates(
        self, values: NDArray[np.float64], nulls: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """The coordinates of many values (doubles); a value is null where `nulls` is true."""
        edges = np.asarray(self.quantiles)
        last = len(edges) - 1
        found, place = _search_all(edges, values)
        inner = np.clip(place, 1, last)
        below, above = edges[inner - 1], edges[inner]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            between = ((inner - 1) + (values - below) / (above - below)) / last
        points = np.where(place == 0, 0.0, np.where(place > last, 1.0, between))
        points = np.where(found, place / last, points)
        points = np.where(np.isnan(values), 1.0, points)
        return points if nulls is None else np.where(nulls, 0.0, points)

    def superseded_by(self, other: Transformation) -> bool:
        """See `Transformation.superseded_by`: by other quantiles."""
        if isinstance(other, NumericQuantiles):
            return other.quantiles != self.quantiles
        return not isinstance(other, Empty)


def _search_all(
    items: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """`_search` for an array of values at once, step by step the same."""
    low = np.zeros(values.shape, np.int64)
    high = np.full(values.shape, len(items), np.int64)
    found = np.zeros(values.shape, np.bool_)
    for _ in range(len(items).bit_length() + 1):
        open_ = (low < high) & ~found
        middle = low + (high - low - 1) // 2
        # Finished searches keep their place; their middle may lie outside the list and is only looked up, not
        # used.
        item = items[np.clip(middle, 0, len(items) - 1)]
        smaller, larger = item < values, item > values
        found |= open_ & ~smaller & ~larger
        low = np.where(open_ & smaller, middle + 1, np.where(open_ & found, middle, low))
        high = np.where(open_ & larger, middle, high)
    return found, low


@dataclass(frozen=True, slots=True)
class TextPlaces(Transformation):
    """The place of a text in an ascending list, compared by UTF-16 units as Java does; a step function."""

    texts: tuple[str, ...]
    _keys: tuple[bytes, ...] = dataclass_field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.texts) < 2:
            raise FormatError(f"at least two texts are needed, not {self.texts}")
        object.__setattr__(self, "_keys", tuple(map(utf16_key, self.texts)))

    def _place(self, text: str) -> float:
        found, place = _search(self._keys, utf16_key(text))
        last = len(self.texts) - 1
        if not found:
            place = max(place - 1, 0)
        return place / last


@dataclass(frozen=True, slots=True)
class StringQuantiles(TextPlaces):
    """The place of a text among quantiles (`texts`, two at least, ascending). Null takes 0.0."""

    class_name = "CDFStringQuantilesTransformation"

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> StringQuantiles:
        """See `Transformation.from_json`."""
        return cls(text_list(fields, "quantiles"))

    def fields(self) -> dict[str, Any]:
        """The quantiles."""
        return {"quantiles": list(self.texts)}

    def coordinate(self, value: Value) -> float:
        """See `Transformation.coordinate`; always inside 0..1."""
        return 0.0 if value is None else self._place(_as_text(value))

    def superseded_by(self, other: Transformation) -> bool:
        """See `Transformation.superseded_by`: by other quantiles."""
        if isinstance(other, StringQuantiles):
            return other.texts != self.texts
        return not isinstance(other, Empty)


@dataclass(frozen=True, slots=True)
class StringHistogram(TextPlaces):
    """The older form of `StringQuantiles`: the same places, but null is looked up as the text `null`."""

    class_name = "StringHistogramTransformation"

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> StringHistogram:
        """See `Transformation.from_json`."""
        return cls(text_list(fields, "histogram"))

    def fields(self) -> dict[str, Any]:
        """The histogram."""
        return {"histogram": list(self.texts)}

    def coordinate(self, value: Value) -> float:
        """See `Transformation.coordinate`; always inside 0..1."""
        return self._place("null" if value is None else _as_text(value))

    @property
    def is_default(self) -> bool:
        """Whether this is the histogram of a column that none was given for."""
        return self.texts == DEFAULT_HISTOGRAM

    def superseded_by(self, other: Transformation) -> bool:
        """See `Transformation.superseded_by`: by another histogram that is not the default one."""
        if isinstance(other, StringHistogram):
            return not other.is_default and other.texts != self.texts
        return not isinstance(other, Empty)

    def merge(self, other: Transformation, rng: random.Random) -> Transformation:
        """See `Transformation.merge`: a default histogram never replaces one that was given."""
        if isinstance(other, StringHistogram) and other.is_default:
            return self
        return self if isinstance(other, Empty) else other


def utf16_key(text: str) -> bytes:
    """A key by which texts sort as Java's strings do: by UTF-16 units, not by code points."""
    return text.encode("utf-16-be", "surrogatepass")


def _as_text(value: Value) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(f"a text is needed here, not {shown(value)}")
    return value
