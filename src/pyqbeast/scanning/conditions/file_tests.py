"""Conditions on files: whether a file may hold a row that meets a condition, by the bounds of its columns.

Each test looks at all files at once. It gives an array of booleans, one a file: false where no row meets the condition,
null where nothing is known.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.scanning.conditions.file_bounds import BoundsOfFiles

FileTest = Callable[[BoundsOfFiles], pa.BooleanArray]
# A test is a function with some arguments filled in: processes hand scans to each other, which a closure forbids.


def both(one: FileTest, other: FileTest) -> FileTest:
    """Two conditions at once."""
    return partial(_both, one, other)


def either(one: FileTest, other: FileTest) -> FileTest:
    """One of two conditions."""
    return partial(_either, one, other)


def may_compare(column: str, sign: str, value: pa.Scalar) -> FileTest:
    """A column compared with a value of its type by `=`, `!=`, `<`, `<=`, `>` or `>=`."""
    return partial(_compare, column, sign, value)


def may_be_among(column: str, values: pa.Array, *, negated: bool) -> FileTest:
    """A column that has one of some values of its type; where `negated`, one that is none of them."""
    return partial(_be_among, column, sorted(values.to_pylist()), negated)


def may_be_null(column: str) -> FileTest:
    """A column that is null."""
    return partial(_be_null, column)


def may_be_valid(column: str) -> FileTest:
    """A column that is not null."""
    return partial(_be_valid, column)


def may_meet(condition: pc.Expression) -> FileTest:
    """An expression that only pyarrow understands, which looks at each file by itself."""
    return partial(_meet, condition)


def _both(one: FileTest, other: FileTest, bounds: BoundsOfFiles) -> pa.BooleanArray:
    return pc.and_kleene(one(bounds), other(bounds))


def _either(one: FileTest, other: FileTest, bounds: BoundsOfFiles) -> pa.BooleanArray:
    return pc.or_kleene(one(bounds), other(bounds))


def _compare(column: str, sign: str, value: pa.Scalar, bounds: BoundsOfFiles) -> pa.BooleanArray:
    low, high = bounds.columns[column].low, bounds.columns[column].high
    if sign in ("<", "<="):
        found = pc.less(low, value) if sign == "<" else pc.less_equal(low, value)
    elif sign in (">", ">="):
        found = pc.greater(high, value) if sign == ">" else pc.greater_equal(high, value)
    elif sign == "=":
        found = pc.and_(pc.less_equal(low, value), pc.greater_equal(high, value))
    else:
        found = pc.invert(pc.and_(pc.equal(low, value), pc.equal(high, value)))
    return pc.and_kleene(found, _be_valid(column, bounds))


def _be_among(column: str, ordered: Sequence[Any], negated: bool, bounds: BoundsOfFiles) -> pa.BooleanArray:
    def may(low: object, high: object) -> bool | None:
        if low is None:
            return None
        first, last = bisect_left(ordered, low), bisect_right(ordered, high)
        return low != high or first == last if negated else first < last

    known = bounds.columns[column]
    ends = zip(known.low.to_pylist(), known.high.to_pylist(), strict=True)
    found = pa.array([may(low, high) for low, high in ends], pa.bool_())
    return pc.and_kleene(found, _be_valid(column, bounds))


def _be_null(column: str, bounds: BoundsOfFiles) -> pa.BooleanArray:
    return bounds.columns[column].nulls


def _be_valid(column: str, bounds: BoundsOfFiles) -> pa.BooleanArray:
    return pc.invert(bounds.columns[column].only_nulls)


def _meet(condition: pc.Expression, bounds: BoundsOfFiles) -> pa.BooleanArray:
    from pyarrow import dataset as ds  # brings pandas along
    from pyarrow import fs as pafs

    kind, nowhere = ds.ParquetFileFormat(), pafs.LocalFileSystem()
    fragments = [
        kind.make_fragment(str(number), nowhere, partition_expression=known)
        for number, known in enumerate(bounds.guarantees())
    ]
    left = ds.FileSystemDataset(fragments, bounds.schema, kind, nowhere).get_fragments(filter=condition)
    kept = {int(fragment.path) for fragment in left}
    return pa.array([number in kept for number in range(bounds.count)], pa.bool_())
