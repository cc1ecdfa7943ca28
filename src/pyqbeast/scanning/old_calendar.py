"""Files whose writers counted days long ago by the Julian calendar. Spark moves such days when it reads them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyqbeast.core.errors import UnsupportedError
from pyqbeast.scanning.conditions.stored_columns import types_inside

_SPARK_VERSION = b"org.apache.spark.version"
#: The first version of Spark that counts by today's calendar, and the key that a later one leaves in a file where it
#: was told to count as before. Times of 96 bits have their own.
_DAYS_AND_TIMES = (b"3.0.0", b"org.apache.spark.legacyDateTime")
_INT96_TIMES = (b"3.1.0", b"org.apache.spark.legacyINT96")
#: From here on both calendars have the same days, and, with the offsets of time zones, the same times.
_NEW_DATES = dt.date(1582, 10, 15)
_NEW_TIMES = dt.datetime(1900, 1, 1)


def has_old_calendar(footer: pq.FileMetaData) -> bool:
    """Whether days long ago may be counted by the calendar of Spark 2 in a file."""
    return _is_moved(footer, *_DAYS_AND_TIMES) or (_is_moved(footer, *_INT96_TIMES) and _has_int96(footer))


def _is_moved(footer: pq.FileMetaData, first_version: bytes, key: bytes) -> bool:
    notes = footer.metadata or {}
    # Spark compares versions as texts.
    return key in notes or notes.get(_SPARK_VERSION, first_version) < first_version


def _has_int96(footer: pq.FileMetaData) -> bool:
    columns = map(footer.schema.column, range(footer.num_columns))
    return any(column.physical_type == "INT96" for column in columns)


def refuse_old_calendar(
    footer: pq.FileMetaData, columns: Sequence[pa.Array], stored: Sequence[pa.DataType]
) -> None:
    """Raises UnsupportedError where columns of a file hold days that the old calendar counts otherwise.

    Args:
        footer: of the file
        columns: as the table has them
        stored: the columns' types in the file
    """
    # No days are stored with 96 bits.
    are_days_old, are_times_old = _is_moved(footer, *_DAYS_AND_TIMES), has_old_calendar(footer)
    if not are_times_old:
        return
    for column, kind in zip(columns, stored, strict=True):
        _refuse_old_days(column, are_days_old, any(map(pa.types.is_date, (kind, *types_inside(kind)))))


def _refuse_old_days(column: pa.Array, are_days_old: bool, are_days_stored: bool) -> None:
    for values in _with_nested(column):
        is_date, is_time = pa.types.is_date(values.type), pa.types.is_timestamp(values.type)
        # No version of Spark has moved local times, but those that are days in the file.
        is_moved = is_time and (values.type.tz is not None or (are_days_stored and are_days_old))
        if not (is_moved or (is_date and are_days_old)):
            continue
        first = pc.min(values.cast(pa.timestamp("us")) if is_time else values)
        # Python knows fewer days than Arrow.
        if pc.less(first, pa.scalar(_NEW_DATES if is_date else _NEW_TIMES, first.type)).as_py():
            raise UnsupportedError(
                f"the file holds {first.cast(pa.string())} by the calendar of Spark 2, which a scan does not read: "
                "read it with Spark"
            )


def _with_nested(values: pa.Array) -> Iterator[pa.Array]:
    """The values, and those inside them."""
    yield values
    if pa.types.is_struct(values.type):
        inner = values.flatten()
    elif pa.types.is_map(values.type):
        inner = [values.keys, values.items]
    elif pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        inner = [values.flatten()]
    else:
        inner = []
    for each in inner:
        yield from _with_nested(each)
