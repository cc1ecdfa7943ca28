"""Lines of a commit that each add a file, read at once by Arrow.

A table may have 100,000 files, and decoding their lines one by one takes longer than all else that is done with them.
What Arrow takes for the same as `read_json` is read here, and every other line there.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pj

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.stored_text import read_json

#: Lines that are read together.
AT_ONCE = 10_000
#: From fewer lines there is nothing to gain.
_WORTH = 500
#: From how many lines of these the names and types of all are learned.
_SAMPLED = 64
_ADD, _TAGS, _VECTOR = "add", "tags", "deletionVector"
#: Types whose values are what JSON says. Doubles are none of them: Arrow takes NaN for a number.
_EXACT = (pa.string(), pa.int64(), pa.bool_())
#: What is read of a file, and the types that it has to have.
_FIELDS = {"path": pa.string(), "size": pa.int64(), "stats": pa.string()}


def adds_in_bulk(lines: Sequence[bytes]) -> list[dict[str, Any]] | None:
    """The actions of lines that are all of added files with the same names and types; None for all other lines.

    An action has of its file what is read of it: path, size, deletion vector, statistics and tags.
    """
    if len(lines) < _WORTH or not all(map(_is_object, lines)):
        return None
    try:
        adds = _read(lines)
        return None if adds is None else _actions(adds)
    # Arrow refuses a name that an object has twice, as `read_json` does. A text may be no UTF-8.
    except (FormatError, pa.ArrowException, UnicodeError):
        return None


def _is_object(line: bytes) -> bool:
    """Whether a line is an object, if Arrow finds as many values as there are lines.

    No text goes on in the next line. So where each line begins and ends like an object, no object does either.
    """
    return line.startswith(b"{") and line.endswith((b"}\n", b"}"))


def _read(lines: Sequence[bytes]) -> pa.StructArray | None:
    joined, sample = b"".join(lines), lines[:: -(-len(lines) // _SAMPLED)]
    joined.decode()
    # Arrow does not look how deep lists and objects are.
    for line in sample:
        read_json(line, "a line")
    schema = pj.read_json(io.BytesIO(b"\n".join(sample))).schema
    if schema.names != [_ADD] or not pa.types.is_struct(schema.field(_ADD).type):
        return None
    schema = pa.schema([_as_text(field) for field in schema])
    if not _is_exact(schema.field(_ADD).type):
        return None
    # With a schema, other names and types end the reading.
    read = pj.read_json(
        io.BytesIO(joined), parse_options=pj.ParseOptions(schema, unexpected_field_behavior="error")
    )
    adds = read[_ADD].combine_chunks()
    return adds if len(adds) == len(lines) and not adds.null_count else None


def _as_text(field: pa.Field) -> pa.Field:
    """A field as it was found. What looks like a time is the text that it is, and so is what no sampled line has."""
    kind = field.type
    if pa.types.is_struct(kind):
        return pa.field(field.name, pa.struct([_as_text(inner) for inner in kind]))
    is_text = pa.types.is_timestamp(kind) or pa.types.is_null(kind)
    return pa.field(field.name, pa.string()) if is_text else field


def _is_exact(kind: pa.DataType) -> bool:
    """Whether a type is made of exact ones."""
    if pa.types.is_struct(kind):
        return all(_is_exact(field.type) for field in kind)
    return kind in _EXACT


def _actions(adds: pa.StructArray) -> list[dict[str, Any]] | None:
    held = {field.name: values for field, values in zip(adds.type, adds.flatten(), strict=True)}
    if any(name not in held or held[name].type != kind for name, kind in _FIELDS.items()):
        return None
    tags = held.get(_TAGS)
    if tags is None or not pa.types.is_struct(tags.type) or {f.type for f in tags.type} != {pa.string()}:
        return None
    vectors = held[_VECTOR].to_pylist() if _VECTOR in held else [None] * len(adds)
    names = [field.name for field in tags.type]
    columns = [_listed(values) for values in tags.flatten()]
    rows = zip(*(_listed(held[name]) for name in _FIELDS), vectors, zip(*columns, strict=True), strict=True)
    return [
        {
            _ADD: {
                "path": path,
                "size": size,
                "stats": stats,
                _VECTOR: vector,
                _TAGS: dict(zip(names, texts, strict=True)),
            }
        }
        for path, size, stats, vector, texts in rows
    ]


def _listed(values: pa.Array) -> list[Any]:
    """What `to_pylist` gives, several times as fast. `to_numpy` would import pandas."""
    if values.null_count or values.offset:
        return list(values.to_pylist())
    if pa.types.is_int64(values.type):
        numbers: list[int] = np.frombuffer(values.buffers()[1], np.int64, len(values)).tolist()
        return numbers
    _, offsets, data = values.buffers()
    text = data.to_pybytes().decode() if data else ""
    if not text.isascii():
        return list(values.to_pylist())
    ends: list[int] = np.frombuffer(offsets, np.int32, len(values) + 1).tolist()
    return [text[start:end] for start, end in pairwise(ends)]
