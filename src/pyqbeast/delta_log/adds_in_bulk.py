"""Lines of a commit that each add a file, read at once by Arrow.

A table may have 100,000 files, and decoding their lines one by one takes twice as long.
What Arrow takes for the same as `read_json` is read here, and every other line there.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from pyqbeast.core.errors import FormatError
from pyqbeast.delta_log.descriptor import DeletionVectorDescriptor
from pyqbeast.delta_log.json_in_bulk import Lines, listed, read_alike
from pyqbeast.delta_log.live_file import LiveFile, rows_told_first

#: From fewer lines there is nothing to gain.
_WORTH = 500
_ADD, _TAGS, _VECTOR = "add", "tags", "deletionVector"
#: Types whose values are what JSON says. Doubles are none of them: Arrow takes NaN for a number.
_EXACT = (pa.string(), pa.int64(), pa.bool_(), pa.null())
#: Those of tags. A name that is null in each line has no other type.
_OF_TAGS = {pa.string(), pa.null()}
#: What is read of a file, and the types that it has to have.
_FIELDS = {"path": pa.string(), "size": pa.int64(), "stats": pa.string()}


def adds_in_bulk(lines: Lines) -> list[LiveFile] | None:
    """The files of lines that all add one and have the same names and types; None for all other lines."""
    if lines.count < _WORTH or not lines.are_braced():
        return None
    try:
        # Arrow reads bytes that are no UTF-8.
        lines.text.decode()
        rows = read_alike(lines)
        if rows is None or rows.column_names != [_ADD]:
            return None
        adds = rows[_ADD].combine_chunks()
        is_read = pa.types.is_struct(adds.type) and _is_exact(adds.type) and not adds.null_count
        return _files(adds) if is_read else None
    # Half of a character, written with a backslash, is no UTF-8 either.
    except (FormatError, UnicodeError):
        return None


def _is_exact(kind: pa.DataType) -> bool:
    """Whether a type is made of exact ones."""
    if pa.types.is_struct(kind):
        return all(_is_exact(field.type) for field in kind)
    return kind in _EXACT


def _files(adds: pa.StructArray) -> list[LiveFile] | None:
    """Raises FormatError where a deletion vector is none."""
    held = {field.name: values for field, values in zip(adds.type, adds.flatten(), strict=True)}
    if any(name not in held or held[name].type != kind for name, kind in _FIELDS.items()):
        return None
    tags = held.get(_TAGS)
    if tags is None or not pa.types.is_struct(tags.type) or not {f.type for f in tags.type} <= _OF_TAGS:
        return None
    paths, told_sizes, statistics = (listed(held[name]) for name in _FIELDS)
    sizes = [size or 0 for size in told_sizes]
    rows = list(map(rows_told_first, statistics))
    are_told = all(row is not None or not text for row, text in zip(rows, statistics, strict=True))
    if held["path"].null_count or min(sizes) < 0 or not are_told:
        return None
    vectors: Iterable[DeletionVectorDescriptor | None] = [None] * len(adds)
    if _VECTOR in held:
        structs = held[_VECTOR].to_pylist()
        vectors = (
            None if struct is None else DeletionVectorDescriptor.from_struct(struct) for struct in structs
        )
    columns = (paths, vectors, rows, _tags(tags), sizes, statistics)
    return [LiveFile(*of_file) for of_file in zip(*columns, strict=True)]


def _tags(tags: pa.StructArray) -> Iterable[dict[str, str]]:
    """The tags of each file. One that is null is none."""
    names, columns = [field.name for field in tags.type], tags.flatten()
    if not names:
        return ({} for _ in range(len(tags)))
    of_files = zip(*map(listed, columns), strict=True)
    if not any(column.null_count for column in columns):
        return (dict(zip(names, texts, strict=True)) for texts in of_files)
    return ({n: text for n, text in zip(names, texts, strict=True) if text is not None} for texts in of_files)
