"""The smallest and largest values of the columns of files, as the log has them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.iso_time import day_of, first_day_told_as, moment_of, told_inexactly
from pyqbeast.core.format.null_counts import null_count
from pyqbeast.core.format.statistics_keys import MAX_VALUES, MIN_VALUES, NULL_COUNT
from pyqbeast.core.format.stored_text import largest_text, may_be_cut, read_json, stored_float
from pyqbeast.delta_log.live_file import LiveFile
from pyqbeast.delta_log.statistics_in_bulk import tables_in_order
from pyqbeast.scanning.conditions.column_types import char_length, was_float

#: So many digits of a decimal come back from a double as they were, also after the few roundings of delta-rs.
_DIGITS_OF_DOUBLES = 15
#: Keeps each digit of a decimal and of a double.
_EXACT = Context(prec=1_000)
_PARTS = (MIN_VALUES, MAX_VALUES, NULL_COUNT)
_FAILURES = (ValueError, TypeError, OverflowError, InvalidOperation, pa.ArrowException)


class ColumnBounds(NamedTuple):
    """What the statistics of a file say of a column.

    Attributes:
        low, high: no value lies outside of them; None where they do not say.
        nulls: whether some values may be null.
        only_nulls: whether all values are null.
    """

    low: Any
    high: Any
    nulls: bool
    only_nulls: bool


@dataclass(frozen=True)
class ColumnOfFiles:
    """The same of a column in n files: arrays of n, `low` and `high` of the column's type."""

    low: pa.Array
    high: pa.Array
    nulls: pa.BooleanArray
    only_nulls: pa.BooleanArray

    def each(self) -> list[ColumnBounds]:
        """The bounds file by file."""
        columns = (values.to_pylist() for values in (self.low, self.high, self.nulls, self.only_nulls))
        return [ColumnBounds(*of_file) for of_file in zip(*columns, strict=True)]


class BoundsOfFiles:
    """What statistics say of columns of files.

    Args:
        files: the files.
        columns: the names of the columns, and what statistics call them; None where that is not known.
        schema: the table's columns.
        holds_lists: whether the table has a column of lists or maps; see `null_count`.
    """

    def __init__(
        self,
        files: Sequence[LiveFile],
        columns: Mapping[str, str | None],
        schema: pa.Schema,
        *,
        holds_lists: bool,
    ) -> None:
        self.count = len(files)
        self.schema = schema
        kinds = {stored: schema.field(name).type for name, stored in columns.items() if stored is not None}
        values = _stored_values([file.statistics for file in files], kinds)
        nothing: list[Any] = [None] * len(files)
        untold = (nothing, nothing, nothing)
        self.columns = {
            name: _column(
                *(untold if stored is None else values[stored]), files, schema.field(name), holds_lists
            )
            for name, stored in columns.items()
        }

    def guarantees(self, tell_nan: Sequence[bool] | None = None) -> list[pc.Expression]:
        """For each file an expression that is true of all its rows.

        Args:
            tell_nan: which files have no bounds of a column that has a NaN. Of the floats of others, whose bounds may
                leave a NaN out, nothing is said. None for all files.
        """
        known: list[list[pc.Expression]] = [[] for _ in range(self.count)]
        for name, column in self.columns.items():
            field, is_float = pc.field(name), pa.types.is_floating(self.schema.field(name).type)
            only_nulls, nulls = column.only_nulls.to_pylist(), column.nulls.to_pylist()
            for at, (low, high) in enumerate(zip(column.low, column.high, strict=True)):
                if only_nulls[at]:
                    known[at].append(field.is_null())
                elif low.is_valid and (not is_float or tell_nan is None or tell_nan[at]):
                    bounds = (field >= low, field <= high)
                    known[at] += [bound | field.is_null() for bound in bounds] if nulls[at] else bounds
        return [reduce(and_, parts) if parts else pc.scalar(True) for parts in known]


def _stored_values(
    texts: Sequence[str | None], kinds: Mapping[str, pa.DataType]
) -> dict[str, tuple[list[Any], list[Any], list[Any]]]:
    """For each column, by its name in statistics, what JSON holds as its smallest and largest value and its nulls."""
    found = {name: ([None] * len(texts), [None] * len(texts), [None] * len(texts)) for name in kinds}
    left = dict.fromkeys(range(len(texts)))
    for positions, decoded in tables_in_order(texts):
        leaves = {(part, name): _leaf(decoded, part, name) for part in _PARTS for name in kinds}
        if not all(_is_as_stored(leaf, kinds[name]) for (_, name), leaf in leaves.items()):
            continue
        for (part, name), leaf in leaves.items():
            values = found[name][_PARTS.index(part)]
            if leaf is not None:
                for at, value in zip(positions, leaf.to_pylist(), strict=True):
                    values[at] = value
        for at in positions:
            del left[at]
    for at in left:
        statistics = _decoded(texts[at])
        for name, lists in found.items():
            for part, values in zip(_PARTS, lists, strict=True):
                of_part = statistics.get(part)
                values[at] = of_part.get(name) if isinstance(of_part, dict) else None
    return found


def _leaf(decoded: pa.Table, part: str, name: str) -> pa.ChunkedArray | None:
    """The values of a column in a part of decoded statistics; None where they have none."""
    if part not in decoded.column_names or not pa.types.is_struct(decoded[part].type):
        return None
    at = decoded[part].type.get_field_index(name)
    return pc.struct_field(decoded[part], [at]) if at >= 0 else None


def _is_as_stored(leaf: pa.ChunkedArray | None, kind: pa.DataType) -> bool:
    """Whether Arrow's values are those in JSON. A whole number that it made a double is not."""
    return leaf is None or not pa.types.is_floating(leaf.type) or pa.types.is_floating(kind)


def _decoded(text: str | None) -> Mapping[str, Any]:
    try:
        statistics = read_json(text, "statistics") if text else {}
    except FormatError:
        return {}
    return statistics if isinstance(statistics, dict) else {}


def _column(
    lows: Sequence[Any],
    highs: Sequence[Any],
    nulls: Sequence[Any],
    files: Sequence[LiveFile],
    field: pa.Field,
    holds_lists: bool,
) -> ColumnOfFiles:
    rows = [file.physical_rows for file in files]
    counts = [
        null_count(
            count,
            file.tags,
            rows=of_file,
            has_bounds=least is not None or most is not None,
            holds_lists=holds_lists,
        )
        for count, least, most, file, of_file in zip(nulls, lows, highs, files, rows, strict=True)
    ]
    only_nulls = [count is not None and count == of_file for count, of_file in zip(counts, rows, strict=True)]
    convert = next((of_kind for test, of_kind in _CONVERSIONS if test(field.type)), None)
    low: Sequence[Any] = [None] * len(files)
    high: Sequence[Any] = low
    if convert is not None:
        low = _values(lows, lambda stored: _smallest(convert(stored), field), field.type)
        high = _values(highs, lambda stored: _largest(convert(stored), field), field.type)
    if was_float(field):
        low = [None if value is None else min(value, stored_float(value)) for value in low]
        high = [None if value is None else max(value, stored_float(value)) for value in high]
    # One bound without the other says too little.
    low, high = (
        [None if other is None else value for value, other in zip(values, others, strict=True)]
        for values, others in ((low, high), (high, low))
    )
    return ColumnOfFiles(
        pa.array(low, field.type),
        pa.array(high, field.type),
        pa.array([count != 0 for count in counts], pa.bool_()),
        pa.array(only_nulls, pa.bool_()),
    )


def _values(stored: Sequence[Any], convert: Callable[[Any], Any], kind: pa.DataType) -> list[Any]:
    """Bounds in statistics as Python knows them; None where they cannot be used."""
    values = [_value(each, convert, kind) for each in stored]
    try:
        pa.array(values, kind)
    except _FAILURES:
        return [value if _fits(value, kind) else None for value in values]
    return values


def _value(stored: Any, convert: Callable[[Any], Any], kind: pa.DataType) -> Any:  # noqa: ANN401 (any JSON value)
    try:
        value = convert(stored)
        if not isinstance(value, dt.datetime) or value.tzinfo is kind.tz is None:
            return value
        # In UTC, as Arrow gives it back: a zone's last or first hours are of a year that Python does not know.
        return value.astimezone(dt.timezone.utc) if value.tzinfo and kind.tz else None
    except _FAILURES:
        return None


def _fits(value: Any, kind: pa.DataType) -> bool:  # noqa: ANN401 (any value of Python)
    try:
        pa.array([value], kind)
    except _FAILURES:
        return False
    return True


def _smallest(low: Any, field: pa.Field) -> Any:  # noqa: ANN401 (any value of Python)
    """What no value of a column is below, from the smallest one that statistics tell; None where nothing is."""
    if isinstance(low, dt.datetime):
        inexactly = dt.timedelta(microseconds=told_inexactly(low)[0])
        moment = low.astimezone(dt.timezone.utc) if low.tzinfo else low
        # Before the first moment of Python's, which some programs write for none, there is none.
        return max(moment, dt.datetime.min.replace(tzinfo=moment.tzinfo) + inexactly) - inexactly
    if isinstance(low, dt.date):
        return first_day_told_as(low)
    return _beyond(low, field.type, ROUND_FLOOR) if isinstance(low, Decimal) else low


def _largest(high: Any, field: pa.Field) -> Any:  # noqa: ANN401 (any value of Python)
    """What no value of a column is above, from the largest one that statistics tell; None where nothing is."""
    if high is None:
        return None
    if isinstance(high, Decimal):
        return _beyond(high, field.type, ROUND_CEILING)
    if isinstance(high, dt.datetime):
        return high + dt.timedelta(microseconds=told_inexactly(high)[1])
    if not isinstance(high, str):
        return high
    high = largest_text(high)
    length = char_length(field)
    if length is not None:
        # Files of other writers may hold the texts without their blanks.
        return high.ljust(length) if min(high, default=" ") >= " " else None
    return high


def _whole(stored: Any) -> int | None:  # noqa: ANN401 (any JSON value)
    return stored if type(stored) is int else None


def _number(stored: Any) -> float | None:  # noqa: ANN401 (any JSON value)
    return float(stored) if type(stored) in (int, float) else None


def _decimal(stored: Any) -> Decimal | None:  # noqa: ANN401 (any JSON value)
    return Decimal(stored) if type(stored) in (int, float, str) and not may_be_cut(stored) else None


def _beyond(bound: Decimal, kind: pa.Decimal128Type, rounding: str) -> Decimal:
    """The end of the decimals that a bound may stand for.

    JSON holds decimals as numbers, which are doubles here. delta-rs makes them doubles itself, and decimals of these
    again in the structs of a checkpoint.
    """
    unit = Decimal(1).scaleb(-kind.scale)
    nearest = bound.quantize(unit, context=_EXACT)
    if len(nearest.as_tuple().digits) > _DIGITS_OF_DOUBLES:
        inaccuracy = _EXACT.abs(bound).scaleb(-_DIGITS_OF_DOUBLES)
        end = _EXACT.add(bound, inaccuracy.copy_sign(1 if rounding == ROUND_CEILING else -1))
        nearest = end.quantize(unit, rounding, _EXACT)
    return nearest


def _text(stored: Any) -> str | None:  # noqa: ANN401 (any JSON value)
    return stored if isinstance(stored, str) else None


def _date(stored: Any) -> dt.date | None:  # noqa: ANN401 (any JSON value)
    return day_of(stored) if isinstance(stored, str) else None


def _time(stored: Any) -> dt.datetime | None:  # noqa: ANN401 (any JSON value)
    return moment_of(stored) if isinstance(stored, str) else None


_CONVERSIONS: list[tuple[Callable[[pa.DataType], bool], Callable[[Any], Any]]] = [
    (pa.types.is_integer, _whole),
    (pa.types.is_floating, _number),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_string, _text),
    (pa.types.is_date, _date),
    (pa.types.is_timestamp, _time),
]
