"""Arrow's arrays as NumPy's and back, by their buffers.

Arrow's own ways import pandas, which takes longer than reading a small sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import DTypeLike, NDArray

#: The powers of 10 that doubles hold.
_EXACT_PLACES = 22


def mask_array(mask: NDArray[np.bool_]) -> pa.BooleanArray:
    """A mask as Arrow has it: one bit a row."""
    bits = pa.py_buffer(np.packbits(mask, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(mask), [None, bits])


def index_array(indexes: NDArray[np.int64]) -> pa.Int64Array:
    """Row indexes as Arrow has them."""
    return pa.Array.from_buffers(
        pa.int64(), len(indexes), [None, pa.py_buffer(np.ascontiguousarray(indexes))]
    )


def mask_of(values: pa.BooleanArray) -> NDArray[np.bool_]:
    """Booleans without nulls as NumPy has them: one byte a row."""
    bits = np.frombuffer(values.buffers()[1], np.uint8)
    return np.unpackbits(bits, bitorder="little")[values.offset :][: len(values)].view(np.bool_)


def numbers_of(values: pa.Array, kind: DTypeLike) -> NDArray[Any]:
    """Values of a fixed width, without nulls, read as numbers of the type `kind`."""
    held: NDArray[Any] = np.frombuffer(values.buffers()[1], kind)
    return held[values.offset :][: len(values)]


def doubles_of(values: pa.Array) -> NDArray[np.float64]:
    """Numbers as doubles, 0 for null. Of decimals that doubles tell apart they are the nearest ones.

    Arrow multiplies decimals by a power of 0.1, which no double is, so that its doubles may lie beside those of a text.
    """
    found = numbers_of(pc.fill_null(values.cast(pa.float64(), safe=False), 0.0), np.float64)
    if not pa.types.is_decimal128(values.type) or not 0 <= values.type.scale <= _EXACT_PLACES:
        return found
    low, high = unscaled(values)
    is_short = (high == low >> 63) & (low > -(2**53)) & (low < 2**53)
    if values.null_count:
        # What stands where a decimal is null is not defined.
        is_short &= mask_of(values.is_valid())
    # One division of two numbers that doubles hold is rounded once.
    return np.where(is_short, low / 10.0**values.type.scale, found)


def unscaled(values: pa.Decimal128Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The low and the high 64 bits of decimals, in units of their last place."""
    halves = np.frombuffer(values.buffers()[1], np.int64).reshape(-1, 2)
    low, high = halves[values.offset :][: len(values)].T
    return np.ascontiguousarray(low), np.ascontiguousarray(high)
