"""What groups are sorted by, for `ORDER BY … LIMIT` and for what is shown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pyqbeast.approximate.estimate.combination import Requested
from pyqbeast.approximate.estimate.estimates import Estimates, is_null
from pyqbeast.approximate.estimate.rounding import Rounding, as_shown
from pyqbeast.approximate.estimate.state import Mask, State


class SortedBy(NamedTuple):
    """What groups are sorted by.

    Attributes:
        by: an estimate, or the number of one of the columns that name a group.
        ascending, nulls_first: how.
        rounding: an estimate is rounded so, see `as_shown`.
    """

    by: Requested | int
    ascending: bool = True
    nulls_first: bool = True
    rounding: Rounding = None


class SortKey(NamedTuple):
    """The values of all groups by which they are sorted.

    Attributes:
        values: [group], None for null.
        ascending, nulls_first: how.
    """

    values: Sequence[Any]
    ascending: bool
    nulls_first: bool


def sort_key(order: SortedBy, state: State, estimates: Mapping[Requested, Estimates]) -> SortKey:
    """What groups are sorted by, as values."""
    by, ascending, nulls_first, rounding = order
    if isinstance(by, int):
        return SortKey([group[by] for group in state.groups], ascending, nulls_first)
    return SortKey(estimated_values(state, estimates[by], rounding), ascending, nulls_first)


def estimated_values(state: State, estimates: Estimates, rounding: Rounding = None) -> list[float | None]:
    """The estimate of each group [group], rounded, as a value to sort by; None where it is null."""
    values, nulls = as_shown(estimates.value, rounding).tolist(), is_null(state, estimates).tolist()
    return [None if null else value for value, null in zip(values, nulls, strict=True)]


def sorted_groups(keys: Sequence[SortKey], kept: Mask) -> list[int]:
    """The numbers of the kept groups [group], sorted by the first key, then by the second, and so on."""
    groups: list[int] = np.flatnonzero(kept).tolist()
    # The sort is stable, so that the last key comes first.
    for values, ascending, nulls_first in reversed(keys):
        nulls = [group for group in groups if values[group] is None]
        others = [group for group in groups if values[group] is not None]
        others.sort(key=lambda group, of=values: _sortable(of[group]), reverse=not ascending)  # type: ignore[misc]
        groups = nulls + others if nulls_first else others + nulls
    return groups


def _sortable(value: Any) -> tuple[bool, Any]:  # noqa: ANN401 (a value of a row)
    is_nan = isinstance(value, float) and math.isnan(value)
    # NaN is the largest number, as in Spark.
    return is_nan, 0.0 if is_nan else value
