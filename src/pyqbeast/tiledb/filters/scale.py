"""Float scaling: floating-point values as scaled integers, which is not reversible to the bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb.cursor import f64, u64
from pyqbeast.tiledb.datatypes import SIGNED, Datatype
from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.filters.base import (
    ChunkContext,
    Filter,
    Octets,
    octets,
    part_header,
    read_parts,
    values,
    whole_values,
)


class FloatScale(Filter):
    """A value is stored as the integer nearest to (value - offset) / scale.

    Args:
        scale: the factor.
        offset: what is taken off first.
        width: bytes of the stored integer: 1, 2, 4 or 8.
    """

    id, name = 15, "float-scale"
    needs_whole_values = leaves_whole_values = True

    def __init__(self, scale: float = 1.0, offset: float = 0.0, width: int = 8) -> None:
        if width not in SIGNED:
            raise ArrayFormatError(f"float-scale: integers of {width} bytes")
        self.scale, self.offset, self.width = scale, offset, width

    def options(self) -> bytes:
        """The options as the schema stores them."""
        return f64(self.scale) + f64(self.offset) + u64(self.width)

    def problem(self, context: ChunkContext) -> str | None:
        """Why no new array can have the filter at this place, `None` where it can."""
        if not context.datatype.is_float:
            return f"does not take {context.datatype.name} values"
        if self.scale == 0 or not math.isfinite(self.scale) or not math.isfinite(self.offset):
            return f"does not take a scale of {self.scale} and an offset of {self.offset}"
        return None

    def output_type(self, datatype: Datatype) -> Datatype:
        """The type of the values that leave the filter when writing."""
        return SIGNED[self.width]

    def decode(self, metadata: memoryview, data: Octets, context: ChunkContext) -> tuple[memoryview, Octets]:
        """Undo the filter on one chunk."""
        parts, before = read_parts(metadata, data)
        stored, target = SIGNED[self.width].dtype, _float_of(context.datatype.size)
        if any(part.size % self.width for part in parts):
            raise ArrayFormatError(f"float-scale: a part is no whole number of {self.width}-byte integers")
        # libtiledb takes the integers for floats of the field's width before it scales them.
        integers = [values(part, stored).astype(target).astype(np.float64) for part in parts]
        with np.errstate(over="ignore", invalid="ignore"):
            floats = [(self.scale * numbers + self.offset).astype(target) for numbers in integers]
        return before, octets(np.concatenate(floats))

    def encode(self, metadata: bytes, data: Octets, context: ChunkContext) -> tuple[bytes, Octets]:
        """Apply the filter to one chunk: in the field's own precision, halves away from zero, as libtiledb does."""
        target = _float_of(context.datatype.size)
        floats = whole_values(data, target, self.name)
        with np.errstate(all="ignore"):
            scaled = (floats - target.type(self.offset)) / target.type(self.scale)
            whole = np.trunc(scaled)
            whole += np.where(np.abs(scaled - whole) >= 0.5, np.sign(scaled), 0)
        end = target.type(2.0 ** (8 * self.width - 1))
        if not ((whole >= -end) & (whole < end)).all():
            raise InvalidInputError(f"float-scale: a value does not fit into {self.width} bytes")
        out = octets(whole.astype(SIGNED[self.width].dtype))
        return part_header(out.size) + metadata, out


def _float_of(size: int) -> np.dtype[Any]:
    # The filter takes the bytes for floats of the field's width, whatever the field's type is called.
    if size not in (4, 8):
        raise ArrayFormatError(f"float-scale on values of {size} bytes")
    return np.dtype(f"<f{size}")
