"""What files hold of a table's columns, found by their names or ids and turned into the types of today."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.hashed_layout import COLUMN_ID, name_in_files
from pyqbeast.scanning.conditions.column_types import UNPADDED, Field, arrow_type, declared_char_length

_PARQUET_ID = b"PARQUET:field_id"


class StoredFields:
    """Which of the fields of a file, or of a struct in it, holds a column. There may be thousands of both.

    Args:
        stored: the fields.
        mapping: how files name fields: `none`, `name` or `id`.
    """

    def __init__(self, stored: Sequence[pa.Field], mapping: str) -> None:
        self._mapping = mapping
        if mapping == "id":
            keys = ((each.metadata or {}).get(_PARQUET_ID) for each in stored)
            self._places = _first_places(keys)
        else:
            self._places = _first_places(each.name for each in stored)
            # Delta's names differ by more than their case, and other writers may have changed it.
            self._places_of_any_case = _first_places(each.name.lower() for each in stored)

    def find(self, field: Field) -> int | None:
        """The place of a column in the JSON of the schema; None if no field holds it."""
        metadata = field.get("metadata") or {}
        if self._mapping == "id":
            return self._places.get(str(metadata.get(COLUMN_ID)).encode())
        name = name_in_files(str(metadata.get(UNPADDED, field["name"])), metadata, self._mapping)
        return self._places.get(name, self._places_of_any_case.get(name.lower()))


def _first_places(keys: Iterable[Any]) -> dict[Any, int]:
    """The place of the first of each of some keys."""
    places: dict[Any, int] = {}
    for at, key in enumerate(keys):
        places.setdefault(key, at)
    return places


def has_ids(stored: Iterable[pa.Field]) -> bool:
    """Whether any of the fields of a file has an id, or one inside them."""
    return any(_PARQUET_ID in (each.metadata or {}) or has_ids(_inner_fields(each.type)) for each in stored)


def has_dictionary_inside(kind: pa.DataType) -> bool:
    """Whether some values inside the structs, lists or maps of a type are told by a dictionary."""
    return any(pa.types.is_dictionary(each) for each in types_inside(kind))


def types_inside(kind: pa.DataType) -> Iterator[pa.DataType]:
    """The types of the values inside structs, lists and maps, and of those inside them."""
    for each in _inner_fields(kind):
        yield each.type
        yield from types_inside(each.type)


def _inner_fields(kind: pa.DataType) -> Iterable[pa.Field]:
    if pa.types.is_struct(kind):
        return list(kind)
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    return [kind.value_field] if _is_some_list(kind) else []


def _is_some_list(kind: pa.DataType) -> bool:
    """Whether a type is one of lists, of the kind that tables have or of another that files may name."""
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list, _is_list_view)
    return any(test(kind) for test in tests)


def _is_list_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))


def conformed(held: pa.Array, field: Field, mapping: str) -> pa.Array:
    """The values of a column as the table has them today.

    Args:
        held: the values that a file holds.
        field: the column in the JSON of the schema.
        mapping: how files name fields: `none`, `name` or `id`.
    """
    values = _conformed(held, field["type"], mapping, field["name"])
    length = declared_char_length(field)
    return values if length is None else pc.utf8_rpad(values, length)


def _conformed(held: pa.Array, stored: Any, mapping: str, column: str) -> pa.Array:  # noqa: ANN401 (any JSON value)
    wanted = arrow_type(stored, column)
    if pa.types.is_struct(wanted) and pa.types.is_struct(held.type):
        parts = []
        fields = StoredFields([held.type.field(i) for i in range(held.type.num_fields)], mapping)
        for field in stored["fields"]:
            at = fields.find(field)
            part_type = arrow_type(field["type"], column)
            parts.append(
                pa.nulls(len(held), part_type)
                if at is None
                else _conformed(held.field(at), field["type"], mapping, column)
            )
        return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=held.is_null())
    if pa.types.is_list(wanted) and _is_some_list(held.type):
        # A cast of the whole would find the fields of structs inside by names that the file does not have.
        held = _plain_lists(held)
        values = _conformed(held.values, stored["elementType"], mapping, column)
        return pa.ListArray.from_arrays(_offsets(held), values, type=wanted, mask=held.is_null())
    if pa.types.is_map(wanted) and pa.types.is_map(held.type):
        keys = _conformed(held.keys, stored["keyType"], mapping, column)
        items = _conformed(held.items, stored["valueType"], mapping, column)
        return pa.MapArray.from_arrays(_offsets(held), keys, items, type=wanted, mask=held.is_null())
    if pa.types.is_nested(wanted) and not pa.types.is_null(held.type):
        raise FormatError(f"column {column!r} is {held.type} in the file and {wanted} in the table")
    return _cast(held, wanted, column)


def _plain_lists(held: pa.Array) -> pa.Array:
    """Lists of any kind as lists of the kind that tables have, with the same values inside."""
    kind = pa.list_(held.type.value_field)
    if not _is_list_view(held.type):
        return held.cast(kind)
    # Arrow's own cast of views of structs loses values behind a null.
    lengths = pc.fill_null(held.value_lengths(), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.append(0, np.cumsum(lengths)), pa.int32())
    return pa.ListArray.from_arrays(offsets, held.flatten(), type=kind, mask=held.is_null())


def _offsets(held: pa.Array) -> pa.Array:
    """Where the values of each list or map begin. Arrow takes no mask beside offsets that are a slice of others."""
    offsets = held.offsets
    return pa.concat_arrays([offsets, offsets.slice(0, 0)]) if offsets.offset else offsets


def _cast(held: pa.Array, wanted: pa.DataType, column: str) -> pa.Array:
    if isinstance(held.type, pa.BaseExtensionType):
        held = held.storage
    if pa.types.is_dictionary(held.type):
        held = held.dictionary_decode()
    if held.type == wanted:
        return held
    why = ""
    try:
        # Spark takes an instant for the local time that it is in UTC, and a local time for that instant.
        if pa.types.is_timestamp(wanted) and pa.types.is_timestamp(held.type):
            # Nanoseconds without a zone may be those of INT96, which Spark cuts to the microsecond before.
            if held.type == pa.timestamp("ns"):
                held = _in_microseconds(held)
            return held.cast(pa.timestamp("us", held.type.tz)).view(wanted)
        if _keeps_values(held.type, wanted):
            return held.cast(wanted)
    except pa.ArrowException as error:
        why = f": {error}"
    raise FormatError(
        f"column {column!r} is {held.type} in the file and {wanted} in the table{why}; leave the column out by "
        "select, or write the file's rows anew with the table's type"
    )


def _in_microseconds(held: pa.Array) -> pa.Array:
    """Moments in nanoseconds, cut to microseconds. Arrow's own floor takes the first of them for the last of all."""
    nanoseconds = held.view(pa.int64())
    towards_1970 = pc.divide(nanoseconds, 1_000)
    is_later = pc.greater(pc.multiply(towards_1970, 1_000), nanoseconds)
    return pc.subtract(towards_1970, is_later.cast(pa.int64())).view(pa.timestamp("us"))


def _keeps_values(held: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a checked cast keeps what values mean: what Delta calls a wider type, and other forms of one type.

    Arrow would also make truths, days and numbers of what is none, and infinities of large doubles.
    """
    if pa.types.is_null(held):
        return True
    if pa.types.is_integer(held):
        kinds = (pa.types.is_integer, pa.types.is_float64, pa.types.is_decimal)
        return any(is_kind(wanted) for is_kind in kinds)
    if pa.types.is_floating(held):
        return bool(pa.types.is_floating(wanted)) and held.bit_width <= wanted.bit_width
    if pa.types.is_decimal(held):
        return bool(pa.types.is_decimal(wanted))
    if pa.types.is_date(held):
        return bool(pa.types.is_date(wanted)) or (pa.types.is_timestamp(wanted) and wanted.tz is None)
    return _is_bytes(held) and _is_bytes(wanted)


def _is_bytes(kind: pa.DataType) -> bool:
    """Whether values are texts or bytes, which Parquet tells apart by a note that not every writer makes."""
    kinds = (
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_fixed_size_binary,
        pa.types.is_binary_view,
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_string_view,
    )
    return any(is_kind(kind) for is_kind in kinds)
