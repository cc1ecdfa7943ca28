"""Arrow's arrays as NumPy's and back, by their buffers.

Arrow's own ways import pandas, which takes longer than reading a small sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray


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
