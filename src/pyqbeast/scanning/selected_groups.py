"""Which groups an estimate of a scan keeps: `having`, `order_by` and `limit`, in terms of its aggregates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import pyarrow as pa

from pyqbeast.approximate.estimate import Aggregate
from pyqbeast.approximate.estimate.outcome import check_names
from pyqbeast.approximate.selection import (
    Comparison,
    Condition,
    Junction,
    Negation,
    Selection,
    SortedBy,
)
from pyqbeast.core.arguments import is_whole_number
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.scanning.aggregates import Request
from pyqbeast.scanning.conditions.comparisons import SqlConstant, is_double, typed_constant
from pyqbeast.scanning.conditions.sql_text import Joint, SortColumn, condition_of_text, order_of_text


@dataclass(frozen=True)
class Kept:
    """What an answer shows of its groups.

    Attributes:
        selection: what decides about them; None for all groups.
        order: the columns of the answer that it is sorted by.
    """

    selection: Selection | None
    order: Sequence[SortColumn]

    @classmethod
    def of(cls, request: Request, having: str | None, order_by: str | None, limit: int | None) -> Kept:
        """What a caller asks for; see `Scan.tolerance`.

        Raises InvalidInputError for what is not understood, or does not fit the answer.
        """
        for name, text in {"having": having, "order_by": order_by}.items():
            if text is not None and not isinstance(text, str):
                raise InvalidInputError(f"{name} takes a text, not {text!r}")
        if limit is not None and (not is_whole_number(limit) or limit < 1):
            raise InvalidInputError(f"limit takes a number of groups from 1, not {limit!r}")
        keeps_some = having is not None or limit is not None
        check_names(request.groups, request.aggregates, keeps_some=keeps_some)
        estimates = pa.schema([(name, request.value_type(of)) for name, of in request.aggregates.items()])
        of_estimates = _OfEstimates(request)
        condition = None if having is None else condition_of_text(having, estimates, of_estimates)
        groups = [request.schema.field(name) for name in request.groups]
        order = [] if order_by is None else order_of_text(order_by, pa.schema([*groups, *estimates]))
        if limit is None:
            return cls(None if condition is None else Selection(condition), order)
        if not order or order[0].name not in request.aggregates:
            raise InvalidInputError(
                "limit takes the first groups by an estimate, such as order_by='mean DESC', limit=10; by their own "
                "values `where` picks groups"
            )
        sorted_by = tuple(_sorted_by(each, request) for each in order)
        return cls(Selection(condition, sorted_by, int(limit)), order)


def _sorted_by(column: SortColumn, request: Request) -> SortedBy:
    name = column.name
    by = request.groups.index(name) if name in request.groups else request.aggregates[name]
    return SortedBy(by, column.ascending, column.nulls_first)


class _OfEstimates:
    """Comparisons of estimates with numbers; see `Comparisons`."""

    def __init__(self, request: Request) -> None:
        self._request = request

    def joined(self, joint: Joint, left: Condition, right: Condition) -> Condition:
        return Junction(joint, left, right)

    def compared(self, field: pa.Field, sign: str, constant: SqlConstant) -> Condition:
        if sign == "!=":
            return Negation(self.compared(field, "=", constant))
        number, aggregate = _number(field, constant), self._request.aggregates[field.name]
        places = self._request.exact_places(aggregate)
        if places is not None and isinstance(number, Fraction):
            return _beside(aggregate, sign, number, places)
        return Comparison(aggregate, sign, number)

    def null(self, field: pa.Field, *, negated: bool) -> Condition:
        raise InvalidInputError(f"having compares {field.name!r} with constants, not with NULL")

    def among(
        self, field: pa.Field, constants: Sequence[SqlConstant], *, negated: bool
    ) -> tuple[None, Sequence[SqlConstant]]:
        """All of them: an estimate is compared with one number after the other."""
        return None, constants


def _beside(aggregate: Aggregate, sign: str, number: Fraction, places: int) -> Comparison:
    """A number of so many decimal places beside a constant.

    A constant of more places gives way to the nearest number that the other can be, as their doubles may be one.
    """
    last = number * 10**places
    if last.denominator == 1:
        return Comparison(aggregate, sign, number)
    if sign == "=":
        return Comparison(aggregate, "<", -math.inf)  # false, or null
    nearest = math.floor(last) if sign[0] == ">" else math.ceil(last)
    return Comparison(aggregate, sign[0], Fraction(nearest, 10**places))


def _number(field: pa.Field, constant: SqlConstant) -> float | Fraction:
    """A constant as estimates are numbers: days since 1970 for dates, microseconds for timestamps.

    It is what it was written as, unless Spark compares it as a double.
    """
    kind = field.type
    if constant.kind == "number" and not pa.types.is_temporal(kind):
        double = float(constant.text)
        return double if is_double(constant) or math.isinf(double) else Fraction(constant.text)
    value = typed_constant(field, constant)
    return Fraction(value.cast(pa.int32() if pa.types.is_date(kind) else pa.int64()).as_py())
