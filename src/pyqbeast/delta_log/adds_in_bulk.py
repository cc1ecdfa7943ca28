"""Lines of a commit that each add a file, read at once by Arrow.

A table may have 100,000 files, and decoding their lines one by one takes twice as long.
What Arrow takes for the same as `read_json` is read here, and every other line there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pyqbeast.delta_log.json_in_bulk import listed, read_alike

#: From fewer lines there is nothing to gain.
_WORTH = 500
_ADD, _TAGS, _VECTOR = "add", "tags", "deletionVector"
#: Types whose values are what JSON says. Doubles are none of them: Arrow takes NaN for a number.
_EXACT = (pa.string(), pa.int64(), pa.bool_(), pa.null())
#: Those of tags. A name that is null in each line has no other type.
_OF_TAGS = {pa.string(), pa.null()}
#: What is read of a file, and the types that it has to have.
_FIELDS = {"path": pa.string(), "size": pa.int64(), "stats": pa.string()}


def adds_in_bulk(lines: Sequence[bytes]) -> list[dict[str, Any]] | None:
    """The actions of lines that are all of added files with the same names and types; None for all other lines.

    An action has of its file what is read of it: path, size, deletion vector, statistics and tags.
    """
    if len(lines) < _WORTH or not all(map(_is_object, lines)):
        return None
    try:
        # Arrow reads bytes that are no UTF-8.
        b"".join(lines).decode()
        rows = read_alike(lines)
        if rows is None or rows.column_names != [_ADD]:
            return None
        adds = rows[_ADD].combine_chunks()
        is_read = pa.types.is_struct(adds.type) and _is_exact(adds.type) and not adds.null_count
        return _actions(adds) if is_read else None
    # Half of a character, written with a backslash, is no UTF-8 either.
    except UnicodeError:
        return None


def _is_object(line: bytes) -> bool:
    """Whether a line begins and ends like an object."""
    return line.startswith(b"{") and line.endswith((b"}\n", b"}"))


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
    if tags is None or not pa.types.is_struct(tags.type) or not {f.type for f in tags.type} <= _OF_TAGS:
        return None
    vectors = held[_VECTOR].to_pylist() if _VECTOR in held else [None] * len(adds)
    names = [field.name for field in tags.type]
    columns = [listed(values) for values in tags.flatten()]
    rows = zip(*(listed(held[name]) for name in _FIELDS), vectors, zip(*columns, strict=True), strict=True)
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
