"""What all transformers and all transformations have in common; `registry.py` lists them.

A transformer is the recipe for one indexed column. A transformation is the function from the column's values to
coordinates that the recipe leads to in one revision. The file of a kind holds both.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.format.constants import CLASS_PREFIX, STATISTIC_MAX, STATISTIC_MIN
from pyqbeast.core.format.stored_text import shown
from pyqbeast.core.format.types import ALL_TYPES, Value
from pyqbeast.core.transform.expressions import C, IndexedColumn
from pyqbeast.core.transform.stored_fields import field, name_of_type


class Transformation(ABC):
    """A function from the values of one column to coordinates in 0..1, with its parameters."""

    __slots__ = ()

    #: Class name in the stored JSON, without the package.
    class_name: ClassVar[str]
    #: Whether nothing is known of the column yet.
    is_empty: ClassVar[bool] = False

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

    @abstractmethod
    def coordinate_column(self, of: IndexedColumn[C]) -> C:
        """The coordinate of each row, as an expression; only rows whose value is not null count.

        `OUTSIDE` marks rows that do not fit the revision.
        """

    def coordinates(
        self, measured: NDArray[np.float64], nulls: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """The coordinates of many rows (doubles); a value is null where `nulls` is true.

        `measured` is what the pass over the rows found: values if the kind needs bounds, otherwise coordinates.
        """
        return measured if nulls is None else np.where(nulls, self.coordinate(None), measured)

    def to_json(self) -> dict[str, Any]:
        """The stored JSON object, fields in order. Floats in it are doubles to be written with a fraction."""
        return {"className": CLASS_PREFIX + self.class_name, **self.fields()}

    def superseded_by(self, other: Transformation) -> bool:
        """Whether data described by `other` needs a new revision, because this one does not fit it."""
        return not (other.is_empty or isinstance(other, type(self)))

    def merge(self, other: Transformation, rng: random.Random) -> Transformation:
        """The transformation that fits the data of both. `rng` draws the stand-in for null if a new one is needed."""
        return self if other.is_empty else other

    def roomier(self, than: Transformation, stated: ColumnStatistics) -> Transformation:
        """The transformation with room for values yet to come, where it has outgrown another one and can have room.

        What the user has stated as a bound is one, unless values lie beyond it.
        """
        return self

    def borders(self) -> Sequence[float]:
        """The values of the column that it keeps, as numbers: those of dates are midnights of whoever wrote it."""
        return ()

    def retyped(self, data_type: str) -> Transformation:
        """The transformation for the same column once its type has widened to `data_type`."""
        return self

    def stated(self) -> ColumnStatistics | None:
        """What a user stated about the column and data cannot tell. A table that is begun anew keeps it."""
        return None


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """What is known about a column's values, from data or from the user. Anything may be missing.

    `minimum` and `maximum` are finite numbers, dates and timestamps as epoch milliseconds. `quantiles` are
    two or more ascending numbers or texts, `histogram` two or more ascending texts.
    """

    minimum: int | float | Decimal | None = None
    maximum: int | float | Decimal | None = None
    quantiles: tuple[float, ...] | tuple[str, ...] | None = None
    histogram: tuple[str, ...] | None = None


#: The statistics that every pass over the rows can gather.
BOUND_KEYS = (STATISTIC_MIN, STATISTIC_MAX)


@dataclass(frozen=True)
class Transformer(ABC):
    """The recipe of a column: its name, and the format's name of its type. Each kind is a class."""

    column: str
    data_type: str | None = None

    #: Its name in `columnsToIndex`, and other names that are accepted.
    kind: ClassVar[str]
    other_names: ClassVar[tuple[str, ...]] = ()
    #: Class name in the stored JSON, without the package.
    class_name: ClassVar[str]
    #: The field of the stored JSON that holds the type; empty if there is only one type.
    type_field: ClassVar[str]
    #: The types of columns that users may index this way, none for a kind that they cannot ask for.
    types: ClassVar[frozenset[str]]
    #: The statistics that it is built from, by their endings in `columnStats`: `BOUND_KEYS`, or one that only users
    #: know.
    statistics: ClassVar[tuple[str, ...]] = ()
    #: The transformations that it may lead to.
    transformations: ClassVar[tuple[type[Transformation], ...]]
    #: Types that the Scala project does not take, where it takes others.
    not_shared: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Transformer:
        """The transformer of a stored JSON object of this class. Raises FormatError for a missing or unusable field."""
        column = field(fields, "columnName")
        if not isinstance(column, str):
            raise FormatError(f"the columnName of {cls.class_name} has to be a text, not {shown(column)}")
        if not cls.type_field:
            return cls(column, next(iter(cls.types), None))
        return cls(column, name_of_type(fields, cls.type_field, ALL_TYPES))

    def to_json(self) -> dict[str, Any]:
        """The stored JSON object, fields in order."""
        typed = {self.type_field: self.data_type} if self.type_field else {}
        return {"className": CLASS_PREFIX + self.class_name, "columnName": self.column, **typed}

    @abstractmethod
    def build(self, statistics: ColumnStatistics, rng: random.Random) -> Transformation:
        """The transformation that the statistics lead to; `rng` draws the stand-in for null.

        Empty if needed statistics are missing. Raises InvalidInputError for statistics that cannot be used.
        """

    def nothing_known(self) -> InvalidInputError:
        """The error for a write that needs statistics which nobody has stated."""
        return InvalidInputError(
            f"column {self.column!r} cannot be indexed by {self.kind}: nothing is known of it; state that in "
            "columnStats, or name another kind in columnsToIndex"
        )

    @property
    def spec(self) -> str:
        """The column as `columnsToIndex` names it: `name:kind`."""
        return f"{self.column}:{self.kind}"

    @property
    def can_be_chosen(self) -> bool:
        """Whether users can ask for the kind."""
        return bool(self.types)

    @property
    def needs_bounds(self) -> bool:
        """Whether a pass over the rows measures their values; otherwise it measures their coordinates."""
        return self.statistics == BOUND_KEYS

    @property
    def needs_users(self) -> bool:
        """Whether it is built from statistics that only users know."""
        return bool(self.statistics) and not self.needs_bounds


class Constant(Transformation):
    """The transformation of a column that holds one value only: whatever comes takes coordinate 0."""

    __slots__ = ()

    def coordinate(self, value: Value) -> float:
        """Always 0.0."""
        return 0.0

    def coordinates(
        self, measured: NDArray[np.float64], nulls: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """Always 0.0."""
        return np.zeros(measured.shape)
