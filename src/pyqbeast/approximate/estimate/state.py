"""What is kept of the rows read so far: sums per group and bucket, which add up from step to step.

A row's bucket is a hash of its weight (which is the hash of its hashed columns), so rows that share a weight
share a bucket: the buckets are random groups of whole clusters, and their spread is an honest variance.
A key lies in exactly one step, because a step is a range of weights.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyqbeast.core.errors import UnsupportedError

FloatArray: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Group: TypeAlias = tuple[Hashable, ...]

#: One object stands for every NaN in a group's key. NaN is not equal to itself, but a dict finds the same
#: object by identity.
_NAN = float("nan")

#: The buckets that rows are put into where there are few groups; see `bucket_count`.
MOST_BUCKETS = 128
#: The buckets of all rows, whose spread nobody asks for: the fewest that Student's t is computed for.
BUCKETS_OF_ALL = 4


class Moment(NamedTuple):
    """A partial aggregate: prod((column - centre) ** power), summed over the rows where every column is set.

    Without columns it counts rows; with all powers 0 it counts the rows where every column is set. With
    `at_most` = (p, j) only rows count whose column is at most entry j of their group's grid for percentile p. If it is
    `distinct`, rows with equal columns count once; they have one weight, and so are in one bucket and one step.
    """

    columns: tuple[str, ...] = ()
    powers: tuple[int, ...] = ()
    at_most: tuple[float, int] | None = None
    distinct: bool = False


ROWS = Moment()


@dataclass(frozen=True)
class StateAxes:
    """The meaning of a state's axes.

    Attributes:
        moments: the sums, `ROWS` first.
        columns: the columns whose smallest and largest value are kept.
        buckets: how many buckets; a power of two, the bucket is the low bits of the hash.
        centres: what is subtracted from a column before it is squared or summed (0 where absent): without it,
            a variance far smaller than the mean would cancel.
    """

    moments: tuple[Moment, ...]
    columns: tuple[str, ...]
    buckets: int = MOST_BUCKETS
    centres: Mapping[str, float] = field(default_factory=dict)

    def centres_of(self, columns: Sequence[str]) -> FloatArray:
        """The centres of `columns`, as an array."""
        return np.array([self.centres.get(column, 0.0) for column in columns], dtype=np.float64)


@dataclass(frozen=True)
class State:
    """Sums and extremes of the rows read.

    Attributes:
        axes: the meaning of the axes.
        groups: the keys of the result groups; `((),)` where the query has no groups.
        sums: [group, bucket, moment].
        spans: [group, bucket, column, 2], smallest and largest value; NaN is the largest, as in Spark, and so the
            smallest of NaN alone. NaN, -inf where nothing was read.
    """

    axes: StateAxes
    groups: tuple[Group, ...]
    sums: FloatArray
    spans: FloatArray

    @classmethod
    def empty(cls, axes: StateAxes, groups: Sequence[Group] = ()) -> State:
        """No rows: what a step that returned nothing adds."""
        slots = (len(groups), axes.buckets)
        spans = np.empty((*slots, len(axes.columns), 2))
        spans[..., 0], spans[..., 1] = np.nan, -np.inf
        return cls(axes, tuple(groups), np.zeros((*slots, len(axes.moments))), spans)

    @classmethod
    def from_rows(
        cls,
        axes: StateAxes,
        groups: Sequence[Group],
        buckets: ArrayLike,
        sums: ArrayLike,
        lows: ArrayLike = (),
        highs: ArrayLike = (),
    ) -> State:
        """The state of one step, from the rows that a group-by (group, bucket) returned, in any order.

        Many groups are put into fewer buckets than the axes say, as `bucket_count` tells.

        Args:
            axes: what the columns of `sums`, `lows` and `highs` are.
            groups: [row] group keys.
            buckets: [row] from 0 to `axes.buckets` - 1.
            sums: [row, moment]; 0 for the sum of no values, where SQL says NULL.
            lows: [row, column] smallest values, NaN where there are none.
            highs: [row, column] largest values, -inf where there are none.
        """
        index_of: dict[Group, int] = {}
        at = np.array(
            [index_of.setdefault(group_key(group), len(index_of)) for group in groups], dtype=np.intp
        )
        slot = np.asarray(buckets, dtype=np.intp)
        axes = replace(axes, buckets=bucket_count(len(index_of), axes.buckets))
        slot = slot & (axes.buckets - 1)
        state = cls.empty(axes, tuple(index_of))
        values = np.asarray(sums, dtype=np.float64).reshape(len(at), len(axes.moments))
        with np.errstate(over="ignore", invalid="ignore"):
            np.add.at(state.sums, (at, slot), values)
        shape = (len(at), len(axes.columns))
        np.fmin.at(state.spans[..., 0], (at, slot), np.asarray(lows, dtype=np.float64).reshape(shape))
        np.maximum.at(state.spans[..., 1], (at, slot), np.asarray(highs, dtype=np.float64).reshape(shape))
        return state

    def index(self, moments: Sequence[Moment]) -> list[int]:
        """Where `moments` lie on the last axis of `sums`."""
        return [self.axes.moments.index(moment) for moment in moments]

    def span(self, columns: Sequence[str]) -> FloatArray:
        """[group, column, 2]: smallest and largest value of all rows read."""
        at = [self.axes.columns.index(column) for column in columns]
        part = self.spans[:, :, at]
        return np.stack([np.fmin.reduce(part[..., 0], axis=1), part[..., 1].max(axis=1)], axis=-1)


def merge(left: State, right: State) -> State:
    """The state of the rows of both; associative and commutative up to rounding and the order of groups.

    It has the buckets of the one that has fewer.
    """
    buckets = min(left.axes.buckets, right.axes.buckets)
    left, right = fold(left, buckets), fold(right, buckets)
    assert left.axes == right.axes
    index_of = {group: at for at, group in enumerate(dict.fromkeys(left.groups + right.groups))}
    out = State.empty(left.axes, tuple(index_of))
    for part in (left, right):
        at = np.array([index_of[group] for group in part.groups], dtype=np.intp)
        with np.errstate(over="ignore", invalid="ignore"):
            out.sums[at] += part.sums
        out.spans[at, ..., 0] = np.fmin(out.spans[at, ..., 0], part.spans[..., 0])
        out.spans[at, ..., 1] = np.maximum(out.spans[at, ..., 1], part.spans[..., 1])
    return out


def without(state: State, groups: AbstractSet[Group]) -> State:
    """The state without some groups."""
    kept = [at for at, group in enumerate(state.groups) if group not in groups]
    return State(state.axes, tuple(state.groups[at] for at in kept), state.sums[kept], state.spans[kept])


def bucket_count(groups: int, most: int = MOST_BUCKETS) -> int:
    """How many buckets to use for so many result groups: fewer where the state would grow too large.

    Rows that are in `most` buckets can be folded into fewer, and not into more.
    """
    return min(most, MOST_BUCKETS if groups <= 2_000 else 64 if groups <= 8_000 else 32)


def fold(state: State, buckets: int) -> State:
    """The same rows in fewer buckets (a power of two): low bits stay low bits."""
    if buckets == state.axes.buckets:
        return state
    ratio = state.axes.buckets // buckets

    def folded(values: FloatArray, add: np.ufunc) -> FloatArray:
        # NumPy warns of infinities of both signs, whose sum is NaN, and of sums that doubles do not hold.
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(
                add.reduce(values.reshape(len(values), ratio, buckets, *values.shape[2:]), axis=1)
            )

    lows, highs = (folded(state.spans[..., i], add) for i, add in enumerate((np.fmin, np.maximum)))
    axes = replace(state.axes, buckets=buckets)
    return State(axes, state.groups, folded(state.sums, np.add), np.stack([lows, highs], axis=-1))


def group_values(column: Any, name: str, instead: str) -> list[Any]:  # noqa: ANN401 (any array of Arrow)
    """The values of a column by which rows are grouped.

    Args:
        column: of the groups.
        name: what it is called.
        instead: what a user can do about values that Python does not know.

    Raises:
        UnsupportedError: Python knows no such value: a day before the year 1 or after 9999, a text that is no UTF-8.
    """
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError) as error:
        raise UnsupportedError(
            f"this query cannot be estimated: a value of the group {name} is none in Python ({error}); {instead}"
        ) from error


def group_key(group: Group) -> Group:
    """A group as the states know it: every NaN in it is one object, so that equal groups are equal keys."""
    return tuple(_NAN if isinstance(part, float) and math.isnan(part) else part for part in group)
