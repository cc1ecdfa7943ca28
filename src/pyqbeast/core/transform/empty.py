"""Empty: columns that nothing is known of yet, as those of revision 0."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.types import Value
from pyqbeast.core.transform.base import ColumnStatistics, Transformation, Transformer
from pyqbeast.core.transform.expressions import C, IndexedColumn


@dataclass(frozen=True, slots=True)
class Empty(Transformation):
    """The transformation of a column that nothing is known of yet: every value takes coordinate 0."""

    class_name = "EmptyTransformation"
    is_empty = True

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

    def coordinate_column(self, of: IndexedColumn[C]) -> C:
        """Raises FormatError: rows are not written before something is known of them."""
        raise FormatError(
            f"column {of.name!r}: rows cannot be indexed by Empty; overwrite the table to index it anew"
        )

    def merge(self, other: Transformation, rng: random.Random) -> Transformation:
        """Always the other one."""
        return other


class EmptyTransformer(Transformer):
    """The transformer of a column that will be indexed by a kind that is not decided yet."""

    kind = "empty"
    class_name = "EmptyTransformer"
    type_field = ""
    types = frozenset()
    transformations = (Empty,)

    def build(self, statistics: ColumnStatistics, rng: random.Random) -> Empty:
        """See `Transformer.build`."""
        return Empty()
