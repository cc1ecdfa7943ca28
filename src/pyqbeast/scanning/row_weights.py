"""The weights of rows: Spark's hash of columns, computed on Arrow arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pyqbeast.core.errors import UnsupportedError
from pyqbeast.core.format.constants import HASH_SEED
from pyqbeast.core.sampling import murmur3
from pyqbeast.core.sampling.murmur3 import Seeds
from pyqbeast.core.sampling.prunable_revisions import LONG_DIGITS
from pyqbeast.scanning.arrays import index_array, mask_of, numbers_of, unscaled


def row_weights(columns: Sequence[pa.Array]) -> NDArray[np.int32]:
    """The weight of each row.

    Args:
        columns: the hashed columns, in order, all of the same length.

    Raises:
        UnsupportedError: a column holds maps, which Spark does not hash.
    """
    hashes = np.full(len(columns[0]), HASH_SEED, np.uint32)
    for column in columns:
        hashes = _hashed(column, hashes)
    return hashes.view(np.int32)


def _hashed(values: pa.Array, seeds: Seeds) -> Seeds:
    """The hashes of values, each with its own seed. A null keeps its seed."""
    if values.null_count == len(values):
        return seeds
    if not values.null_count:
        return _hashed_whole(values, seeds)
    valid = mask_of(values.is_valid())
    hashes: Seeds = seeds.copy()
    hashes[valid] = _hashed_whole(values.drop_null(), seeds[valid])
    return hashes


def _hashed_whole(values: pa.Array, seeds: Seeds) -> Seeds:
    kind = values.type
    if pa.types.is_boolean(kind):
        return murmur3.hash_ints(mask_of(values).astype(np.int32), seeds)
    if pa.types.is_integer(kind) and kind.bit_width <= 32:
        return murmur3.hash_ints(numbers_of(values, f"<i{kind.bit_width // 8}").astype(np.int32), seeds)
    if pa.types.is_date32(kind):
        return murmur3.hash_ints(numbers_of(values, np.int32), seeds)
    if pa.types.is_int64(kind) or pa.types.is_timestamp(kind):
        return murmur3.hash_longs(numbers_of(values, np.int64), seeds)
    if pa.types.is_float32(kind):
        return murmur3.hash_floats(numbers_of(values, np.float32), seeds)
    if pa.types.is_float64(kind):
        return murmur3.hash_doubles(numbers_of(values, np.float64), seeds)
    if pa.types.is_decimal128(kind):
        low, high = unscaled(values)
        if kind.precision <= LONG_DIGITS:
            return murmur3.hash_longs(low, seeds)
        return murmur3.hash_wide_decimals(low.view(np.uint64), high, seeds)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _hashed_bytes(values, seeds)
    if pa.types.is_struct(kind):
        hashes = seeds
        for part in values.flatten():
            hashes = _hashed(part, hashes)
        return hashes
    if pa.types.is_list(kind):
        return _hashed_lists(values, seeds)
    raise UnsupportedError(f"weights cannot be made of a column of type {kind}")


def _hashed_bytes(values: pa.Array, seeds: Seeds) -> Seeds:
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, np.int32).astype(np.int64)[values.offset : values.offset + len(values) + 1]
    held = np.frombuffer(data, np.uint8) if data else np.zeros(0, np.uint8)
    return murmur3.hash_bytes(held, ends[:-1], np.diff(ends), seeds)


def _hashed_lists(values: pa.Array, seeds: Seeds) -> Seeds:
    """The elements of a list are hashed one after the other, like columns."""
    lengths = numbers_of(pc.list_value_length(values), np.int32).astype(np.int64)
    elements = values.flatten()
    starts = np.cumsum(lengths) - lengths
    hashes: Seeds = seeds.copy()
    reached = np.arange(len(lengths))
    for number in range(int(lengths.max(initial=0))):
        reached = reached[lengths[reached] > number]
        hashes[reached] = _hashed(elements.take(index_array(starts[reached] + number)), hashes[reached])
    return hashes
