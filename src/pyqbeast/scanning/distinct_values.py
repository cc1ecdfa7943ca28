"""Different combinations of values, as Spark tells them apart: both zeros are one value, and so are all NaN."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pyqbeast.scanning.arrays import index_array, mask_of, numbers_of


class DistinctValues:
    """The distinct values of some columns in each of some places, from rows that come part by part."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self._places: list[NDArray[np.int64]] = []
        self._values: list[list[pa.Array]] = [[] for _ in columns]

    def add(self, place: NDArray[np.int64], rows: Mapping[str, pa.Array]) -> None:
        """Takes a part of the rows: the place of each, and columns by name. A row with a null counts nowhere."""
        is_set = np.ones(len(place), dtype=bool)
        for column in self._columns:
            is_set &= mask_of(rows[column].is_valid())
        kept = np.flatnonzero(is_set)
        values = [in_one_form(rows[column].take(index_array(kept))) for column in self._columns]
        first, _ = numbered(values, place[kept])
        self._places.append(place[kept][first])
        for of_column, part in zip(self._values, values, strict=True):
            of_column.append(_with_room(part.take(index_array(first))))

    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The places that have some, and how many."""
        if not self._places:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        place = np.concatenate(self._places)
        first, _ = numbered([pa.concat_arrays(parts) for parts in self._values], place)
        return np.unique(place[first], return_counts=True)


def numbered(
    columns: Sequence[pa.Array], among: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first row of each combination of values, and for each row the number of its combination.

    Args:
        columns: of all rows.
        among: a number of each row; rows of different numbers have different combinations.
    """
    _, first, number = np.unique(among, return_index=True, return_inverse=True)
    for column in columns:
        encoded = pc.dictionary_encode(column, null_encoding="encode")
        codes = numbers_of(encoded.indices, np.int32)
        # The combinations are numbered anew after each column, so that no number gets too large.
        _, first, number = np.unique(
            number * max(len(encoded.dictionary), 1) + codes, return_index=True, return_inverse=True
        )
    return first, number


def _with_room(values: pa.Array) -> pa.Array:
    """The same values, of a type that has room for any number of them: others hold 2 GiB of texts or bytes in all."""
    if pa.types.is_string(values.type):
        return values.cast(pa.large_string())
    return values.cast(pa.large_binary()) if pa.types.is_binary(values.type) else values


def in_one_form(values: pa.Array) -> pa.Array:
    """The same values, with -0.0 as 0.0 and one NaN for those of all bits, which dictionaries tell apart."""
    if not pa.types.is_floating(values.type):
        return values
    nan = pa.scalar(math.nan, values.type)
    return pc.if_else(pc.is_nan(values), nan, pc.add(values, pa.scalar(0.0, values.type)))
