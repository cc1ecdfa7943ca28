"""Which result groups a sample may have missed, and how large a group of few rows may be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyqbeast.approximate.estimate.quantiles import mean_at_most
from pyqbeast.approximate.estimate.state import FloatArray, State


class Unread(NamedTuple):
    """Where groups may lie that are not in the list.

    Attributes:
        rows: of the files that can hold such a group; 0 if no file can.
        all_rows: of all files of the query. The rows of the query can be more, where it holds a join.
        key_rows: of the most frequent key; None where it is not known.
        between: the smallest and the largest value in those files, by group column, as far as they tell.
    """

    rows: float
    all_rows: float
    key_rows: float | None
    between: Mapping[str, tuple[Any, Any]]


@dataclass(frozen=True)
class Completeness:
    """What may be missing from a list of groups.

    Attributes:
        complete: whether every group is in the list: all rows were read, or those files that could hold another
            group.
        unseen_share: about this share of all rows is in groups that are not in the list (Good-Turing: the
            share of the rows read whose group was seen through a single key).
        most_keys: with the confidence of the answer, none of all missing groups has more distinct keys.
        most_rows: nor more rows; None where it is not known how many rows a key has.
        between: for each column of the groups whose files tell, the values between which those of a missing group lie.
    """

    complete: bool
    unseen_share: float = 0.0
    most_keys: float = 0.0
    most_rows: float | None = 0.0
    between: Mapping[str, tuple[Any, Any]] = field(default_factory=dict, hash=False)


def missed_keys(fraction: float | FloatArray, probability: float) -> FloatArray:
    """The number of keys such that a sample of the fraction contains one of them with this probability."""
    with np.errstate(divide="ignore"):
        return np.asarray(math.log(1 - probability) / np.log1p(-np.minimum(fraction, 1.0)))


def most_missing_keys(fraction: float, rows: float, confidence: float) -> float:
    """How many keys none of the missing groups exceeds, all of them together.

    A group of m keys is missed with (1 - f)^m, and of so many rows at most rows / m groups can be made. A key can have
    rows in several groups. So this is the smallest m with rows / m (1 - f)^m <= 1 - confidence (Bonferroni), found by
    bisection.
    """
    low, high = 0.0, max(rows, 1.0)
    for _ in range(100):
        middle = (low + high) / 2
        missed = math.log(rows / middle) + middle * math.log1p(-fraction) if middle > 0 else math.inf
        low, high = (low, middle) if missed <= math.log(1 - confidence) else (middle, high)
    return float(math.ceil(high))


def completeness(state: State, fraction: float, confidence: float, unread: Unread) -> Completeness:
    """Which groups may be missing from a state of a sample of this fraction.

    Args:
        state: of the sample.
        fraction: of the rows, below 1.
        confidence: with which no missing group is larger than is said.
        unread: where such groups can be.
    """
    if unread.rows == 0:
        return Completeness(complete=True)
    counts = state.sums[..., 0]
    rows = float(counts.sum())
    all_rows = max(_most_rows(counts, fraction, confidence), unread.all_rows)
    most_keys = min(most_missing_keys(fraction, all_rows, confidence), unread.rows)
    most_rows = None if unread.key_rows is None else min(most_keys * unread.key_rows, unread.rows)
    single = _seen_once(state)
    return Completeness(
        complete=False,
        unseen_share=float(counts[single].sum()) / rows if rows else 1.0,
        most_keys=most_keys,
        most_rows=most_rows,
        between=unread.between,
    )


def groups_at(state: State, fraction: float, larger: float) -> float:
    """About how many groups a sample of a larger fraction has, or fewer.

    As many rows again show at most as many new groups as have a single key in the sample (Good and Toulmin 1956).
    """
    return float(len(state.groups) + _seen_once(state).sum() * max(0.0, larger / fraction - 1))


def _seen_once(state: State) -> NDArray[np.bool_]:
    """Which groups [group] were seen through a single key: a key lies in one bucket."""
    return np.asarray(np.count_nonzero(state.sums[..., 0], axis=1) == 1)


def rows_at_most(state: State, fraction: FloatArray, confidence: float, key_rows: float | None) -> FloatArray:
    """An upper bound of the rows of each group [group], for groups of few keys as well.

    The keys in a sample are nearly a Poisson count. Keys of different sizes say as much as fewer keys, each of (sum of
    squared rows) / (sum of rows). What few keys tell of that size may be too little, so it is at least the mean of all
    groups. Keys that were missed may be as large as the most frequent key of all.

    Args:
        state: of the sample.
        fraction: [group], of its rows; 1 where all were read.
        confidence: of each bound by itself, on both sides of the truth.
        key_rows: of the most frequent key; None where it is not known. Nothing bounds the rows of a group then.
    """
    rows = state.sums[..., 0].sum(axis=1)
    if key_rows is None:
        return np.asarray(np.where(fraction >= 1, rows, np.inf))
    size = _key_size(state.sums[..., 0])
    size = np.minimum(np.maximum(size, np.mean(size)) if len(size) else size, key_rows)
    one_sided = (1 + confidence) / 2
    larger = missed_keys(fraction, one_sided) * (key_rows - size)
    return np.asarray(np.where(fraction >= 1, rows, _as_many(rows, size, fraction, one_sided) + larger))


def _most_rows(counts: FloatArray, fraction: float, confidence: float) -> float:
    """An upper bound of the rows of all groups, by those of a sample [group, bucket].

    If a join makes several rows of one, these are more than the rows of the table.
    """
    of_all = counts.sum(axis=0, keepdims=True)
    share = np.array([fraction])
    return float(_as_many(of_all.sum(axis=1), _key_size(of_all), share, confidence)[0])


def _key_size(counts: FloatArray) -> FloatArray:
    """The rows [group] of a key, as keys of one size would vary so much between buckets [group, bucket]."""
    spread = counts.shape[1] * counts.var(axis=1, ddof=1)
    return np.asarray(np.maximum(spread / np.maximum(counts.sum(axis=1), 1), 1))


def _as_many(rows: FloatArray, size: FloatArray, fraction: FloatArray, p: float) -> FloatArray:
    """The rows in all, at most, of keys of one size of which a sample has so many rows."""
    return mean_at_most(rows / size, p) * size / fraction
