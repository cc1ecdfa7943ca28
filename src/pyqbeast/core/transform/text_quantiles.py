"""Quantiles and histograms of texts: a text's coordinate is its position in a list."""

from __future__ import annotations

import random
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.format.constants import STATISTIC_HISTOGRAM
from pyqbeast.core.format.stored_text import shown
from pyqbeast.core.format.types import STRING, Value
from pyqbeast.core.transform.base import ColumnStatistics, Transformation, Transformer
from pyqbeast.core.transform.expressions import C, IndexedColumn
from pyqbeast.core.transform.quantiles import QuantilesTransformer, search
from pyqbeast.core.transform.stored_fields import text_list

#: The histogram of a column that the user gave none for.
DEFAULT_HISTOGRAM = tuple(string.ascii_lowercase)


@dataclass(frozen=True, slots=True)
class TextPositions(Transformation):
    """The position of a text in an ascending list, compared by UTF-16 units as Java does; a step function."""

    texts: tuple[str, ...]
    _keys: tuple[bytes, ...] = dataclass_field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.texts) < 2:
            raise FormatError(f"at least two texts are needed, not {self.texts}")
        object.__setattr__(self, "_keys", tuple(map(utf16_key, self.texts)))

    def _position(self, text: str) -> float:
        is_listed, position = search(self._keys, utf16_key(text))
        last = len(self.texts) - 1
        if not is_listed:
            position = max(position - 1, 0)
        return position / last

    def coordinate_column(self, of: IndexedColumn[C]) -> C:
        """See `Transformation.coordinate_column`."""
        return of.jvm("TextPositions", of.value, self.texts)


@dataclass(frozen=True, slots=True)
class StringQuantiles(TextPositions):
    """The position of a text among quantiles (`texts`, two at least, ascending). Null takes 0.0."""

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
        return 0.0 if value is None else self._position(_as_text(value))

    def superseded_by(self, other: Transformation) -> bool:
        """See `Transformation.superseded_by`: by other quantiles."""
        if isinstance(other, StringQuantiles):
            return other.texts != self.texts
        return not other.is_empty

    def stated(self) -> ColumnStatistics:
        """See `Transformation.stated`."""
        return ColumnStatistics(quantiles=self.texts)


class StringQuantilesTransformer(QuantilesTransformer):
    """Quantiles of texts."""

    class_name = "CDFStringQuantilesTransformer"
    type_field = ""
    types = frozenset({STRING})
    transformations = (StringQuantiles,)

    def by_quantiles(self, quantiles: Sequence[float | str]) -> StringQuantiles:
        """See `QuantilesTransformer.by_quantiles`."""
        texts = tuple(item for item in quantiles if isinstance(item, str))
        if len(quantiles) < 2 or len(texts) < len(quantiles):
            raise self.refused("texts", quantiles)
        return StringQuantiles(texts)


@dataclass(frozen=True, slots=True)
class StringHistogram(TextPositions):
    """The older form of `StringQuantiles`. Positions are the same, but null is looked up as the text `null`."""

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
        return self._position("null" if value is None else _as_text(value))

    @property
    def is_default(self) -> bool:
        """Whether this is the histogram of a column that none was given for."""
        return self.texts == DEFAULT_HISTOGRAM

    def superseded_by(self, other: Transformation) -> bool:
        """See `Transformation.superseded_by`: by another histogram that is not the default one."""
        if isinstance(other, StringHistogram):
            return not other.is_default and other.texts != self.texts
        return not other.is_empty

    def merge(self, other: Transformation, rng: random.Random) -> Transformation:
        """See `Transformation.merge`: a default histogram never replaces one that was given."""
        if isinstance(other, StringHistogram) and other.is_default:
            return self
        return self if other.is_empty else other

    def stated(self) -> ColumnStatistics:
        """See `Transformation.stated`."""
        return ColumnStatistics(histogram=self.texts)


class StringHistogramTransformer(Transformer):
    """Takes the histogram that the user stated, or the alphabet."""

    kind = "histogram"
    class_name = "StringHistogramTransformer"
    type_field = "dataType"
    types = frozenset({STRING})
    statistics = (STATISTIC_HISTOGRAM,)
    transformations = (StringHistogram,)

    def build(self, statistics: ColumnStatistics, rng: random.Random) -> StringHistogram:
        """See `Transformer.build`."""
        return StringHistogram(statistics.histogram or DEFAULT_HISTOGRAM)


def utf16_key(text: str) -> bytes:
    """A key by which texts sort as Java's strings do: by UTF-16 units, not by code points."""
    return text.encode("utf-16-be", "surrogatepass")


def _as_text(value: Value) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(f"a text is needed here, not {shown(value)}")
    return value
