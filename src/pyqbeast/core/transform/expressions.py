"""What a transformation may ask of a column of rows.

With it a transformation makes expressions without knowing Spark.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

#: Stands for a row outside the space of a revision; no coordinate is negative.
OUTSIDE = -1.0


class Expression(Protocol):
    """Something computed for each row. Numbers are doubles, and their arithmetic is that of Python and Java alike."""

    def __add__(self: C, other: C | float, /) -> C: ...
    def __sub__(self: C, other: C | float, /) -> C: ...
    def __mul__(self: C, other: C | float, /) -> C: ...
    def __truediv__(self: C, other: C | float, /) -> C: ...
    def __mod__(self: C, other: C | float, /) -> C: ...


C = TypeVar("C", bound=Expression)


class IndexedColumn(Protocol[C]):
    """One indexed column of the rows; `table/coordinates.py` has the one of Spark."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def data_type(self) -> str:
        """The format's name of its type, as its transformer has it."""

    @property
    def value(self) -> C:
        """Its values: whole numbers as longs, dates and timestamps as epoch milliseconds, others as they are."""

    @property
    def number(self) -> C:
        """The same as doubles."""

    def literal(self, number: float) -> C:
        """The same number for each row."""

    def where_equal(self, number: float) -> C:
        """0.0 where the column has this number, else `OUTSIDE`."""

    def unless_infinite(self, expression: C, high: float) -> C:
        """The expression, but 0.0 where the column is -infinity, and `high` where it is +infinity or NaN."""

    def jvm(self, function: str, value: C, argument: Any = None) -> C:  # noqa: ANN401 (whatever JSON holds)
        """What a `CoordinateFunction` of the bridge, by its class name, makes of a value.

        The function is made of `argument` as JSON, or of nothing.
        """
