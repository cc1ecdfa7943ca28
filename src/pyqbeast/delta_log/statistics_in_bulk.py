"""The rules of `file_checks.check_statistics`, looked at for all files of a table at once.

A table may have 100,000 files, and decoding the statistics of each in Python takes longer than all other checks.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.core.format.statistics_keys import MAX_VALUES, MIN_VALUES, NULL_COUNT, NUM_RECORDS
from pyqbeast.core.format.stored_text import may_hold_long_number
from pyqbeast.delta_log.json_in_bulk import AT_ONCE, Lines, read_alike


def _constant(kind: pa.DataType, stored: bytes) -> pa.Scalar:
    """A number for Arrow to compare with. `pa.scalar` imports pandas, which takes longer than all checks."""
    return pa.Array.from_buffers(kind, 1, [None, pa.py_buffer(stored)])[0]


_ZERO = _constant(pa.int64(), struct.pack("<q", 0))
#: Doubles from here on do not tell neighbouring whole numbers apart.
_INEXACT = _constant(pa.float64(), struct.pack("<d", 2.0**53))


def in_order(texts: Sequence[str | None]) -> list[bool]:
    """Which statistics certainly keep the rules. Of all others nothing is known: one that is damaged or looks unlike
    its neighbours keeps Arrow from reading these.
    """
    found = [False] * len(texts)
    for positions, _ in tables_in_order(texts):
        for at in positions:
            found[at] = True
    return found


def tables_in_order(texts: Sequence[str | None]) -> Iterator[tuple[list[int], pa.Table]]:
    """The statistics that certainly keep the rules: positions of texts, and a table with a row for each of them."""
    usual = [
        (at, text)
        for at, text in enumerate(texts)
        if text is not None and text.startswith("{") and text.endswith("}")
    ]
    for start in range(0, len(usual), AT_ONCE):
        part = usual[start : start + AT_ONCE]
        decoded = _decoded([text for _, text in part])
        if decoded is not None:
            keeps = _keep_the_rules(decoded)
            yield (
                [at for (at, _), keep in zip(part, keeps, strict=True) if keep],
                decoded.filter(pa.array(keeps)),
            )


def _decoded(texts: Sequence[str]) -> pa.Table | None:
    """The texts as rows of a table; None where they are no JSON or differ in their names and types."""
    joined = "\n".join(texts)
    if joined.count("\n") >= len(texts) or "\r" in joined or may_hold_long_number(joined):
        return None
    try:
        return read_alike(Lines.of(joined.encode()))
    # A text with half of a character is no UTF-8.
    except UnicodeEncodeError:
        return None


def _keep_the_rules(decoded: pa.Table) -> list[bool]:
    if NUM_RECORDS not in decoded.column_names or not pa.types.is_int64(decoded[NUM_RECORDS].type):
        return [False] * len(decoded)
    rows = decoded[NUM_RECORDS]
    parts = {
        name: dict(_leaves(decoded[name])) if name in decoded.column_names else {}
        for name in (MIN_VALUES, MAX_VALUES, NULL_COUNT)
    }
    rules = [pc.and_kleene(pc.greater_equal(rows, _ZERO), pc.is_valid(rows))]
    for path, nulls in parts[NULL_COUNT].items():
        if not pa.types.is_int64(nulls.type):
            return [False] * len(decoded)
        rules.append(pc.and_(pc.greater_equal(nulls, _ZERO), pc.less_equal(nulls, rows)))
        bounds = (parts[name].get(path) for name in (MIN_VALUES, MAX_VALUES))
        rules += [
            pc.or_(pc.is_null(bound), pc.not_equal(nulls, rows)) for bound in bounds if bound is not None
        ]
    for path, low in parts[MIN_VALUES].items():
        high = parts[MAX_VALUES].get(path)
        if high is not None and low.type == high.type and _is_number(low.type):
            rules.append(pc.less_equal(low, high))
        elif high is not None and (_is_number(low.type) or _is_number(high.type)):
            return [False] * len(decoded)
    doubles = [
        values
        for name in decoded.column_names
        for _, values in _leaves(decoded[name])
        if _is_double(values.type)
    ]
    rules += [pc.less(pc.abs(values), _INEXACT) for values in doubles]
    keeps = rules[0]
    for rule in rules[1:]:
        keeps = pc.and_(keeps, pc.or_kleene(rule, pc.is_null(rule)))
    kept: list[bool] = keeps.to_pylist()
    return kept


def _leaves(
    values: pa.ChunkedArray, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], pa.ChunkedArray]]:
    if not pa.types.is_struct(values.type):
        yield path, values
        return
    for at, field in enumerate(values.type):
        yield from _leaves(pc.struct_field(values, [at]), (*path, field.name))


def _is_double(kind: pa.DataType) -> bool:
    return bool(pa.types.is_float64(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_int64(kind)) or _is_double(kind)
