"""Columns of a table as Arrow knows them: their types, and what conditions have to know of them besides."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from pyqbeast.core.errors import InvalidInputError, UnsupportedError
from pyqbeast.core.format.hashed_layout import type_changes
from pyqbeast.core.format.names import column_named, did_you_mean
from pyqbeast.core.format.stored_text import shown

Field = Mapping[str, Any]

_ATOMIC = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}
_DECIMAL = re.compile(r"decimal\((\d{1,2}),\s*(\d{1,2})\)")
#: Where Spark notes that a text column is CHAR or VARCHAR.
_CHAR = "__CHAR_VARCHAR_TYPE_STRING"
#: Where Spark notes the collations of texts.
_COLLATIONS = "__COLLATIONS"
#: Where `arrow_field` notes that a column of doubles was one of floats.
_WAS_FLOAT = b"was float"
_CHAR_LENGTH = re.compile(r"char\((\d{1,9})\)")
_CHAR_INSIDE = re.compile(r"(?<!var)char\(")
#: Where `unpadded` notes the name of the column whose texts it is about.
UNPADDED = "texts of"


def arrow_type(stored: Any, column: str) -> pa.DataType:  # noqa: ANN401 (any JSON value)
    """The Arrow type of a type in the JSON of a schema. Raises UnsupportedError, naming the column, for others."""
    if isinstance(stored, str):
        decimal = _DECIMAL.fullmatch(stored)
        if decimal and 0 < int(decimal[1]) <= 38:
            return pa.decimal128(int(decimal[1]), int(decimal[2]))
        if stored in _ATOMIC:
            return _ATOMIC[stored]
    elif isinstance(stored, dict) and stored.get("type") == "struct":
        return pa.struct([(f["name"], arrow_type(f["type"], column)) for f in stored["fields"]])
    elif isinstance(stored, dict) and stored.get("type") == "array":
        return pa.list_(arrow_type(stored["elementType"], column))
    elif isinstance(stored, dict) and stored.get("type") == "map":
        return pa.map_(arrow_type(stored["keyType"], column), arrow_type(stored["valueType"], column))
    raise UnsupportedError(f"column {column!r} has type {shown(stored)}: a scan cannot read it; leave it out")


def column_type(field: Field) -> pa.DataType:
    """The Arrow type of a column. Raises UnsupportedError, naming it, where a scan cannot read it."""
    declared = _declared(field)
    if declared_char_length(field) is None and _CHAR_INSIDE.search(declared):
        raise UnsupportedError(
            f"column {field['name']!r} has type {declared}, where Spark pads texts as it reads them: a scan cannot; "
            "leave it out"
        )
    return arrow_type(field["type"], field["name"])


def arrow_field(field: Field) -> pa.Field:
    """A column as conditions see it: its type, how long its texts are where they are padded, whether it was float."""
    length = declared_char_length(field)
    noted = {} if length is None else {_CHAR.encode(): str(length).encode()}
    if any(change.get("fromType") == "float" for change in type_changes(field.get("metadata"))):
        noted[_WAS_FLOAT] = b"true"
    return pa.field(field["name"], column_type(field), metadata=noted)


def char_length(field: pa.Field) -> int | None:
    """How long `arrow_field` says that all texts of a column are; None for one whose texts are as they are stored."""
    length = (field.metadata or {}).get(_CHAR.encode())
    return None if length is None else int(length)


def was_float(field: pa.Field) -> bool:
    """Whether `arrow_field` says that a column of doubles was one of floats."""
    return _WAS_FLOAT in (field.metadata or {})


def may_hold_floats(field: pa.Field) -> bool:
    """Whether files may hold a column of `arrow_field` as floats (32 bits)."""
    return bool(pa.types.is_float32(field.type)) or was_float(field)


def can_be_read(field: Field) -> bool:
    """Whether the type of a column is one that Arrow has."""
    return _why_unreadable(field) is None


def _why_unreadable(field: Field) -> str | None:
    try:
        column_type(field)
    except UnsupportedError as error:
        return str(error)
    return None


def readable_columns(fields: Sequence[Field]) -> pa.Schema:
    """The columns that a scan can read, as conditions see them, with a note of why it cannot read the others."""
    others = {field["name"]: why for field in fields if (why := _why_unreadable(field)) is not None}
    return pa.schema([arrow_field(field) for field in fields if field["name"] not in others], others)


def unreadable_columns(schema: pa.Schema) -> dict[str, str]:
    """The columns that `readable_columns` has left out, and why."""
    return {name.decode(): why.decode() for name, why in (schema.metadata or {}).items()}


def column_in(schema: pa.Schema, name: Any) -> str:  # noqa: ANN401 (what a caller states)
    """The column of a schema that a name means.

    Raises InvalidInputError where there is none, and UnsupportedError where `readable_columns` has left it out.
    """
    if isinstance(name, str):
        if (found := column_named(name, schema.names)) is not None:
            return found
        others = unreadable_columns(schema)
        if (unread := column_named(name, others)) is not None:
            raise UnsupportedError(others[unread])
    raise InvalidInputError(
        f"there is no column {name!r}; there are {schema.names}{did_you_mean(name, schema.names)}"
    )


def is_collated(field: Field) -> bool:
    """Whether Spark compares texts of a column, or in it, otherwise than by their bytes."""
    return bool((field.get("metadata") or {}).get(_COLLATIONS))


def is_padded(field: Field) -> bool:
    """Whether the texts of a column get blanks at their end when they are read."""
    return declared_char_length(field) is not None


def unpadded(field: Field) -> Field:
    """A column as the weights of rows are made of it: texts as files hold them, under a name that no column has."""
    if not is_padded(field):
        return field
    metadata = {name: value for name, value in field["metadata"].items() if name != _CHAR}
    return {**field, "name": "\0" + field["name"], "metadata": {**metadata, UNPADDED: field["name"]}}


def declared_char_length(field: Field) -> int | None:
    """How long all texts of a column in the JSON of a schema are; None for one whose texts are as they are stored."""
    length = _CHAR_LENGTH.fullmatch(_declared(field))
    return int(length[1]) if length else None


def _declared(field: Field) -> str:
    """The type of a column as its table was declared, if there is CHAR or VARCHAR in it; else empty."""
    return str((field.get("metadata") or {}).get(_CHAR, ""))
