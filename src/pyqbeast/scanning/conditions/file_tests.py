"""Conditions on files: whether a file may hold a row that meets a condition, by the bounds of its columns.

Each test looks at all files at once. It gives an array of booleans, one a file: false where no row meets the condition,
null where nothing is known.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from itertools import combinations
from operator import and_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.scanning.conditions.file_bounds import BoundsOfFiles

FileTest = Callable[[BoundsOfFiles], pa.BooleanArray]
#: Of how many columns it is worth looking which of them may be NaN at once.
_MOST_FLOATS = 4
# A test is a function with some arguments filled in: processes hand scans to each other, which a closure forbids.


def all_of(one: FileTest, other: FileTest) -> FileTest:
    """Two conditions at once."""
    return partial(_all, (*_parts(one, _all), *_parts(other, _all)))


def any_of(one: FileTest, other: FileTest) -> FileTest:
    """One of two conditions."""
    return partial(_any, (*_parts(one, _any), *_parts(other, _any)))


def _parts(test: FileTest, joint: Callable[..., pa.BooleanArray]) -> tuple[FileTest, ...]:
    """Those that a test joins in the same way, or itself: a long text would nest them deeper than Python goes."""
    return test.args[0] if isinstance(test, partial) and test.func is joint else (test,)


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


def may_be_anywhere(bounds: BoundsOfFiles) -> pa.BooleanArray:
    """An expression of which bounds tell nothing."""
    return pa.nulls(bounds.count, pa.bool_())


def cases_of_nan(
    condition: pc.Expression, floats: Mapping[tuple[str, ...], pa.DataType], schema: pa.Schema
) -> list[pc.Expression] | None:
    """The ways in which some floats, named by paths, are NaN while an expression may be true.

    None for too many floats, and where the expression fails for a NaN.
    """
    if len(floats) > _MOST_FLOATS:
        return None
    are_nan = [pc.field(*path) == pa.scalar(math.nan, kind) for path, kind in floats.items()]
    cases = [
        reduce(and_, chosen)
        for count in range(1, len(are_nan) + 1)
        for chosen in combinations(are_nan, count)
    ]
    try:
        return [cases[number] for number in sorted(_kept(condition, cases, schema))] if cases else []
    except pa.ArrowException:
        return None


def _all(tests: Sequence[FileTest], bounds: BoundsOfFiles) -> pa.BooleanArray:
    return reduce(pc.and_kleene, (test(bounds) for test in tests))


def _any(tests: Sequence[FileTest], bounds: BoundsOfFiles) -> pa.BooleanArray:
    return reduce(pc.or_kleene, (test(bounds) for test in tests))


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
    try:
        kept = _kept(condition, bounds.guarantees(), bounds.schema)
    except pa.ArrowException:
        return may_be_anywhere(bounds)  # where it fails for a bound, it may fail for a row, or for none
    return pa.array([number in kept for number in range(bounds.count)], pa.bool_())


def _kept(condition: pc.Expression, guarantees: Sequence[pc.Expression], schema: pa.Schema) -> set[int]:
    """Where an expression may be true of rows of which another one is surely true, by the places of these."""
    from pyarrow import dataset as ds  # brings pandas along
    from pyarrow import fs as pafs

    kind, nowhere = ds.ParquetFileFormat(), pafs.LocalFileSystem()
    fragments = [
        kind.make_fragment(str(number), nowhere, partition_expression=known)
        for number, known in enumerate(guarantees)
    ]
    left = ds.FileSystemDataset(fragments, schema, kind, nowhere).get_fragments(filter=condition)
    return {int(fragment.path) for fragment in left}
