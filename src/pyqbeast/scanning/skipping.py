"""Files that a condition rules out by the smallest and largest values of their columns, as the log has them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.stored_text import read_json
from pyqbeast.delta_log.reader import LiveFile
from pyqbeast.scanning.column_types import char_length
from pyqbeast.scanning.predicate import Predicate

#: Timestamps are cut to milliseconds in statistics, so the largest may be almost one more.
_CUT_OFF = dt.timedelta(milliseconds=1)


def paths_ruled_out(
    files: Iterable[LiveFile], predicate: Predicate, schema: pa.Schema, physical_names: Mapping[str, str]
) -> frozenset[str]:
    """The paths of the files that hold no row of the predicate.

    Args:
        files: the files.
        predicate: the condition.
        schema: the table's columns.
        physical_names: what statistics call each column.
    """
    from pyarrow import dataset as ds  # brings pandas along, which most scans can do without
    from pyarrow import fs as pafs

    files = list(files)
    kind = ds.ParquetFileFormat()
    nowhere = pafs.LocalFileSystem()
    columns = {name: physical_names[name] for name in predicate.columns}
    fragments = [
        kind.make_fragment(str(number), nowhere, partition_expression=known_of(file, columns, schema))
        for number, file in enumerate(files)
    ]
    left = ds.FileSystemDataset(fragments, schema, kind, nowhere).get_fragments(filter=predicate.files)
    kept = {int(fragment.path) for fragment in left}
    return frozenset(file.path for number, file in enumerate(files) if number not in kept)


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


def column_bounds(file: LiveFile, columns: Mapping[str, str], schema: pa.Schema) -> dict[str, ColumnBounds]:
    """What the statistics of a file say of columns; nothing of a column that they do not know well enough.

    Args:
        file: the file.
        columns: the names of the columns, and what statistics call them.
        schema: the table's columns.
    """
    try:
        statistics = read_json(file.statistics, file.path) if file.statistics else {}
    except FormatError:
        return {}
    if not isinstance(statistics, dict):
        return {}
    lows, highs, nulls = (_object(statistics, name) for name in ("minValues", "maxValues", "nullCount"))
    bounds = {}
    for name, physical in columns.items():
        kind, count, length = schema.field(name).type, nulls.get(physical), char_length(schema.field(name))
        only_nulls = type(count) is int and count == file.physical_rows
        low, high = _value(lows.get(physical), kind), _value(highs.get(physical), kind)
        if high is not None and pa.types.is_timestamp(kind):
            high = _just_after(high)
        if high is not None and length is not None:
            # Files of other writers may hold the texts without their blanks.
            high = high.ljust(length) if min(high, default=" ") >= " " else None
        if only_nulls or (low is not None and high is not None):
            bounds[name] = ColumnBounds(low, high, count != 0, only_nulls)
    return bounds


def known_of(file: LiveFile, columns: Mapping[str, str], schema: pa.Schema) -> pc.Expression:
    """What the statistics of a file say of all its rows. `columns` are names in the table and in the statistics."""
    known = pc.scalar(True)
    for name, (low, high, nulls, only_nulls) in column_bounds(file, columns, schema).items():
        field, kind = pc.field(name), schema.field(name).type
        if only_nulls:
            known = known & field.is_null()
            continue
        for bound in (field >= pa.scalar(low, kind), field <= pa.scalar(high, kind)):
            known = known & (bound | field.is_null() if nulls else bound)
    return known


def _just_after(high: dt.datetime) -> dt.datetime | None:
    try:
        return high + _CUT_OFF
    except OverflowError:
        return None  # Python knows no later time


def _object(statistics: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = statistics.get(name)
    return found if isinstance(found, dict) else {}


def _value(stored: Any, kind: pa.DataType) -> Any:  # noqa: ANN401 (any JSON value)
    """A bound in a file's statistics as Python knows it; None where it cannot be used."""
    convert = next((of_kind for test, of_kind in _CONVERSIONS if test(kind)), None)
    if convert is None:
        return None
    try:
        value = convert(stored)
        pa.scalar(value, kind)
        if isinstance(value, dt.datetime) and (value.tzinfo is None) != (kind.tz is None):
            return None
    except (ValueError, TypeError, OverflowError, InvalidOperation, pa.ArrowException):
        return None
    return value


def _whole(stored: Any) -> int | None:  # noqa: ANN401 (any JSON value)
    return stored if type(stored) is int else None


def _number(stored: Any) -> float | None:  # noqa: ANN401 (any JSON value)
    return float(stored) if type(stored) in (int, float) else None


def _decimal(stored: Any) -> Decimal | None:  # noqa: ANN401 (any JSON value)
    # JSON's doubles lose digits, so a decimal with a fraction is not known well enough.
    return Decimal(stored) if type(stored) in (int, str) else None


def _text(stored: Any) -> str | None:  # noqa: ANN401 (any JSON value)
    return stored if isinstance(stored, str) else None


def _date(stored: Any) -> dt.date | None:  # noqa: ANN401 (any JSON value)
    return dt.date.fromisoformat(stored) if isinstance(stored, str) else None


def _time(stored: Any) -> dt.datetime | None:  # noqa: ANN401 (any JSON value)
    if not isinstance(stored, str):
        return None
    return dt.datetime.fromisoformat(stored.replace("Z", "+00:00"))


_CONVERSIONS: list[tuple[Callable[[pa.DataType], bool], Callable[[Any], Any]]] = [
    (pa.types.is_integer, _whole),
    (pa.types.is_floating, _number),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_string, _text),
    (pa.types.is_date, _date),
    (pa.types.is_timestamp, _time),
]
