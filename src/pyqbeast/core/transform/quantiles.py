"""Quantiles: a number's coordinate is its position among numbers that cut the rows into equal parts."""

from __future__ import annotations

import json
import math
import random
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.format.constants import STATISTIC_QUANTILES
from pyqbeast.core.format.stored_text import shown
from pyqbeast.core.format.types import DECIMAL, ORDERED_TYPES, Value
from pyqbeast.core.transform.base import ColumnStatistics, Transformation, Transformer
from pyqbeast.core.transform.empty import Empty
from pyqbeast.core.transform.expressions import C, IndexedColumn
from pyqbeast.core.transform.stored_fields import as_double, field, number, ordered_type


class _Ordered(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...  # noqa: ANN401 (whatever it is compared with)


_T = TypeVar("_T", bound=_Ordered)


def search(items: Sequence[_T], value: _T) -> tuple[bool, int]:
    """Whether the value is in the list, and where it is or would be inserted.

    Of equal items this takes the one that it meets first. Stored cubes depend on which one that is, so the
    steps must not change.
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
class NumericQuantiles(Transformation):
    """The position of a number among quantiles (two at least, ascending); a straight line between neighbours.

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
        is_listed, position = search(self.quantiles, double)
        last = len(self.quantiles) - 1
        if is_listed:
            return position / last
        if position == 0:
            return 0.0
        if position > last:
            return 1.0
        below, above = np.float64(self.quantiles[position - 1]), np.float64(self.quantiles[position])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # In a list that does not ascend the two may be equal, and the result may lie outside 0..1 or be
            # NaN.
            return float(((position - 1) + (double - below) / (above - below)) / last)

    def coordinate_column(self, of: IndexedColumn[C]) -> C:
        """See `Transformation.coordinate_column`."""
        return of.jvm("NumericQuantiles", of.number, self.quantiles)

    def borders(self) -> Sequence[float]:
        """See `Transformation.borders`."""
        return self.quantiles

    def superseded_by(self, other: Transformation) -> bool:
        """See `Transformation.superseded_by`: by other quantiles."""
        if isinstance(other, NumericQuantiles):
            return other.quantiles != self.quantiles
        return not other.is_empty

    def retyped(self, data_type: str) -> NumericQuantiles:
        """See `Transformation.retyped`: the quantiles stay."""
        return replace(self, data_type=data_type)

    def stated(self) -> ColumnStatistics:
        """See `Transformation.stated`."""
        return ColumnStatistics(quantiles=self.quantiles)


class QuantilesTransformer(Transformer):
    """Takes the quantiles that the user stated. The pass over the data does not compute any."""

    kind = "quantiles"
    other_names = ("quantile",)
    statistics = (STATISTIC_QUANTILES,)

    def build(self, statistics: ColumnStatistics, rng: random.Random) -> Transformation:
        """See `Transformer.build`. Raises InvalidInputError for quantiles of another type."""
        return self.by_quantiles(statistics.quantiles) if statistics.quantiles else Empty()

    @abstractmethod
    def by_quantiles(self, quantiles: Sequence[float | str]) -> Transformation:
        """The transformation by these quantiles. Raises InvalidInputError for those of another type."""

    def refused(self, what: str, quantiles: Sequence[float | str]) -> InvalidInputError:
        """What to say of quantiles that are no list of `what`."""
        return InvalidInputError(
            f"{self.column + STATISTIC_QUANTILES} has to be a list of at least two {what}, not {list(quantiles)}"
        )

    def nothing_known(self) -> InvalidInputError:
        """See `Transformer.nothing_known`."""
        key = self.column + STATISTIC_QUANTILES
        return InvalidInputError(
            f"column {self.column!r} is to be indexed by quantiles and none are known: give them as "
            f"columnStats='{{{json.dumps(key, ensure_ascii=False)}: [...]}}', two or more in ascending order; "
            "pyqbeast.compute_quantiles_for_column finds them"
        )


class NumericQuantilesTransformer(QuantilesTransformer):
    """Quantiles of numbers, dates and timestamps."""

    class_name = "CDFNumericQuantilesTransformer"
    type_field = "orderedDataType"
    types = ORDERED_TYPES
    transformations = (NumericQuantiles,)
    not_shared = frozenset({DECIMAL})

    def by_quantiles(self, quantiles: Sequence[float | str]) -> NumericQuantiles:
        """See `QuantilesTransformer.by_quantiles`."""
        if len(quantiles) < 2 or any(isinstance(item, str) for item in quantiles):
            raise self.refused("numbers", quantiles)
        return NumericQuantiles(tuple(as_double(item) for item in quantiles), str(self.data_type))
