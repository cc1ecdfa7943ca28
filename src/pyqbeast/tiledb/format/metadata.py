"""The metadata of an array: values by key, set and deleted over time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb.cursor import Bytes, Cursor, u8, u32
from pyqbeast.tiledb.datatypes import Datatype
from pyqbeast.tiledb.errors import reading

#: Text, bytes, a number or several.
Value = Any

#: tiledb-py keeps an array of numbers under the first name, and its shape under the second where it has not one axis.
_NUMBERS, _SHAPE = "__np_flat_", "__np_shape_"
#: More NumPy has not. What shows or compares tuples in tuples goes as deep as they do.
_MOST_AXES = 64


def apply_metadata(payload: Bytes, file: str, values: dict[str, Any]) -> None:
    """Set and delete what a metadata file says.

    Args:
        payload: the payload of the file's generic tile.
        file: the file, for messages.
        values: the values so far; text as `str`, bytes as `bytes`, one number as `int` or `float`, several as
            a tuple of them.
    """
    with reading(file, "array metadata"):
        cursor = Cursor(payload, file)
        while cursor.remaining:
            key = cursor.text(cursor.u32("key size"), "key")
            if cursor.u8("deleted"):
                values.pop(key, None)
                continue
            kind = Datatype.parse(cursor.u8("type"), "type")
            count = cursor.u32("number of values")
            values[key] = _value(cursor, kind, count)


def shown_metadata(values: Mapping[str, Any]) -> dict[str, Any]:
    """What `apply_metadata` has gathered, with arrays of tiledb-py under the names that it shows.

    Returns:
        an array of several axes as tuples in tuples.
    """
    shown = {key: value for key, value in values.items() if not key.startswith((_NUMBERS, _SHAPE))}
    for key, value in values.items():
        name = key.removeprefix(_NUMBERS)
        if name != key and name not in shown:
            shown[name] = _shaped(value, values.get(_SHAPE + name))
    return shown


def _shaped(value: Value, shape: Value) -> Value:
    """Numbers in the shape that is stored beside them; a single row where none is, or it does not fit."""
    if isinstance(value, str | bytes):
        return value
    row = value if isinstance(value, tuple) else (value,)
    sizes = shape if isinstance(shape, tuple) else (len(row),)
    if len(sizes) > _MOST_AXES or any(not isinstance(size, int) or size < 0 for size in sizes):
        return row
    if math.prod(sizes) != len(row):
        return row
    if not sizes:
        return row[0]
    for size in sizes[:0:-1] if row else ():
        row = tuple(row[start : start + size] for start in range(0, len(row), size))
    return row


def _value(cursor: Cursor, kind: Datatype, count: int) -> Value:
    if kind.is_text:
        return cursor.text(count, "value")
    if kind.is_bytes:
        return bytes(cursor.take(count * kind.size, "value"))
    numbers = cursor.array(kind.dtype, count, "value")
    items = (numbers != 0).tolist() if kind is Datatype.BOOL else numbers.tolist()
    return items[0] if count == 1 else tuple(items)


def metadata_bytes(values: Mapping[str, Any]) -> bytes:
    """The payload of a metadata file that sets these values (see `apply_metadata`) and deletes those of `None`.

    Raises:
        InvalidInputError: they are no mapping, a key is no text, or a value cannot be stored as it is.
    """
    if not isinstance(values, Mapping):
        raise InvalidInputError(f"metadata is a mapping of values by key, not {values!r}")
    for key in values:
        if not isinstance(key, str):
            raise InvalidInputError(f"the key of a metadata value is text, not {key!r}")
    # An array that tiledb-py has kept under this key would be read beside what is set or deleted now.
    arrays: dict[str, Any] = {prefix + key: None for key in values for prefix in (_NUMBERS, _SHAPE)}
    out = b""
    for key, value in (arrays | dict(values)).items():
        name = _utf8(key)
        out += u32(len(name)) + name
        if value is None:
            out += u8(1)
            continue
        kind, count, data = _stored(value)
        out += u8(0) + u8(kind) + u32(count) + data
    return out


def _utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"metadata {text!r} cannot be written as UTF-8: {error}") from error


def _stored(value: Value) -> tuple[Datatype, int, bytes]:
    if isinstance(value, str):
        text = _utf8(value)
        return Datatype.STRING_UTF8, len(text), text
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value)
        return Datatype.BLOB, len(data), data
    try:
        numbers = np.atleast_1d(np.asarray(value))
    except ValueError:  # of a ragged list
        numbers = np.zeros((0, 0))
    if numbers.dtype.kind not in "biuf" or numbers.ndim > 1:
        raise InvalidInputError(f"metadata is text, bytes, a number or a sequence of numbers, not {value!r}")
    if numbers.dtype.kind == "f" and not isinstance(value, (float, np.ndarray, np.generic)):
        # NumPy rounds whole numbers that no type of its own holds together.
        for given, stored in zip(value, numbers.tolist(), strict=True):
            if isinstance(given, int) and given != stored:
                raise InvalidInputError(
                    f"metadata {given} cannot be stored beside the other numbers of {value!r}"
                )
    kind = Datatype.FLOAT64 if numbers.dtype.kind == "f" else Datatype.INT64
    if numbers.dtype.kind == "u" and numbers.size and numbers.max() > np.iinfo(np.int64).max:
        kind = Datatype.UINT64
    return kind, numbers.size, numbers.astype(kind.dtype).tobytes()
